"""Sessions of Claude Code: a line for each entry, which names the one before it.

| entry | is |
|---|---|
| `user` | what a person said, or results of tools; what the program put in (`isMeta`); a summary (`isCompactSummary`) |
| `assistant` | a block of an answer: those of one `message.id` are one answer, whose usage the last of them says |
| `system` `compact_boundary` | the conversation before it is dropped; `logicalParentUuid` is what it followed |
| its `preservedMessages`, `preservedSegment` | what is kept of it |
| `summary`, `ai-title`, `custom-title` | a title |
| anything else | shown with the step that it stands in |

`parentUuid` makes a tree. Where it parts, a person went back and said something else: the older way is the run, the
others are forks of it. What is `isSidechain` is a sub-agent's conversation, which the tool call began whose `prompt` is
its first message, or whose result names its `agentId`. Newer versions keep these in files of their own
(`agent-….jsonl`), in the folder `SESSION/subagents` or beside the session. They are read with it; such a file alone is
a run, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from agent_tt.interop.transcripts.beside import Room, agent_files
from agent_tt.interop.transcripts.claude_tree import Chain, Entry, Tree, is_turn, words_of
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import items, mapping, text
from agent_tt.providers.reading import kept_answer
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document, Line
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import ToldStep, Transcript
    from agent_tt.interop.transcripts.ways import Way
    from agent_tt.providers.shapes import Json

__all__ = ["answer_in", "blocks_of", "read_claude_code"]

_TITLES: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Entries that give the session a title, the strongest first."""

_HEAD: Final = "cwd", "gitBranch", "version", "forkedFrom"
_MADE_UP: Final = "<synthetic>"
"""In the place of a model's name: the program itself said it, mostly an error."""

Told = TypeVar("Told")


def read_claude_code(document: Document) -> Sequence[Transcript] | None:
    """Read a session of Claude Code as a run, with its forks; None where the document has another format."""
    known = next((line.value for line in document.entries if is_turn(line.value)), None)
    if known is None:
        return None
    of_turns = [line for line in document.entries if is_turn(line.value)]
    named = {text(line.value.get("sessionId")) for line in of_turns}  # of one that went on with another several
    session = document.path.stem if document.path.stem in named else text(known.get("sessionId")) or document.path.stem
    metadata = {key: wire(known[key]) for key in _HEAD if known.get(key)}
    title = _title(document.entries)
    if title:
        metadata |= RunFacts.title.entry(title)
    if all(line.value.get("isSidechain") is True for line in of_turns):  # a sub-agent's own file
        tree, room = Tree(document.entries, is_of_agent=True), Room()
        session = f"{session}/{text(known.get('agentId')) or document.path.stem}"
    else:
        others, begun_by, room = _of_agents(document)
        tree = Tree([*document.entries, *others], begun_by)
    found: list[Transcript] = []
    for way in tree.ways():
        own = way.moments[way.shared] if way.parent is not None else None
        run_id = session if own is None else f"{session}@{text(own.head.get('uuid'))[:8] or own.number}"
        found.append(_told(run_id, way, found, document, metadata, room.flaws))
    return found


def _of_agents(document: Document) -> tuple[list[Line], dict[str, dict[str, Json]], Room]:
    """The lines of sub-agents' own files, what is said beside of each by its id, and what could not be read."""
    room = Room()
    found: list[Line] = []
    begun_by: dict[str, dict[str, Json]] = {}
    document.watched.append(document.path.with_suffix("") / "subagents")
    for path in agent_files(document.path):
        document.watched.append(path)
        found += room.lines(path)
        about = path.with_suffix(".meta.json")
        if about.is_file():
            begun_by[path.stem.removeprefix("agent-")] = room.object(about) or {}
    return found, begun_by, room


def _title(lines: Sequence[Line]) -> str:
    for kind, key in _TITLES.items():
        for line in reversed(lines):
            if line.value.get("type") == kind and text(line.value.get(key)):
                return text(line.value[key])
    return ""


# ---------------------------------------------------------------- telling


def _told(
    run_id: str,
    way: Way[Entry],
    before: Sequence[Transcript],
    document: Document,
    metadata: dict[str, Wire],
    left_out: Sequence[str],
) -> Transcript:
    teller = _Session(run_id, document)
    for flaw in left_out:
        teller.teller.flaw(flaw)
    shared = 0
    for number, entry in enumerate(way.moments):
        if number == way.shared:
            shared = len(teller.teller.steps)
        teller.tell(entry, teller.teller.main)
    teller.end()
    fork = None if way.parent is None else (before[way.parent].id, shared)
    return teller.teller.done(fork=fork, metadata=metadata, model=teller.model or None)


