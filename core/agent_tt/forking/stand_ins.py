"""Answers of the calls that a fork does not make: as its parent recorded them, or as a person gave them.

A recorded answer is given where the parent asked the very same of the very same: each answer once, in their order,
those of the steps that the fork keeps last. (A fork that was re-entered by replay has had those.) What a person gives
gets the form in which such a call is answered: a result, pieces of a generator, the answer to a request, a provider's
answer, plain or streamed.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.codec.decode import decode
from agent_tt.codec.text import describe, pretty
from agent_tt.errors import AgentTTError, InvalidEdit, NotRebuildable, UsageError
from agent_tt.forking.call_edits import edited_call
from agent_tt.forking.made_up import MadeUp
from agent_tt.model import Call, Delivery, Edit
from agent_tt.recording.deciding import POLICY, NotRecorded
from agent_tt.recording.scope import store_at_work
from agent_tt.replaying.likeness import changed_parts, shared_words
from agent_tt.replaying.loaded_classes import LOADED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, ErrorInfo, Run
    from agent_tt.protocols import RunSource
    from agent_tt.recording.answers import Question, Served

__all__ = ["ParentStandIns", "given_answer"]

_SHOWN: Final = 160
"""Characters of arguments in a message."""

_LOOKED_AT: Final = 200
"""Recorded calls among which the nearest is searched for."""

_SESSION: Final = "mcp server"
"""What the call is called that connects to a server."""

Place = tuple[int, int]
"""Step and number of a call."""


class ParentStandIns:
    """See `agent_tt.recording.deciding.StandIns`.

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

    def recorded(self, question: Question) -> tuple[Served, Mapping[str, Wire]] | None:
        """The parent's next answer to the same question, and where it stands; None where none is left."""
        with self._lock, store_at_work():
            left = self._recorded().get((question.kind, question.name, question.signature))
            place = left.popleft() if left else None
            if place is None:
                return None
            call = self._call(place)
            pieces = self._source.deliveries(self._parent, *place)
        return _Prepared(call, pieces), {"run": self._parent, "step": place[0], "call": place[1]}

    def not_recorded(self, question: Question) -> NotRecorded:
        """What to raise where none is left: it names the call, and the recorded one that is nearest."""
        with self._lock, store_at_work():
            left = {place for places in self._recorded().values() for place in places}
            named = self._by_name.get((question.kind, question.name), [])
            calls = [self._call(place) for place in named if place in left][:_LOOKED_AT]
            used = len(named) - len(calls)
            was_denied = (question.kind, question.name, question.signature) in self._denied
            name = self._source.run(self._parent).name if self._parent else "the parent"
        what = f"{question.name}({_shown(question.args)})"
        if was_denied or not calls:
            why = f"{name} never called it after the fork's step"
            if was_denied:
                why = f"{name} was not let call it either"
            elif named:
                why = f"{name} called it only {used} times" if used > 1 else f"{name} called it only once"
            message = f"{what} is to be answered as it was recorded, but {why}"
        else:
            nearest = max(calls, key=lambda call: shared_words(changed_parts(call.kind, call.args, question.args)))
            message = (
                f"{what} is to be answered as it was recorded, but {name} did not ask that;"
                f" nearest is step {nearest.step}: {nearest.name}({_shown(nearest.args)})"
            )
        hint = "say what else is to become of it, for example --policy 'NAME=recorded-or-ask', or --allow it"
        return NotRecorded(message, hint)

    def given(self, question: Question, value: Wire, error: ErrorInfo | None) -> Served:
        """What a person gave, in the form of the call's answers.

        Raises:
            UsageError: such a call cannot be answered so.
        """
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
            used, kept = self._used_before(), self._run.fork_step or 0
            steps = self._source.steps(self._parent) if self._parent else []
            later = [*steps[kept:], *(steps[:kept] if self._run.way_back_in != "replay" else ())]
            for step in later:
                for call in self._source.calls(self._parent, step.number) if step.calls else ():
                    if call.status == "denied":
                        self._denied.add((call.kind, call.name, call.signature))
                    if call.status not in ("ok", "error"):
                        continue
                    place = call.step, call.number
                    self._by_name.setdefault((call.kind, call.name), []).append(place)
                    if place not in used:
                        found[call.kind, call.name, call.signature].append(place)
            self._by_question = found
        return self._by_question

    def _used_before(self) -> set[Place]:
        """Answers that this fork was given before it broke off and went on."""
        used: set[Place] = set()
        for step in self._source.steps(self._run.id, (self._run.fork_step or 0) + 1):
            for call in self._source.calls(self._run.id, step.number) if step.calls else ():
                policy = call.meta.get(POLICY)
                place = policy.get("from") if isinstance(policy, dict) else None
                if isinstance(place, dict) and place.get("run") == self._parent:
                    number, index = place.get("step"), place.get("call")
                    if isinstance(number, int) and isinstance(index, int):
                        used.add((number, index))
        return used


