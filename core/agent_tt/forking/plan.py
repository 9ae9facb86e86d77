"""What a fork will do, worked out before anything runs: the pre-flight that people see and confirm."""

from __future__ import annotations

import shlex
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.asked_tools import AskedTools, read_asked_tools
from agent_tt.config import load
from agent_tt.errors import InvalidEdit, InvalidEntryPoint, UsageError
from agent_tt.forking.breaking import hold_already
from agent_tt.forking.checks import check_ended, check_origin, check_step, check_values, last_kept
from agent_tt.forking.conversations import (
    as_conversation,
    boundary_with,
    check_place,
    conversation_of,
    expected_with,
    tools_of,
)
from agent_tt.forking.editing.call_edits import CALLS, with_recorded_values
from agent_tt.forking.editing.edit_warnings import new_keys, unanswered_calls
from agent_tt.forking.editing.edits import apply_edits, with_old_values
from agent_tt.forking.editing.first_question import state_to_edit
from agent_tt.forking.editing.kept_conversations import check_kept
from agent_tt.forking.editing.muting import mute
from agent_tt.forking.editing.request_edits import REQUESTS, with_recorded_requests
from agent_tt.forking.effects_said import effects_said
from agent_tt.forking.entry.code import CodePlan, plan_code
from agent_tt.forking.entry.code_by_executor import check_terms, plan_executor
from agent_tt.forking.entry.declared_tools import declared_tools
from agent_tt.forking.entry.mock_model import check_script, recorded_answers
from agent_tt.forking.graphs import beginning_of, edit_channels, graph_terms, is_copied_first, plan_graph
from agent_tt.forking.policy.boundary import Expected, boundary_of, expected_after
from agent_tt.forking.policy.policies import (
    Rule,
    check_denials,
    check_rule,
    check_sockets,
    configured_policy,
    odd_rules,
)
from agent_tt.forking.terms import Terms
from agent_tt.history.digest import digest
from agent_tt.model import Run
from agent_tt.model.facts import StepFacts
from agent_tt.model.threads import is_thread
from agent_tt.protocols import check_proven
from agent_tt.querying.predicates import parse_predicate
from agent_tt.redaction.vault import open_vault
from agent_tt.store import ingest_filter
from agent_tt.store.file.locate import own_store_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.config import ToolEffect
    from agent_tt.forking.entry.declared_tools import DeclaredTool
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.forking.policy.policies import ToolPolicy
    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Edit, Step, WayBackIn
    from agent_tt.model.facts import SweepFacts
    from agent_tt.protocols import RunSource

__all__ = ["ForkPlan", "plan_fork"]

