"""Why two runs diverge, in a few words and as data."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.comparing.runs.request_parts import parts_of_request
from agent_tt.comparing.runs.without_effect import edits_made
from agent_tt.comparing.steps.asked_tools import tools_asked_for
from agent_tt.comparing.steps.call_pairs import calls_told, pair_calls, same_calls_reordered
from agent_tt.comparing.steps.moves import acts_of, answer_of, answers_of, call_key, question_of, value_key
from agent_tt.comparing.values.states import compare_states
from agent_tt.model import ACTING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Call, Edit, Run, Step

__all__ = [
    "Deed",
    "Reason",
    "ReasonKind",
    "differences",
    "explain",
    "explain_code",
    "explain_edits",
    "explain_input",
    "explain_question",
]

_MOST_NAMES = 2
"""How many arguments or paths are named before the rest is counted."""

ReasonKind: TypeAlias = Literal[
    "input", "question", "step", "swapped", "moved", "ending", "agent", "call", "answer", "decision", "result", "state",
    "edit", "code",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why two runs diverge.

    | kind | says | where | old and new |
    |---|---|---|---|
    | `input` | they began with other states | the first path that differs | what is there |
    | `question` | a model was asked something else | the path in the request | what is there |
    | `call` | another tool was called, or one with other arguments | `tool`, or `tool.argument` with the path in it | tools, or values |
    | `answer`, `decision` | a model, or the agent, said something else | the path in the answer | what is there |
    | `result` | the same question came back otherwise: a value, an error or a status | `tool` with the path in it | what is there |
    | `state` | a step wrote something else to the state | the path | what is there |
    | `agent` | another agent took over, or another step | `agent` or `name` | the names |
    | `step` | only one of them took a step | its first tool, or its name | its name on the one side |
    | `swapped`, `moved` | two steps changed places; a step was taken elsewhere | its first tool, or its name | its number in A and in B |
    | `ending` | one was simply over | | numbers of the last steps |
    | `edit` | a person edited it before | the first place | what was there, and what is |
    | `code` | other code ran | | entry points or fingerprints |

    Attributes:
        kind: What differs.
        text: The same in a few words.
        a: Number of the step in A, None where it is about none.
        b: Number of the step in B.
        where: A place, as the table says; empty where there is none.
        old: What is there in A.
        new: What is there in B.
    """  # noqa: E501  a table

    kind: ReasonKind
    text: str
    a: int | None = None
    b: int | None = None
    where: str = ""
    old: Wire = None
    new: Wire = None


@dataclass(frozen=True, slots=True)
class Deed:
    """A step with its calls, to be explained."""

    step: Step
    calls: Sequence[Call]

    @property
    def acts(self) -> list[Call]:
        """The calls that act in the world."""
        return acts_of(self.calls)

    @property
    def answers(self) -> list[Call]:
        """The calls of models."""
        return answers_of(self.calls)

    @property
    def has_lanes(self) -> bool:
        """Whether threads or tasks made its calls beside each other: their order is chance then."""
        return any(call.lane != self.step.lane for call in self.calls)

    @property
    def title(self) -> str:
        """Its first tool, else its name."""
        return self.acts[0].name if self.acts else self.step.name


def explain(a: Deed | None, b: Deed | None, written: Sequence[Change] = ()) -> Reason | None:
    """Say what is different about two steps that stand beside each other; None where there is nothing to say.

    Args:
        a: What the one run did; None if it did nothing there.
        b: What the other did.
        written: What they wrote otherwise to the state, if that is known.
    """
    if a is None or b is None:
        deed = a or b
        if deed is None:
            return None
        text = f"only {'B' if a is None else 'A'} took step {deed.step.number}, {deed.title}"
        old, new = (None if each is None else each.step.name for each in (a, b))
        return Reason("step", text, *_numbers(a, b), where=deed.title, old=old, new=new)
    return _explain_doing(a, b) or _explain_result(a, b) or _explain_state(a, b, written)


