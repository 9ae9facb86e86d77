"""Random states and random changes to them in place, as agents make them; every scalar that is written is unique."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.core.strategies import Color, Note, Odd, Pair, Plan, Point

if TYPE_CHECKING:
    import random


class Mutator:
    """Changes a state in place, by a seeded random generator.

    Args:
        random: where every decision comes from.
        exotic: also write values that JSON cannot say.
        large: also write parts that are large enough to be taken apart or put into blobs.
    """

    def __init__(self, random: random.Random, *, exotic: bool = False, large: bool = False) -> None:
        self._random = random
        self._exotic = exotic
        self._large = large
        self._numbers = itertools.count(1)

    def unique(self) -> int:
        """A number that was never written before."""
        return next(self._numbers) * 1_000_003

    def state(self) -> dict[str, Any]:
        """A state to begin with; sometimes with large parts."""
        messages = [self._message() for _ in range(self._random.choice([0, 3, 150]) if self._large else 2)]
        docs = {f"d{n}": {"t": "t" * 90, "n": self.unique()} for n in range(self._random.choice([0, 80]))}
        return {"messages": messages, "plan": ["a", "b"], "user": {"id": self.unique(), "tags": []}, "docs": docs}

    def mutate(self, state: Any) -> None:
        """One change, anywhere in `state`."""
        containers = list(self._containers(state, []))
        target = self._random.choice(containers) if containers and self._random.random() < 0.8 else state
        if isinstance(target, dict):
            self._mutate_dict(target)
        elif isinstance(target, list):
            self._mutate_list(target)
        else:
            vars(target)[self._random.choice(list(vars(target)))] = self._value()

    def _containers(self, value: Any, found: list[Any]) -> list[Any]:
        if any(value is known for known in found):
            return found
        if isinstance(value, dict | list):
            found.append(value)
            for item in list(value.values() if isinstance(value, dict) else value)[:30]:
                self._containers(item, found)
        elif isinstance(value, Plan | Note):
            self._containers(vars(value), found)
        return found

    def _message(self) -> dict[str, Any]:
        return {"role": "user", "content": f"{self.unique()}"}

    def _value(self) -> Any:
        chance = self._random.random()
        if self._exotic and chance < 0.15:
            return self._exotic_value()
        if self._large and chance < 0.22:
            return f"x{self.unique()} " * self._random.randrange(1, 1500)
        if chance < 0.32:
            return [self.unique() for _ in range(self._random.randrange(4))]
        if chance < 0.45:
            return {f"k{n}": self.unique() for n in range(self._random.randrange(4))}
        if chance < 0.52:
            return [self._message() for _ in range(self._random.randrange(1, 140 if self._large else 4))]
        number = self.unique()
        return self._random.choice([number, float(number), f"s{number} and more text", None, True, 0.0, -0.0])

    def _exotic_value(self) -> Any:
        number = self.unique()
        many = [self._message() for _ in range(self._random.choice([1, 90]))]
        return self._random.choice(
            [
                (number, 2),
                float("nan"),
                2**80 + number,
                {number},
                b"%d" % number,
                bytearray(b"%d" % number),
                Plan(number, many),
                Point(number, 1.5),
                Pair(number, many),
                Note(text=number, tags=many),
                {1: number},
                {"$type": number},
                {"$v": 1},
                np.array([number]),
                Color.RED,
                Odd(),
                "\ud800",
                tuple(many),
            ]
        )

    def _mutate_dict(self, target: dict[Any, Any]) -> None:
        chance, random = self._random.random(), self._random
        if chance < 0.6 or not target:
            target[f"k{random.randrange(6)}"] = self._value()
            return
        key = random.choice(list(target))
        if chance < 0.75:
            target.pop(key)
        elif chance < 0.85:
            target[key] = target.pop(key)  # only its place among the keys changes
        elif isinstance(target[key], str):
            target[key] += f"+{self.unique()}"
        else:
            target[key] = self._value()

    def _mutate_list(self, target: list[Any]) -> None:
        chance, random = self._random.random(), self._random
        if chance < 0.45 or not target:
            target.append(self._value())
        elif chance < 0.6:
            target.insert(random.randrange(len(target) + 1), self._value())
        elif chance < 0.75:
            target.pop(0)
        elif chance < 0.82:
            del target[random.randrange(len(target)) :]
        elif chance < 0.9:
            index = random.randrange(len(target))
            target[index : index + 1] = []
        else:
            target[random.randrange(len(target))] = self._value()
