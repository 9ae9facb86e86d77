"""Calls that are asked about before they go out, and what somebody decides.

A call of a fork whose policy is `ask` waits, and so does a call of an agent that somebody holds. Somebody says one of:
make it as it is, make it with other arguments, give this answer in its place, raise this error in its place, refuse it.
While an agent is held its state can be changed, too. The decision is checked here, before it is written down.

```python
def decide(question):
    print(question.name, question.args)
    return question.run(amount=5) if question.name == "charge" else question.refuse("not today")
```
"""

from __future__ import annotations

import difflib
import json
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.codec.decode import check_envelopes
from agent_tt.codec.encode import encode
from agent_tt.codec.parse import parse_value
from agent_tt.codec.sameness import common_ends, identical
from agent_tt.codec.wire import TYPE
from agent_tt.errors import InvalidValue, NotRebuildable, UsageError
from agent_tt.model.error_text import error_from_text
from agent_tt.model.facts import DecisionFacts
from agent_tt.redaction.marks import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, Edit, Effect, ErrorInfo

__all__ = ["CallQuestion", "Decision", "DecisionWord", "NewQuestion"]

DecisionWord = Literal["run", "give", "raise", "refuse", "stop"]

_LOST: Final = ("opaque", "damaged", "made")


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decides about one call.

    Attributes:
        word: `run` it, `give` a value or `raise` an error in its place, `refuse` it; `stop`: its fork is stopped.
        args: of `run`, arguments that go out in place of those that the agent gave, by name; the others go out as
            they are.
        value: of `give`, the wire value that the agent gets.
        error: of `raise`, what is raised.
        why: in words, for the agent and for the ledger.
        state: what is changed of the state before the agent goes on, in that order; only of one that is held.
        by: where it was decided: `terminal`, `command`, `app`, `program`; `nobody` where nobody could be asked.
    """

    word: DecisionWord
    args: Mapping[str, Wire] = field(default_factory=lambda: MappingProxyType({}))
    value: Wire = None
    error: ErrorInfo | None = None
    why: str = ""
    by: str = ""
    state: tuple[Edit, ...] = ()

    def said_by(self, who: str) -> Decision:
        """Give the same decision, with where it was made."""
        return replace(self, by=who)

    def to_facts(self) -> dict[str, Wire]:
        """What a call's facts say of it; see `agent_tt.model.facts.DecisionFacts`."""
        facts: dict[str, Wire] = {
            DecisionFacts.word.key: self.word,
            DecisionFacts.edited.key: [*sorted(self.args)] or None,
            DecisionFacts.by.key: self.by or None,
            DecisionFacts.why.key: self.why or None,
        }
        return {key: fact for key, fact in facts.items() if fact is not None}


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """What a recorder says about a call that is to wait.

    Attributes:
        editable: names of the arguments that may be changed before it goes out.
        can_give: whether a value or an error can be given in place of its answer.
        trouble: why the answer before could not be used; "" for the first question about a call.
        hold: the hold because of which it waits; None where its fork's policy says so.
        state: the state that its step works on, without secrets; only where it can be edited.
        can_edit_state: whether the state can be changed before the agent goes on.
    """

    editable: tuple[str, ...] = ()
    can_give: bool = True
    trouble: str = ""
    hold: int | None = None
    state: Wire = None
    can_edit_state: bool = False


