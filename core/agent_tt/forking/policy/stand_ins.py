"""Answers of the calls that a fork does not make: as its parent recorded them, or as a person gave them.

A recorded answer is given where the parent asked the very same of the very same: each answer once, in their order,
those of the steps that the fork keeps last. (A fork that was re-entered by replay has had those.) What it takes to give
one is loaded when the first is: most forks never ask.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from agent_tt.codec.decode import decode
from agent_tt.codec.loaded_classes import LOADED
from agent_tt.codec.text import describe, pretty
from agent_tt.errors import AgentTTError
from agent_tt.forking.editing.call_edits import CALLS
from agent_tt.intercepting.policy_enforcement import NotRecorded
from agent_tt.model.facts import place_said
from agent_tt.recording.calls.signature import signature_of_call
from agent_tt.recording.store_work import store_at_work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, CallKind, ErrorInfo, Run
    from agent_tt.protocols import RunSource
    from agent_tt.recording.calls.answers import Question, Served

__all__ = ["ParentStandIns"]

_SHOWN: Final = 160
"""Characters of arguments in a message."""

_LOOKED_AT: Final = 200
"""Recorded calls among which the nearest is searched for."""

Place = tuple[int, int]
"""Step and number of a call."""


class ParentStandIns:
    """See `agent_tt.intercepting.policy_enforcement.StandIns`.

    Args:
        source: where the runs lie.
        run: the fork.
    """

    def __init__(self, source: RunSource, run: Run) -> None:
        self._source = source
        self._run = run
        self._lock = threading.Lock()
        self._by_question: dict[tuple[CallKind, str, str | None], deque[Place]] | None = None
        self._by_name: dict[tuple[CallKind, str], list[Place]] = {}
        self._denied: set[tuple[CallKind, str, str | None]] = set()
        self._open: set[tuple[CallKind, str]] = set()
        self._asked: Counter[tuple[CallKind, str, str | None]] = Counter()

    def recorded(self, question: Question) -> tuple[Served, Mapping[str, Wire]] | None:
        """The parent's next answer to the same question, and where it stands; None where none is left."""
        from agent_tt.forking.policy.prepared import Prepared

        with self._lock, store_at_work():
            left = self._recorded().get((question.kind, question.name, question.signature))
            place = left.popleft() if left else None
            if place is None:
                return None
            call = self._call(place)
            pieces = self._source.deliveries(self._parent, *place)
        return Prepared(call, pieces), {"run": self._parent, "step": place[0], "call": place[1]}

    def not_recorded(self, question: Question) -> NotRecorded:
        """What to raise where none is left: it names the call, and the recorded one that is nearest."""
        from agent_tt.replaying.findings.question_likeness import changed_parts, shared_words

        with self._lock, store_at_work():
            left = {place for places in self._recorded().values() for place in places}
            named = self._by_name.get((question.kind, question.name), [])
            calls = [self._call(place) for place in named if place in left][:_LOOKED_AT]
            used = len(named) - len(calls)
            was_denied = (question.kind, question.name, question.signature) in self._denied
            is_open = (question.kind, question.name) in self._open
            asked = self._asked[question.kind, question.name, question.signature]
            name = self._source.run(self._parent).name if self._parent else "the parent"
        what = f"{question.name}({_shown(question.args)})"
        if was_denied or not calls:
            why = f"{name} never called it after the fork's step"
            if was_denied:
                why = f"{name} was not let call it either"
            elif named:
                why = f"{name} called it only {used} times" if used > 1 else f"{name} called it only once"
            elif is_open:
                why = f"{name} got no answer of it after the fork's step"
            message = f"{what} is to be answered as it was recorded, but {why}"
        else:
            nearest = max(calls, key=lambda call: shared_words(changed_parts(call.kind, call.args, question.args)))
            why = f"asked that only {f'{asked} times' if asked > 1 else 'once'}" if asked else "did not ask that"
            message = (
                f"{what} is to be answered as it was recorded, but {name} {why};"
                f" nearest is step {nearest.step}: {nearest.name}({_shown(nearest.args)})"
            )
        hint = "say what else is to become of it, for example --policy 'NAME=recorded-or-ask', or --allow it"
        return NotRecorded(message, hint)

    def given(self, question: Question, value: Wire, error: ErrorInfo | None) -> Served:
        """What a person gave, in the form of the call's answers.

        Raises:
            UsageError: such a call cannot be answered so.
        """
        from agent_tt.forking.policy.prepared import given_answer

        like = None
        with self._lock, store_at_work(), suppress(AgentTTError):
            self._recorded()
            named = self._by_name.get((question.kind, question.name))
            like = None if not named else self._call(named[0])
        return given_answer(question, value, error, like=like)

    def value(self, wire: Wire) -> object:
        """The Python value of a wire value."""
        return decode(wire, LOADED)

    @property
    def _parent(self) -> str:
        return self._run.parent or ""

    def _call(self, place: Place) -> Call:
        return self._source.calls(self._parent, place[0])[place[1] - 1]

    def _recorded(self) -> dict[tuple[CallKind, str, str | None], deque[Place]]:
        """The parent's answers that are left, by question."""
        if self._by_question is None:
            found: dict[tuple[CallKind, str, str | None], deque[Place]] = defaultdict(deque)
            used, kept, is_file = self._used_before(), self._run.fork_step or 0, self._is_of_file()
            steps = self._source.steps(self._parent) if self._parent else []
            later = [*steps[kept:], *(steps[:kept] if self._run.way_back_in != "replay" else ())]
            for step in later:
                for call in self._source.calls(self._parent, step.number) if step.calls else ():
                    if call.status == "denied":
                        self._denied.add((call.kind, call.name, call.signature))
                    elif call.status == "pending":
                        self._open.add((call.kind, call.name))
                    if call.status not in ("ok", "error"):
                        continue
                    place = call.step, call.number
                    self._by_name.setdefault((call.kind, call.name), []).append(place)
                    signature = _asked_here(call) if is_file else call.signature
                    self._asked[call.kind, call.name, signature] += 1
                    if place not in used:
                        found[call.kind, call.name, signature].append(place)
            self._by_question = found
        return self._by_question

    def _is_of_file(self) -> bool:
        """Whether the recorded calls came, maybe over other forks, out of another program's file."""
        parent = self._parent
        while parent:
            run = self._source.run(parent)
            if run.origin.get("system"):
                return True
            parent = run.parent or ""
        return False

    def _used_before(self) -> set[Place]:
        """Find the recorded answers that are used up: the fork was given them, or an edited answer in their place."""
        used: set[Place] = {(edit.step or 0, edit.call or 0) for edit in self._run.edits if edit.target in CALLS}
        for step in self._source.steps(self._run.id, (self._run.fork_step or 0) + 1):
            for call in self._source.calls(self._run.id, step.number) if step.calls else ():
                answer = call.facts.policy.taken_from
                place = place_said(answer.raw)
                if place is not None and answer.run == self._parent:
                    used.add(place)
        return used


def _asked_here(call: Call) -> str | None:
    """The signature that a tool call of a file has where it is asked in a fork: files' calls have others."""
    if call.kind != "tool" or not isinstance(call.args, dict):
        return call.signature
    return signature_of_call("tool", call.name, call.args)


def _shown(args: Wire) -> str:
    if isinstance(args, dict):
        counted = {key: value for key, value in args.items() if key != "headers"}
        text = ", ".join(f"{name}={pretty(value)}" for name, value in counted.items())
    else:
        text = describe(args)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
