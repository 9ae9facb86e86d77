"""Random programs that write into a state in every way there is, run twice: on a tracked state and on a plain one."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Write = Callable[[random.Random, Any], None]

SCALARS: Final = (
    *(1, 1.0, True, False, "1", None, 0, 0.0, -0.0, float("nan"), float("inf"), 2**63, -(2**31), b"q", "é", "\ud800"),
    *("x" * 50, "a text of some length, which grows", 7, "n", (1, 2), frozenset({3}), 1 + 2j),
)
KEYS: Final = ("a", "b", "c", "messages", "value", "name", "é", "$v", "k0", "k1", "k2", "k3")


def any_value(chance: random.Random, depth: int = 2) -> Any:
    """A value, made anew: nobody else holds any of it."""
    kind = chance.randrange(8)
    if depth and kind == 0:
        return {chance.choice(KEYS[:-6]): any_value(chance, depth - 1) for _ in range(chance.randrange(4))}
    if depth and kind == 1:
        return [any_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 2:
        return {"role": "user", "content": "words " * chance.randrange(40), "n": chance.randrange(3)}
    if kind == 3:
        return chance.choice(({1, 2}, bytearray(b"z"), {1: 2}, {"$type": 1}, [[]]))
    return copy.deepcopy(chance.choice(SCALARS))


def a_state(chance: random.Random) -> dict[str, Any]:
    """A state with what agents have: a chat, many keys, small things, deep things."""
    many = chance.choice((0, 3, 90))
    return {
        "messages": [{"role": "user", "content": f"{n} words " * 9, "parts": [{"n": [n]}]} for n in range(many)],
        "wide": {f"key_{n}": {"v": n, "s": "text " * 9, "l": [n]} for n in range(many)},
        "flat": list(range(many * 20)),
        "n": 0,
        "deep": {"a": {"b": {"c": [1, {"d": 2}]}}},
    }


def _setitem(chance: random.Random, it: Any) -> None:
    if isinstance(it, dict):
        it[chance.choice(KEYS)] = any_value(chance)
    elif it:
        it[chance.randrange(-len(it), len(it))] = any_value(chance)


def _slice(chance: random.Random, it: Any) -> None:
    if isinstance(it, list):
        at = slice(*(chance.choice((None, *range(-4, 5))) for _ in range(2)))
        it[at] = [any_value(chance) for _ in range(chance.randrange(4))]


def _stepped(chance: random.Random, it: Any) -> None:
    if isinstance(it, list):
        at = slice(None, None, chance.choice((-3, -1, 2, 3)))
        it[at] = [any_value(chance) for _ in it[at]]


def _delitem(chance: random.Random, it: Any) -> None:
    if it:
        del it[chance.choice([*it]) if isinstance(it, dict) else chance.randrange(-len(it), len(it))]


def _delete_slice(chance: random.Random, it: Any) -> None:
    if isinstance(it, list):
        del it[chance.randrange(-3, 4) : chance.randrange(-3, 4) : chance.choice((1, 2, -1))]


def _pop(chance: random.Random, it: Any) -> None:
    if isinstance(it, dict):
        it.pop(chance.choice(KEYS), None)
    elif it:
        it.pop(*chance.choice(((), (0,), (-1,), (len(it) // 2,))))


def _add(chance: random.Random, it: Any) -> None:
    if isinstance(it, list):
        it.append(any_value(chance))
    else:
        it.setdefault(chance.choice(KEYS), any_value(chance))


def _extend(chance: random.Random, it: Any) -> None:
    new = [any_value(chance) for _ in range(chance.randrange(3))]
    if isinstance(it, dict):
        it.update({f"k{n}": value for n, value in enumerate(new)}, b=any_value(chance))
    elif chance.random() < 0.5:
        it.extend(new)
    else:
        it += new


def _in_place(chance: random.Random, it: Any) -> None:
    if isinstance(it, dict):
        it |= {chance.choice(KEYS): any_value(chance)}
    elif len(it) < 30:
        it *= chance.choice((0, 1, 2))


def _insert(chance: random.Random, it: Any) -> None:
    if isinstance(it, list):
        it.insert(chance.randrange(-5, 6), any_value(chance))


def _remove(chance: random.Random, it: Any) -> None:
    if isinstance(it, list) and it:
        it.remove(it[chance.randrange(len(it))])
    elif it:
        it.popitem()


def _clear(chance: random.Random, it: Any) -> None:
    if chance.random() < 0.2:
        it.clear()


def _order(chance: random.Random, it: Any) -> None:
    if isinstance(it, list):
        it.reverse() if chance.random() < 0.5 else it.sort(key=repr, reverse=chance.random() < 0.5)
    elif it:
        key = next(iter(it))
        it[key] = it.pop(key)


def _text(chance: random.Random, it: Any) -> None:
    for key, value in list(it.items()) if isinstance(it, dict) else []:
        if type(value) is str:
            it[key] = value + " more"


def _exotic(_chance: random.Random, it: Any) -> None:
    for value in list(it.values()) if isinstance(it, dict) else list(it):
        if isinstance(value, set):
            value.add(len(value) + 10)
        elif isinstance(value, bytearray):
            value.append(65)
        elif isinstance(value, dict) and 1 in value:
            value[2] = [value[1]]


def _again(_chance: random.Random, it: Any) -> None:
    """What is written is what was there."""
    for key, value in list(it.items()) if isinstance(it, dict) else enumerate(list(it)):
        it[key] = value


WRITES: Final[tuple[Write, ...]] = (
    *(_setitem, _slice, _stepped, _delitem, _delete_slice, _pop, _add, _extend, _in_place, _insert, _remove, _clear),
    *(_order, _text, _exotic, _again, _setitem, _add),
)


class Program:
    """One random program. Two that are made with one seed do the same.

    Attributes:
        state: what it works on.
    """

    def __init__(self, seed: int, wrap: Callable[[dict[str, Any]], Any]) -> None:
        self._chance = random.Random(seed)
        self.state = wrap(a_state(self._chance))
        self._held: list[Any] = []

    def step(self) -> None:
        """Write some things."""
        chance = self._chance
        for _ in range(chance.randrange(4)):
            kind = chance.randrange(12)
            if kind == 0:
                self._share()
            elif kind == 1:
                self._move()
            elif kind == 2 and self._held:
                chance.choice(WRITES)(chance, chance.choice(self._held))
            elif kind == 3:
                self._held = self._held[1:]
            elif kind == 4 and self._held:
                self._put(chance.choice(self._held))
            elif kind == 5:
                self._held.append(self._somewhere())
            else:
                chance.choice(WRITES)(chance, self._somewhere())
            self._bound()

    def _somewhere(self) -> Any:
        """A container in the state."""
        found = self.state
        while self._chance.random() < 0.75:
            inner = [
                value
                for value in (found.values() if isinstance(found, dict) else found)
                if isinstance(value, dict | list)
            ]
            if not inner:
                break
            found = self._chance.choice(inner)
        return found

    def _put(self, value: Any) -> None:
        where = self._somewhere()
        if isinstance(where, dict):
            where[self._chance.choice(KEYS)] = value
        else:
            where.append(value)

    def _share(self) -> None:
        """One object in two places, or held by the program too."""
        value = self._somewhere() if self._chance.random() < 0.5 else any_value(self._chance)
        if value is not self.state and self._chance.random() < 0.9:
            self._put(value)
        if isinstance(value, dict | list):
            self._held.append(value)

    def _move(self) -> None:
        """Out of one place, into another."""
        where = self._somewhere()
        if where and where is not self.state:
            self._put(where.popitem()[1] if isinstance(where, dict) else where.pop(0))

    def _bound(self) -> None:
        """No state of a million copies of itself."""
        if _size(self.state, 12) > 20_000:
            self.state.clear()
            self._held.clear()


def _size(value: Any, deepest: int) -> int:
    if not isinstance(value, dict | list):
        return 1
    if not deepest:
        return 1_000
    total = 1
    for item in value.values() if isinstance(value, dict) else value:
        total += _size(item, deepest - 1)
        if total > 20_000:
            break
    return total