@dataclass(frozen=True, slots=True)
class CallQuestion:
    """A call that waits for somebody's decision. Its methods make the decisions that fit it.

    Attributes:
        id: its number in the store.
        run_id, step, call: the call that waits: its run, its step, its number in the step.
        kind, name, effect: what is to be called.
        args: its arguments by name, without secrets.
        editable: names of those that may be changed.
        can_give: whether a value or an error can be given in place of its answer.
        asked_us: when it was asked.
        trouble: why the decision before could not be used; "" for the first question about a call.
        process: id of the process that waits.
        lane: id of the lane that waits.
        hold: the hold because of which it waits; None where its fork's policy says so.
        state: the state that its step works on, without secrets, where that can be edited.
        can_edit_state: whether the state can be changed before the agent goes on.
    """

    id: int
    run_id: str
    step: int
    call: int
    kind: CallKind
    name: str
    effect: Effect | None = None
    args: Mapping[str, Wire] = field(default_factory=dict)
    editable: tuple[str, ...] = ()
    can_give: bool = True
    asked_us: int = 0
    trouble: str = ""
    process: int = 0
    lane: str = ""
    hold: int | None = None
    state: Wire = None
    can_edit_state: bool = False

    def run(self, args: Mapping[str, object] | None = None, /, **more: object) -> Decision:
        """Make the call: as it is, or with other arguments (Python values by name; those not named stay).

        Raises:
            UsageError: it has no such argument, or that cannot be changed so.
        """
        return self.run_with({name: encode(value) for name, value in {**(args or {}), **more}.items()})

    def run_with(self, args: Mapping[str, Wire]) -> Decision:
        """As `run`, with wire values; those that are as they were go out as they are.

        Raises:
            UsageError: it has no such argument, or that cannot be changed so.
        """
        changed: dict[str, Wire] = {}
        for name, value in args.items():
            self._check_name(name)
            shown = self.args.get(name)
            if identical(value, shown):
                continue
            if name not in self.editable:
                raise UsageError(f"{name} of {self.name} cannot be changed", hint=self._editable_hint())
            _check_sendable(value, shown, name)
            changed[name] = value
        return Decision("run", args=changed)

    def run_text(self, text: str) -> Decision:
        """As `run_with`, with the arguments as a JSON object.

        Raises:
            InvalidValue: it is not JSON.
            UsageError: it is not an object, or names what cannot be changed.
        """
        args = parse_value(text)
        if not isinstance(args, dict) or TYPE in args:
            raise UsageError(
                "the arguments are not a JSON object", hint='write them by name: {"amount": 5}; those left out stay'
            )
        return self.run_with(args)

    def give(self, value: object) -> Decision:
        """Give the agent a value in place of the call's answer; the call is not made.

        Raises:
            UsageError: nothing can be given for such a call.
        """
        return self.give_wire(encode(value))

    def give_wire(self, value: Wire) -> Decision:
        """As `give`, with a wire value."""
        self._check_can_give()
        _check_sendable(value, None, "the value")
        return Decision("give", value=value)

    def give_text(self, text: str) -> Decision:
        """As `give`, with a value as JSON.

        Raises:
            InvalidValue: it is not JSON.
        """
        return self.give_wire(parse_value(text))

    def fail(self, text: str) -> Decision:
        """Raise an error in place of the call: `TimeoutError: no answer`, `module.Class: words`.

        Raises:
            UsageError: it names no exception, or nothing can be raised for such a call.
        """
        self._check_can_give()
        return Decision("raise", error=error_from_text(text))

    def refuse(self, why: str = "") -> Decision:
        """Do not make the call: the agent sees `ToolDenied`, as where the policy denies it."""
        return Decision("refuse", why=why)

    def with_state(self, decision: Decision, edits: Sequence[Edit]) -> Decision:
        """The same decision, with changes of the state before the agent goes on.

        Args:
            decision: what becomes of the call.
            edits: changes of `state`, in order.

        Raises:
            UsageError: the state cannot be changed, or holds a secret then, which the store would not hand on.
        """
        if edits and not self.can_edit_state:
            why = "there is no state" if self.hold is not None else "its agent is not held"
            raise UsageError(
                f"the state cannot be changed before {self.name}: {why}",
                hint="change the arguments, or give a result",
            )
        for edit in edits:
            _check_sendable(edit.value, edit.old, edit.path or "the state")
        return replace(decision, state=tuple(edits))

    def _check_can_give(self) -> None:
        if not self.can_give:
            raise UsageError(f"nothing can be given in place of {self.name}", hint="run it, or refuse it")

    def _check_name(self, name: str) -> None:
        if name in self.args:
            return
        near = difflib.get_close_matches(name, list(self.args), n=1)
        hint = f"did you mean {near[0]}?" if near else f"its arguments are {', '.join(self.args) or 'none'}"
        raise UsageError(f"{self.name} has no argument {name!r}", hint=hint)

    def _editable_hint(self) -> str:
        if not self.editable:
            return "run it as it is, or refuse it"
        return f"what can be changed: {', '.join(self.editable)}"


def _put_back(shown: Wire, own: Wire, edited: Wire) -> Wire:
    """An edited value with what was not edited in it as it really is: a secret is shown only by its mark.

    Args:
        shown: the value as it was shown.
        own: the same value as it is.
        edited: what was made of the shown one.
    """
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(own, dict):
        return {
            key: _put_back(shown[key], own[key], value) if key in shown and key in own else value
            for key, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list) and isinstance(own, list) and len(shown) == len(own):
        if len(shown) == len(edited):
            return [_put_back(*each) for each in zip(shown, own, edited, strict=True)]
        first, kept = common_ends(shown, edited)
        return [*own[:first], *edited[first : len(edited) - kept], *own[len(own) - kept :]]
    return own if identical(shown, edited) else edited


def _check_sendable(value: Wire, shown: Wire, name: str) -> None:
    """Refuse an edited argument that could not go out as it is written.

    Raises:
        UsageError: it holds something that is not a Python value again, or a secret, which the store would not hand on.
    """
    _check_value(value, name)
    lost = _lost_in(value)
    if lost is not None:
        raise UsageError(
            f"{name} holds a {lost}, which is known only by its text, so it cannot be rebuilt",
            hint="change other arguments, or give a whole value that is plain JSON",
        )
    if _has_mark(_put_back(shown, _without_marks(shown), value)):
        raise UsageError(
            f"a secret in {name} was moved or is new: its mark stands for it only in its own place",
            hint=f"leave {MARK} where it stood, or take it out",
        )
    from agent_tt.redaction.values import asked

    if not identical(asked(value, name), value):
        raise UsageError(
            f"{name} holds what looks like a secret, and what is decided goes through the store, which keeps none",
            hint="put it where the agent reads it (its environment), or run the call as it is",
        )


def _has_mark(value: Wire) -> bool:
    return MARK in json.dumps(value, ensure_ascii=False)


def _without_marks(value: Wire) -> Wire:
    """The same value with other texts where marks stand in them."""
    if isinstance(value, dict):
        return {key: _without_marks(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return value.replace(MARK, "") if isinstance(value, str) else value


def _check_value(value: Wire, what: str) -> None:
    """Refuse a value with an envelope that says nothing."""
    try:
        check_envelopes(value)
    except NotRebuildable as error:
        raise InvalidValue(f"{what}: {error.message}", hint=error.hint) from error


def _lost_in(value: Wire) -> str | None:
    """The class of something in a wire value that cannot become a Python object again; None where all can."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get(TYPE) in _LOST:
                return str(node.get("class") or node.get(TYPE))
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return None
