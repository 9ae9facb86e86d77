"""What every rule of a golden is: data, read from a table of TOML, with a sentence and a judgement."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self, TypeAlias, cast

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.tolerance import Difference
    from agent_tt.golden.evidence import Evidence

__all__ = [
    "Judgement",
    "Rule",
    "Verdict",
    "choice",
    "failed",
    "flag",
    "in_one_line",
    "number",
    "passed",
    "text",
    "texts",
    "unknown",
    "whole",
]

Verdict: TypeAlias = Literal["passed", "failed", "unknown"]
"""`unknown`: it could not be judged, which is neither."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a rule says of a run.

    Attributes:
        verdict: whether the run keeps to it.
        said: what was found, in words: `took 9`.
        step: the step at which that shows; None where it shows at none.
        differences: what was expected and what came, where values were compared.
        shown: lines that a person reads beside that.
    """

    verdict: Verdict
    said: str
    step: int | None = None
    differences: tuple[Difference, ...] = ()
    shown: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Wire]:
        """`{verdict, said, step, differences: [{path, old, new}], shown: [line]}`."""
        return {
            "verdict": self.verdict,
            "said": self.said,
            "step": self.step,
            "differences": [each.to_json() for each in self.differences],
            "shown": list(self.shown),
        }


def in_one_line(sentence: str, said: str, step: int | None) -> str:
    """What a rule says of a run, after its sentence."""
    at = "" if step is None else f" (step {step})"
    return f"{sentence}: {said}{at}"


def passed(said: str, step: int | None = None) -> Judgement:
    """The run keeps to the rule."""
    return Judgement("passed", said, step)


def failed(said: str, step: int | None = None, differences: tuple[Difference, ...] = ()) -> Judgement:
    """The run breaks the rule."""
    return Judgement("failed", said, step, differences)


def unknown(said: str) -> Judgement:
    """Nobody knows whether the run keeps to the rule."""
    return Judgement("unknown", said)


HALTED: Final = "the agent was halted before its end"


@dataclass(frozen=True)
class Rule(ABC):
    """A rule. A class derived from it is a frozen dataclass whose fields are the keys of its table.

    Attributes:
        kind: its name in the file.
        shapes: checks of values from a file, by key: each gives the value of the field, or raises ValueError.
        reaches_out: whether more than the run is looked at, so that only running the golden tells.
        needs_leave: whether it is left out unless whoever runs the golden says otherwise.
    """

    kind: ClassVar[str]
    shapes: ClassVar[Mapping[str, Callable[[object], object]]]
    reaches_out: ClassVar[bool] = False
    needs_leave: ClassVar[bool] = False

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The rule as a person reads it."""

    @abstractmethod
    def _judge(self, run: Evidence) -> Judgement:
        """Judge a run; errors of reading it are caught by `judge`."""

    def judge(self, run: Evidence) -> Judgement:
        """Say whether a run keeps to the rule."""
        try:
            return self._judge(run)
        except AgentTTError as error:
            return unknown(error.message)

    def accepting(self, run: Evidence) -> Rule | None:  # noqa: ARG002  of what overrides it
        """The rule as a run would keep to it; None where a person has to say what holds."""
        return None

    def check(self) -> None:  # noqa: B027  most have nothing more to check
        """Check what several keys say together.

        Raises:
            UsageError: they make no rule.
        """

    def to_table(self) -> dict[str, object]:
        """The keys of its table that are not at their defaults."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        defaults = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in told.items() if value != defaults[name] or defaults[name] is MISSING}

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Self:
        """Read it from a table without `kind`.

        Raises:
            UsageError: a key is unknown or missing, or a value is not what it should be.
        """
        for key in table:
            if key not in cls.shapes:
                near = difflib.get_close_matches(key, cls.shapes, n=1)
                raise UsageError(f"{key!r} is unknown", hint=f"Did you mean {near[0]}?" if near else "")
        found: dict[str, object] = {}
        for key, value in table.items():
            try:
                found[key] = cls.shapes[key](value)
            except ValueError as error:
                raise UsageError(f"{key}: {error}") from error
        missing = [field.name for field in fields(cls) if field.default is MISSING and field.name not in found]
        if missing:
            raise UsageError(f"{' and '.join(missing)} must be given")
        rule = cls(**found)
        rule.check()
        return rule


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text is needed")
    return value


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false is needed")  # noqa: TRY004  whoever reads a table catches this alone
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("a list of texts is needed")
    return tuple(value)


def whole(value: object) -> int:
    """Read a whole number that is not negative."""
    if type(value) is not int or value < 0:
        raise ValueError("a whole number from 0 on is needed")
    return value


def number(value: object) -> float:
    """A finite number."""
    if type(value) not in (int, float) or value != value or value in (float("inf"), float("-inf")):
        raise ValueError("a number is needed")
    return cast("float", value)


def choice(*words: str) -> Callable[[object], str]:
    """One of some words."""

    def read(value: object) -> str:
        if value not in words:
            raise ValueError(f"{' or '.join(words)} is needed")
        return str(value)

    return read