_ONLY_BY_REPLAY: Final = "what came back of a call can be changed only where the call is asked again: by replay"


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork that could be started.

    Attributes:
        store: the file that the new run is written to.
        run: the run that is forked.
        step: the last step that is kept, not run again; 0 for none. Where the step that was asked for contains others,
            it is the last of these; where a call is edited, the step before the call's.
        step_name: the name of the step after whose end the fork starts, "input" for checkpoint 0.
        name: the new run's name; None for the next `NAME/fork-N`.
        edits: what was changed, each with the value that was there.
        state: the state after `step`, edited; the agent gets it, or its own is changed so; read-only.
        code: what will run, and how it gets there.
        boundary: the models, tools, addresses and programs of the run, each with what the fork does with it; those that
            write come first.
        expected: what the original spent after `step`, the best guess at what the fork will.
        rules: what the fork does with its calls; see `with_rule`.
        problems: what is worth knowing before it runs, one line each. None of it prevents the fork.
        answered: how many recorded calls are answered again, where the agent is re-entered.
        accepts_changes: whether an agent that is re-entered goes live from the first step that asks something else
            than was recorded, in place of being halted there.
        terms: who runs it, what it is told beside its state, and how far it may go.
        sweep: its place in a sweep, kept with the run; None for a fork of its own.
        effects: what tools do that do not say it themselves, by their names and by patterns.
        effects_said: what of that people said where they forked this run or others of its agent; it is kept.
        copied_from: the file that the run lies in, which is only read: the run is copied into `store` first. None
            where it is in `store`.
        copied_state: of such a run that is no thread, the digest of the state after `step` as its copy is to have it.
        goes_on_with: of a thread of LangGraph, the nodes that are to run next at that step; after an edit, or with
            `as_node`, LangGraph may choose others. Empty where the graph has ended, or `is_next_unknown`. None of any
            other run.
        is_next_unknown: of a thread of LangGraph, whether its database does not tell which nodes run next.
        expect: what is hoped of it; None for nothing.
        continues_with: the model that goes on with the conversation, `openai:MODEL`; None where a program runs.
    """

    store: Path
    run: Run
    step: int
    step_name: str
    name: str | None
    edits: tuple[Edit, ...]
    state: Wire
    code: CodePlan
    boundary: tuple[Boundary, ...]
    expected: Expected
    rules: ToolPolicy
    problems: tuple[str, ...]
    answered: int = 0
    accepts_changes: bool = False
    terms: Terms = field(default_factory=Terms)
    sweep: SweepFacts | None = None
    effects: Mapping[str, ToolEffect] = field(default_factory=dict)
    effects_said: Mapping[str, ToolEffect] = field(default_factory=dict)
    copied_from: Path | None = None
    copied_state: bytes | None = None
    goes_on_with: tuple[str, ...] | None = None
    is_next_unknown: bool = False
    expect: str | None = None
    continues_with: str | None = None

    @property
    def by(self) -> WayBackIn:
        """How the agent gets to the fork's step."""
        return self.code.way

    @property
    def policy(self) -> Mapping[str, Wire]:
        """The rules as they are stored with the run."""
        return self.rules.to_mapping()

    @property
    def writers(self) -> tuple[Boundary, ...]:
        """What writes, which the fork denies unless it is allowed; what a tool does inside is left out.

        So is what it cannot deny, unless somebody allowed that: see `unheld`.
        """
        rows = (row for row in self.boundary if row.effect == "write" and not row.is_inside)
        return tuple(row for row in rows if row.is_held or (row.policy == "live" and row.rule.source != "default"))

    @property
    def holds_what_writes(self) -> bool:
        """Whether all that is known to write goes by a rule: every tool's calls are seen, and no library hides any."""
        is_seen = all(row.is_held for row in self.boundary if row.effect == "write")
        return is_seen and not self.run.facts.unseen_libraries

    @property
    def unheld(self) -> tuple[Boundary, ...]:
        """Tools whose calls a fork cannot hold, and that nobody has allowed: see `check_held`."""
        return tuple(row for row in self.boundary if not row.is_held and row.policy != "live")

    def check_held(self) -> None:
        """Refuse to start a fork that may run what it cannot hold.

        Raises:
            UsageError: there are tools that nothing records (the conversation shows them), or whose calls are not all
                seen, and that nobody has allowed.
        """
        names = [row.name for row in self.unheld]
        if not names:
            return
        what, it = ("tools", "them") if len(names) > 1 else ("a tool", "it")
        allow = " ".join(f"--allow {shlex.quote(name)}" for name in names)
        raise UsageError(
            f"{', '.join(names)}: {what} that nothing records, or not all calls of, so a fork cannot hold {it}",
            hint=f"let {it} run for real with {allow}, or record {it}: mark the function with @agent_tt.tool, or name "
            "it with --call when you record the agent",
        )

    def with_policy(self, policy: ToolPolicy) -> ForkPlan:
        """The same fork with another policy.

        Raises:
            UsageError: a rule of it that whoever starts the fork gave cannot be carried out.
        """
        check_sockets(policy)
        check_denials(policy, self.boundary)
        rows = tuple(row.under(policy) for row in self.boundary)
        for row in rows:
            if row.rule.source == "you":
                check_rule(row, row.rule)
        return replace(self, boundary=rows, rules=policy)

    def with_rule(self, name: str, rule: Rule) -> ForkPlan:
        """The same fork with a rule for one name, pattern or boundary: in place of what was said of it before.

        Raises:
            UsageError: it cannot be carried out for what the run called.
        """
        return self.with_policy(self.rules.with_rule(name, rule))

    def without_rule(self, name: str) -> ForkPlan:
        """The same fork without what whoever starts it said of one name: what is configured, or the default, holds."""
        return self.with_policy(self.rules.without(name))

    def named(self, name: str | None) -> ForkPlan:
        """The same fork under another name."""
        return replace(self, name=name or None)


