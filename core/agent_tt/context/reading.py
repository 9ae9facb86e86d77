"""Reads the model calls of a run as contexts, in one pass along the run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import get
from agent_tt.context.changing import changes_of
from agent_tt.context.dropping import Dropped, gone_words
from agent_tt.context.entering import kind_of_result, origin_of_call, said, texts_of
from agent_tt.context.parts import PartsOf, said_parts
from agent_tt.context.shown import CallContext, Cut, Item, Origin, RunContexts
from agent_tt.context.tiling import Entered, own_texts
from agent_tt.context.weighing import count, length_of, shares_of, tokens_in, weigh
from agent_tt.errors import AgentTTError
from agent_tt.model.kinds import ACTING, COMPACTION, OWN_DOING
from agent_tt.providers.chat import ASSISTANTS, TOOLS, conversation_in
from agent_tt.providers.model_talk import messages_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.context.parts import Part
    from agent_tt.context.shown import Mark, OriginKind, Place, Tile
    from agent_tt.model import Call, Step
    from agent_tt.protocols import RunSource
    from agent_tt.providers.model_talk import ModelTalk
    from agent_tt.providers.shapes import Message

__all__ = ["read_contexts"]

_LOOKED_BACK: Final = 16
"""Calls of a lane in which the last one of the same conversation is looked for: a lane may ask other things between."""

_LEAST_SUMMED: Final = 2
_AROUND: Final = 12
"""Tokens around a part: names, ids, brackets."""
_INPUT: Final = "the input"

_NOTE: Final = re.compile(r"\[(?:audio|document|file|image|input_\w+|media|video)\b[^\]\n]{0,120}\]")
"""What stands for pictures, sounds and files: how many tokens these have cannot be told by its length."""


def read_contexts(
    source: RunSource, run_id: str, *, until: Place | None = None, cancelled: Callable[[], bool] = lambda: False
) -> RunContexts:
    """Read what each model call of a run was shown.

    A function that asks a model through another recorded call is left out: that call has the whole request.

    Args:
        source: where the run is.
        run_id: the run.
        until: the last call that is wanted; None for all.
        cancelled: asked between steps; then what was read so far is given.
    """
    reader = _Reader()
    reader.begin(_state(source, run_id, 0))
    for step in source.steps(run_id):
        if cancelled() or (until is not None and step.number > until[0]):
            break
        if step.name == COMPACTION:
            reader.compact(step, _state(source, run_id, step.number))
        if step.calls:
            reader.read(source.calls(run_id, step.number), until)
    return reader.contexts


class _Reader:
    """Goes along a run, and keeps what entered it and the last requests of each lane."""

    def __init__(self) -> None:
        self._entered = Entered()
        self._parts = PartsOf()
        self._found: list[CallContext] = []
        self._index: dict[Place, int] = {}
        self._in_lane: dict[str, list[CallContext]] = {}
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
        return RunContexts(tuple(self._found), {context.place: context for context in self._found})

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

    def read(self, calls: Sequence[Call], until: Place | None) -> None:
        """Take in the calls of a step."""
        asks_through = {call.facts.inside for call in calls if call.kind == "llm"}
        self._inside |= {(call.step, call.number): call.facts.inside for call in calls}
        for call in calls:
            place = call.step, call.number
            if until is not None and place > until:
                return
            if call.kind != "llm":
                if call.kind in ACTING and not (call.kind in OWN_DOING and call.facts.is_nested):
                    self._waiting.append((call, None))
            elif place not in asks_through:
                self._flush(call)
                parts, is_whole, talk = self._parts.read(call)
                context = self._context(call, parts, is_whole=is_whole)
                self._index[place] = len(self._found)
                self._found.append(context)
                self._in_lane.setdefault(call.lane, []).append(context)
                self._look_for_needed(context, said_parts(talk))
                self._waiting.append((call, talk))

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

    def _context(self, call: Call, parts: Sequence[Part], *, is_whole: bool) -> CallContext:
        before = self._before(call.lane, parts)
        old = () if before is None else before.items
        changes = changes_of([item.part for item in old], parts)
        reported = call.facts.tokens_in
        most = _most(call, parts, is_whole=is_whole) if reported else None
        there = [changes.same.get(number) for number in range(len(parts))]
        weights = [count(part.text) if at is None else old[at].weight for part, at in zip(parts, there, strict=True)]
        weighed = weigh(weights, reported, most)
        asked = {part.id or part.name: part for part in parts if part.kind == "call"}
        after = (0, 0) if before is None else before.place
        items: list[Item] = []
        brought: list[tuple[Origin, list[str]]] = []
        for number, part in enumerate(parts):
            tokens, weight, at = weighed.items[number], weights[number], there[number]
            if at is not None:
                items.append(_again(old[at], number, part, tokens))
                continue
            own = _own(call, part, asked)
            tiles = self._tiles(part, own, after)
            if own is not None and (texts := own_texts(part.text, tiles, own)):
                brought.append((own, texts))
            was = changes.became.get(number)
            mark: Mark = "new"
            if was is not None:
                mark = "shortened" if len(part.text) < len(old[was].part.text) else "changed"
            items.append(Item(number, part, tiles, tokens, weight, mark, None if was is None else old[was].tokens))
        for origin, texts in brought:
            self._entered.add(origin, texts)
        cuts = tuple(Cut(old[at], after) for at, after in changes.cut)
        compaction = self._compacted.pop(call.lane, None)
        items = _with_summary(items, cuts)
        shorter = [Cut(old[was], at) for at, was in changes.became.items() if items[at].mark == "shortened"]
        gone = gone_words((*cuts, *shorter), items)
        if cuts:
            self._dropped.setdefault(call.lane, Dropped()).cut((call.step, call.number), cuts, gone, items)
        shares, answer_cost = shares_of(call, items, weighed)
        return CallContext(
            *(call.step, call.number, call.lane, call.facts.model or call.name, tuple(items), cuts),
            before=None if before is None else before.place,
            same=changes.top,
            tokens=weighed.total,
            is_counted=weighed.is_counted,
            is_whole=is_whole,
            rest=weighed.rest,
            cached=call.facts.tokens_cached,
            shares=shares,
            answer_tokens=call.facts.tokens_out,
            cost_usd=call.facts.cost_usd,
            answer_cost_usd=answer_cost,
            compaction=compaction,
            gone=gone,
            why_empty="" if items else _why_empty(call),
        )

    def _before(self, lane: str, parts: Sequence[Part]) -> CallContext | None:
        """The last call of the same conversation in a lane: one that begins alike, else one that shares an item.

        A conversation without a system text may have nothing left after it was compacted: then that is the last call.
        One with another system text, and nothing in common, is another conversation.
        """
        known = [context for context in self._in_lane.get(lane, [])[-_LOOKED_BACK:] if context.items]
        if not known or not parts:
            return None
        first = parts[0].key
        keys = {part.key for part in parts}
        return (
            next((each for each in reversed(known) if each.items[0].part.key == first), None)
            or next((each for each in reversed(known) if any(item.part.key in keys for item in each.items)), None)
            or next((each for each in reversed(known) if not _has_system(each, parts)), None)
        )

    def _tiles(self, part: Part, own: Origin | None, after: Place) -> tuple[Tile, ...]:
        tiles = self._entered.tiles(part.text, own, lambda origin: origin.place >= after)
        if part.kind in ("system", "tools"):
            return tuple(replace(tile, origins=tuple(_in_input(part, each) for each in tile.origins)) for tile in tiles)
        answered = self._tools.get(part.id) if part.kind == "result" and part.id else None
        if answered is None:
            return tiles
        # The id says which of several equal results it is.
        return tuple(replace(tile, origins=(answered,)) if answered in tile.origins else tile for tile in tiles)

    def _look_for_needed(self, context: CallContext, answer: Sequence[Part]) -> None:
        dropped = self._dropped.get(context.lane)
        if not dropped or not answer:
            return
        for place, needed in list(dropped.needed(context.step, context.call, answer, context.items)):
            at = self._index[place]
            found = self._found[at]
            self._found[at] = replace(found, needed=(*found.needed, needed))


def _most(call: Call, parts: Sequence[Part], *, is_whole: bool) -> int | None:
    """How many tokens what is recorded of a request can have at most; None where it is all of it."""
    if not is_whole:
        places = {part.path[0] for part in parts if part.path}
        args = call.args if isinstance(call.args, dict) else {"": call.args}
        sent = {key: each for key, each in args.items() if key in places or not places}
        return tokens_in(length_of(sent))
    pictured = any(_NOTE.search(part.text) for part in parts)
    return sum(count(part.text) + _AROUND for part in parts) if pictured else None


def _has_system(context: CallContext, parts: Sequence[Part]) -> bool:
    return "system" in (context.items[0].part.kind, parts[0].kind)


def _again(item: Item, number: int, part: Part, tokens: int) -> Item:
    """An item of the last request as it stands in this one."""
    if (item.number, item.tokens, item.mark, item.part.path) == (number, tokens, "same", part.path):
        return item
    return Item(number, part, item.tiles, tokens, item.weight, "same", is_summary=item.is_summary)


def _own(call: Call, part: Part, asked: Mapping[str, Part]) -> Origin | None:
    """What is told of text that nothing recorded brought: which part of the program's request it is."""
    kind: OriginKind
    name = ""
    if part.kind == "result":
        kind, name = kind_of_result(part, asked.get(part.id))
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
