"""Reads the model calls of a run as contexts, in one pass along the run."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.paths import get
from agent_tt.context.changing import changes_of
from agent_tt.context.dropping import Dropped, gone_words
from agent_tt.context.entering import kind_of_result, origin_of_call, said, texts_of
from agent_tt.context.items import Items
from agent_tt.context.joins import Joins
from agent_tt.context.parts import PartsOf, said_parts
from agent_tt.context.shown import CallContext, Cut, Item, Origin, RunContexts, came_and_went
from agent_tt.context.tiling import Entered, own_texts
from agent_tt.context.weighing import NOTHING, count, is_pictured, plus, portions_of, shares_of, weigh
from agent_tt.errors import AgentTTError
from agent_tt.model.kinds import ACTING, COMPACTION, OWN_DOING
from agent_tt.providers.chat import ASSISTANTS, TOOLS, conversation_in
from agent_tt.providers.model_talk import alike, messages_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.context.changing import Changes
    from agent_tt.context.parts import Part, Request
    from agent_tt.context.shown import Mark, OriginKind, Place, Tile
    from agent_tt.context.weighing import Sums, Weighed
    from agent_tt.model import Call, Step
    from agent_tt.protocols import RunSource
    from agent_tt.providers.model_talk import ModelTalk
    from agent_tt.providers.shapes import Message

__all__ = ["LOOKED_BACK", "read_contexts"]

LOOKED_BACK: Final = 16
"""Calls of a lane in which the last one of the same conversation is looked for: a lane may ask other things between."""

_LEAST_SUMMED: Final = 2
_INPUT: Final = "the input"


def read_contexts(source: RunSource, run_id: str, *, cancelled: Callable[[], bool] = lambda: False) -> RunContexts:
    """Read what each model call of a run was shown.

    A function that asks a model through another recorded call is left out: that call has the whole request.

    Args:
        source: where the run is.
        run_id: the run.
        cancelled: asked between steps; then what was read so far is given.
    """
    reader = _Reader(run_id)
    reader.begin(_state(source, run_id, 0))
    for step in source.steps(run_id):
        if cancelled():
            break
        reader.joins.step(step)
        if step.name == COMPACTION:
            reader.compact(step, _state(source, run_id, step.number))
        if step.calls:
            reader.read(source.calls(run_id, step.number))
    return reader.contexts


class _Asked(NamedTuple):
    """One of the last calls of a lane: what the next one is compared with.

    Attributes:
        context: what is told of it.
        shown: its items, as that has them.
        parts: what they say.
        items: each as it stood in the request that had it first.
        sums: what they weigh, before each and after the last.
        weighed: their tokens.
    """

    context: CallContext
    shown: Items
    parts: Sequence[Part]
    items: list[Item]
    sums: list[Sums]
    weighed: Weighed

    @property
    def place(self) -> Place:
        """The call."""
        return self.context.place

    def item(self, at: int) -> Item:
        """Give an item with its tokens and mark in this request; an earlier request may have given it others."""
        item = self.items[at]
        if at >= self.context.shared:
            return item
        tokens = self.weighed.between(self.sums[at], self.sums[at + 1])
        return replace(item, tokens=tokens, mark="same", tokens_before=None)


class _Reader:
    """Goes along a run, and keeps what entered it and the last requests of each lane."""

    def __init__(self, run_id: str) -> None:
        self.joins = Joins(run_id)
        self._entered = Entered()
        self._parts = PartsOf()
        self._found: list[CallContext] = []
        self._index: dict[Place, int] = {}
        self._in_lane: dict[str, deque[_Asked]] = {}
        self._read_last: deque[Items] = deque()
        self._dropped: dict[str, Dropped] = {}
        self._tools: dict[str, Origin] = {}
        """Recorded calls of tools, by the id that they were asked for under."""
        self._waiting: list[tuple[Call, ModelTalk | None]] = []
        """Calls whose results are not taken in yet: they may have come when later ones had begun."""
        self._compacted: dict[str, int] = {}
        self._inside: dict[Place, Place | None] = {}
        """Of each call the one that it was made inside of."""

    @property
    def contexts(self) -> RunContexts:
        """What was read."""
        return RunContexts(tuple(self._found), dict(self._index), self.joins.found)

    def begin(self, state: Wire) -> None:
        """Take in the input."""
        at, turns = _conversation(state)
        for message in turns:
            self._entered.add(Origin(_kind_of_role(message.role), 0, 0, _INPUT), said([message]))
        rest = state
        if at is not None:
            rest = {key: each for key, each in state.items() if key not in at} if isinstance(state, dict) else None
        self._entered.add(Origin("user", 0, 0, _INPUT), texts_of(rest))

    def compact(self, step: Step, state: Wire) -> None:
        """Take in what a step put in the place of a conversation."""
        self._flush(None)
        for message in _conversation(state)[1]:
            if not self._entered.holds(message.text):
                self._entered.add(Origin("summary", step.number, 0, step.name), said([message]))
        self._compacted[step.lane] = step.number

    def read(self, calls: Sequence[Call]) -> None:
        """Take in the calls of a step."""
        asks_through = {call.facts.inside for call in calls if call.kind == "llm"}
        self._inside |= {(call.step, call.number): call.facts.inside for call in calls}
        for call in calls:
            place = call.step, call.number
            self.joins.call(call)
            if call.kind != "llm":
                self._flush(call)
                self.joins.arguments(call, self._entered)
                if call.kind in ACTING and not (call.kind in OWN_DOING and call.facts.is_nested):
                    self._waiting.append((call, None))
            elif place not in asks_through:
                self._flush(call)
                request = self._parts.read(call)
                asked = self._context(call, request)
                self._index[place] = len(self._found)
                self._found.append(asked.context)
                self._in_lane.setdefault(call.lane, deque(maxlen=LOOKED_BACK)).append(asked)
                answer = said_parts(request.talk)
                self.joins.said(place, answer)
                self._look_for_needed(asked, answer)
                self._waiting.append((call, request.talk))

    # ---------------------------------------------------------------- what entered

    def _flush(self, asking: Call | None) -> None:
        """Take in the results that were there when a call was made; None: all."""
        waiting, self._waiting = self._waiting, []
        for call, talk in waiting:
            if asking is not None and self._comes_later(call, asking):
                self._waiting.append((call, talk))
                continue
            origin = origin_of_call(call)
            if talk is not None and talk.said:
                self._entered.add(origin, said(talk.said))
            elif talk is None or not talk.request.api:
                self._entered.add(origin, texts_of(call.result))
            if call.error is not None:
                self._entered.add(origin, filter(None, (call.error.short, call.error.message)))
            if call.facts.answers:
                self._tools[call.facts.answers] = origin

    def _comes_later(self, call: Call, asking: Call) -> bool:
        """Whether a call's answer came after another call was made: it was made inside of it, or in another lane."""
        around = asking.facts.inside
        known: set[Place] = set()
        while around is not None and around not in known:
            if around == (call.step, call.number):
                return True
            known.add(around)
            around = self._inside.get(around)
        if call.lane == asking.lane or call.ended_us is None or asking.started_us is None:
            return False
        return call.ended_us > asking.started_us

    # ---------------------------------------------------------------- one request

    def _context(self, call: Call, asked: Request) -> _Asked:
        parts = asked.parts
        before = self._before(call.lane, parts)
        shared = 0
        if before is not None:
            shared = alike(before.parts, parts, at=asked.known if asked.last is before.parts else 0)
        changes = changes_of(() if before is None else before.parts, parts, shared)
        own, brought = self._own_items(call, parts, before, changes, shared)
        cuts = tuple(Cut(before.item(at), after) for at, after in changes.cut) if before is not None else ()
        own = [_portioned(item) for item in _with_summary(own, cuts)]
        sums = [NOTHING] if before is None else before.sums[: shared + 1]
        for item in own:
            sums.append(plus(sums[-1], item))
        reported = call.facts.tokens_in
        weighed = weigh(sums[-1], len(parts), reported, None if asked.is_whole else asked.length)
        own = [
            replace(item, tokens=weighed.between(*pair))
            for item, pair in zip(own, pairwise(sums[shared:]), strict=True)
        ]
        for origin, texts in brought:
            self._entered.add(origin, texts)
        compaction = self._compacted.pop(call.lane, None)
        at_items = [] if before is None else before.items[:shared]
        at_items += own
        shorter = [
            Cut(before.item(was), at)
            for at, was in changes.became.items()
            if before is not None and at_items[at].mark == "shortened"
        ]
        gone = gone_words((*cuts, *shorter), parts)
        if cuts:
            self._dropped.setdefault(call.lane, Dropped()).cut((call.step, call.number), cuts, gone, parts)
        shares, answer_cost = shares_of(call, at_items, sums, weighed)
        added, removed = came_and_went(own, cuts)
        items = Items(None if before is None else before.shown, shared, tuple(own), weighed.scale, self._read_last)
        context = CallContext(
            *(call.step, call.number, call.lane, call.facts.model or call.name, items if parts else (), cuts),
            before=None if before is None else before.place,
            same=changes.top,
            tokens=weighed.total,
            is_counted=weighed.is_counted,
            is_whole=asked.is_whole,
            rest=weighed.rest,
            cached=call.facts.tokens_cached,
            shares=shares,
            answer_tokens=call.facts.tokens_out,
            cost_usd=call.facts.cost_usd,
            answer_cost_usd=answer_cost,
            compaction=compaction,
            gone=gone,
            why_empty="" if parts else _why_empty(call),
            shared=shared,
            added=added,
            removed=removed,
        )
        return _Asked(context, items, parts, at_items, sums, weighed)

    def _own_items(
        self, call: Call, parts: Sequence[Part], before: _Asked | None, changes: Changes, shared: int
    ) -> tuple[list[Item], list[tuple[Origin, list[str]]]]:
        """The items that are not just those of the call before, without tokens, and the texts that only they have."""
        after = (0, 0) if before is None else before.place
        items: list[Item] = []
        brought: list[tuple[Origin, list[str]]] = []
        for number in range(shared, len(parts)):
            part = parts[number]
            at = number if number < changes.top else changes.same.get(number)
            if at is not None and before is not None:
                stood = before.items[at]
                items.append(replace(stood, number=number, part=part, mark="same", tokens_before=None))
                continue
            own = _own(call, part, parts)
            tiles = self._tiles(part, own, after)
            if own is not None and (texts := own_texts(part.text, tiles, own)):
                brought.append((own, texts))
            was = changes.became.get(number)
            mark: Mark = "new"
            tokens_before = None
            if was is not None and before is not None:
                mark = "shortened" if len(part.text) < len(before.parts[was].text) else "changed"
                tokens_before = before.item(was).tokens
            items.append(Item(number, part, tiles, 0, count(part.text), mark, tokens_before))
        return items, brought

    def _before(self, lane: str, parts: Sequence[Part]) -> _Asked | None:
        """The last call of the same conversation in a lane: one that begins alike, else one that shares an item.

        A conversation without a system text may have nothing left after it was compacted: then that is the last call.
        One with another system text, and nothing in common, is another conversation.
        """
        known = [asked for asked in self._in_lane.get(lane, ()) if asked.parts]
        if not known or not parts:
            return None
        first = parts[0].key
        alike_first = next((each for each in reversed(known) if each.parts[0].key == first), None)
        if alike_first is not None:
            return alike_first
        keys = {part.key for part in parts}
        return next((each for each in reversed(known) if any(part.key in keys for part in each.parts)), None) or next(
            (each for each in reversed(known) if not _has_system(each.parts, parts)), None
        )

    def _tiles(self, part: Part, own: Origin | None, after: Place) -> tuple[Tile, ...]:
        # The id says which of several equal results it is.
        answered = self._tools.get(part.id) if part.kind == "result" and part.id else None
        tiles = self._entered.tiles(part.text, own, after, answered)
        if part.kind in ("system", "tools"):
            return tuple(replace(tile, origins=tuple(_in_input(part, each) for each in tile.origins)) for tile in tiles)
        return tiles

    def _look_for_needed(self, asked: _Asked, answer: Sequence[Part]) -> None:
        context = asked.context
        dropped = self._dropped.get(context.lane)
        if not dropped or not answer:
            return
        for place, needed in list(dropped.needed(context, answer, asked.parts)):
            at = self._index[place]
            found = self._found[at]
            self._found[at] = replace(found, needed=(*found.needed, needed))


