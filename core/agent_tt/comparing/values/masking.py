"""Setting back what does not count: the new state, with all that the rules let pass as it is in the old one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path
from agent_tt.codec.sameness import common_ends, identical
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope
from agent_tt.comparing.sequences.items import match_items
from agent_tt.comparing.values.loose_equality import LooseEquality, TooManyPairs, into
from agent_tt.comparing.values.typed_values import CONTAINERS, by_key, is_dict, is_set, number_of
from agent_tt.history.changes.diff import same

if TYPE_CHECKING:
    from agent_tt.codec.paths import Pattern
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.values.ignoring import Ignoring, Why

__all__ = ["Positions", "SetBack", "set_back"]

Positions: TypeAlias = "dict[Path, list[int | None]]"
"""For lists whose items stand elsewhere than in the new state: the position of each there; None for what is not."""

_Slot: TypeAlias = "tuple[int | None, int | None]"
"""One item of a list: its position in the old and in the new one, None where it is not in it."""


@dataclass(slots=True)
class SetBack:
    """The new state with what was let pass set back, and what that was.

    Attributes:
        kept: That state.
        passed: The places of what was let pass, in the new state if it is in it, and the rule.
        unknown: Lists whose items were not all compared.
        unmatched: Paths to ignore at which neither state holds anything.
        positions: Where the items of lists that were put into another order are in the new state, by their lists'
            places in `kept`.
    """

    kept: Wire = None
    passed: list[tuple[Path, Why]] = field(default_factory=list)
    unknown: list[Path] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    positions: Positions = field(default_factory=dict)


def set_back(old: Wire, new: Wire, rules: Ignoring) -> SetBack:
    """Set back in `new` what the rules let pass.

    Args:
        old: The old state, a wire value.
        new: The new state. Neither is changed; the result shares values with both.
        rules: What does not count.
    """
    walk = _Walk(rules)
    walk.result.kept = walk.values(old, new, _Place((), (), (), rules.paths, rules.paths))
    walk.result.unmatched = [
        _written(pattern) for pattern in rules.paths if not _is_there(old, pattern) and not _is_there(new, pattern)
    ]
    return walk.result


class _Place(NamedTuple):
    """A place: its path in the old state, in the new one and in the result, and what is left of the ignored paths."""

    old: Path
    new: Path
    kept: Path
    old_patterns: tuple[Pattern, ...]
    new_patterns: tuple[Pattern, ...]

    def inside(self, old: str | int, new: str | int, kept: str | int) -> _Place:
        patterns = into(self.old_patterns, old), into(self.new_patterns, new)
        return _Place((*self.old, old), (*self.new, new), (*self.kept, kept), *patterns)

    def payload(self) -> _Place:
        """Go into what a typed value holds; the ignored paths stay, since people write no step for it."""
        return self._replace(old=(*self.old, VALUE), new=(*self.new, VALUE), kept=(*self.kept, VALUE))

    @property
    def is_ignored(self) -> bool:
        return () in self.old_patterns or () in self.new_patterns


class _Walk:
    def __init__(self, rules: Ignoring) -> None:
        self._rules = rules
        self._judge = LooseEquality(rules)
        self._gave_up = False  # on the list whose items are being paired
        self.result = SetBack()

    def values(self, old: Wire, new: Wire, place: _Place) -> Wire:
        """The new value, with what is let pass as in the old one."""
        if old is new or same(old, new):
            return old
        if identical(old, new) and not self._rules.order:
            return new  # another order of keys, which makes no difference
        if place.is_ignored:
            return self._pass(old, place.new, "path")
        if isinstance(old, list) and isinstance(new, list):
            return self._items(old, new, place)
        if isinstance(old, dict) and isinstance(new, dict):
            if not is_envelope(old) and not is_envelope(new):
                return self._fields(old, new, place)
            if _are_alike(old, new):
                return {**new, VALUE: self._payload(old, old.get(VALUE), new.get(VALUE), place.payload())}
            if envelope_type(old) == envelope_type(new) in ("float", "opaque"):
                return new  # whether these differ is not for the rules to say
        if self._equal(old, new, place):
            numbers = number_of(old), number_of(new)
            near = numbers[0] is not None and numbers[1] is not None and numbers[0][0] == numbers[1][0]
            return self._pass(old, place.new, "tolerance" if near else "type")
        return new

    def _pass(self, old: Wire, path: Path, why: Why) -> Wire:
        self.result.passed.append((path, why))
        return old

    def _equal(self, old: Wire, new: Wire, place: _Place) -> bool:
        judge = self._judge
        try:
            return judge.equal(judge.as_judged(old, place.old_patterns), judge.as_judged(new, place.new_patterns))
        except TooManyPairs:
            self.result.unknown.append(place.new)
            return False

    def _payload(self, envelope: dict[str, Wire], old: Wire, new: Wire, place: _Place) -> Wire:
        if isinstance(old, list) and isinstance(new, list):
            return self._items(old, new, place, is_set=is_set(envelope), entries=is_dict(envelope))
        return self.values(old, new, place)

    # Dicts.

    def _fields(self, old: dict[str, Wire], new: dict[str, Wire], place: _Place) -> Wire:
        found: dict[str, Wire] = {}
        for key in self._keys(old, new, place):
            inside = place.inside(key, key, key)
            if key in old and key in new:
                found[key] = self.values(old[key], new[key], inside)
            elif key in old:
                found[key] = self._pass(old[key], inside.old, "path")
            elif inside.is_ignored:
                self._pass(None, inside.new, "path")
            else:
                found[key] = new[key]
        return found

    def _keys(self, old: dict[str, Wire], new: dict[str, Wire], place: _Place) -> list[str]:
        """The keys of the new dict and the ignored ones of the old, each of these behind the key that it followed."""
        stays = {key for key in old if key in new or () in into(place.old_patterns, key)}
        if self._rules.order:
            if [key for key in old if key in new] != [key for key in new if key in old]:
                self._pass(None, place.new, "order")
            return [*(key for key in old if key in stays), *(key for key in new if key not in old)]
        behind: dict[str | None, list[str]] = {}
        last = None
        for key in old:
            if key in new:
                last = key
            elif key in stays:
                behind.setdefault(last, []).append(key)
        return [*behind.get(None, ()), *(one for key in new for one in (key, *behind.get(key, ())))]

    # Lists.

    def _items(
        self,
        old: list[Wire],
        new: list[Wire],
        place: _Place,
        *,
        is_set: bool = False,
        entries: bool = False,
    ) -> Wire:
        """The items of a list or a set, or the entries of a dict whose keys are not all plain text."""
        name = _key if entries else _position
        ignored = {at for at, item in enumerate(old) if () in into(place.old_patterns, name(at, item))}
        dropped = {at for at, item in enumerate(new) if () in into(place.new_patterns, name(at, item))}
        olds = [at for at in range(len(old)) if at not in ignored]
        news = [at for at in range(len(new)) if at not in dropped]
        free = is_set or self._rules.order
        self._gave_up = False
        if entries:
            pairs = _same_keys(old, new, olds, news)
        else:
            pairs = (self._unordered if free else self._ordered)(old, new, olds, news, place)
        gave_up = self._gave_up
        if free and not is_set and _is_disordered(pairs):
            self._pass(None, place.new, "order")
        slots = (_in_old_order if free else _in_new_order)(pairs, ignored, news)
        stand = [before if after is None and before in dropped else after for before, after in slots]
        is_changed = not identical([old[at] for at in sorted(ignored)], [new[at] for at in sorted(dropped)])
        if is_changed or ((ignored or dropped) and not entries and stand != list(range(len(new)))):
            self._pass(None, place.new, "path")  # what is ignored, or where it is
        if any(at != after for at, (_, after) in enumerate(slots)):
            self.result.positions[place.kept] = [after for _, after in slots]
        item = self._entry if entries else self._item
        made = [item(old, new, slot, at, place) for at, slot in enumerate(slots)]
        if gave_up and not identical(made, old):
            self.result.unknown.append(place.new)
        return made

    def _item(self, old: list[Wire], new: list[Wire], slot: _Slot, at: int, place: _Place) -> Wire:
        before, after = slot
        if before is None or after is None:
            return _only(old, new, slot)
        return self.values(old[before], new[after], place.inside(before, after, at))

    def _entry(self, old: list[Wire], new: list[Wire], slot: _Slot, at: int, place: _Place) -> Wire:
        """An entry `[key, value]`, of which people name the key."""
        before, after = slot
        if before is None or after is None:
            return _only(old, new, slot)
        one, other = old[before], new[after]
        if not isinstance(one, list) or not isinstance(other, list) or len(one) != 2 or len(other) != 2:
            return other
        key = _key(after, other)
        patterns = into(place.old_patterns, key), into(place.new_patterns, key)
        inside = _Place((*place.old, before, 1), (*place.new, after, 1), (*place.kept, at, 1), *patterns)
        return [other[0], self.values(one[1], other[1], inside)]

    def _judged(self, items: list[Wire], ats: list[int], patterns: tuple[Pattern, ...]) -> list[Wire]:
        return [self._judge.as_judged(items[at], into(patterns, at)) for at in ats]

    def _unordered(
        self, old: list[Wire], new: list[Wire], olds: list[int], news: list[int], place: _Place
    ) -> list[tuple[int, int]]:
        """Pair the items of lists whose order does not count: those that are equal, then those that were edited."""
        one, other = self._judged(old, olds, place.old_patterns), self._judged(new, news, place.new_patterns)
        try:
            found = self._judge.pairs(one, other)
        except TooManyPairs:
            self._gave_up = True
            found = LooseEquality(replace(self._rules, tolerance=None)).pairs(one, other)
        pairs = [(olds[before], news[after]) for before, after in found]
        took = {before for before, _ in pairs}, {after for _, after in pairs}
        olds, news = [at for at in olds if at not in took[0]], [at for at in news if at not in took[1]]
        edited = match_items([old[at] for at in olds], [new[at] for at in news])
        return pairs + [(olds[before], news[after]) for before, after in edited.pairs]

    def _ordered(
        self, old: list[Wire], new: list[Wire], olds: list[int], news: list[int], place: _Place
    ) -> list[tuple[int, int]]:
        """Pair the items of two lists: those that are equal at their ends, and between these as they are aligned."""
        start, tail = common_ends([old[at] for at in olds], [new[at] for at in news], same)
        before = [(olds[at], news[at]) for at in range(start)]
        after = [(olds[-1 - at], news[-1 - at]) for at in range(tail)]
        olds, news = olds[start : len(olds) - tail], news[start : len(news) - tail]
        one, other = self._judged(old, olds, place.old_patterns), self._judged(new, news, place.new_patterns)
        start = self._equal_items(one, other)
        tail = self._equal_items(one[start:][::-1], other[start:][::-1])
        stop, new_stop = len(one) - tail, len(other) - tail
        middle = one[start:stop], other[start:new_stop]
        # Where they stand is less well told when these are too many; whether they are equal is told already.
        with suppress(TooManyPairs):
            # What aligns items knows of no rules: equal ones are given to it in one form.
            for at, to in self._judge.pairs(*middle):
                middle[1][to] = middle[0][at]
        found = [(at, at) for at in range(start)] + [(stop + at, new_stop + at) for at in range(tail)]
        found += [(start + at, start + to) for at, to in match_items(*middle).pairs]
        return before + [(olds[at], news[to]) for at, to in found] + after

    def _equal_items(self, one: list[Wire], other: list[Wire]) -> int:
        """How many items are equal from the beginning on."""
        try:
            pairs = enumerate(zip(one, other, strict=False))
            return next((at for at, pair in pairs if not self._judge.equal(*pair)), min(len(one), len(other)))
        except TooManyPairs:
            self._gave_up = True
            return 0


def _position(at: int, _item: Wire) -> int:
    return at


def _key(_at: int, pair: Wire) -> str | None:
    """The key of an entry as a path names it; None where it is not text, and so has no name."""
    return pair[0] if isinstance(pair, list) and pair and isinstance(pair[0], str) else None


def _same_keys(old: list[Wire], new: list[Wire], olds: list[int], news: list[int]) -> list[tuple[int, int]]:
    keys = list(by_key([old[at] for at in olds])), list(by_key([new[at] for at in news]))
    if len(keys[0]) != len(olds) or len(keys[1]) != len(news):
        return []  # a key that is there twice is none that was recorded
    places = dict(zip(keys[1], news, strict=True))
    return [(at, places[key]) for key, at in zip(keys[0], olds, strict=True) if key in places]


def _is_disordered(pairs: list[tuple[int, int]]) -> bool:
    news = [after for _, after in sorted(pairs)]
    return news != sorted(news)


def _only(old: list[Wire], new: list[Wire], slot: _Slot) -> Wire:
    """An item that is in one of the lists alone."""
    before, after = slot
    return new[after] if after is not None else None if before is None else old[before]


def _in_old_order(pairs: list[tuple[int, int]], ignored: set[int], news: list[int]) -> list[_Slot]:
    """Items in the order of the old list, each that was added behind what it follows in the new one."""
    took = {after for _, after in pairs}
    behind: dict[int | None, list[_Slot]] = {}
    last = None
    for at in news:
        if at in took:
            last = at
        else:
            behind.setdefault(last, []).append((None, at))
    slots = list(behind.get(None, ()))
    for before, after in sorted([*pairs, *((at, -1) for at in ignored)]):
        slots += [(before, after if after >= 0 else None), *(behind.get(after, ()) if after >= 0 else ())]
    return slots


def _in_new_order(pairs: list[tuple[int, int]], ignored: set[int], news: list[int]) -> list[_Slot]:
    """Items in the order of the new list, ignored ones of the old list behind what they followed."""
    after_old, before_new = dict(pairs), {after: before for before, after in pairs}
    behind: dict[int | None, list[_Slot]] = {}
    last = None
    for at in sorted([*after_old, *ignored]):
        if at in after_old:
            last = at
        else:
            behind.setdefault(last, []).append((at, None))
    slots = list(behind.get(None, ()))
    for at in news:
        before = before_new.get(at)
        slots += [(before, at), *(behind.get(before, ()) if before is not None else ())]
    return slots


def _are_alike(old: dict[str, Wire], new: dict[str, Wire]) -> bool:
    """Whether two typed values can be looked into side by side."""
    if envelope_type(old) not in CONTAINERS or old.keys() != new.keys():
        return False
    if not isinstance(old.get(VALUE), (dict, list)) or type(old.get(VALUE)) is not type(new.get(VALUE)):
        return False
    return all(identical(value, new[key]) for key, value in old.items() if key != VALUE)


def _is_there(value: Wire, pattern: Pattern) -> bool:
    """Whether there is anything at an ignored path."""
    if not pattern:
        return True
    while is_envelope(value) and VALUE in value:
        inside, value = value, value[VALUE]
        if is_dict(inside) and isinstance(value, list):
            entries = [(_key(0, pair), pair) for pair in value]
            return any(
                _is_there(pair[1], pattern[1:])
                for key, pair in entries
                if isinstance(pair, list) and len(pair) == 2 and pattern[0] in (None, key)
            )
    if isinstance(value, dict):
        return any(_is_there(item, pattern[1:]) for key, item in value.items() if pattern[0] in (None, key))
    if isinstance(value, list):
        return any(_is_there(item, pattern[1:]) for at, item in enumerate(value) if pattern[0] in (None, at))
    return False


def _written(pattern: Pattern) -> str:
    """A pattern as people write it."""
    text = ""
    for step in pattern:
        written = "[*]" if step is None else format_path((step,))
        text += written if not text or written.startswith("[") else f".{written}"
    return text