class _Prepared(MadeUp):
    """An answer that is there at once, and that nobody made up."""

    def read_past(self, why: str = "it was not read to its end when it was recorded") -> BaseException:
        """What to raise where the agent wants more of an answer than there is."""
        return NotRecorded(f"of the answer of {self.call.name} no more is recorded: {why}")


def given_answer(
    question: Question,
    value: Wire,
    error: ErrorInfo | None,
    *,
    like: Call | None = None,
    is_planned: bool = False,
) -> Served:
    """An answer that a person gave to a call.

    Args:
        question: the call.
        value: what is given: of a request `{"status", "headers", "body"}`, or the body alone; of a model its words,
            its tool calls, or a whole answer of the provider's; of a generator a list, or `{"yielded", "returned"}`.
        error: what is raised in its place.
        like: a recorded call of the same, whose answer has the form that is wanted.
        is_planned: whether the agent's process is still to come, so that its classes are not loaded here.

    Raises:
        UsageError: such a call cannot be answered so.
    """
    if question.kind in ("subprocess", "socket") or question.name == _SESSION:
        raise UsageError(
            f"{question.name} cannot be given an answer: a process or a connection is behind it",
            hint="let it run, ask, or deny it",
        )
    meta = {} if like is None else {key: like.meta[key] for key in ("returned_as",) if key in like.meta}
    call = Call(0, 0, question.kind, question.name, "ok", args=question.args, meta=meta)
    if error is not None:
        failing = _Prepared(replace(call, status="error", error=error), ())
        if not is_planned:
            _check(failing.failure, question)
        return failing
    try:
        made, pieces = _made(call, value, like)
    except InvalidEdit as wrong:
        raise UsageError(f"{question.name} cannot be answered so: {wrong.message}", hint=wrong.hint) from wrong
    served = _Prepared(made, pieces)
    if not is_planned:
        _check(lambda: served.value(made.result), question)
    return served


def _made(call: Call, value: Wire, like: Call | None) -> tuple[Call, Sequence[Delivery]]:
    if isinstance(call.args, dict) and {"server", "method", "params"} <= call.args.keys():
        return replace(call, result=_reply(value)), ()
    is_request = isinstance(call.args, dict) and {"method", "url"} <= call.args.keys()
    is_whole = isinstance(value, dict) and isinstance(value.get("status"), int)
    if is_request:
        head = Delivery(1, "chunk", 0, {"status": 200, "headers": []})
        if call.kind == "llm" and not is_whole:
            with suppress(InvalidEdit):  # it is no answer in words: then it is the body
                return edited_call(call, [head], [Edit("set", "", value, target="answer")])
        answer: Wire = value if is_whole else {"status": 200, "body": value}
        return edited_call(call, [head], [Edit("set", "", answer, target="result")])
    if call.kind == "llm" and like is not None and like.status == "ok":
        made, _ = edited_call(replace(like, meta=call.meta), (), [Edit("set", "", value, target="answer")])
        value = made.result
    return replace(call, result=value), _pieces(value)


def _reply(value: Wire) -> Wire:
    """What an MCP server says: a whole reply, the result of a tool, or what stands in that."""
    if isinstance(value, dict) and ("result" in value or "error" in value):
        return value
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        return {"result": value}
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    result: dict[str, Wire] = {"content": [{"type": "text", "text": text}], "isError": False}
    return {"result": {**result, "structuredContent": value} if isinstance(value, dict) else result}


def _pieces(value: Wire) -> tuple[Delivery, ...]:
    """What a generator gives; a plain function gives the value, and nobody asks for these."""
    items: Sequence[Wire] = value if isinstance(value, list) else [] if value is None else [value]
    returned: Wire = None
    if isinstance(value, dict) and isinstance(value.get("yielded"), list):
        items, returned = value["yielded"], value.get("returned")  # type: ignore[assignment]
    chunks = [Delivery(number, "chunk", 0, item) for number, item in enumerate(items, 1)]
    return (*chunks, Delivery(len(chunks) + 1, "end", 0, returned))


def _check(make: Callable[[], object], question: Question) -> None:
    try:
        make()
    except NotRebuildable as error:
        raise UsageError(f"{question.name} cannot be answered so: {error.message}", hint=error.hint) from error


def _shown(args: Wire) -> str:
    if isinstance(args, dict):
        counted = {key: value for key, value in args.items() if key != "headers"}
        text = ", ".join(f"{name}={pretty(value)}" for name, value in counted.items())
    else:
        text = describe(args)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