def plan_fork(source: RunSource, run: str | Run, request: ForkRequest) -> ForkPlan:
    """Work out a fork of `run`, and refuse it where it could not run.

    Args:
        source: the store that holds the run, and that will hold the fork.
        run: the run, or what names it.
        request: the fork.

    Raises:
        ReadOnlySource: the run lies in a file that is only read, and its program is to run.
        RunNotFound, StepNotFound: there is no such run or step.
        UsageError: other steps were under way when the step ended.
        InvalidEdit, InvalidPath: an edit does not fit.
        NotRebuildable, Damaged: the edited state holds something that cannot become a Python value again.
        InvalidEntryPoint: the agent cannot be found, or takes no state; or there is no such executor.
        VaultLocked: originals are asked for, and there is no key, or it is another one's.
        InvalidExpression: what is hoped of it cannot be read.
    """
    way: WayBackIn
    original = run if isinstance(run, Run) else source.run(run)
    request = as_conversation(source, original, request)
    agent, by, terms = request.agent, request.by, request.terms
    steps = source.steps(original.id)
    if is_graph := is_thread(steps) and request.continue_with is None:
        terms = graph_terms(terms)
    is_copied = is_copied_first(request, original, is_graph=is_graph)
    if not is_copied:
        check_origin(source, original)
    check_proven(source, original)
    _check_originals(source, terms, is_graph=is_graph)
    edits = request.edits_of(source, original)
    calls = [edit for edit in edits if edit.target in CALLS]
    asked = _asked_step(request.step_of(source, original), calls)
    if calls and is_graph:
        raise UsageError("what a call of a graph came back with cannot be edited", hint="edit the state instead")
    if calls and by == "restore":
        raise UsageError(_ONLY_BY_REPLAY, hint="leave out --by restore")
    if calls:
        by, calls = "replay", list(with_recorded_values(source, original.id, steps, calls))
    if is_graph:
        if by == "replay":
            raise UsageError("a graph goes on from a checkpoint: it is not re-entered by replay", hint="leave out --by")
        kept, odd_step = beginning_of(original, steps, asked, edits)
        known, state, odd = edit_channels(source.state(original.id, kept), edits)
        way, code, problems = "restore", *plan_graph(original, agent)
        problems += odd_step
    elif terms.is_custom:
        by = _by_executor(by, calls)
        way, (code, problems) = by, plan_executor(original, agent, terms.executor)
    else:
        way, code, problems = _way(source, original, steps, asked, agent, by)
    if not is_graph:
        chosen = _check_of(request, way)(source, original, steps, asked)
        kept = 0 if chosen is None else last_kept(chosen, steps)
        if calls:
            kept = asked - 1
        elif kept != asked:
            problems += (f"step {asked} contains the steps up to {kept}: they are kept too",)
    check_terms(terms, code, original, kept)
    if terms.is_mock and terms.script is not None:
        check_script(terms.script, recorded_answers(source, original))
    if not is_graph:
        known, state, odd = _edited(source, original, steps, asked, edits, kept=kept, way=way)
    state, odd_state = conversation_of(request, state)
    problems += odd_state
    requests, odd_requests = with_recorded_requests(
        source, original.id, steps, kept, [edit for edit in edits if edit.target in REQUESTS]
    )
    policy = configured_policy() if request.policy is None else request.policy
    rules = policy.with_all((each, Rule("live")) for each in request.allow)
    declared, shown = _known_tools(source, original, request, code)
    said = {**effects_said(source, original), **request.effects}
    effects = {**load().effects, **said}
    boundary = boundary_of(source, original, after=kept, policy=rules, declared=declared, asked=shown, effects=effects)
    boundary = boundary_with(request, boundary)
    problems += (*odd, *odd_requests, *odd_rules(original, boundary, rules))
    problems += tuple(hold_already(terms.limits.breaks, state))
    problems += (*_unrecorded(shown, boundary), *_not_held(original))
    return ForkPlan(
        store=own_store_path(source.path) if is_copied else source.path,
        copied_from=source.path if is_copied else None,
        copied_state=digest(ingest_filter.admit(source.state(original.id, kept))) if is_copied else None,
        goes_on_with=tuple(map(str, steps[kept - 1].facts.next)) if is_graph else None,
        is_next_unknown=is_graph and is_copied and steps[kept - 1].extra.get(StepFacts.next.key) is None,
        run=original,
        step=kept,
        step_name="input" if not kept else steps[(kept if calls or is_graph else asked) - 1].name,
        name=request.name or None,
        edits=(*known, *calls, *requests),
        state=state,
        code=code,
        boundary=boundary,
        expected=expected_with(request, expected_after(steps, kept)),
        rules=rules,
        problems=problems,
        answered=sum(each.calls for each in steps[:kept]) if way == "replay" else 0,
        accepts_changes=request.accept_changes and way == "replay",
        terms=terms,
        effects=effects,
        effects_said=said,
        expect=None if request.expect is None else parse_predicate(request.expect).text,
        continues_with=request.continue_with,
    ).with_policy(rules)