def differences(a: Wire, b: Wire) -> list[Change]:
    """What differs between two values; another order of keys does not count."""
    return [change for change in compare_states(a, b) if change.makes_a_difference]


def explain_question(a: Deed, b: Deed) -> Reason | None:
    """Say what is different about what two steps asked their models; None where nothing is.

    Only what was asked before any other call came back with another result: after that it is a consequence.
    """
    for call_a, call_b in _questions_beside(a, b):
        changes = differences(question_of(call_a), question_of(call_b))
        if changes:
            parts = parts_of_request(question_of(call_a), question_of(call_b), changes)
            first = parts[0].change
            more = [f"{len(parts) - _MOST_NAMES} more"] if len(parts) > _MOST_NAMES else []
            said = "; ".join([part.said for part in parts[:_MOST_NAMES]] + more)
            text = f"the model was asked otherwise: {said}"
            return Reason("question", text, *_numbers(a, b), where=first.path, old=first.old, new=first.new)
    return None


def _questions_beside(a: Deed, b: Deed) -> Iterable[tuple[Call, Call]]:
    if not (a.has_lanes or b.has_lanes):
        return zip(_asked_first(a, b), _asked_first(b, a), strict=False)
    # Which call of another lane came before a question nobody knows: it counts where all came back alike.
    if sorted(map(call_key, a.acts)) != sorted(map(call_key, b.acts)):
        return ()
    return [(one, other) for one, other in pair_calls(a.answers, b.answers) if one is not None and other is not None]


def _asked_first(deed: Deed, other: Deed) -> list[Call]:
    """The calls of models before the first call of another kind that came back with something else."""
    theirs = iter(other.acts)
    asked: list[Call] = []
    for call in deed.calls:
        if call.kind == "llm":
            asked.append(call)
        elif call.kind in ACTING:
            beside = next(theirs, None)
            if beside is None or value_key([call.name, call.result]) != value_key([beside.name, beside.result]):
                break
    return asked


def explain_input(changes: Sequence[Change]) -> Reason | None:
    """Say where the states that two runs began with differ; None where they do not."""
    if not changes:
        return None
    first = changes[0]
    text = f"the input differs at {_names([_place(change.path) for change in changes])}"
    return Reason("input", text, 0, 0, first.path, first.old, first.new)


def explain_edits(run: Run, beside: Run | None = None, *, of_b: bool = True) -> Reason | None:
    """Name what a person edited: `state edited at messages[0], budget`, `edited: model`; None if nothing.

    Args:
        run: The fork.
        beside: A fork at the same step: edits that both have are no reason.
        of_b: Whether the fork is run B.
    """
    both = () if beside is None else edits_made(beside)
    edits = [edit for edit in edits_made(run) if edit not in both]  # what nothing came of is not a reason
    if not edits:
        return None
    first = edits[0]
    at = run.fork_step
    others = list(dict.fromkeys(_edited(edit) for edit in edits if edit.target != "state"))
    if others:
        text = f"edited: {_names(others)}"
    else:
        text = f"state edited at {_names(list(dict.fromkeys(_place(edit.path) for edit in edits)))}"
    old, new = (first.old, first.value) if of_b else (first.value, first.old)
    return Reason("edit", text, at, at, first.where, old, new)


def explain_code(a: Run, b: Run) -> Reason | None:
    """Say so where a fork ran other code than its parent; None where it did not, or where nobody knows."""
    code, other = (b.code, a.code) if b.parent == a.id else (a.code, b.code)
    if code.entry is None or other.entry is None:
        return None
    if _function(code.entry) != _function(other.entry):
        return Reason("code", f"{code.entry} ran instead", old=a.code.entry, new=b.code.entry)
    if code.fingerprint and other.fingerprint and code.fingerprint != other.fingerprint:
        return Reason("code", "the agent's code had changed", old=a.code.fingerprint, new=b.code.fingerprint)
    return None


