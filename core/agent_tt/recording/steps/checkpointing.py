"""Which steps of a run get a checkpoint: all of them, unless its recorder says otherwise.

| rule | a checkpoint is taken |
|---|---|
| `all` | after every step |
| `none` | after none |
| `every:10` | after every tenth step |
| `error` | after a step that failed |
| `write` | before a tool is called that writes: of the step before, with the state as it was then |
| `sample:0.1`, `sample:0.1:7` | after a tenth of the steps; the number behind is the seed, and chooses which |
| a function `(step)` | where it says so; `step` is that which ends, with its `name`, `number` and `state` |

Several rules add up. The last step of a run always has one. A step without says so (`SKIPPED` among its facts); its
state is shown as that of the newest earlier checkpoint, what it changed is part of the next one's changes, and nobody
is handed its state: a fork that starts there is re-entered by replay, or refused.
"""

from __future__ import annotations

import copy
import inspect
import logging
import random
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.recording.runs.journal import Journal
    from agent_tt.recording.steps.state_histories import TrackedStep

__all__ = ["Checkpoints", "Rules", "parse_rules"]

_LOG = logging.getLogger(__name__)

_Rule: TypeAlias = "str | Callable[..., object]"

_HOW: Final = "write all, none, every:N, error, write, sample:P or sample:P:SEED, joined by commas, or give a function"


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that were read; see the module.

    Attributes:
        every: after each so-many-th step; 1 for all, None for no such rule.
        error: after steps that failed.
        write: before tools that write.
        samples: shares of steps, each with its seed.
        predicates: functions that say it.
    """

    every: int | None = 1
    error: bool = False
    write: bool = False
    samples: tuple[tuple[float, int], ...] = ()
    predicates: tuple[_Predicate, ...] = ()

    def wants(self, step: TrackedStep, *, failed: bool) -> bool:
        """Whether a step that ends gets a checkpoint."""
        number = step.number
        if (self.every is not None and number % self.every == 0) or (self.error and failed):
            return True
        if any(random.Random(f"{seed}:{number}").random() < share for share, seed in self.samples):  # noqa: S311
            return True
        return any(predicate(step) for predicate in self.predicates)


def parse_rules(rules: _Rule | Iterable[_Rule]) -> Rules:
    """Read rules as `agent_tt.record(checkpoints=…)` and `agent-tt record --checkpoints` take them.

    Raises:
        UsageError: one is not a rule, or a function that cannot be called with a step.
    """
    if not isinstance(rules, Iterable) and not callable(rules):
        raise UsageError(f"a {type(rules).__name__} is not a rule for checkpoints", hint=_HOW)
    listed: list[_Rule] = [rules] if isinstance(rules, str) or callable(rules) else list(rules)
    every: int | None = None
    error = write = False
    samples: list[tuple[float, int]] = []
    predicates: list[_Predicate] = []
    words: list[str] = []
    for rule in listed:
        if isinstance(rule, str):
            words += [word.strip() for word in rule.split(",")]
        else:
            predicates.append(_checked(rule))
    if not words and not predicates:
        raise UsageError("no rule says which steps get a checkpoint", hint=_HOW)
    for word in words:
        kind, _, rest = word.partition(":")
        match kind:
            case "all" if not rest:
                every = 1
            case "none" if not rest:
                continue
            case "error" if not rest:
                error = True
            case "write" if not rest:
                write = True
            case "every" if rest.isdecimal() and int(rest):
                every = int(rest) if every is None else min(every, int(rest))
            case "sample":
                samples.append(_sample(rest, word))
            case _:
                raise UsageError(f"{word!r} is not a rule for checkpoints", hint=_HOW)
    return Rules(every, error, write, tuple(samples), tuple(predicates))


def _sample(text: str, word: str) -> tuple[float, int]:
    share, _, seed = text.partition(":")
    try:
        found = float(share), int(seed or 0)
    except ValueError:
        found = -1.0, 0
    if not 0 <= found[0] <= 1:
        raise UsageError(f"{word!r} is not a rule for checkpoints: a share lies between 0 and 1", hint=_HOW)
    return found


def _checked(predicate: object) -> _Predicate:
    if not callable(predicate):
        raise UsageError(f"a {type(predicate).__name__} is not a rule for checkpoints", hint=_HOW)
    name = getattr(predicate, "__name__", repr(predicate))
    if inspect.iscoroutinefunction(predicate):
        raise UsageError(f"the predicate {name} for checkpoints is async; it has to be a plain function", hint=_HOW)
    try:
        inspect.signature(predicate).bind(None)
    except TypeError:
        raise UsageError(f"the predicate {name} for checkpoints does not take a step", hint=_HOW) from None
    except ValueError:  # a callable of C that does not say
        pass
    return _Predicate(predicate, name)


class _Predicate:
    """A function of an agent's that says whether a step gets a checkpoint."""

    def __init__(self, function: Callable[..., object], name: str) -> None:
        self._function = function
        self._name = name
        self._has_failed = False

    def __call__(self, step: TrackedStep) -> bool:
        """What it says; yes where it fails, and that is said once."""
        try:
            return bool(self._function(step))
        except Exception as error:  # noqa: BLE001  the agent did nothing wrong; a checkpoint too many harms nobody
            if not self._has_failed:
                self._has_failed = True
                _LOG.warning(
                    "the predicate %s for checkpoints failed at step %s with %s: %s; where it does, there is one",
                    self._name,
                    step.number,
                    type(error).__name__,
                    error,
                )
            return True


class Checkpoints:
    """Which steps of one recording have a checkpoint, and those that may still get one. For several threads."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        self._before: dict[str, tuple[int, object]] = {}
        self._last: dict[str, tuple[int, object]] = {}

    def skips(self, step: TrackedStep, track: str, state: object, live: object, *, failed: bool) -> bool:
        """Whether a step that ends goes without a checkpoint.

        Args:
            step: the step.
            track: its state history.
            state: what would be kept.
            live: the object that is it, or that it was read from.
            failed: whether an error left it.
        """
        if self._rules.every == 1 or self._rules.wants(step, failed=failed):
            with self._lock:
                self._before.pop(track, None)
                self._last.pop(track, None)
            return False
        kept: object = None
        if self._rules.write:
            try:
                kept = copy.deepcopy(state)
            except Exception:  # noqa: BLE001  what cannot be set aside is kept at once
                return False
        with self._lock:
            if self._rules.write:
                self._before[track] = step.number, kept
            self._last[track] = step.number, live
        return True

    def before_write(self, step: int, track: str | None, journal: Journal) -> None:
        """A tool that writes is about to be called in a step: keep the state before that step."""
        with self._lock:
            number, state = self._before.pop(track or "", (step, None))
            if number >= step:
                return
            self._last.pop(track or "", None)
        journal.write(lambda writer: writer.take_checkpoint(number, state, track=track or ""))

    def last(self) -> list[tuple[str, int, object]]:
        """The histories whose last step has none: the track, the step, and the object that is its state."""
        with self._lock:
            left = [(track, number, live) for track, (number, live) in self._last.items()]
            self._last.clear()
        return left