def _check_of(request: ForkRequest, way: WayBackIn) -> Callable[..., Step | None]:
    """What refuses steps that a fork cannot begin after."""
    if request.continue_with is not None:
        return check_place
    return check_ended if way == "replay" else check_step


def _known_tools(
    source: RunSource, run: Run, request: ForkRequest, code: CodePlan
) -> tuple[tuple[DeclaredTool, ...], AskedTools]:
    """The tools that are recorded where they are called, and those that only the conversations show."""
    if request.continue_with is not None:  # whatever the model asks for is recorded: nothing runs past it
        return tools_of(request), AskedTools()
    root = None if code.root is None else Path(code.root)
    return declared_tools(code.file, root), read_asked_tools(source, run)


def _unrecorded(asked: AskedTools, boundary: Sequence[Boundary]) -> Iterator[str]:
    """What the conversations show and nothing records, a sentence for each tool."""
    rows = {row.name: row for row in boundary if row.is_unrecorded}
    for tool in asked.tools:
        row = rows.get(tool.name)
        if row is not None or not tool.answered:
            yield tool.said


def _not_held(run: Run) -> tuple[str, ...]:
    """What no rule holds: libraries of the recorded process that reach the world by themselves."""
    names = run.facts.unseen_libraries
    if not names:
        return ()
    return (f"no rule holds what {', '.join(names)} does: it reaches the world by itself, past Python",)


def _by_executor(by: WayBackIn | None, calls: Sequence[Edit]) -> WayBackIn:
    if by == "replay" or calls:
        why = "a registered executor is handed the state: it cannot be re-entered by replay"
        raise UsageError(why, hint="edit the state instead, or leave out --executor")
    return "restore"


