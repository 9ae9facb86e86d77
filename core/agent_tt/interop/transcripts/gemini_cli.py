"""Sessions of the Gemini CLI (`session-….json`, since 2026 `.jsonl`), and the checkpoints that it saves.

| line, or part of the one object | is |
|---|---|
| `sessionId` with `projectHash` | the head |
| `type` `user` | what a person said |
| `type` `gemini` | an answer with its thoughts and tokens; its `toolCalls` with their results |
| `type` `error` | what went wrong |
| `$set` | another value in the head; `messages` in it take the place of those so far |
| `$rewindTo` | that message and those behind it are dropped |
| anything else | shown with the step that it stands in |

A message is written again where more is known of it: its last line counts. A checkpoint has the contents of the API
under `history`, that of a tool under `clientHistory`.

Source of the format: `ConversationRecord`, `Checkpoint` and `ToolCallData` of github.com/google-gemini/gemini-cli,
packages/core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.interop.transcripts.telling import Teller, micros, results_in, wire
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import count, dicts, mapping, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_gemini_cli"]

_HEAD: Final = "projectHash", "startTime", "kind", "directories"
_CHECKPOINTS: Final = "clientHistory", "history"
_FAILED: Final = "error", "cancelled"
_OVER: Final = "success", *_FAILED


class _Entry(NamedTuple):
    """A line, or a message in one, with the number of the line."""

    number: int
    value: dict[str, Json]


def read_gemini_cli(document: Document) -> Sequence[Transcript] | None:
    """Read a session or a checkpoint of the Gemini CLI as a run; None where the document has another format."""
    entries = [_Entry(line.number, line.value) for line in document.lines] or [_Entry(1, mapping(document.value))]
    if not any(text(entry.value.get("sessionId")) and text(entry.value.get("projectHash")) for entry in entries):
        return _checkpoint(document)
    telling = _Telling(document)
    for entry in entries:
        telling.take(entry)
    return [telling.done()]


def _checkpoint(document: Document) -> Sequence[Transcript] | None:
    whole = mapping(document.value)
    contents = next((dicts(whole[key]) for key in _CHECKPOINTS if isinstance(whole.get(key), list)), [])
    if not contents or not all("role" in each and isinstance(each.get("parts"), list) for each in contents):
        return None
    teller = Teller(document.path.stem, "Gemini CLI")
    for content in contents:
        teller.main.turn(content)
    return [teller.done(metadata={key: wire(whole[key]) for key in ("authType", "commitHash") if whole.get(key)})]


class _Telling:
    """Takes in the lines of a session, and tells its messages when nothing can be written of them any more."""

    def __init__(self, document: Document) -> None:
        self.teller = Teller(document.path.stem, "Gemini CLI")
        self._model = ""
        self._head: dict[str, Json] = {}
        self._messages: dict[str, _Entry] = {}
        self._told: set[str] = set()
        self._flaws = [*document.flaws]

    def take(self, line: _Entry) -> None:
        """Take in a line."""
        entry = line.value
        changed = mapping(entry.get("$set"))
        if "$rewindTo" in entry:
            self._tell()
            ids = [*self._messages]
            kept = ids[: ids.index(text(entry["$rewindTo"]))] if entry["$rewindTo"] in ids else []
            self._begin_anew("rewind", {each: self._messages[each] for each in kept}, entry)
        elif text(entry.get("id")) and "type" in entry:
            self._messages[text(entry["id"])] = line
        else:
            head = changed or entry
            listed = {text(each.get("id")): _Entry(line.number, each) for each in dicts(head.get("messages"))}
            if [*listed][: len(self._messages)] == [*self._messages]:
                self._messages |= listed
            elif isinstance(head.get("messages"), list):
                self._tell()
                self._begin_anew("compaction", listed, {})
            self._head |= {key: value for key, value in head.items() if key != "messages"}

    def done(self) -> Transcript:
        """Give what was told."""
        self._tell()
        self._tell_flaws(None)
        metadata = {key: wire(self._head[key]) for key in _HEAD if self._head.get(key)}
        if text(self._head.get("summary")):
            metadata |= RunFacts.title.entry(text(self._head["summary"]))
        told = self.teller.done(model=self._model or None, metadata=metadata)
        told.id = text(self._head.get("sessionId")) or told.id
        return told

    def _tell(self) -> None:
        given = {asked_as for line in self._messages.values() for asked_as, _, _ in results_in(_said(line.value))}
        for name, line in self._messages.items():
            if name not in self._told:
                self._told.add(name)
                self._tell_flaws(line.number)
                self._message(line.value, given)

    def _tell_flaws(self, until: int | None) -> None:
        while self._flaws and (until is None or self._flaws[0].line < until):
            flaw = self._flaws.pop(0)
            self.teller.flaw(str(flaw))

    def _begin_anew(self, name: str, messages: dict[str, _Entry], entry: dict[str, Json]) -> None:
        self._messages, self._told = messages, {*messages}
        given = {asked_as for line in messages.values() for asked_as, _, _ in results_in(_said(line.value))}
        turns = [turn for line in messages.values() for turn in _turns(line.value, given)]
        self.teller.main.begin_anew(name, [wire(turn) for turn in turns])
        if entry:
            self.teller.main.note(entry)

    def _message(self, message: dict[str, Json], given: set[str]) -> None:
        lane, kind, at_us = self.teller.main, text(message.get("type")), micros(message.get("timestamp"))
        if kind == "user":
            lane.turn(_said(message), at_us)
        elif kind == "gemini":
            self._model = text(message.get("model")) or self._model
            turn, *results = _turns(message, given)
            lane.turn(turn, at_us, answer=_answer(message))
            for call in dicts(message.get("toolCalls")):
                self._result(call)
            for result in results:
                lane.add(result, at_us)
            beside: list[Json] = [_rest(call) for call in dicts(message.get("toolCalls"))]
            if beside:
                lane.note({"id": message.get("id"), "toolCalls": beside})
        elif kind == "error":
            step = lane.step("error", at_us)
            step.status, step.error = "error", ErrorInfo("Error", _words(message))
            lane.note(message)
        else:
            lane.note(message)

    def _result(self, call: dict[str, Json]) -> None:
        status = text(call.get("status"))
        if status not in _OVER and call.get("result") is None:
            return
        asked_as, result = text(call.get("id")), call.get("result")
        came = next((content for each, content, _ in results_in({"parts": result}) if each == asked_as), result)
        failed = status in _FAILED
        self.teller.main.result(asked_as, wire(came), micros(call.get("timestamp")), failed=failed)


def _said(message: dict[str, Json]) -> dict[str, Json]:
    """What a user's message says, as a turn of the API: a text, a part, or a list of both."""
    role = "user" if message.get("type") == "user" else "model"
    return {"role": role, "parts": _parts(message.get("content"))}


