"""Sessions of OpenCode: what `opencode export` writes, or the files of `~/.local/share/opencode/storage`.

Newer versions keep the same in a database: `agent_tt.interop.databases.opencode`.

| place in an export | file in the storage | holds |
|---|---|---|
| `info` | `session/PROJECT/SESSION.json` | the head; this is the file to open |
| `messages[].info` | `message/SESSION/*.json` | a turn of a person, or of a model with its error, tokens and cost |
| `messages[].parts[]` | `part/MESSAGE/*.json` | what was said, thought and called; each `step-finish` ends an answer |

Turns are shown in Anthropic's form, which the parts are close to. A message with `summary` takes the place of the
conversation so far. The other files are found by the name of the one that is opened, never by what stands in it.
A session whose head names the opened one as `parentID` is a sub-agent's: it has a lane there.

Source of the format: `MessageV2` and `Session.Info` of github.com/sst/opencode, packages/opencode/src/session.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.interop.transcripts.beside import Room, files_in
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import amount, count, dicts, mapping, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import ToldCall, ToldStep, Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["Kept", "read_opencode", "tell_session"]

_HEAD: Final = "directory", "version", "parentID", "projectID"
_SAID: Final = "text", "reasoning", "tool", "file"
_MOST_BESIDE: Final = 2_000
"""So many sessions beside one are looked at for those of its sub-agents."""


@dataclass(slots=True)
class Kept:
    """A session as it is kept.

    Attributes:
        head: what is said of the whole.
        messages: each with its `info` and `parts`.
        inside: the sessions of sub-agents that it began.
        flaws: what of it could not be read.
    """

    head: dict[str, Json]
    messages: list[dict[str, Json]]
    inside: list[Kept] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)


def read_opencode(document: Document) -> Sequence[Transcript] | None:
    """Read a session of OpenCode as a run; None where the document has another format."""
    whole = mapping(document.value)
    if {"projectID", "directory", "time"} <= whole.keys() and text(whole.get("id")) == document.path.stem:
        return [tell_session(_stored(document, whole))]
    head, messages = mapping(whole.get("info")), dicts(whole.get("messages"))
    if not text(head.get("id")) or not messages or not all("info" in each and "parts" in each for each in messages):
        return None
    return [tell_session(Kept(head, messages))]


def _stored(document: Document, head: dict[str, Json]) -> Kept:
    """A session in the storage. Its messages are in their order, which that of their ids is."""
    session, room = document.path, Room()
    storage = session.parent.parent.parent
    found = Kept(head, _messages(storage, session.stem, room), flaws=room.flaws)
    document.watched.append(storage / "message" / session.stem)
    if found.messages:
        document.watched.append(storage / "part" / text(mapping(found.messages[-1].get("info")).get("id")))
    for path in files_in(session.parent, ".json")[:_MOST_BESIDE]:
        if path != session and (about := room.object(path)) and about.get("parentID") == session.stem:
            found.inside.append(Kept(about, _messages(storage, path.stem, room)))
    return found


def _messages(storage: Path, session: str, room: Room) -> list[dict[str, Json]]:
    return [
        {"info": {**info, "id": name}, "parts": [part for _, part in room.objects(storage / "part" / name)]}
        for name, info in room.objects(storage / "message" / session)
    ]


def tell_session(kept: Kept) -> Transcript:
    """Tell a session with those of its sub-agents."""
    head = kept.head
    telling = _Telling(text(head["id"]))
    for flaw in kept.flaws:
        telling.teller.flaw(flaw)
    telling.session(kept, telling.teller.main)
    metadata = {key: wire(head[key]) for key in _HEAD if head.get(key)}
    if text(head.get("title")):
        metadata |= RunFacts.title.entry(text(head["title"]))
    return telling.teller.done(model=telling.model or None, metadata=metadata)


class _Telling:
    """Tells the messages of a session, one after another."""

    def __init__(self, name: str) -> None:
        self.teller = Teller(name, "OpenCode")
        self.model = ""
        self._names: dict[str, int] = {}

    def session(self, kept: Kept, lane: Lane) -> None:
        """Tell a session in a lane, and those that it began in their own, where each was begun."""
        waiting = {text(inner.head.get("id")): inner for inner in kept.inside}
        for message in kept.messages:
            parts = dicts(message.get("parts"))
            self.tell(mapping(message.get("info")), parts, lane)
            for part in parts:
                inner = waiting.pop(text(mapping(mapping(part.get("state")).get("metadata")).get("sessionId")), None)
                if inner is not None:
                    self.session(inner, self._lane(inner, self.teller.asked.get(text(part.get("callID")))))
        for inner in waiting.values():
            self.session(inner, self._lane(inner, None))

    def _lane(self, kept: Kept, begun_by: tuple[ToldStep, ToldCall] | None) -> Lane:
        agents = (text(mapping(each.get("info")).get("agent")) for each in kept.messages)
        agent = next(filter(None, agents), "")
        name = agent or text(kept.head.get("title")) or "sub-agent"
        self._names[name] = self._names.get(name, 0) + 1
        if self._names[name] > 1:
            name = f"{name} {self._names[name]}"
        return self.teller.lane(name, agent=agent or None, parent=begun_by[0] if begun_by else None)

    def tell(self, info: dict[str, Json], parts: list[dict[str, Json]], lane: Lane) -> None:
        """Tell a message."""
        at_us = micros(mapping(info.get("time")).get("created"))
        said: list[Json] = [_block(part) for part in parts if part.get("type") in ("text", "file")]
        if info.get("role") in ("compaction", "synthetic", "note"):  # of the database
            if info["role"] == "compaction":
                lane.begin_anew("compaction", [wire({"role": "user", "content": said})], at_us)
            elif info["role"] == "synthetic":
                lane.add({"role": "user", "content": said}, at_us)
            lane.note(info)
            return
        if info.get("role") != "assistant":
            if said:
                lane.turn({"role": "user", "content": said}, at_us)
            for part in parts:
                if part.get("type") not in ("text", "file"):
                    lane.note(part)
            lane.note(info)
            return
        self.model = text(info.get("modelID")) or self.model
        answers = _answers(parts)
        for number, answered in enumerate(answers):
            self._answered(info, answered, lane, is_last=number == len(answers) - 1)
        lane.note(info)
        if info.get("summary") is True:
            kept: list[Wire] = [wire({"role": "assistant", "content": [_block(part) for part in parts
                                                                         if part.get("type") == "text"]})]  # fmt: skip
            lane.begin_anew("compaction", kept, micros(mapping(info.get("time")).get("completed")))

    def _answered(self, info: dict[str, Json], parts: list[dict[str, Json]], lane: Lane, *, is_last: bool) -> None:
        time = mapping(info.get("time"))
        content: list[Json] = [_block(part) for part in parts if part.get("type") in _SAID]
        called = [part for part in parts if part.get("type") == "tool"]
        times = [micros(mapping(mapping(part.get("state")).get("time")).get("start")) for part in called]
        at_us = next(filter(None, times), None) or micros(time.get("completed") if is_last else None)
        end = next((part for part in parts if part.get("type") == "step-finish"), info)
        error = mapping(info.get("error")) if is_last else {}
        named = (mapping(error.get("data")).get("message"), error.get("message"), error.get("name"), error.get("type"))
        failed = next(filter(None, map(text, named)), "")
        answer = ModelAnswer(
            model=self.model,
            finish_reason=text(end.get("reason", end.get("finish"))),
            tokens=_tokens(mapping(end.get("tokens"))),
            cost_usd=amount(end.get("cost")),
            error=failed,
        )
        lane.turn({"role": "assistant", "content": content}, at_us, answer=answer, began_us=micros(time.get("created")))
        for part in called:
            state = mapping(part.get("state"))
            if state.get("status") in ("completed", "error"):
                is_error = state["status"] == "error"
                block: dict[str, Json] = {
                    "type": "tool_result",
                    "tool_use_id": part.get("callID"),
                    "content": state.get("error" if is_error else "output"),
                    "is_error": is_error,
                }
                lane.turn({"role": "user", "content": [block]}, micros(mapping(state.get("time")).get("end")))
        for part in parts:
            if part.get("type") == "tool":
                state = mapping(part.get("state"))
                rest: Json = {key: value for key, value in state.items() if key not in ("input", "output", "error")}
                lane.note({**part, "state": rest})
            elif part.get("type") not in _SAID:
                lane.note(part)


def _answers(parts: list[dict[str, Json]]) -> list[list[dict[str, Json]]]:
    """The parts of each answer of a message: old versions kept all that followed what a person said in one."""
    found: list[list[dict[str, Json]]] = [[]]
    is_over = False
    for part in parts:
        if is_over and part.get("type") == "step-start":
            found.append([])
            is_over = False
        is_over = is_over or part.get("type") == "step-finish"
        found[-1].append(part)
    return found


def _block(part: dict[str, Json]) -> dict[str, Json]:
    """A part as a block of Anthropic's."""
    kind = part.get("type")
    if kind == "tool":
        given = mapping(part.get("state")).get("input")
        return {"type": "tool_use", "id": part.get("callID"), "name": part.get("tool"), "input": given}
    if kind == "reasoning":
        return {"type": "thinking", "thinking": part.get("text")}
    if kind == "text":
        return {"type": "text", "text": part.get("text")}
    return {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}


def _tokens(usage: dict[str, Json]) -> Tokens:
    """What was counted: caches are apart from the input; reasoning is part of the output unless the sum says not."""
    cache = mapping(usage.get("cache"))
    fresh, wrote, thought = (count(usage.get(key)) for key in ("input", "output", "reasoning"))
    cached, written = count(cache.get("read")) or 0, count(cache.get("write")) or 0
    read = None if fresh is None else fresh + cached + written
    if wrote is not None and thought and count(usage.get("total")) == (read or 0) + wrote + thought:
        wrote += thought
    return Tokens(input=read, output=wrote, cached=cached, written=written, reasoning=thought or 0)