def _asked_step(step: int | None, calls: Sequence[Edit]) -> int:
    """The step that is meant: of edited calls theirs."""
    edited = sorted({edit.step or 0 for edit in calls})
    if len(edited) > 1:
        raise InvalidEdit(
            f"calls of several steps are edited ({', '.join(map(str, edited))}): what follows the first runs anew",
            hint="edit the calls of one step, and fork that fork",
        )
    if edited and step is not None and step not in (edited[0], edited[0] - 1):
        raise InvalidEdit(
            f"a call of step {edited[0]} is edited, but the fork is to begin after step {step}",
            hint=f"leave out --at, or fork at {edited[0]}",
        )
    if step is None and not edited:
        raise UsageError("no step to fork after was given", hint="name it with --at; 0 is the input")
    return edited[0] if edited else step or 0


def _way(
    source: RunSource, run: Run, steps: Sequence[Step], step: int, agent: str | None, by: WayBackIn | None
) -> tuple[WayBackIn, CodePlan, tuple[str, ...]]:
    """How the agent gets there, and with which code: as asked, else restored where that can be."""
    if by is not None:
        return by, *plan_code(run, agent, by)
    try:
        code, problems = plan_code(run, agent, "restore")
        check_step(source, run, steps, step)
        return "restore", code, problems
    except (InvalidEntryPoint, UsageError) as why:
        if isinstance(why, InvalidEntryPoint) and agent is None and run.code.restore is not None:
            raise  # it took a state when it was recorded: what is wrong with it now is to be said
        try:
            code, problems = plan_code(run, agent, "replay")
        except InvalidEntryPoint:
            raise why from None
        check_ended(source, run, steps, step)
        odd = () if isinstance(why, InvalidEntryPoint) else (f"it is re-entered by replay: {why.message}",)
        return "replay", code, (*problems, *odd)


def _edited(
    source: RunSource,
    run: Run,
    steps: Sequence[Step],
    asked: int,
    edits: Sequence[Edit],
    *,
    kept: int,
    way: WayBackIn,
) -> tuple[tuple[Edit, ...], Wire, tuple[str, ...]]:
    """The edits of the state with what was there, the state that the fork begins with, and what is odd."""
    is_edited = any(edit.target == "state" for edit in edits)
    state = state_to_edit(source, run.id, asked) if is_edited and way == "replay" else source.state(run.id, asked)
    known: tuple[Edit, ...] = ()
    stays: tuple[str, ...] = ()
    edited = state
    for edit in edits:
        if edit.target == "step":
            fresh, words = mute(source, run.id, steps, edit.step or 0, asked, edited)
            stays += words
        elif edit.target == "state":
            fresh = with_old_values(edited, [edit])
        else:
            continue
        known += fresh
        edited = apply_edits(edited, [each for each in fresh if each.target == "state"])
    changed = [edit for edit in known if edit.target == "state"]
    if not any(edit.target == "step" for edit in edits):
        changed = [edit for edit in edits if edit.target == "state"]  # as they were said: into a JSON text too
    odd = (*stays, *new_keys(state, changed), *unanswered_calls(state, edited))
    if way == "restore":
        check_values(edited)
        return known, edited, odd
    for edit in known:
        check_values(edit.value)
    if edited != state:
        check_kept(source, run.id, asked, state, edited)
    if any(edit.target in CALLS for edit in edits):  # the step is taken anew: its state is changed when it has ended
        begins = source.state(run.id, kept)
        return tuple(replace(edit, step=asked) if edit.target == "state" else edit for edit in known), begins, odd
    if kept != asked:
        known = tuple(replace(edit, step=asked) if edit.target == "state" else edit for edit in known)
    return known, edited, odd


def _check_originals(source: RunSource, terms: Terms, *, is_graph: bool) -> None:
    """Refuse to give an agent originals that nobody can read.

    Raises:
        VaultLocked, UsageError: there is no key, or no vault; or a graph is asked to go on, which is not given any.
    """
    if not terms.originals:
        return
    if is_graph:
        raise UsageError("a graph goes on from its own checkpoint, which has marks", hint="leave out --with-originals")
    open_vault(source.path)