def _explain_doing(a: Deed, b: Deed) -> Reason | None:
    """What differs in what they asked for, decided or answered."""
    numbers = _numbers(a, b)
    if a.step.agent != b.step.agent:
        text = f"another agent took over: {a.step.agent or 'none'}, {b.step.agent or 'none'}"
        return Reason("agent", text, *numbers, where="agent", old=a.step.agent, new=b.step.agent)
    pairs = pair_calls(a.acts, b.acts)
    has_lanes = a.has_lanes or b.has_lanes
    acts_a, acts_b = a.acts, b.acts
    if has_lanes:  # their order says nothing: those that have no partner do
        apart = [(one, other) for one, other in pairs if one is None or other is None or one.name != other.name]
        acts_a, acts_b = [one for one, _ in apart if one], [other for _, other in apart if other]
    tools_a, tools_b = [call.name for call in acts_a], [call.name for call in acts_b]
    if [(call.kind, call.name) for call in acts_a] != [(call.kind, call.name) for call in acts_b]:
        text = f"it called {_names(tools_a) or 'no tool'} in A, {_names(tools_b) or 'no tool'} in B"
        if has_lanes:
            text = "; ".join(f"{_more(tools)}, in {side}" for side, tools in (("A", tools_a), ("B", tools_b)) if tools)
        text = _by_models(a, b, text)
        return Reason("call", text, *numbers, where=(tools_a or tools_b)[0], old=[*tools_a], new=[*tools_b])
    for call_a, call_b in pairs:
        if call_a is not None and call_b is not None and value_key(call_a.args) != value_key(call_b.args):
            text = f"{call_a.name} was asked with another {_different_arguments(call_a, call_b)}"
            return _at_first("call", text, numbers, call_a.name, call_a.args, call_b.args)
    if same_calls_reordered(a.calls, b.calls):
        old, new = (calls_told(each.acts or each.answers) for each in (a, b))
        first = (a.acts or a.answers)[0].name
        return Reason("call", "the same calls in another order", *numbers, where=first, old=old, new=new)
    if a.step.name != b.step.name:
        text = f"it went to {a.step.name} in A, to {b.step.name} in B"
        return Reason("agent", text, *numbers, where="name", old=a.step.name, new=b.step.name)
    if a.step.decision != b.step.decision:
        text = "the agent decided something else"
        return Reason("decision", text, *numbers, old=a.step.decision, new=b.step.decision)
    said_a, said_b = _said_otherwise(a, b)
    if not a.acts and value_key(said_a) != value_key(said_b):
        inner: tuple[Wire, Wire] = (said_a, said_b)
        if len(said_a) == len(said_b) == 1:
            inner = said_a[0], said_b[0]
        ended = _ended_otherwise(a, b)
        if ended:
            return Reason("answer", ended, *numbers, old=inner[0], new=inner[1])
        return _at_first("answer", "the model answered something else", numbers, "", *inner)
    return None


def _by_models(a: Deed, b: Deed, tools: str) -> str:
    """Say what models had to do with other calls of tools, as far as their answers tell; `tools` says those alone."""
    said_a, said_b = _said_otherwise(a, b)
    if not (a.answers and b.answers) or value_key(said_a) == value_key(said_b):
        return tools
    ended = _ended_otherwise(a, b)
    if ended:
        return f"{ended}; {tools}"
    wanted_a, wanted_b = (
        Counter(value_key([name, arguments]) for call in deed.answers for name, arguments in tools_asked_for(call))
        for deed in (a, b)
    )
    if wanted_a != wanted_b:
        return "the model asked for something else"
    return f"the model answered something else; {tools}"


def _ended_otherwise(a: Deed, b: Deed) -> str:
    """Say how asking a model ended, where that is what differs first; "" where both were answered."""
    pairs = pair_calls(a.answers, b.answers) if a.has_lanes or b.has_lanes else zip(a.answers, b.answers, strict=False)
    for one, other in pairs:
        if one is None or other is None or value_key(answer_of(one)) == value_key(answer_of(other)):
            continue
        ended = _outcome(one), _outcome(other)
        return f"{one.name}: {ended[0]} in A, {ended[1]} in B" if ended[0] != ended[1] else ""
    return ""


