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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar, cast

from agent_tt.interop.transcripts.beside import Room, agent_files
from agent_tt.interop.transcripts.telling import Teller, micros, results_in, wire
from agent_tt.interop.transcripts.ways import Way, ways_from
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import dicts, items, mapping, text
from agent_tt.providers.reading import kept_answer
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document, Line
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import ToldStep, Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["answer_in", "blocks_of", "read_claude_code"]

_TITLES: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Entries that give the session a title, the strongest first."""

_HEAD: Final = "cwd", "gitBranch", "version", "forkedFrom"
_MADE_UP: Final = "<synthetic>"
"""In the place of a model's name: the program itself said it, mostly an error."""

Told = TypeVar("Told")


@dataclass(slots=True, eq=False)
class _Entry:
    """A moment of the conversation: what a person said, an answer in all its lines, a compaction.

    Attributes:
        lines: those that it is made of.
        following: lines that belong to it, in order: results of the tools that it asked for, and what is no turn.
        after: the moments that followed it, the older first; more than one where a person went back.
        begun: conversations of sub-agents that it began.
    """

    lines: list[Line]
    following: list[Line] = field(default_factory=list)
    after: list[_Entry] = field(default_factory=list)
    begun: list[_Chain] = field(default_factory=list)

    @property
    def head(self) -> dict[str, Json]:
        return self.lines[0].value

    @property
    def number(self) -> int:
        return self.lines[0].number


@dataclass(slots=True)
class _Chain:
    """A conversation of a sub-agent.

    Attributes:
        agent: the id that the program gives it, where it gives one.
        is_known: whether the call that began it is known.
    """

    entries: list[_Entry]
    agent: str = ""
    name: str = ""
    is_known: bool = False


def read_claude_code(document: Document) -> Sequence[Transcript] | None:
    """See `agent_tt.interop.transcripts.source.Format`."""
    known = next((line.value for line in document.entries if _is_turn(line.value)), None)
    if known is None:
        return None
    of_turns = [line for line in document.entries if _is_turn(line.value)]
    named = {text(line.value.get("sessionId")) for line in of_turns}  # of one that went on with another several
    session = document.path.stem if document.path.stem in named else text(known.get("sessionId")) or document.path.stem
    metadata = {key: wire(known[key]) for key in _HEAD if known.get(key)}
    title = _title(document.entries)
    if title:
        metadata |= RunFacts.title.entry(title)
    if all(line.value.get("isSidechain") is True for line in of_turns):  # a sub-agent's own file
        tree, room = _Tree(document.entries, is_of_agent=True), Room()
        session = f"{session}/{text(known.get('agentId')) or document.path.stem}"
    else:
        others, begun_by, room = _of_agents(document)
        tree = _Tree([*document.entries, *others], begun_by)
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


def _is_turn(entry: dict[str, Json]) -> bool:
    """Whether an entry is a turn; what Claude Code writes as it works looks alike, but for how it names its session."""
    content = mapping(entry.get("message")).get("content")
    is_named = any(key in entry for key in ("uuid", "sessionId", "timestamp"))
    return (
        entry.get("type") in ("user", "assistant")
        and isinstance(content, str | list)
        and is_named
        and not any(key in entry for key in ("session_id", "parent_tool_use_id"))
    )


def _title(lines: Sequence[Line]) -> str:
    for kind, key in _TITLES.items():
        for line in reversed(lines):
            if line.value.get("type") == kind and text(line.value.get(key)):
                return text(line.value[key])
    return ""


# ---------------------------------------------------------------- the tree


