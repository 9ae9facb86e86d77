"""The tree that the entries of a session of Claude Code make: see `agent_tt.interop.transcripts.claude_code`."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, cast

from agent_tt._dataclass import dataclass
from agent_tt.interop.transcripts.telling import micros, results_in
from agent_tt.interop.transcripts.ways import ways_from
from agent_tt.providers.loose import dicts, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.interop.transcripts.document import Line
    from agent_tt.interop.transcripts.ways import Way
    from agent_tt.providers.shapes import Json

__all__ = ["Chain", "Entry", "Tree", "is_turn", "words_of"]


@dataclass(slots=True, eq=False)
class Entry:
    """A moment of the conversation: what a person said, an answer in all its lines, a compaction.

    Attributes:
        lines: those that it is made of.
        following: lines that belong to it, in order: results of the tools that it asked for, and what is no turn.
        after: the moments that followed it, the older first; more than one where a person went back.
        begun: conversations of sub-agents that it began.
    """

    lines: list[Line]
    following: list[Line] = field(default_factory=list)
    after: list[Entry] = field(default_factory=list)
    begun: list[Chain] = field(default_factory=list)

    @property
    def head(self) -> dict[str, Json]:
        """Its first line."""
        return self.lines[0].value

    @property
    def number(self) -> int:
        """The number of its first line."""
        return self.lines[0].number


@dataclass(slots=True)
class Chain:
    """A conversation of a sub-agent.

    Attributes:
        agent: the id that the program gives it, where it gives one.
        is_known: whether the call that began it is known.
    """

    entries: list[Entry]
    agent: str = ""
    name: str = ""
    is_known: bool = False


def is_turn(entry: dict[str, Json]) -> bool:
    """Whether an entry is a turn; what Claude Code writes as it works looks alike, but for how it names its session."""
    content = mapping(entry.get("message")).get("content")
    is_named = any(key in entry for key in ("uuid", "sessionId", "timestamp"))
    return (
        entry.get("type") in ("user", "assistant")
        and isinstance(content, str | list)
        and is_named
        and not any(key in entry for key in ("session_id", "parent_tool_use_id"))
    )


class Tree:
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
        self._by_id: dict[str, Entry] = {}
        self._answers: dict[str, Entry] = {}
        self._asked: dict[str, Entry] = {}
        self._chains: dict[str, Chain] = {}
        self._root: Entry | None = None
        self._last: Entry | None = None
        self._early: list[Line] = []
        for line in lines:
            self._take(line)
        for chain in {id(each): each for each in self._chains.values()}.values():
            self._attach(chain)

    def ways(self) -> list[Way[Entry]]:
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
        elif (is_turn(entry) and not results) or entry.get("subtype") == "compact_boundary":
            own = Entry([line])
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
            own = asking or cast("Entry", before)
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

    def _chain_of(self, entry: dict[str, Json]) -> Chain:
        """The conversation that an entry of a sub-agent belongs to."""
        agent = text(entry.get("agentId"))
        known = self._chains.get(f"agent {agent}" if agent else text(entry.get("parentUuid")))
        if known is None:
            known = Chain([], agent)
            if agent:
                self._chains[f"agent {agent}"] = known
        return known

    def _attach(self, chain: Chain) -> None:
        """Find the call that began a conversation: by what it was told first, or by the id in the call's result."""
        if not chain.entries:
            return
        first, about = chain.entries[0], self._begun_by.get(chain.agent, {})
        words = words_of(mapping(first.head.get("message")).get("content"))
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


def _calls(entry: Entry) -> Iterator[dict[str, Json]]:
    for line in entry.lines:
        for block in dicts(mapping(line.value.get("message")).get("content")):
            if block.get("type") == "tool_use":
                yield block


def _agents_named(entry: Entry, call: str) -> set[str]:
    """The ids of sub-agents in the results of a call."""
    return {
        text(mapping(line.value.get("toolUseResult")).get("agentId"))
        for line in entry.following
        if any(answered == call for answered, _, _ in results_in(mapping(line.value.get("message"))))
    } - {""}


def words_of(content: Json) -> str:
    """The words of a message's content, which may be a text or blocks."""
    return content if isinstance(content, str) else "\n".join(text(block.get("text")) for block in dicts(content))
