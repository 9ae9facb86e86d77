"""Edits of what came back of a call: a tool's result or error, a model's answer.

Written as `STEP[.CALL][.PATH]=VALUE`. The edited call is served in place of the recorded one; an answer that came over
the network gets the form that its client reads: the provider's own, plain or streamed.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from agent_tt.codec.encode import encode
from agent_tt.codec.parse import parse_value
from agent_tt.codec.paths import get, parse_path, to_wire_path
from agent_tt.codec.text import describe
from agent_tt.codec.wire import TYPE, Wire
from agent_tt.errors import InvalidEdit, InvalidValue, PathNotFound, UsageError
from agent_tt.forking.editing.answer_text import answer_of, message_in
from agent_tt.forking.editing.assignments import split_assignment
from agent_tt.forking.editing.edits import WrittenEdit, apply_edits
from agent_tt.forking.editing.json_text import read_inside
from agent_tt.model import Delivery, Edit
from agent_tt.model.error_text import error_from_text, is_error_text
from agent_tt.model.facts import CallFacts
from agent_tt.providers.chat_form import message_of, message_with
from agent_tt.providers.reading import recorded_answer, recorded_call
from agent_tt.providers.replies import read_reply, written_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Call, EditTarget, Step
    from agent_tt.protocols import RunSource
    from agent_tt.providers import ModelCall
    from agent_tt.providers.shapes import Json

__all__ = ["CALLS", "edited_call", "parse_call_edit", "with_recorded_values"]

CALLS: Final = frozenset({"result", "error", "answer"})
"""What edits of a call change."""

_PLACE: Final = re.compile(r"\s*(\d+)(?:\.(\d+))?(?=[.\[=]|\s*$)\.?")
_SWITCHING: Final = 101
_FRAMING: Final = frozenset({"content-length", "content-encoding", "transfer-encoding"})
_SESSION: Final = "mcp server"
_HOW_IT_CAME: Final = CallFacts.pace.key, CallFacts.paces.key


# ---------------------------------------------------------------- written and read


def parse_call_edit(text: str, target: EditTarget) -> Edit:
    """Read `STEP[.CALL][.PATH]=VALUE` of a `result`, an `error` or an `answer`.

    VALUE is JSON; of an error `Class: text`, of an answer its words or `[{"name": …, "arguments": {…}}]`. That of a
    `result` gets the type of what it replaces (`WrittenEdit`).

    Raises:
        InvalidEdit: it has another form.
        InvalidPath: what stands behind the call is not a path.
        InvalidValue: what stands behind the `=` is not JSON, where it has to be.
    """
    found = _PLACE.match(text)
    if found is None or "=" not in text[found.end() - 1 :]:
        example = {"result": "6.1.price=20", "error": '6.1="TimeoutError: no answer"', "answer": '6="Refuse it."'}
        raise InvalidEdit(f"{text!r} is not STEP[.CALL]=VALUE", hint=f"for example --{target} {example[target]}")
    path, value = split_assignment(text[found.end() :])
    if target != "result" and path:
        raise InvalidEdit(f"--{target} {text}: an {target} is changed as a whole", hint="leave out the path")
    step, call = int(found[1]), None if found[2] is None else int(found[2])
    try:
        wire = parse_value(value)
    except InvalidValue as error:
        if target == "result":
            raise InvalidValue(f"{text}: {error}", line=error.line, column=error.column, hint=error.hint) from error
        wire = value
    if target == "answer" and not isinstance(wire, str | list | dict):
        wire = value
    if target == "error" and not (isinstance(wire, str) and is_error_text(wire)):
        raise InvalidEdit(f"--error {text}: VALUE is not an exception", hint='for example "TimeoutError: no answer"')
    if target == "result":
        return WrittenEdit("set", path, wire, target=target, step=step, call=call, written=value)
    return Edit("set", path, wire, target=target, step=step, call=call)


def with_recorded_values(
    source: RunSource, run_id: str, steps: Sequence[Step], edits: Sequence[Edit]
) -> tuple[Edit, ...]:
    """The same edits, each with its call and with what came back of it.

    Raises:
        InvalidEdit: there is no such step or call, several may be meant, an answer of this kind cannot be edited, or
            what was written cannot be read as the type of what is there.
    """
    known: list[Edit] = []
    calls: dict[tuple[int, int], tuple[Call, Sequence[Delivery]]] = {}
    for edit in edits:
        found = _call_of(source, run_id, steps, edit)
        place = (found.step, found.number)
        if place not in calls:
            calls[place] = found, source.deliveries(run_id, found.step, found.number)
        call, pieces = calls[place]
        old = _old(call, edit)
        known.append(replace(_typed(call, edit, old), call=found.number, old=old))
        calls[place] = edited_call(call, pieces, known[-1:])
    return tuple(known)


def _call_of(source: RunSource, run_id: str, steps: Sequence[Step], edit: Edit) -> Call:
    number = edit.step or 0
    if not 1 <= number <= len(steps):
        why = f"there is no step {number}, whose {edit.target} is to be edited"
        raise InvalidEdit(why, hint=f"name one from 1 to {len(steps)}" if steps else "the run has no steps")
    calls = source.calls(run_id, number)
    step = f"step {number} {steps[number - 1].name}"
    if not calls:
        raise InvalidEdit(f"{step} made no call, so it has no {edit.target}", hint="its state can be edited instead")
    if edit.call is not None:
        if not 1 <= edit.call <= len(calls):
            raise InvalidEdit(f"{step} has no call {edit.call}", hint=f"its calls are {_listed(calls)}")
        found = calls[edit.call - 1]
        around = found.facts.inside
        if around is not None:
            raise InvalidEdit(
                f"{found.name} (call {edit.call} of {step}) was called inside another call,"
                " which is answered as a whole: the edit would have no effect",
                hint=f"edit that one: --{edit.target} {around[0]}.{around[1]}=VALUE",
            )
        return found
    wanted = [call for call in calls if (call.kind == "llm") == (edit.target == "answer")]
    outer = [call for call in wanted if not CallFacts.inside.is_in(call.meta)] or wanted
    if not outer:
        why, other = ("asks no model", "result") if edit.target == "answer" else ("only asks a model", "answer")
        raise InvalidEdit(
            f"{step} {why}, so it has no {edit.target}",
            hint=f"its calls are {_listed(calls)}: use --{other} {number}.CALL=VALUE",
        )
    if len(outer) > 1:
        kind = "model calls" if edit.target == "answer" else "calls"
        raise InvalidEdit(
            f"{step} has {len(outer)} {kind}, so say which one",
            hint=f"write {number}.CALL; its calls are {_listed(calls)}",
        )
    return outer[0]


def _listed(calls: Sequence[Call]) -> str:
    return ", ".join(f"{call.step}.{call.number} {call.name}" for call in calls)


def _typed(call: Call, edit: Edit, old: Wire) -> Edit:
    if not isinstance(edit, WrittenEdit):
        return edit
    other = "for another type, give the value around it" if edit.path else "edit a part of it"
    otherwise = f'{other}, or a typed value as `agent-tt show` prints it: {{"$type": …}}'
    return edit.typed_like(old, _label(call, edit), otherwise)


def _label(call: Call, edit: Edit) -> str:
    return f"{edit.target} of {call.name} (call {call.number} of step {call.step})"


def _old(call: Call, edit: Edit) -> Wire:
    if edit.target == "answer" and call.error is None:
        return answer_of(call) or None
    if edit.target == "error" or (call.error is not None and not edit.path):
        return None if call.error is None else call.error.short
    try:
        return read_inside(call.result, parse_path(edit.path))
    except PathNotFound:
        return None


# ---------------------------------------------------------------- applied


def edited_call(call: Call, pieces: Sequence[Delivery], edits: Sequence[Edit]) -> tuple[Call, Sequence[Delivery]]:
    """A recorded call with another answer, and the pieces in which that reaches the agent.

    Raises:
        InvalidEdit: an edit does not fit what came back, or answers of this kind cannot be edited.
    """
    for edit in edits:
        call, pieces = _edited(call, pieces, edit)
    facts = {key: fact for key, fact in call.meta.items() if key not in _HOW_IT_CAME}
    return replace(call, meta=facts), pieces


def _edited(call: Call, pieces: Sequence[Delivery], edit: Edit) -> tuple[Call, Sequence[Delivery]]:
    label = _label(call, edit)
    if call.status == "pending":
        raise InvalidEdit(f"{label}: it has no result that could be edited", hint="fork at the step before")
    if call.name == _SESSION or (isinstance(call.result, dict) and call.result.get("status") == _SWITCHING):
        raise InvalidEdit(f"{label}: answers of a connection that stays open cannot be edited")
    if edit.target == "error":
        delivered = pieces[-1].number if pieces else call.delivered
        try:
            error = error_from_text(str(edit.value))
        except UsageError as wrong:
            raise InvalidEdit(f"{label}: {wrong.message}", hint=wrong.hint) from wrong
        return replace(call, status="error", error=error, result=None, delivered=delivered), ()
    is_exchange = _is_exchange(call)
    if edit.target == "answer":
        if call.kind != "llm":
            raise InvalidEdit(f"{label}: it asks no model", hint=f"use --result {call.step}.{call.number}=VALUE")
        model_call = recorded_call(call.args) if is_exchange else None
        if model_call is not None:
            return _with_answer(call, pieces, edit, model_call, label)
        return _with_result(call, pieces, _said(call, edit, label), label)
    if is_exchange:
        return _with_body(call, pieces, edit, label)
    return _with_result(call, pieces, _applied(call, edit, label), label)


def _is_exchange(call: Call) -> bool:
    args = call.args
    return isinstance(args, dict) and {"method", "url"} <= set(args)


def _applied(call: Call, edit: Edit, label: str) -> Wire:
    if call.error is not None and edit.path:
        raise InvalidEdit(f"{label}: it raised {call.error.short}", hint="give the whole result, without a path")
    plain = Edit(edit.op, edit.path, edit.value, to=edit.to)
    try:
        return apply_edits(call.result, [plain])
    except InvalidEdit as error:
        why = error.message.replace("the state", "the result")
        raise InvalidEdit(f"{label}: {why}", hint=error.hint) from error


def _with_result(call: Call, pieces: Sequence[Delivery], result: Wire, label: str) -> tuple[Call, Sequence[Delivery]]:
    """A function's answer; of a generator each piece of it."""
    changed = replace(call, status="ok", error=None, result=result)
    if not pieces:
        return changed, ()
    yielded = result.get("yielded") if isinstance(result, dict) else None
    if not isinstance(yielded, list) or not isinstance(result, dict):
        raise InvalidEdit(
            f"{label}: it gave its answer in pieces", hint="edit one of them: --result STEP.CALL.yielded[0]=VALUE"
        )
    numbers = [piece.number for piece in pieces]
    last = numbers[-1]
    made = [
        Delivery(numbers[min(index, len(numbers) - 1)], "chunk", pieces[0].at_us, item)
        for index, item in enumerate(yielded)
    ]
    return changed, (*made, Delivery(last, "end", pieces[-1].at_us, result.get("returned")))


# ---------------------------------------------------------------- answers of models


def _said(call: Call, edit: Edit, label: str) -> Wire:
    """What a function that asks a model gives, when the model says something else."""
    result, value = call.result, edit.value
    if call.error is None and isinstance(result, str) and isinstance(value, str):
        return value
    way = message_in(result)
    message = {} if way is None else cast("dict[str, Json]", get(result, to_wire_path(result, parse_path(way))))
    reply = read_reply(value, message_of(message).calls)
    if way is not None and reply is not None:
        changed = message_with(message, reply)
        return apply_edits(result, [Edit("set", way, changed)]) if way else changed
    if isinstance(value, str) and not isinstance(result, str | None):
        raise InvalidEdit(
            f"{label}: it gave a {describe(result)}, not words",
            hint=f"change a part of it: --result {call.step}.{call.number}.PATH=VALUE",
        )
    return value


def _with_answer(
    call: Call, pieces: Sequence[Delivery], edit: Edit, model_call: ModelCall, label: str
) -> tuple[Call, Sequence[Delivery]]:
    """A provider's answer."""
    result = call.result if isinstance(call.result, dict) else {}
    answer = recorded_answer(model_call, call.result)
    asked = [asked for message in answer.messages for asked in message.calls]
    reply = read_reply(edit.value, asked)
    if reply is None:
        raise InvalidEdit(
            f"{label}: VALUE is not an answer",
            hint='give its words, or [{"name": "tool", "arguments": {…}}], or {"text": …, "tool_calls": […]}',
        )
    headers = result.get("headers")
    kind = str(headers.get("content-type", "")) if isinstance(headers, dict) else ""
    recorded, status = result.get("body"), result.get("status")
    ok = isinstance(status, int) and status < 400
    kind = kind.partition(";")[0].strip().lower() if ok else ("text/event-stream" if model_call.streamed else "")
    written = written_answer(model_call, recorded if ok else {}, answer, reply, kind)
    if written is None:
        raise InvalidEdit(f"{label}: a streamed answer of {model_call.api} cannot be written")
    content_type, body = written
    return _exchanged(call, pieces, 200, content_type, body, label)