class _Session:
    """Tells the entries of a way, one after another."""

    def __init__(self, run_id: str, document: Document) -> None:
        self.teller = Teller(run_id, "Claude Code")
        self.model = ""
        self._flaws = [*document.flaws]
        self._names: dict[str, int] = {}
        self._said: list[tuple[tuple[str, ...], list[Wire], int, int]] = []
        self._kept: tuple[str, list[Wire]] = "", []

    def end(self) -> None:
        """Tell of what could not be read behind the last entry."""
        self._tell_flaws(None)

    def tell(self, entry: Entry, lane: Lane) -> None:
        """Tell an entry, the conversations that it began, and the results that came."""
        self._tell_flaws(entry.number)
        step = self._told(entry.lines, lane, lambda: self._turn(entry, lane))
        told = {id(chain): self._lane(chain, step) for chain in entry.begun}
        moments = [(self._time(each), each, told[id(chain)]) for chain in entry.begun for each in chain.entries]
        for _, each, inner in sorted(moments, key=lambda moment: moment[0]):
            self.tell(each, inner)
        for line in entry.following:
            self._told([line], lane, lambda line=line: self._follow(line, lane))  # type: ignore[misc]

    def _told(self, lines: Sequence[Line], lane: Lane, tell: Callable[[], Told]) -> Told:
        """Have something told, and remember what of the main conversation it was, for what a compaction keeps."""
        known, is_main = len(lane.said), lane is self.teller.main
        done = tell()
        if is_main:
            uuids = tuple(text(line.value.get("uuid")) for line in lines)
            if lines[0].value.get("subtype") == "compact_boundary":
                self._kept = self._keeps(lines[0].value)
                known = len(lane.said)
            if len(lane.said) > known:
                self._said.append((uuids, lane.said, known, len(lane.said)))
            anchor, kept = self._kept
            if kept and anchor in uuids:
                lane.said.extend(kept)
                self._kept = "", []
        return done

    def _keeps(self, boundary: dict[str, Json]) -> tuple[str, list[Wire]]:
        """What a compaction kept of the conversation, and the entry behind which it stands from then on."""
        about = mapping(boundary.get("compactMetadata"))
        named, segment = mapping(about.get("preservedMessages")), mapping(about.get("preservedSegment"))
        uuids = {text(uuid) for uuid in items(named.get("allUuids")) or items(named.get("uuids"))}
        head, tail = text(segment.get("headUuid")), text(segment.get("tailUuid"))
        kept: list[Wire] = []
        is_inside = False
        for own, said, begins, ends in self._said:
            is_inside = is_inside or (bool(head) and head in own)
            if not uuids.isdisjoint(own) if uuids else is_inside:
                kept += said[begins:ends]
            is_inside = is_inside and tail not in own
        return text(named.get("anchorUuid")) or text(segment.get("anchorUuid")), kept

    def _turn(self, entry: Entry, lane: Lane) -> ToldStep | None:
        head, last = entry.head, entry.lines[-1].value
        at_us = micros(last.get("timestamp"))
        message = mapping(head.get("message"))
        if head.get("type") == "assistant":
            content = [block for line in entry.lines for block in blocks_of(mapping(line.value.get("message")))]
            whole = {**mapping(last.get("message")), "content": content}
            answer = answer_in(whole, is_error=head.get("isApiErrorMessage") is True)
            self.model = answer.model or self.model
            step = lane.turn(whole, at_us, answer=answer)
        elif head.get("type") == "system":
            step = lane.begin_anew("compaction", [], at_us)
            lane.note(head)
        elif head.get("isCompactSummary") is True or head.get("isMeta") is True:
            step = lane.add(message, at_us)
        else:
            step = lane.turn(message, at_us)
        return step

    def _follow(self, line: Line, lane: Lane) -> None:
        entry = line.value
        if entry.get("type") == "user":
            lane.turn(mapping(entry.get("message")), micros(entry.get("timestamp")))
            if entry.get("toolUseResult") is not None:
                lane.note({"uuid": entry.get("uuid"), "toolUseResult": entry["toolUseResult"]})
        else:
            lane.note(entry)

    def _lane(self, chain: Chain, step: ToldStep | None) -> Lane:
        name = chain.name or chain.agent or "sub-agent"
        self._names[name] = self._names.get(name, 0) + 1
        if self._names[name] > 1:
            name = f"{name} {self._names[name]}"
        return self.teller.lane(name, agent=chain.name or None, parent=step if chain.is_known else None)

    def _tell_flaws(self, until: int | None) -> None:
        while self._flaws and (until is None or self._flaws[0].line < until):
            flaw = self._flaws.pop(0)
            self.teller.flaw(str(flaw))

    @staticmethod
    def _time(entry: Entry) -> tuple[int, int]:
        return micros(entry.head.get("timestamp")) or 0, entry.number


def answer_in(whole: dict[str, Json], *, is_error: bool) -> ModelAnswer:
    """Read an answer of which all lines were put together; one that the program made up is an error."""
    if is_error or whole.get("model") == _MADE_UP:
        return ModelAnswer(error=words_of(whole.get("content")) or "no answer")
    return kept_answer("anthropic", whole)


def blocks_of(message: dict[str, Json]) -> list[Json]:
    """The blocks of a message, whose content may be a text."""
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
