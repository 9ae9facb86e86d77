"""Random numbers: `random`, `secrets` and `os.urandom`.

What chooses among the agent's own objects draws positions, not objects: a function or a client could not be recorded,
and the agent is to get its own one.
"""

# ruff: noqa: S311  the agent chooses its generator, not we

from __future__ import annotations

import os
import random as real_random
import secrets as real_secrets
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from agent_tt.patching.draws import draw
from agent_tt.patching.standins import StandInType, dress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableSequence, Sequence
    from types import ModuleType

__all__ = ["RANDOM_NAMES", "SECRETS_NAMES", "Random", "SystemRandom", "drawn_state", "urandom"]

T = TypeVar("T")

_urandom: Final = os.urandom
_NUMBERS: Final = """
    random getrandbits randbytes randint randrange uniform triangular betavariate expovariate gammavariate gauss
    lognormvariate normalvariate vonmisesvariate paretovariate weibullvariate binomialvariate
""".split()  # noqa: SIM905  a table


def _drawn(module: ModuleType, name: str) -> Callable[..., Any]:
    original: Callable[..., Any] = getattr(module, name)

    def drawn(*args: Any, **kwargs: Any) -> Any:
        return draw("rng", f"{module.__name__}.{name}", lambda: original(*args, **kwargs), **_asked(args, kwargs))

    drawn.__name__ = drawn.__qualname__ = name
    drawn.__doc__ = original.__doc__
    return drawn


def _asked(args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
    return {**({"args": list(args)} if args else {}), **kwargs}


def choice(seq: Sequence[T]) -> T:
    """As `random.choice`."""
    if not len(seq):
        return real_random.choice(seq)  # raises what it raises
    return seq[draw("rng", "random.choice", lambda: real_random.choice(range(len(seq))), among=len(seq))]


def choices(population: Sequence[T], weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list[T]:
    """As `random.choices`."""

    def live() -> list[int]:
        return real_random.choices(range(len(population)), weights, cum_weights=cum_weights, k=k)

    if not len(population):
        return real_random.choices(population, weights, cum_weights=cum_weights, k=k)
    return [population[place] for place in draw("rng", "random.choices", live, among=len(population), k=k)]


def sample(population: Sequence[T], k: int, *, counts: Any = None) -> list[T]:
    """As `random.sample`."""
    repeated = None if counts is None else list(counts)

    def live() -> list[int]:
        return real_random.sample(range(len(population)), k, counts=repeated)

    real_random.Random(0).sample(population, k, counts=repeated)  # refuses what the original refuses
    return [population[place] for place in draw("rng", "random.sample", live, among=len(population), k=k)]


def shuffle(x: MutableSequence[Any]) -> None:
    """As `random.shuffle`."""

    def live() -> list[int]:
        places = list(range(len(x)))
        real_random.shuffle(places)
        return places

    before = list(x)
    for place, source in enumerate(draw("rng", "random.shuffle", live, among=len(x))):
        x[place] = before[source]


def _seed() -> int:
    return int.from_bytes(_urandom(16), "big")


class Random(real_random.Random, metaclass=StandInType):
    """A generator without a seed gets a recorded one of 128 bits; what it gives after that follows from it."""

    def seed(self, a: Any = None, version: int = 2) -> None:
        """As `random.Random.seed`."""
        super().seed(draw("rng", "random.Random()", _seed) if a is None else a, version)

    def __reduce__(self) -> tuple[Any, ...]:
        if "_original" in vars(type(self)):
            return real_random.Random, (), self.getstate()
        return cast("tuple[Any, ...]", super().__reduce__())


class SystemRandom(real_random.SystemRandom, metaclass=StandInType):
    """Draws what it takes from the system."""

    def random(self) -> float:
        """As `random.SystemRandom.random`."""
        return draw("rng", "SystemRandom.random", lambda: real_random.SystemRandom.random(self))

    def getrandbits(self, k: int) -> int:
        """As `random.SystemRandom.getrandbits`."""
        return draw("rng", "SystemRandom.getrandbits", lambda: real_random.SystemRandom.getrandbits(self, k), k=k)

    def randbytes(self, n: int) -> bytes:
        """As `random.SystemRandom.randbytes`."""
        return draw("rng", "SystemRandom.randbytes", lambda: real_random.SystemRandom.randbytes(self, n), n=n)


dress(Random, real_random.Random)
dress(SystemRandom, real_random.SystemRandom)


def drawn_state(name: str, generator: real_random.Random) -> tuple[Any, ...]:
    """The state that a generator that exists already begins with.

    Args:
        name: where the agent keeps it, `module.NAME`.
        generator: the generator.
    """
    version, internal, gauss = draw("rng", "random.Random state", lambda: _state(generator), of=name)
    return version, tuple(internal), gauss


def _state(generator: real_random.Random) -> list[Any]:
    version, internal, gauss = generator.getstate()
    return [version, list(internal), gauss]


def urandom(size: int, /) -> bytes:
    """As `os.urandom`."""
    return draw("rng", "os.urandom", lambda: _urandom(size), size=size)


def secret_choice(seq: Sequence[T]) -> T:
    """As `secrets.choice`."""
    if not len(seq):
        return real_secrets.choice(seq)
    return seq[draw("rng", "secrets.choice", lambda: real_secrets.randbelow(len(seq)), among=len(seq))]


RANDOM_NAMES: Final[Mapping[str, object]] = {
    **{name: _drawn(real_random, name) for name in _NUMBERS if hasattr(real_random, name)},
    "choice": choice,
    "choices": choices,
    "sample": sample,
    "shuffle": shuffle,
    "Random": Random,
    "SystemRandom": SystemRandom,
}
"""What `random` has instead, by name."""

SECRETS_NAMES: Final[Mapping[str, object]] = {
    **{
        name: _drawn(real_secrets, name)
        for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits")
    },
    "choice": secret_choice,
    "SystemRandom": SystemRandom,
}
"""What `secrets` has instead, by name."""
