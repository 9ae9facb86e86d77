"""Sessions of OpenCode: what `opencode export` writes, or the files of `~/.local/share/opencode/storage`.

| place in an export | file in the storage | holds |
|---|---|---|
| `info` | `session/PROJECT/SESSION.json` | the head; this is the file to open |
| `messages[].info` | `message/SESSION/*.json` | a turn of a person, or of a model with its error, tokens and cost |
| `messages[].parts[]` | `part/MESSAGE/*.json` | what was said, thought and called; each `step-finish` ends an answer |

Turns are shown in Anthropic's form, which the parts are close to. A message with `summary` takes the place of the
conversation so far. The other files are found by the name of the one that is opened, never by what stands in it.

Source of the format: `MessageV2` and `Session.Info` of github.com/sst/opencode, packages/opencode/src/session.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.document import MOST_BYTES
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import amount, count, dicts, mapping, parse, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_opencode"]

_HEAD: Final = "directory", "version", "parentID", "projectID"
_SAID: Final = "text", "reasoning", "tool", "file"
_MOST_FILES: Final = 100_000


def read_opencode(document: Document) -> Sequence[Transcript] | None:
    """See `agent_tt.interop.transcripts.source.Format`."""
    whole = mapping(document.value)
    flaws: list[str] = []
    if {"projectID", "directory", "time"} <= whole.keys() and text(whole.get("id")) == document.path.stem:
        head, messages = whole, _stored(document.path, flaws)
    else:
        head, messages = mapping(whole.get("info")), dicts(whole.get("messages"))
        if not text(head.get("id")) or not messages or not all("info" in each and "parts" in each for each in messages):
            return None
    telling = _Telling(text(head["id"]))
    for message in messages:
        telling.tell(mapping(message.get("info")), dicts(message.get("parts")))
    for flaw in flaws:
        telling.teller.flaw(flaw)
    metadata = {key: wire(head[key]) for key in _HEAD if head.get(key)}
    if text(head.get("title")):
        metadata |= RunFacts.title.entry(text(head["title"]))
    return [telling.teller.done(model=telling.model or None, metadata=metadata)]


def _stored(session: Path, flaws: list[str]) -> list[dict[str, Json]]:
    """The messages of a session in the storage, in their order, which that of their ids is."""
    storage, room = session.parent.parent.parent, [MOST_BYTES, _MOST_FILES]
    return [
        {"info": info, "parts": [part for _, part in _files(storage / "part" / name, room, flaws)]}
        for name, info in _files(storage / "message" / session.stem, room, flaws)
    ]


def _files(folder: Path, room: list[int], flaws: list[str]) -> Iterator[tuple[str, dict[str, Json]]]:
    """The JSON objects in a folder by their files' names, as long as there is room for bytes and files."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return
    for path in paths:
        found: Json = None
        try:
            kept = path.lstat()
            if stat.S_ISREG(kept.st_mode) and kept.st_size <= room[0] and room[1]:
                room[0], room[1] = room[0] - kept.st_size, room[1] - 1
                found = parse(path.read_bytes())
        except OSError:
            pass
        if isinstance(found, dict):
            yield path.stem, found
        else:
            flaws.append(f"{folder.name}/{path.name} is left out: it is no JSON object, or there is no room for more")


class _Telling:
    """Tells the messages of a session, one after another."""

    def __init__(self, name: str) -> None:
        self.teller = Teller(name, "OpenCode")
        self.model = ""

    def tell(self, info: dict[str, Json], parts: list[dict[str, Json]]) -> None:
        """Tell a message."""
        lane, at_us = self.teller.main, micros(mapping(info.get("time")).get("created"))
        if info.get("role") != "assistant":
            said: list[Json] = [_block(part) for part in parts if part.get("type") in ("text", "file")]
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
            self._answered(info, answered, is_last=number == len(answers) - 1)
        lane.note(info)
        if info.get("summary") is True:
            kept: list[Wire] = [wire({"role": "assistant", "content": [_block(part) for part in parts
                                                                         if part.get("type") == "text"]})]  # fmt: skip
            lane.begin_anew("compaction", kept, micros(mapping(info.get("time")).get("completed")))

    def _answered(self, info: dict[str, Json], parts: list[dict[str, Json]], *, is_last: bool) -> None:
        lane, time = self.teller.main, mapping(info.get("time"))
        content: list[Json] = [_block(part) for part in parts if part.get("type") in _SAID]
        called = [part for part in parts if part.get("type") == "tool"]
        times = [micros(mapping(mapping(part.get("state")).get("time")).get("start")) for part in called]
        at_us = next(filter(None, times), None) or micros(time.get("completed") if is_last else None)
        end = next((part for part in parts if part.get("type") == "step-finish"), info)
        error = mapping(info.get("error")) if is_last else {}
        failed = text(mapping(error.get("data")).get("message")) or text(error.get("name"))
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