def _said_otherwise(a: Deed, b: Deed) -> tuple[list[Wire], list[Wire]]:
    """What the models of two steps answered, in order; of lanes beside each other what has no equal in the other."""
    pairs = [(a.answers, b.answers)]
    if a.has_lanes or b.has_lanes:
        couples = pair_calls(a.answers, b.answers)
        pairs = [([one] if one else [], [other] if other else []) for one, other in couples]
    said = [tuple([answer_of(call) for call in calls] for calls in pair) for pair in pairs]
    return next(((one, other) for one, other in said if value_key(one) != value_key(other)), ([], []))


def _explain_result(a: Deed, b: Deed) -> Reason | None:
    numbers = _numbers(a, b)
    for call_a, call_b in pair_calls(a.acts, b.acts):
        if call_a is None or call_b is None:
            continue
        if call_a.status != call_b.status or call_a.error != call_b.error:
            old, new = _outcome(call_a), _outcome(call_b)
            return Reason("result", f"{call_a.name}: {old} in A, {new} in B", *numbers, call_a.name, old, new)
        if value_key(call_a.result) != value_key(call_b.result):
            text = f"{call_a.name} came back with another result"
            return _at_first("result", text, numbers, call_a.name, call_a.result, call_b.result)
    raised, other = (None if each.step.error is None else each.step.error.short for each in (a, b))
    if raised != other:
        text = "; ".join(f"{error} in {side}" for error, side in ((raised, "A"), (other, "B")) if error)
        return Reason("result", text, *numbers, a.title, raised, other)
    if a.step.status != b.step.status:
        text = f"the step ended {a.step.status} in A, {b.step.status} in B"
        return Reason("result", text, *numbers, a.title, a.step.status, b.step.status)
    return None


def _explain_state(a: Deed, b: Deed, written: Sequence[Change]) -> Reason | None:
    if not written:
        return None
    first = written[0]
    text = f"{a.step.name} wrote something else to {_names([_place(change.path) for change in written])}"
    return Reason("state", text, *_numbers(a, b), where=first.path, old=first.old, new=first.new)


def _at_first(
    kind: ReasonKind, text: str, numbers: tuple[int | None, int | None], name: str, old: Wire, new: Wire
) -> Reason:
    """A reason that shows the first place at which two values differ."""
    changes = differences(old, new)
    if not changes:
        return Reason(kind, text, *numbers, where=name, old=old, new=new)
    first = changes[0]
    between = "." if name and first.path and not first.path.startswith("[") else ""
    return Reason(kind, text, *numbers, where=f"{name}{between}{first.path}", old=first.old, new=first.new)


def _numbers(a: Deed | None, b: Deed | None) -> tuple[int | None, int | None]:
    return None if a is None else a.step.number, None if b is None else b.step.number


def _place(path: str) -> str:
    return path or "the whole state"


def _edited(edit: Edit) -> str:
    return f"{edit.where} muted" if edit.op == "mute" else edit.where


def _function(entry: str) -> tuple[str, str]:
    """The last word of the module and the callable: the same for `pkg.agent:main` and `src/pkg/agent.py:main`."""
    location, _, name = entry.rpartition(":")
    return re.split(r"[./\\]", location.removesuffix(".py"))[-1], name


def _outcome(call: Call) -> str:
    if call.error is not None:
        return call.error.short
    return {"ok": "went well", "pending": "outcome unknown", "denied": "denied", "error": "failed"}[call.status]


def _different_arguments(a: Call, b: Call) -> str:
    if not (isinstance(a.args, dict) and isinstance(b.args, dict)):
        return "argument"
    keys_a = {name: value_key(value) for name, value in a.args.items()}
    keys_b = {name: value_key(value) for name, value in b.args.items()}
    names = [name for name in dict.fromkeys([*keys_a, *keys_b]) if keys_a.get(name) != keys_b.get(name)]
    return _names(names) or "argument"


def _more(tools: Sequence[str]) -> str:
    return f"{len(tools)} call{'s' if len(tools) > 1 else ''} more, {_names(tools)}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown
