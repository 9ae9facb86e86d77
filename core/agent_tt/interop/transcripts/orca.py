"""Traces of OrcaReplay: `events.jsonl` in the folder of a run, with `manifest.json` and the folder `blobs` beside it.

| event | is |
|---|---|
| `model.request`, `model.response` | a model call, as it was sent and came; without these what `attrs` say of it |
| `tool.call`, `tool.result` | a tool that an answer asked for, and what came of it |
| `shell.exec`, `mcp.request`, `net.request`, and what came of them | a call in the step that they stand in |
| `fs.snapshot` | the state of the folder that the agent works in, as `workspace` |
| `error` | a step that says what failed |
| `run.end` | how the run ended, by its exit code |
| anything else | shown with the step that it stands in |

What is large stands in `blobs` by its digest. That is checked, as is that of the events; what differs is said.

Source of the format: Orca Trace Format v0, github.com/Continuum-AI-Corp/OrcaReplay, spec/orca-trace-v0.md.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt.interop.transcripts.beside import Room
from agent_tt.interop.transcripts.spans import ModelWork, Remark, Span, ToolWork, TraceTelling, parsed
from agent_tt.interop.transcripts.telling import micros, wire
from agent_tt.interop.transcripts.transcript import ToldCall
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import count, dicts, first_line, items, mapping, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.reading import read_answer, recognise
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.model import CallKind, RunStatus
    from agent_tt.providers.shapes import Json, ModelCall

__all__ = ["read_orca"]

_ENVELOPE: Final = "seq", "mono_us", "turn", "type", "actor"
_BLOB: Final = re.compile(r"sha256:([0-9a-f]{64})")
_PATHS: Final = {"anthropic": "/v1/messages", "openai-responses": "/v1/responses", "responses": "/v1/responses"}
_ANY_PATH: Final = "/v1/chat/completions", "/v1/messages", "/v1/responses"
_OUTSIDE: Final[dict[str, tuple[str, CallKind]]] = {
    "shell.exec": ("shell.result", "subprocess"), "mcp.request": ("mcp.response", "tool"),
    "net.request": ("net.response", "http"),
}  # fmt: skip
"""Calls that the recorder saw beside the conversation, with the events of their ends."""

_ANSWERS: Final = "model.response", "tool.result", "shell.result", "mcp.response", "net.response"
_HEAD: Final = "schema_version", "orca_version", "adapter", "argv", "cwd", "git", "parent_run_id", "forked_from"


def read_orca(document: Document) -> Sequence[Transcript] | None:
    """Read a trace of OrcaReplay as a run; None where the document has another format."""
    first = document.entries[0].value if document.entries else {}
    if not all(key in first for key in _ENVELOPE) or not text(first.get("type")):
        return None
    events = [line.value for line in document.entries]
    return [_Telling(document, events).told()]


class _Telling:
    """Tells the events of a run, one after another."""

    def __init__(self, document: Document, events: list[dict[str, Json]]) -> None:
        self._folder, self._room, self._document = document.path.parent, Room(), document
        about = self._folder / "manifest.json"
        self._manifest = (self._room.object(about) or {}) if about.is_file() else {}
        self._events = events
        self._name = text(self._manifest.get("run_id")) or (
            self._folder.name if document.path.name == "events.jsonl" else document.path.stem
        )
        self._telling = TraceTelling(self._name, {}, "OrcaReplay")
        self._by_seq = {seq: event for event in events if (seq := count(event.get("seq"))) is not None}
        self._answers: dict[int, dict[str, Json]] = {}
        for kind, event in ((text(event.get("type")), event) for event in events):
            if kind in _ANSWERS:
                self._pair(event, kind)

    def _pair(self, event: dict[str, Json], kind: str) -> None:
        """Find what an event is the answer to: what it names as its cause, else the last of its turn without one."""
        begun = {"model.response": "model.request", "tool.result": "tool.call"}.get(kind)
        begun = begun or next(begins for begins, (ends, _) in _OUTSIDE.items() if ends == kind)
        seq = count(event.get("seq")) or 0
        causes = [cause for each in items(event.get("causes")) if (cause := count(each)) is not None]
        named = [cause for cause in causes if text(self._by_seq.get(cause, {}).get("type")) == begun]
        if not named:
            tool = mapping(event.get("attrs")).get("tool_use_id")
            earlier = [at for at, each in self._by_seq.items() if at < seq and each.get("type") == begun]
            if tool is not None:
                named = [at for at in earlier if mapping(self._by_seq[at].get("attrs")).get("tool_use_id") == tool]
            elif begun != "tool.call":
                named = [at for at in earlier[-1:] if self._by_seq[at].get("turn") == event.get("turn")]
        for cause in named[-1:]:
            self._answers.setdefault(cause, event)

    def told(self) -> Transcript:
        """Tell all of them."""
        status: RunStatus = "unknown"
        error: ErrorInfo | None = None
        flaws = [*self._document.flaws]
        teller = self._telling.teller
        for line in self._document.entries:
            while flaws and flaws[0].line < line.number:
                teller.flaw(str(flaws.pop(0)))
            event = line.value
            kind = text(event.get("type"))
            if kind == "run.end":
                code = count(mapping(event.get("attrs")).get("exit_code"))
                status = "unknown" if code is None else "failed" if code else "succeeded"
                error = ErrorInfo("Exit", f"exit code {code}") if code else None
                self._check(teller.flaw)
            self._tell(event, kind)
        for flaw in [*map(str, flaws), *self._room.flaws]:
            teller.flaw(flaw)
        self._telling.end()
        metadata: dict[str, Wire] = {key: wire(self._manifest[key]) for key in _HEAD if self._manifest.get(key)}
        return teller.done(status=status, error=error, model=self._telling.model or None, metadata=metadata)

    def _check(self, flaw: Callable[[str], None]) -> None:
        """Say where the events are not those that the manifest was written for."""
        known = text(mapping(self._manifest.get("integrity")).get("events_sha256"))
        if known and self._document.path.name == "events.jsonl":
            body = self._room.body(self._document.path)
            if body is not None and hashlib.sha256(body).hexdigest() != known:
                flaw("the events are not those that the manifest was written for: their digest is another one")

    def _tell(self, event: dict[str, Json], kind: str) -> None:
        lane, seq, at_us = self._telling.teller.main, count(event.get("seq")) or 0, micros(event.get("ts"))
        attrs, came = mapping(event.get("attrs")), self._answers.get(seq)
        ended_us = micros(mapping(came).get("ts")) if came else None
        if kind == "model.request":
            self._asked(event, came, at_us, ended_us)
        elif kind == "tool.call":
            self._tool(event, came, at_us, ended_us)
        elif kind in _OUTSIDE:
            self._outside(kind, event, came, at_us, ended_us)
        elif kind == "error":
            words = text(attrs.get("message")) or ", ".join(f"{key} {value}" for key, value in attrs.items())
            failed = ErrorInfo(text(attrs.get("kind")) or "Error", first_line(words))
            self._telling.tell(
                Span("", "", "", kind, at_us, at_us, {}, failed, does=Remark(event, kind, failed.short)),
                is_of_models=True,
            )
        elif kind not in _ANSWERS:
            if kind == "fs.snapshot" and text(attrs.get("tree")):
                lane.beside = {**lane.beside, "workspace": text(attrs["tree"])}
            payload = self._payload(event)
            lane.note({**event, "payload": payload} if payload is not None else event)

    def _asked(
        self, event: dict[str, Json], came: dict[str, Json] | None, at_us: int | None, ended_us: int | None
    ) -> None:
        attrs, told = mapping(event.get("attrs")), mapping(mapping(came).get("attrs"))
        given = self._payload(event)
        call = _call(attrs, given)
        body = self._payload(came) if came else None
        known = ModelAnswer(model=text(attrs.get("model")))
        if call is not None and body is not None:
            raw = _bytes(body)
            kind = "text/event-stream" if raw.lstrip().startswith((b"data:", b"event:")) else "application/json"
            known = read_answer(call, count(told.get("status")) or 200, {"content-type": kind}, raw)
        if known.tokens.input is None and known.tokens.output is None:
            tokens = Tokens(input=count(told.get("input_tokens")), output=count(told.get("output_tokens")))
            model = text(told.get("model")) or known.model
            known = replace(known, model=model, tokens=tokens, cost_usd=cost_of(model, tokens))
        if not known.finish_reason:
            known = replace(known, finish_reason=text(told.get("stop_reason")))
        said = [mapping(turn) for turn in known.turns] or self._said(came)
        shown = dicts(call.conversation.get(call.turns)) if call and call.turns else []
        lane = self._telling.teller.main
        if call is not None:
            beside = {key: wire(value) for key, value in call.conversation.items() if key != call.turns or not shown}
            lane.beside = {key: value for key, value in lane.beside.items() if key == "workspace"} | beside
        work = ModelWork(shown or [mapping(each) for each in lane.said], said, known)
        self._telling.tell(Span("", "", "", "model", at_us, ended_us, {}, does=work), is_of_models=True)
        told_call = self._telling.teller.steps[-1].calls[0]
        if came is None:
            told_call.status = "pending"
        if not shown and given is None:  # what it was shown is not in the file
            told_call.asked, told_call.args = None, None

    def _said(self, came: dict[str, Json] | None) -> list[dict[str, Json]]:
        """An answer whose bytes are not kept, by the tools that it asked for."""
        seq = count(mapping(came).get("seq"))
        caused = [each for each in self._events if each.get("type") == "tool.call" and seq in items(each.get("causes"))]
        asked: list[Json] = []
        for attrs in (mapping(each.get("attrs")) for each in caused):
            function: Json = {"name": attrs.get("name"), "arguments": _given(attrs)}
            named: dict[str, Json] = {"id": attrs["tool_use_id"]} if text(attrs.get("tool_use_id")) else {}
            asked.append({**named, "type": "function", "function": function})
        return [{"role": "assistant", "content": None, "tool_calls": asked}] if asked else []

    def _tool(
        self, event: dict[str, Json], came: dict[str, Json] | None, at_us: int | None, ended_us: int | None
    ) -> None:
        attrs, told = mapping(event.get("attrs")), mapping(mapping(came).get("attrs"))
        name, result = text(attrs.get("name")) or "tool", self._payload(came) if came else None
        failed = ErrorInfo("tool:ToolError", first_line(str(result))) if told.get("is_error") is True else None
        work = ToolWork(name, _given(attrs), result, text(attrs.get("tool_use_id")), is_over=came is not None)
        self._telling.tell(Span("", "", "", name, at_us, ended_us, {}, failed, does=work), is_of_models=True)

    def _outside(
        self, kind: str, event: dict[str, Json], came: dict[str, Json] | None, at_us: int | None, ended_us: int | None
    ) -> None:
        teller, attrs = self._telling.teller, mapping(event.get("attrs"))
        told = mapping(mapping(came).get("attrs"))
        named = attrs.get("argv", attrs.get("command", attrs.get("method", attrs.get("url"))))
        name = " ".join(map(str, named)) if isinstance(named, list) else text(named) or kind
        step = teller.steps[-1] if teller.steps else teller.main.step(kind, at_us)
        payload = self._payload(event)
        given = wire(attrs if payload is None else {**attrs, "payload": payload})
        call = ToldCall(_OUTSIDE[kind][1], name[:200], "pending", None, given, started_us=at_us, ended_us=ended_us)
        if came is not None:
            answer = self._payload(came)
            code = count(told.get("exit_code"))
            status = count(told.get("status"))
            call.status = "error" if code or (status or 0) >= 400 or told.get("is_error") is True else "ok"
            call.result = wire(told if answer is None else {**told, "payload": answer})
            if call.status == "error":
                call.error = ErrorInfo("Exit", f"exit code {code}" if code else first_line(str(answer)))
        step.calls.append(call)

    def _payload(self, event: dict[str, Json]) -> Json:
        """What an event carries: itself, or the blob that it names."""
        payload = event.get("payload")
        named = _BLOB.fullmatch(text(mapping(payload).get("$blob")))
        if named is None:
            return payload
        path = self._folder / "blobs" / named[1][:2] / named[1]
        body = self._room.body(path)
        if body is None:
            return None
        if hashlib.sha256(body).hexdigest() != named[1]:
            self._room.flaws.append(f"the blob {named[1][:12]} is left out: it is not what its name says")
            return None
        try:
            return body.decode()
        except UnicodeDecodeError:
            self._room.flaws.append(f"the blob {named[1][:12]} is left out: it is no text")
            return None


def _given(attrs: dict[str, Json]) -> Json:
    """What a tool was given: `input`, or what stands there in its place."""
    if "input" in attrs:
        return attrs["input"]
    return {key: value for key, value in attrs.items() if key not in ("name", "tool_use_id")}


def _call(attrs: dict[str, Json], given: Json) -> ModelCall | None:
    """The model call that a request makes, by its path or, where that is not said, by its shape."""
    body = parsed(given)
    if not isinstance(body, dict):
        return None
    named = text(attrs.get("path")) or _PATHS.get(text(attrs.get("dialect")), "")
    if not named and "max_tokens" in body and "system" in body:
        named = "/v1/messages"
    tried = [named] if named else _ANY_PATH
    return next((call for path in tried if (call := recognise("POST", path, {}, body)) is not None), None)


def _bytes(body: Json) -> bytes:
    return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else orjson.dumps(body)
