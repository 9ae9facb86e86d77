"""Sessions of pi, the coding agent of pi-mono: a line for each entry, as its session manager writes them.

| entry | is |
|---|---|
| `session` | the head: id, folder, provider, model |
| `message` | a turn: `user`, `assistant` (usage, cost and why it stopped beside it) or `toolResult` |
| `compaction` | a summary that takes the place of the conversation before `firstKeptEntryId` |
| `branch_summary`, `custom_message` | what pi, or an extension of it, puts into the conversation |
| anything else | shown with the step that it stands in |

`parentId` makes a tree. Where it parts, a person went back and said something else: the older way is the run, others
are forks of it. Entries without ids, of the first version, follow one another.

Turns are shown in Anthropic's form, which pi's are close to: the call of a tool is `toolCall` with `arguments` there,
and the result of one a message. Whatever else stands in a turn stays in it.

Source of the format: github.com/badlogic/pi-mono, packages/coding-agent: docs/session.md, src/core/session-manager.ts.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.interop.transcripts.ways import Way, ways_from
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import amount, count, items, mapping, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document, Line
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_pi"]

_FAILED: Final = "error", "aborted"
_HEAD: Final = "cwd", "provider", "version", "parentSession", "branchedFrom"
_MOMENTS: Final = "message", "compaction", "branch_summary", "custom_message"
_PUT_IN: Final = {"branch_summary": "summary", "custom_message": "content"}


@dataclass(slots=True, eq=False)
class _Entry:
    """A line that belongs to the conversation.

    Attributes:
        index: of the line among all, by which the first version names entries.
        notes: lines behind it that do not.
    """

    line: Line
    index: int
    notes: list[dict[str, Json]] = field(default_factory=list)
    after: list[_Entry] = field(default_factory=list)

    @property
    def id(self) -> str:
        return text(self.line.value.get("id"))


def read_pi(document: Document) -> Sequence[Transcript] | None:
    """Read a session of pi as a run, with its forks; None where the document has another format."""
    if not document.entries:
        return None
    head = document.entries[0].value
    if head.get("type") != "session" or not text(head.get("id")) or "cwd" not in head:
        return None
    metadata: dict[str, Wire] = {key: wire(head[key]) for key in _HEAD if key in head}
    named = [text(line.value.get("name")) for line in document.entries if line.value.get("type") == "session_info"]
    if any(named):
        metadata |= RunFacts.title.entry(next(filter(None, reversed(named))))
    found: list[Transcript] = []
    for way in ways_from(_tree(document.entries), lambda entry: entry.after):
        own = way.moments[way.shared] if way.parent is not None else None
        name = text(head["id"]) + (f"@{own.id or own.line.number}" if own is not None else "")
        found.append(_told(name, way, found, document, metadata))
    return found


def _tree(lines: Sequence[Line]) -> _Entry:
    """The head, with the entries that follow it."""
    root = last = _Entry(lines[0], 0)
    by_id = {"": root}
    for index, line in enumerate(lines[1:], 1):
        entry = line.value
        named, parent = text(entry.get("id")), entry.get("parentId")
        before = by_id.get(text(parent), last) if "parentId" in entry else last
        if named and named in by_id:  # a line that is repeated
            continue
        if entry.get("type") in _MOMENTS:
            own = _Entry(line, index)
            before.after.append(own)
        else:
            own = before
            own.notes.append(entry)
        last = own
        if named:
            by_id[named] = own
    return root


def _told(
    name: str, way: Way[_Entry], before: Sequence[Transcript], document: Document, metadata: dict[str, Wire]
) -> Transcript:
    telling = _Telling(name, document)
    shared = 0
    for number, entry in enumerate(way.moments):
        if number == way.shared:
            shared = len(telling.teller.steps)
        telling.tell(entry)
    telling.flaws_until(None)
    fork = None if way.parent is None else (before[way.parent].id, shared)
    return telling.teller.done(fork=fork, model=telling.model or None, metadata=metadata)


class _Telling:
    """Tells the entries of a way, one after another."""

    def __init__(self, name: str, document: Document) -> None:
        self.teller = Teller(name, "pi")
        self.model = text(document.entries[0].value.get("modelId"))
        self._flaws = [*document.flaws]
        self._said: list[tuple[_Entry, list[Wire]]] = []

    def flaws_until(self, line: int | None) -> None:
        """Tell of what could not be read before a line."""
        while self._flaws and (line is None or self._flaws[0].line < line):
            self.teller.flaw(str(self._flaws.pop(0)))

    def tell(self, entry: _Entry) -> None:
        """Tell an entry, and what stands behind it."""
        self.flaws_until(entry.line.number)
        lane, value = self.teller.main, entry.line.value
        kind, at_us, message = value.get("type"), micros(value.get("timestamp")), mapping(value.get("message"))
        known = len(lane.said)
        if kind == "message" and message.get("role") == "assistant":
            self.model = text(message.get("model")) or self.model
            lane.turn(_turn(message), at_us, answer=_answer(message))
        elif kind == "message":
            lane.turn(_turn(message), at_us)
        elif kind == "compaction" and text(value.get("summary")):
            lane.begin_anew("compaction", self._kept(value), at_us)
            lane.note(value)
            known = len(lane.said)
        elif kind in _PUT_IN and value.get(_PUT_IN[str(kind)]):
            lane.add({"role": "user", "content": value[_PUT_IN[str(kind)]]}, at_us)
            lane.note(value)
        self._said.append((entry, lane.said[known:]))
        for note in entry.notes:
            if note.get("type") == "model_change":
                self.model = text(note.get("modelId")) or self.model
            lane.note(note)

    def _kept(self, compaction: dict[str, Json]) -> list[Wire]:
        """The summary, and what of the conversation stays behind it."""
        named, number = text(compaction.get("firstKeptEntryId")), count(compaction.get("firstKeptEntryIndex"))
        kept: list[Wire] = [wire({"role": "user", "content": compaction["summary"]})]
        begun = False
        for entry, said in self._said:
            begun = begun or (bool(named) and entry.id == named) or (number is not None and entry.index == number)
            begun = begun or (bool(named) and any(text(note.get("id")) == named for note in entry.notes))
            if begun:
                kept += said
        return kept


def _turn(message: dict[str, Json]) -> dict[str, Json]:
    """A turn in Anthropic's form."""
    if message.get("role") == "toolResult":
        rest = {key: value for key, value in message.items() if key not in ("role", "content", "toolCallId", "isError")}
        block: dict[str, Json] = {
            "type": "tool_result",
            "tool_use_id": message.get("toolCallId"),
            "content": message.get("content"),
            "is_error": message.get("isError") is True,
        }
        return {"role": "user", "content": [block], **rest}
    content = message.get("content")
    return {**message, "content": [_block(each) for each in items(content)] if isinstance(content, list) else content}


def _block(block: Json) -> Json:
    if not isinstance(block, dict) or block.get("type") != "toolCall":
        return block
    rest = {key: value for key, value in block.items() if key not in ("type", "arguments")}
    return {"type": "tool_use", **rest, "input": block.get("arguments")}


def _answer(message: dict[str, Json]) -> ModelAnswer:
    """What pi says of an answer; it counts what was cached apart from `input`."""
    usage = mapping(message.get("usage"))
    fresh, cached, written = (count(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    reason = text(message.get("stopReason"))
    return ModelAnswer(
        model=text(message.get("model")),
        finish_reason=reason,
        tokens=Tokens(
            input=None if fresh is None else fresh + (cached or 0) + (written or 0),
            output=count(usage.get("output")),
            cached=cached or 0,
            written=written or 0,
        ),
        cost_usd=amount(mapping(usage.get("cost")).get("total")),
        error=(text(message.get("errorMessage")) or reason) if reason in _FAILED else "",
    )
