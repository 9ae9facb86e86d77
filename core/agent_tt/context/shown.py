"""What is told of a model call's context; plain frozen dataclasses."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agent_tt.context.parts import Part

__all__ = [
    "JOINED", "KINDS", "RECORDED", "CallContext", "Cut", "Item", "Join", "JoinKind", "Mark", "Needed", "Origin",
    "OriginKind", "Place", "RunContexts", "RunJoins", "Share", "Tile", "came_and_went",
]  # fmt: skip

Place: TypeAlias = tuple[int, int]
"""A call: its step, and its number in there; (step, 0) is a state."""

OriginKind = Literal["system", "tools", "summary", "file", "command", "result", "user", "model", "several", "unknown"]
Mark = Literal["same", "new", "shortened", "changed"]

KINDS: Final[Mapping[OriginKind, str]] = {
    "system": "system",
    "tools": "tools",
    "summary": "summary",
    "file": "files read",
    "command": "commands",
    "result": "results",
    "user": "you",
    "model": "model",
    "several": "in several",
    "unknown": "not known",
}
"""What text may be, each with its name, in the order in which parts of a request are drawn."""

JoinKind = Literal[
    "asked", "shown", "result", "inside", "started", "nested", "given", "text", "alike", "argument"
]  # fmt: skip

JOINED: Final[Mapping[JoinKind, str]] = {
    "asked": "its model asked for the call, by id",
    "shown": "its tool call is in the request, by id",
    "result": "its result is in the request, by id",
    "inside": "the call was made inside its call",
    "started": "its call started what made the call",
    "nested": "the step is nested in it",
    "given": "its answer was given again",
    "text": "the request has text that it brought",
    "alike": "its model asked for this very call last",
    "argument": "the arguments have text that it brought",
}
"""What each kind of join says of the step that fed another."""

RECORDED: Final[frozenset[JoinKind]] = frozenset({"asked", "shown", "result", "inside", "started", "nested", "given"})
"""Kinds that the recording states; all others are inferred from equal texts."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text was first: what brought it into the run.

    Attributes:
        kind: what that was.
        step: the step; 0 is the input.
        call: the number of the call in it; 0 where it was no call's.
        name: of a tool or a model its name, of a file that was read its path.
        is_request: whether the request of that call is the first that has it: the program put it there.
    """

    kind: OriginKind
    step: int
    call: int = 0
    name: str = ""
    is_request: bool = False

    @property
    def place(self) -> Place:
        """The call or state that it is."""
        return self.step, self.call


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of an item that has one origin, or several possible ones.

    Attributes:
        start, end: the part, in characters.
        origins: all that hold it, the likeliest first; none where that is not known.
    """

    start: int
    end: int
    origins: tuple[Origin, ...] = ()

    @property
    def kind(self) -> OriginKind:
        """The kind of its origins: `several` where they differ, `unknown` where it has none."""
        kinds = {origin.kind for origin in self.origins}
        return kinds.pop() if len(kinds) == 1 else "several" if kinds else "unknown"