class _Tree:
    """The entries of a session. An entry whose parent is not before it in the file follows the one before it.

    Args:
        lines: of the session, and behind them those of its sub-agents' files.
        begun_by: what is said of a sub-agent beside its file, by its id: `toolUseId` names the call that began it.
        is_of_agent: whether it is the file of a sub-agent, whose conversation is the main one there.
    """

    def __init__(
        self, lines: Sequence[Line], begun_by: Mapping[str, dict[str, Json]] | None = None, *, is_of_agent: bool = False
    ) -> None:
        self._is_of_agent, self._begun_by = is_of_agent, begun_by or {}
        self._by_id: dict[str, _Entry] = {}
        self._answers: dict[str, _Entry] = {}
        self._asked: dict[str, _Entry] = {}
        self._chains: dict[str, _Chain] = {}
        self._root: _Entry | None = None
        self._last: _Entry | None = None
        self._early: list[Line] = []
        for line in lines:
            self._take(line)
        for chain in {id(each): each for each in self._chains.values()}.values():
            self._attach(chain)

    def ways(self) -> list[Way[_Entry]]:
        """Every way through the main conversation, the oldest first."""
        return [] if self._root is None else ways_from(self._root, lambda entry: entry.after)

    def _take(self, line: Line) -> None:
        entry = line.value
        uuid, before = text(entry.get("uuid")), self._by_id.get(text(entry.get("parentUuid")))
        if uuid in self._by_id:  # a session that is gone on with may repeat lines
            return
        is_side = entry.get("isSidechain") is True and not self._is_of_agent
        chain = self._chain_of(entry) if is_side else None
        tail = chain.entries[-1] if chain is not None and chain.entries else None if is_side else self._last
        before = before or self._by_id.get(text(entry.get("logicalParentUuid"))) or tail
        results = results_in(mapping(entry.get("message"))) if entry.get("type") == "user" else []
        answer = text(mapping(entry.get("message")).get("id")) if entry.get("type") == "assistant" else ""
        if answer and answer in self._answers:
            own = self._answers[answer]
            own.lines.append(line)
        elif (_is_turn(entry) and not results) or entry.get("subtype") == "compact_boundary":
            own = _Entry([line])
            if chain is not None:
                chain.entries.append(own)
            elif before is not None:
                before.after.append(own)
            else:
                self._root = own
                own.following += self._early
            if answer:
                self._answers[answer] = own
        else:
            asking = next((self._asked[each] for each, _, _ in results if each in self._asked), None)
            if asking is None and before is None:
                self._early.append(line)
                return
            own = asking or cast("_Entry", before)
            own.following.append(line)
        if not is_side:
            self._last = own
        if uuid:
            self._by_id.setdefault(uuid, own)
            if chain is not None:
                self._chains.setdefault(uuid, chain)
        for block in dicts(mapping(entry.get("message")).get("content")):
            if text(block.get("type")) == "tool_use" and text(block.get("id")):
                self._asked.setdefault(text(block["id"]), own)

    def _chain_of(self, entry: dict[str, Json]) -> _Chain:
        """The conversation that an entry of a sub-agent belongs to."""
        agent = text(entry.get("agentId"))
        known = self._chains.get(f"agent {agent}" if agent else text(entry.get("parentUuid")))
        if known is None:
            known = _Chain([], agent)
            if agent:
                self._chains[f"agent {agent}"] = known
        return known

    def _attach(self, chain: _Chain) -> None:
        """Find the call that began a conversation: by what it was told first, or by the id in the call's result."""
        if not chain.entries:
            return
        first, about = chain.entries[0], self._begun_by.get(chain.agent, {})
        words = _words(mapping(first.head.get("message")).get("content"))
        chain.name = text(about.get("agentType"))
        asking = self._asked.get(text(about.get("toolUseId")))
        if asking is not None:
            chain.is_known = True
            asking.begun.append(chain)
            return
        for asking in dict.fromkeys(self._asked.values()):
            for block in _calls(asking):
                given = mapping(block.get("input"))
                by_words = bool(words) and text(given.get("prompt")).strip() == words.strip()
                if by_words or (chain.agent and chain.agent in _agents_named(asking, text(block.get("id")))):
                    chain.name = chain.name or text(given.get("subagent_type")) or text(given.get("description"))
                    chain.is_known = True
                    asking.begun.append(chain)
                    return
        main = [entry for entry in dict.fromkeys(self._by_id.values()) if entry.head.get("isSidechain") is not True]
        if first.number > 0:
            main = [entry for entry in main if entry.number < first.number]
        else:  # of another file
            began_us = micros(first.head.get("timestamp")) or 0
            main = [entry for entry in main if (micros(entry.head.get("timestamp")) or 0) <= began_us] or main[:1]
        if main:
            main[-1].begun.append(chain)


def _calls(entry: _Entry) -> Iterator[dict[str, Json]]:
    for line in entry.lines:
        for block in dicts(mapping(line.value.get("message")).get("content")):
            if block.get("type") == "tool_use":
                yield block


def _agents_named(entry: _Entry, call: str) -> set[str]:
    """The ids of sub-agents in the results of a call."""
    return {
        text(mapping(line.value.get("toolUseResult")).get("agentId"))
        for line in entry.following
        if any(answered == call for answered, _, _ in results_in(mapping(line.value.get("message"))))
    } - {""}


def _words(content: Json) -> str:
    return content if isinstance(content, str) else "\n".join(text(block.get("text")) for block in dicts(content))


# ---------------------------------------------------------------- telling


def _told(
    run_id: str,
    way: Way[_Entry],
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

    def tell(self, entry: _Entry, lane: Lane) -> None:
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

    def _turn(self, entry: _Entry, lane: Lane) -> ToldStep | None:
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

    def _lane(self, chain: _Chain, step: ToldStep | None) -> Lane:
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
    def _time(entry: _Entry) -> tuple[int, int]:
        return micros(entry.head.get("timestamp")) or 0, entry.number


def answer_in(whole: dict[str, Json], *, is_error: bool) -> ModelAnswer:
    """Read an answer of which all lines were put together; one that the program made up is an error."""
    if is_error or whole.get("model") == _MADE_UP:
        return ModelAnswer(error=_words(whole.get("content")) or "no answer")
    return kept_answer("anthropic", whole)


def blocks_of(message: dict[str, Json]) -> list[Json]:
    """The blocks of a message, whose content may be a text."""
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