def _has_system(one: Sequence[Part], other: Sequence[Part]) -> bool:
    return "system" in (one[0].kind, other[0].kind)


def _portioned(item: Item) -> Item:
    """An item with what each kind of origin has of its weight, which goes with it from request to request."""
    if item.mark == "same":
        return item
    portions = portions_of(item.weight, item.tiles, item.kind if item.is_summary or not item.tiles else None)
    return replace(item, portions=portions, is_pictured=is_pictured(item.part.text))


def _own(call: Call, part: Part, parts: Sequence[Part]) -> Origin | None:
    """What is told of text that nothing recorded brought: which part of the program's request it is."""
    kind: OriginKind
    name = ""
    if part.kind == "result":
        kind, name = kind_of_result(part, _asked_for(part.id, parts))
    elif part.kind == "tools":
        kind, name = "tools", part.name
    elif part.kind == "system":
        kind = "system"
    elif part.role == "user":
        kind = "user"
    elif part.role == "argument":
        kind, name = "unknown", part.name
    else:
        return None
    return Origin(kind, call.step, call.number, name, is_request=True)


def _asked_for(name: str, parts: Sequence[Part]) -> Part | None:
    """Find the tool call with this id, or this name where it has none, among the parts of a request; the last one."""
    return next((part for part in reversed(parts) if part.kind == "call" and (part.id or part.name) == name), None)


