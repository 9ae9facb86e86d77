"""Answers that a person wrote for calls that a fork does not make, in the form that the agent expects.

That is a result, pieces of a generator, the answer to a request, a provider's answer, plain or streamed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.errors import InvalidEdit, NotRebuildable, UsageError
from agent_tt.forking.editing.call_edits import edited_call
from agent_tt.forking.entry.mock_model import MadeUp
from agent_tt.intercepting.policy_enforcement import NotRecorded
from agent_tt.model import Call, Delivery, Edit
from agent_tt.model.facts import CallFacts
from agent_tt.recording.concurrency.tasks import trio_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import ErrorInfo
    from agent_tt.recording.calls.answers import Question, Served

__all__ = ["Prepared", "given_answer"]

_PATIENCE_SECONDS: Final = 5.0
"""How much longer a call that was given up is waited for."""

_SESSION: Final = "mcp server"
"""What the call is called that connects to a server."""


class Prepared(MadeUp):
    """An answer that is there at once, and that nobody made up.

    One that a coroutine gave up before it came does not come here either: whoever waits is to give it up again.
    """

    async def turn(self, index: int = 0) -> None:
        """See `agent_tt.recording.calls.answers.Served`."""
        began, ended = self.call.started_us, self.call.ended_us
        came = max(len(self.pieces), 1) - 1  # the last is how it ended
        if not self.call.facts.cancelled or index < came or trio_task() is not None:
            await super().turn(index)
            return
        import asyncio  # who waits in a task has loaded it

        lasted = max(0, (ended or 0) - (began or 0)) / 1e6 if began else 0.0
        await asyncio.sleep(lasted + _PATIENCE_SECONDS)
        raise NotRecorded(
            f"{self.call.name} was given up before it answered when it was recorded, {lasted:.3g} s after it was asked:"
            " no answer of it is recorded",
            "say what else is to become of it, or allow it",
        )

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
    returned_as = None if like is None else like.facts.returned_as
    meta = {} if returned_as is None else CallFacts.returned_as.entry(returned_as)
    call = Call(0, 0, question.kind, question.name, "ok", args=question.args, meta=meta)
    if error is not None:
        failing = Prepared(replace(call, status="error", error=error), ())
        if not is_planned:
            _check(failing.failure, question)
        return failing
    try:
        made, pieces = _made(call, value, like)
    except InvalidEdit as wrong:
        raise UsageError(f"{question.name} cannot be answered so: {wrong.message}", hint=wrong.hint) from wrong
    served = Prepared(made, pieces)
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
            with suppress(InvalidEdit):  # it is not an answer in words: then it is the body
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