def _with_body(call: Call, pieces: Sequence[Delivery], edit: Edit, label: str) -> tuple[Call, Sequence[Delivery]]:
    """The answer to a request: `{"status", "headers", "body"}` with another body or status."""
    result = _applied(call, edit, label)
    if not isinstance(result, dict) or not isinstance(result.get("status"), int):
        raise InvalidEdit(
            f"{label}: an answer has a status, headers and a body",
            hint=f"change one of them: --result {call.step}.{call.number}.body=VALUE",
        )
    headers, body = result.get("headers"), result.get("body")
    kind = str(headers.get("content-type", "")) if isinstance(headers, dict) else ""
    if isinstance(body, str) and "json" not in kind:
        payload = body.encode("utf-8", "surrogatepass")
    elif body is None:
        payload = b""
    elif isinstance(body, dict) and TYPE in body:
        raise InvalidEdit(f"{label}: a body of bytes cannot be edited")
    else:
        payload, kind = json.dumps(body, ensure_ascii=False).encode(), kind or "application/json"
    return _exchanged(call, pieces, cast("int", result["status"]), kind, payload, label)


def _exchanged(
    call: Call, pieces: Sequence[Delivery], status: int, content_type: str, body: bytes, label: str
) -> tuple[Call, Sequence[Delivery]]:
    """An exchange with another answer, in the form in which the recorded one was received."""
    if not pieces:
        raise InvalidEdit(f"{label}: no answer came back that could be edited", hint="edit its error, or a later call")
    numbers = [piece.number for piece in pieces]
    first, last, at = numbers[0], numbers[-1], pieces[0].at_us
    data = pieces[0].data
    is_head = isinstance(data, dict) and "status" in data and TYPE not in data
    before = data.get("headers") if isinstance(data, dict) and is_head else []
    kept = [
        [str(pair[0]), str(pair[1])]
        for pair in (before if isinstance(before, list) else [])
        if isinstance(pair, list) and str(pair[0]).lower() not in {*_FRAMING, "content-type"}
    ]
    headers = [*kept, ["content-type", content_type], ["content-length", str(len(body))]]
    shown: Wire = {"content-type": content_type, "content-length": str(len(body))}
    result: dict[str, Wire] = {"status": status, "headers": shown, "body": _readable(content_type, body)}
    changed = replace(call, status="ok", error=None, result=result)
    if is_head:
        middle = numbers[min(1, len(numbers) - 1)]
        head: dict[str, Wire] = {"status": status, "headers": cast("Wire", headers), "http_version": "HTTP/1.1"}
        chunks = (Delivery(first, "chunk", at, head), Delivery(middle, "chunk", at, encode(body)))
        return changed, (*chunks, Delivery(last, "end", pieces[-1].at_us))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    wire = f"HTTP/1.1 {status} \r\n{lines}\r\n".encode("latin-1", "replace") + body
    return changed, (Delivery(first, "chunk", at, encode(wire)), Delivery(last, "end", pieces[-1].at_us))


def _readable(content_type: str, body: bytes) -> Wire:
    if "json" in content_type:
        try:
            return cast("Wire", json.loads(body))
        except ValueError:
            pass
    return body.decode("utf-8", "replace")
