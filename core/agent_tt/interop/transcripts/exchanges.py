"""Requests to models with what was answered: batches, and logs that keep both.

| file | request | answer |
|---|---|---|
| batch of OpenAI | `body`, sent to `url` | `response.body` with `response.status_code`, or `error` |
| batch of Anthropic | `params`, also under `requests` | `result.message`, or `result.error` |
| batch of Gemini | `request` | `response`, or `error` |
| log of one call | `request`; or `messages` and what else stands beside | `response` |
| an answer as it came | none | the value itself |

The two files of a batch are told together where both lie in one folder: what belongs together has one `custom_id` (of
Gemini `key`). Each request is a run; of one without an answer its conversation is told.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.interop.transcripts.beside import Room, files_in
from agent_tt.interop.transcripts.chat import beside, tell_turns
from agent_tt.interop.transcripts.spans import ModelWork, Span, TraceTelling
from agent_tt.interop.transcripts.telling import micros, wire
from agent_tt.interop.transcripts.transcript import Promise, ToldCall
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import count, dicts, first_line, mapping, parse, text
from agent_tt.providers.reading import kept_answer, recognise
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from agent_tt.interop.transcripts.document import Document, Line
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json, ModelCall

__all__ = ["read_exchanges"]

_IDS: Final = "custom_id", "key"
_TRIED: Final = 20
_MOST_BESIDE: Final = 50
"""So many files beside one of a batch are looked at for the other one."""

_MOST_PAIRS: Final = 50_000
"""So many exchanges of a batch are listed; OpenAI takes as many."""

_HEAD_BYTES: Final = 256 << 10
_FIRST_ERROR: Final = 400
_PATHS: Final = "/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1beta/models/model:generateContent"


class _Asked(NamedTuple):
    """A request: its path where that is said, its body."""

    path: str
    body: dict[str, Json]


class _Came(NamedTuple):
    """An answer: its body, its status, and in one line what went wrong."""

    body: dict[str, Json]
    status: int
    error: str


class _Pair:
    """Where the two halves of an exchange stand."""

    __slots__ = ("answer", "request")

    def __init__(self) -> None:
        self.request: Line | None = None
        self.answer: Line | None = None


def read_exchanges(document: Document) -> Sequence[Transcript | Promise] | None:
    """Read each request and its answer as a run of its own; return None if the document has another format."""
    whole = mapping(document.value)
    requests = dicts(whole.get("requests"))
    if requests and all(_named(each) and _asked(each) for each in requests):  # as Anthropic's clients send them
        return [_told(_named(each), each, {}, []) for each in requests]
    lines = document.parts or document.entries
    if lines and any(_is_half(line.value) for line in lines[:_TRIED]):
        return _batch(document, lines)
    found = ([whole] if whole else dicts(document.value)) or [line.value for line in document.lines]
    logged = [each for each in found if _is_log(each)]
    if not logged or len(logged) < len(found):
        return None
    stem = document.path.stem
    names = [stem] if len(found) == 1 else [f"{stem}-{number}" for number in range(1, len(found) + 1)]
    return [_told(name, each, each, []) for name, each in zip(names, found, strict=True)]


def _batch(document: Document, lines: Sequence[Line]) -> Sequence[Promise]:
    """The exchanges of a batch, with its other half where that lies beside."""
    pairs: dict[str, _Pair] = {}
    _take(pairs, lines)
    flaws: list[str] = []
    has = {half for half in ("request", "answer") if any(getattr(pair, half) for pair in pairs.values())}
    if len(has) == 1 and not document.parts:
        others = _other_half(document.path, next(iter(pairs)), needs="answer" if "request" in has else "request")
        if len(others) == 1:
            room = Room()
            known = set(pairs)
            _take(pairs, [line for line in room.lines(others[0]) if _named(line.value) in known])
            document.watched.append(others[0])
            flaws += room.flaws
        elif others:
            flaws.append(f"{len(others)} files beside it hold the other half of it: none was read")
    flaws = [*map(str, document.flaws), *flaws]
    if len(pairs) >= _MOST_PAIRS:
        flaws.append(f"only the first {_MOST_PAIRS:,} exchanges are shown")
    return [
        Promise(name, _began_us(pair), 1 + bool(pair.answer), partial(_told_pair, name, pair, flaws if not at else []))
        for at, (name, pair) in enumerate(pairs.items())
    ]


def _take(pairs: dict[str, _Pair], lines: Iterable[Line]) -> None:
    for line in lines:
        entry = line.value
        named = _named(entry)
        if not named or (len(pairs) >= _MOST_PAIRS and named not in pairs):
            continue
        pair = pairs.setdefault(named, _Pair())
        if _asked(entry) is not None:
            pair.request = pair.request or line
        elif _came(entry) is not None:
            pair.answer = pair.answer or line


def _other_half(path: Path, first: str, *, needs: str) -> list[Path]:
    """The files beside one of a batch that hold its requests, or its answers."""
    found = []
    for other in files_in(path.parent, ".jsonl")[:_MOST_BESIDE]:
        if other == path or other.is_symlink():
            continue
        try:
            with other.open("rb") as file:
                lines = [mapping(parse(line)) for line in file.read(_HEAD_BYTES).split(b"\n")[:_TRIED]]
        except OSError:
            continue
        read = _asked if needs == "request" else _came
        named = [_named(entry) for entry in lines if read(entry) is not None]
        if named and (first in named or _holds(other, first)):
            found.append(other)
    return found


def _holds(path: Path, named: str) -> bool:
    """Whether the id of an exchange stands anywhere in a file."""
    wanted, rest = f'"{named}"'.encode(), b""
    try:
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                if wanted in rest + piece:
                    return True
                rest = piece[-len(wanted) :]
    except OSError:  # then nothing says that it belongs to this one
        pass
    return False


def _named(entry: dict[str, Json]) -> str:
    return next((text(entry[key]) for key in _IDS if text(entry.get(key))), "")


def _is_half(entry: dict[str, Json]) -> bool:
    """Whether an object surely is of a batch: that it has a key and an error says little."""
    came = _came(entry)
    if not _named(entry) or (came is None and _asked(entry) is None):
        return False
    if _asked(entry) is not None or "status_code" in mapping(entry.get("response")):
        return True
    return came is not None and (bool(_api_of(came.body)) or ("custom_id" in entry and "result" in entry))


def _is_log(entry: dict[str, Json]) -> bool:
    """Whether an object is an exchange, or an answer."""
    asked, came = _asked(entry), _came(entry)
    return came is not None and bool(_api_of(came.body)) and (asked is not None or came.body is entry)


# ---------------------------------------------------------------- the halves


def _asked(entry: dict[str, Json]) -> _Asked | None:
    """The request that an object holds."""
    if isinstance(entry.get("body"), dict) and (text(entry.get("url")) or text(entry.get("method"))):
        return _Asked(text(entry.get("url")), mapping(entry["body"]))
    for key in ("params", "request"):
        body = mapping(entry.get(key))
        if any(isinstance(body.get(inner), list) for inner in ("messages", "contents", "input")) or "prompt" in body:
            return _Asked("/v1/messages" if key == "params" else text(entry.get("url")), body)
    if isinstance(entry.get("messages"), list) and isinstance(entry.get("response"), dict):
        return _Asked("", {key: value for key, value in entry.items() if key != "response"})
    return None


def _came(entry: dict[str, Json]) -> _Came | None:
    """The answer that an object holds, or is."""
    response, result = mapping(entry.get("response")), mapping(entry.get("result"))
    if "status_code" in response:
        body, status = mapping(response.get("body")), count(response["status_code"]) or 0
        return _Came(body, status, _complaint(entry.get("error")) or _complaint(body.get("error")))
    if response:
        return _Came(response, 200, "")
    if text(result.get("type")):
        body, failed = mapping(result.get("message")), result["type"] != "succeeded"
        error = mapping(result.get("error"))
        words = _complaint(error.get("error")) or _complaint(error) or text(result["type"])
        return _Came(body, _FIRST_ERROR if failed else 200, words if failed else "")
    if _named(entry) and entry.get("error"):
        return _Came({}, _FIRST_ERROR, _complaint(entry["error"]))
    return _Came(entry, 200, "") if _api_of(entry) else None


def _complaint(error: Json) -> str:
    inner = mapping(error)
    words = text(inner.get("message")) or text(inner.get("type")) or text(inner.get("code"))
    return first_line(words or (error if isinstance(error, str) else ""))


def _api_of(body: dict[str, Json]) -> str:
    """The provider whose answer a body is, by its shape; nothing of any other object."""
    if isinstance(body.get("choices"), list) and (body.get("object") or "usage" in body or "model" in body):
        return "openai-chat" if any("message" in each for each in dicts(body["choices"])) else ""
    if body.get("object") == "response" and isinstance(body.get("output"), list):
        return "openai-responses"
    if body.get("type") == "message" and body.get("role") == "assistant" and "usage" in body:
        return "anthropic"
    return "gemini" if isinstance(body.get("candidates"), list) else ""


def _began_us(pair: _Pair) -> int:
    body = {} if pair.answer is None else (_came(pair.answer.value) or _Came({}, 0, "")).body
    return micros(body.get("created", body.get("created_at"))) or 0


# ---------------------------------------------------------------- telling


def _told_pair(name: str, pair: _Pair, flaws: Sequence[str]) -> Transcript:
    request, answer = ({} if line is None else line.value for line in (pair.request, pair.answer))
    return _told(name, request, answer, flaws)


def _told(name: str, request: dict[str, Json], answer: dict[str, Json], flaws: Sequence[str]) -> Transcript:
    """Tell an exchange."""
    asked, came = _asked(request), _came(answer)
    said_beside = beside({**request, **answer}, "body", "params", "request", "messages", "response", "result", "output",
                         "choices", "content", "candidates")  # fmt: skip
    if came is None:
        told = tell_turns(name, dicts(asked.body.get("messages", asked.body.get("contents"))) if asked else [])
        told.metadata, told.model = said_beside, text(asked.body.get("model")) or None if asked else None
    else:
        told = _answered(name, asked, came)
        told.metadata = said_beside
    told.flaws += [(0, flaw) for flaw in flaws]
    return told


def _answered(name: str, asked: _Asked | None, came: _Came) -> Transcript:
    telling = TraceTelling(name, {}, "messages")
    call, ended_us = _call(asked), micros(came.body.get("created", came.body.get("created_at")))
    api = _api_of(came.body) or (call.api if call is not None else "")
    if not api:  # a model that computes something, or nothing that is known
        path = asked.path if asked and asked.path else "request"
        step = telling.teller.main.step(path, ended_us)
        told = ToldCall(
            "http", path, args=wire(asked.body) if asked else None, result=wire(came.body), ended_us=ended_us
        )
        if came.error:
            told.status, told.result, told.error = "error", None, ErrorInfo(f"HTTP {came.status}", came.error)
            step.status, step.error = "error", told.error
        step.calls.append(told)
        return telling.teller.done()
    known = ModelAnswer(model=call.model if call else "", error=came.error or "no answer")
    if came.status < _FIRST_ERROR:
        known = kept_answer(api, came.body)
    shown: list[dict[str, Json]] = []
    if call is not None:
        shown = dicts(call.conversation.get(call.turns)) if call.turns else []
        rest = {key: wire(value) for key, value in call.conversation.items() if key != call.turns or not shown}
        telling.teller.main.beside = rest
    work = ModelWork(shown, [mapping(turn) for turn in known.turns], known)
    telling.tell(Span("", "", "", name, None, ended_us, {}, does=work), is_of_models=True)
    if call is None:
        telling.teller.steps[-1].calls[0].asked = None
    return telling.teller.done(model=telling.model or None)


def _call(asked: _Asked | None) -> ModelCall | None:
    if asked is None:
        return None
    paths = [asked.path] if asked.path else _PATHS
    return next((call for path in paths if (call := recognise("POST", path, {}, dict(asked.body))) is not None), None)