def _parts(content: Json) -> list[Json]:
    listed = content if isinstance(content, list) else [] if content in ("", None) else [content]
    return [{"text": each} if isinstance(each, str) else each for each in listed]


def _turns(message: dict[str, Json], given: set[str]) -> list[dict[str, Json]]:
    """A message as turns of the API: an answer with its calls, and the results that no message of its own gives."""
    turn = _said(message)
    if turn["role"] == "user":
        return [turn]
    thoughts: list[Json] = [
        {"text": ": ".join(filter(None, (text(each.get("subject")), text(each.get("description"))))), "thought": True}
        for each in dicts(message.get("thoughts"))
    ]
    said = _parts(message.get("content"))
    known = {text(mapping(part.get("functionCall")).get("id")) for part in dicts(said)}
    calls = dicts(message.get("toolCalls"))
    called: list[Json] = [
        {"functionCall": {key: call.get(key) for key in ("id", "name", "args")}}
        for call in calls if text(call.get("id")) not in known
    ]  # fmt: skip
    results = [part for call in calls if text(call.get("id")) not in given for part in _parts(call.get("result"))]
    turn["parts"] = thoughts + said + called
    return [turn, {"role": "user", "parts": results}] if results else [turn]


def _rest(call: dict[str, Json]) -> dict[str, Json]:
    """What is said of a call beside what its result and the conversation show."""
    return {key: value for key, value in call.items() if key not in ("args", "result")}


def _words(message: dict[str, Json]) -> str:
    return "\n".join(text(part.get("text")) for part in dicts(_parts(message.get("content"))))


def _answer(message: dict[str, Json]) -> ModelAnswer:
    """What is known of an answer; thoughts are counted apart from the output there, and are part of it here."""
    model, counted = text(message.get("model")), mapping(message.get("tokens"))
    read, wrote, thought = (count(counted.get(key)) for key in ("input", "output", "thoughts"))
    tokens = Tokens(
        input=None if read is None else read + (count(counted.get("tool")) or 0),
        output=None if wrote is None else wrote + (thought or 0),
        cached=count(counted.get("cached")) or 0,
        reasoning=thought or 0,
    )
    return ModelAnswer(model=model, tokens=tokens, cost_usd=cost_of(model, tokens))