def _in_input(part: Part, origin: Origin) -> Origin:
    """What the input held, by what became of it: a system text, or tools."""
    if origin.step or origin.kind != "user":
        return origin
    return replace(origin, kind="system" if part.kind == "system" else "tools")


def _with_summary(items: list[Item], cuts: Sequence[Cut]) -> list[Item]:
    """Mark what stands for messages that were cut: a summary that a step left, or that a model wrote."""
    messages = sum(cut.item.part.kind in ("text", "call", "result") for cut in cuts)
    for at, item in enumerate(items):
        if item.mark == "same" or item.part.kind not in ("text", "system"):
            continue
        by_step = any(origin.kind == "summary" for tile in item.tiles for origin in tile.origins)
        by_model = item.part.role != "assistant" and _mostly(item, "model") and messages >= _LEAST_SUMMED
        if by_step or by_model:
            items[at] = replace(item, is_summary=True)
    return items


def _mostly(item: Item, kind: OriginKind) -> bool:
    size = sum(tile.end - tile.start for tile in item.tiles if tile.kind == kind)
    return size * 2 > len(item.part.text)


def _conversation(state: Wire) -> tuple[Path | None, Sequence[Message]]:
    at = conversation_in(state)
    turns = None if at is None else get(state, at)
    return at, [message for turn in (turns if isinstance(turns, list) else ()) for message in messages_in(turn)]


def _kind_of_role(role: str) -> OriginKind:
    if role in TOOLS:
        return "result"
    if role in ASSISTANTS or role == "model":
        return "model"
    return "system" if role in ("system", "developer") else "user"


def _why_empty(call: Call) -> str:
    if call.damaged is not None:
        return f"this call is damaged: {call.damaged}"
    if call.args is None:
        return "what this call was asked with was not recorded"
    return "this call was asked with nothing that can be read as text"


def _state(source: RunSource, run_id: str, step: int) -> Wire:
    try:
        return source.state(run_id, step)
    except AgentTTError:  # what cannot be read brings nothing
        return None