@dataclass(frozen=True, slots=True)
class Item:
    """One part of a request.

    Attributes:
        number: its place in the request, from 0.
        part: what it says.
        tiles: the same in parts by origin: each character in exactly one.
        tokens: how many tokens it has.
        weight: about how many it would have by its length alone.
        mark: how it stands to the last call in the lane.
        tokens_before: of one that was shortened or changed, how many it had.
        is_summary: whether it stands for messages that are gone.
        portions: of its weight the part of each kind of origin, by the place of that in `KINDS`.
        is_pictured: whether something in its text stands for a picture, a sound or a file.
    """

    number: int
    part: Part
    tiles: tuple[Tile, ...]
    tokens: int
    weight: int
    mark: Mark
    tokens_before: int | None = None
    is_summary: bool = False
    portions: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)
    is_pictured: bool = field(default=False, compare=False, repr=False)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Where most of it came from; none where that is not known."""
        sizes: dict[tuple[Origin, ...], int] = {}
        for tile in self.tiles:
            sizes[tile.origins] = sizes.get(tile.origins, 0) + tile.end - tile.start
        known = [(size, origins) for origins, size in sizes.items() if origins]
        return max(known, key=lambda pair: pair[0])[1] if known else ()

    @property
    def kind(self) -> OriginKind:
        """What most of it is."""
        if self.is_summary:
            return "summary"
        sizes: dict[OriginKind, int] = {}
        for tile in self.tiles:
            sizes[tile.kind] = sizes.get(tile.kind, 0) + tile.end - tile.start
        return max(sizes, key=lambda kind: sizes[kind]) if sizes else "unknown"


@dataclass(frozen=True, slots=True)
class Cut:
    """An item of the last call in the lane that is gone.

    Attributes:
        item: the item, as it stood there.
        after: the number of the item here that stands before where it was; -1 at the top.
    """

    item: Item
    after: int


@dataclass(frozen=True, slots=True)
class Share:
    """What one kind of origin has of a request.

    Attributes:
        kind: the kind.
        tokens: how many tokens.
        cost_usd: what these cost; None where that is not known.
    """

    kind: OriginKind
    tokens: int
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Needed:
    """Something that was cut, and that a later answer needed.

    Attributes:
        what: the words, or the tool call that was made again.
        cut: where it stood: the item that is gone.
        step, call: the model call whose answer needed it.
        why: how that is seen.
    """

    what: str
    cut: Item
    step: int
    call: int
    why: str


@dataclass(frozen=True, slots=True)
class CallContext:
    """What one model call was shown.

    Attributes:
        step, call: the call.
        lane: its lane.
        model: the model that was asked.
        items: its parts, from top to bottom.
        cuts: what the last call in the lane had and this one lacks.
        before: that last call, or another that somebody chose; None of the first.
        same: how many items at the top are as they were there.
        tokens: what the model read: what the provider counted, else our count.
        is_counted: whether `tokens` is only our count, by length.
        is_whole: whether the recording has all of the request; of others there may have been more, such as a system
            prompt or tools.
        rest: tokens that the provider counted and that nothing recorded explains.
        cached: how many of the tokens came from the provider's cache; None where it did not say.
        shares: by kind of origin, in the order of `KINDS`; their tokens add up to `tokens`.
        answer_tokens: what the model wrote; None where nobody said.
        cost_usd: what the call cost; None where that is not known.
        answer_cost_usd: the part of it that the answer cost.
        compaction: the step that says it compacted; None where no step does.
        gone: sentences of the user that are in no item any more.
        needed: what was cut and a later answer needed.
        why_empty: why there are no items; empty where there are.
        is_chosen: whether `before` is not that last call but one that somebody chose.
        shared: how many of the first items are those of `before` at the same places, but for their tokens.
        added: tokens of what is new since the last call in the lane.
        removed: tokens of what is gone since then.
    """

    step: int
    call: int
    lane: str
    model: str
    items: Sequence[Item]
    cuts: tuple[Cut, ...] = ()
    before: Place | None = None
    same: int = 0
    tokens: int = 0
    is_counted: bool = True
    is_whole: bool = False
    rest: int = 0
    cached: int | None = None
    shares: tuple[Share, ...] = ()
    answer_tokens: int | None = None
    cost_usd: float | None = None
    answer_cost_usd: float | None = None
    compaction: int | None = None
    gone: tuple[Gone, ...] = ()
    needed: tuple[Needed, ...] = ()
    why_empty: str = ""
    is_chosen: bool = False
    shared: int = 0
    added: int = 0
    removed: int = 0

    @property
    def place(self) -> Place:
        """The call."""
        return self.step, self.call

    @property
    def own(self) -> Sequence[Item]:
        """The items that are not `shared`: reading these takes no longer where the rest is long."""
        return self.items[self.shared :]

    @property
    def summary(self) -> Item | None:
        """The item that stands for those that are gone."""
        return next((item for item in self.own if item.is_summary and item.mark != "same"), None)


@dataclass(frozen=True, slots=True)
class Gone:
    """Words of the user that stood in the last call and stand in none of the items of this one.

    Attributes:
        words: a sentence.
        cut: the item that had it.
    """

    words: str
    cut: Item


class Join(NamedTuple):
    """One thing that fed another.

    Attributes:
        source: the call that fed; (step, 0) where it was a state, or a step as such.
        fed: the call that it fed.
        kind: how they are joined.
        one_of: how many calls or states it may have been: they hold the same text.
    """

    source: Place
    fed: Place
    kind: JoinKind
    one_of: int = 1

    @property
    def is_recorded(self) -> bool:
        """Whether the recording says so."""
        return self.kind in RECORDED


@dataclass(frozen=True, slots=True)
class RunJoins:
    """What joins the calls of a run, beside the texts of its requests.

    Attributes:
        askers: the model call that asked for a tool under an id; None where several did, and nobody knows which.
        answerers: the call of a tool that was asked for under an id; None where several were.
        joins: all joins between calls that stand in no request.
    """

    askers: Mapping[str, Place | None] = field(default_factory=dict)
    answerers: Mapping[str, Place | None] = field(default_factory=dict)
    joins: Sequence[Join] = ()

    def by_id(self, part: Part) -> tuple[Place, JoinKind] | None:
        """The call that an item of a request is from, by its id; None where no id says so."""
        if not part.joins:
            return None
        if part.kind == "result":
            found = self.answerers.get(part.joins)
            return None if found is None else (found, "result")
        found = self.askers.get(part.joins) if part.kind == "call" else None
        return None if found is None else (found, "shown")


@dataclass(frozen=True, slots=True, eq=False)
class RunContexts:
    """What each model call of a run was shown. Two are equal only if they are the same object: comparing texts is slow.

    Attributes:
        calls: in the order of the run.
        numbers: of each call its number, from 0, by step and call.
        joins: what joins the calls of the run beside.
    """

    calls: Sequence[CallContext]
    numbers: Mapping[Place, int]
    joins: RunJoins

    def at(self, place: Place) -> CallContext | None:
        """Give the model call at a place; None where no model was called there."""
        number = self.numbers.get(place)
        return None if number is None else self.calls[number]

    def holding(self, own: Callable[[int, CallContext], Sequence[Item]]) -> Iterator[Sequence[Item]]:
        """Give of each call those of its items that are looked for, in as long as it takes to look at each item once.

        Args:
            own: gives those of a call's own items that are looked for, by its number and the call.
        """
        held: list[Sequence[Item]] = []
        for number, context in enumerate(self.calls):
            found = own(number, context)
            if context.shared and context.before is not None and (before := held[self.numbers[context.before]]):
                found = [*(item for item in before if item.number < context.shared), *found]
            held.append(found)
            yield found

    def near(self, step: int) -> CallContext | None:
        """The model call of a step; where it has none the last one before, else the first."""
        found: CallContext | None = None
        for context in self.calls:
            if context.step == step:
                return context
            if context.step < step or found is None:
                found = context
        return found


def came_and_went(items: Iterable[Item], cuts: Iterable[Cut]) -> tuple[int, int]:
    """How many tokens came with items that are new or longer than they were, and went with what is cut or shorter."""
    came = went = 0
    for item in items:
        if item.mark != "same":
            change = item.tokens - (item.tokens_before or 0)
            came, went = came + max(change, 0), went + max(-change, 0)
    return came, went + sum(cut.item.tokens for cut in cuts)
