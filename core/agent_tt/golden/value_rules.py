"""Rules about values: the state after a step or at the end, and the final answer."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import get, parse_path, to_wire_path
from agent_tt.codec.wire import VALUE, is_envelope
from agent_tt.comparing.values.tolerance import Difference, Tolerance, shown
from agent_tt.comparing.values.typed_values import number_of
from agent_tt.errors import PathNotFound, UsageError
from agent_tt.golden.rule import HALTED, Judgement, Rule, failed, flag, number, passed, text, texts, unknown, whole
from agent_tt.querying.expressions.patterns import BadPattern, TooMuchWork, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.golden.evidence import Evidence

__all__ = ["Answer", "State"]


class _Json(str):
    """JSON, where a value of TOML could stand too."""

    __slots__ = ()


def _value(value: object) -> str:
    """A value as JSON."""
    try:
        if isinstance(value, _Json):
            json.loads(value)
            return str(value)
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"JSON has no such value: {error}") from error


def _groups(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list):
        raise ValueError("a list of lists of types is needed")  # noqa: TRY004  read as every other shape
    return tuple(texts(group) for group in value)


_TOLERANCE: Final = {
    "ignore_order": flag,
    "exclude_paths": texts,
    "exclude_regex_paths": texts,
    "significant_digits": whole,
    "ignore_type_in_groups": _groups,
}


def _is_toml(value: object) -> bool:
    """Whether a JSON value can be written as TOML and read back unchanged."""
    match value:
        case dict():
            return all(_is_toml(key) and _is_toml(each) for key, each in value.items())
        case list():
            return all(map(_is_toml, value))
        case str():
            return not any("\ud800" <= character <= "\udfff" for character in value)
        case int():
            return -(2**63) <= value < 2**63
    return isinstance(value, float) and math.isfinite(value)


@dataclass(frozen=True)
class State(Rule):
    """What stands at a path of the state: one of `equals`, `at_most` and `about`.

    Attributes:
        path: the path: `order.refund`.
        step: the step after which it does; None for the end.
        equals: the value as JSON, typed ones in envelopes. In the file it stands as TOML; what TOML cannot write, such
            as null, as the text `equals_json`.
        at_most: the largest number.
        about: a number that it may be away from by `within`, or by `within_percent` of it.
        within, within_percent: how far, both ends included.
        ignore_order, exclude_paths, exclude_regex_paths, significant_digits, ignore_type_in_groups: of `equals`, what
            does not count; see `Tolerance`.
    """

    kind: ClassVar = "state"
    shapes: ClassVar = {
        "path": text,
        "step": whole,
        "equals": _value,
        "at_most": number,
        "about": number,
        "within": number,
        "within_percent": number,
        **_TOLERANCE,
    }
    path: str
    step: int | None = None
    equals: str | None = None
    at_most: float | None = None
    about: float | None = None
    within: float | None = None
    within_percent: float | None = None
    ignore_order: bool = False
    exclude_paths: tuple[str, ...] = ()
    exclude_regex_paths: tuple[str, ...] = ()
    significant_digits: int | None = None
    ignore_type_in_groups: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def read(cls, table: Mapping[str, object]) -> State:
        """Read it from its table; see `Rule.read`."""
        if "equals_json" in table:
            if "equals" in table or not isinstance(table["equals_json"], str):
                raise UsageError("equals_json is a text, and stands in the place of equals")
            rest = {key: value for key, value in table.items() if key != "equals_json"}
            return super().read({**rest, "equals": _Json(table["equals_json"])})
        return super().read(table)

    def to_table(self) -> dict[str, object]:
        """The keys of its table."""
        table = super().to_table()
        if self.equals is not None and _is_toml(value := json.loads(self.equals)):
            return {**table, "equals": value}
        return {("equals_json" if key == "equals" else key): value for key, value in table.items()}

    def check(self) -> None:
        """Check that it says one thing.

        Raises:
            UsageError: it says none, or several.
        """
        parse_path(self.path)
        if [self.equals, self.at_most, self.about].count(None) != 2:
            raise UsageError("one of equals, at_most and about must be given")
        if ([self.within, self.within_percent].count(None) == 1) != (self.about is not None):
            raise UsageError("about is given with one of within and within_percent")
        if self.equals is None and self._tolerance:
            raise UsageError(f"{next(iter(_TOLERANCE))} and the like are given with equals")

    @property
    def _tolerance(self) -> Tolerance:
        return Tolerance(**{name: getattr(self, name) for name in _TOLERANCE})

    @property
    def _margin(self) -> Fraction:
        if self.within is not None:
            return _exact(self.within)
        return abs(_exact(self.about or 0)) * _exact(self.within_percent or 0) / 100

    @property
    def sentence(self) -> str:
        """`state at the end: attempts is at most 2`."""
        where = "at the end" if self.step is None else f"after step {self.step}"
        if self.equals is not None:
            return f"state {where}: {self.path} equals {shown(json.loads(self.equals))}"
        if self.at_most is not None:
            return f"state {where}: {self.path} is at most {self.at_most:,g}"
        margin = f"{self.within:g}" if self.within is not None else f"{self.within_percent:g} %"
        return f"state {where}: {self.path} is about {self.about:,g} ± {margin}"

    def _judge(self, run: Evidence) -> Judgement:
        if self.step is None and not run.is_whole:
            return unknown(HALTED)
        step = run.last_step if self.step is None else self.step
        if step not in run.completed:
            if not run.is_whole:
                return unknown(HALTED)
            if step > run.last_step:
                return failed(f"the run has no step {step}: it took {run.last_step}", run.last_step or None)
        if run.lacks_state(step):
            return unknown(f"no checkpoint is kept of step {step}")
        at = step or None
        state = run.state(step)
        try:
            value = get(state, to_wire_path(state, parse_path(self.path)))
        except PathNotFound as error:
            return failed(error.message, at, (Difference(self.path, self._wanted, None),))
        if self.equals is not None:
            found = self._tolerance.differences(cast("Wire", json.loads(self.equals)), value)
            if not found:
                return passed("it is equal", at)
            below = tuple(replace(each, path=_below(self.path, each.path)) for each in found)
            return failed(f"{self.path} differs", at, below)
        exact = number_of(value)
        if exact is None:
            return failed(f"{self.path} is not a number", at, (Difference(self.path, self._wanted, shown(value)),))
        if self.at_most is not None:
            is_kept = exact[1] <= _exact(self.at_most)
        else:
            is_kept = abs(exact[1] - _exact(self.about or 0)) <= self._margin
        said = f"it is {shown(_plain(value))}"
        if is_kept:
            return passed(said, at)
        return failed(said, at, (Difference(self.path, self._wanted, shown(_plain(value))),))

    @property
    def _wanted(self) -> str:
        return self.sentence.partition(f"{self.path} ")[2]

    def accepting(self, run: Evidence) -> Rule | None:
        """The value that the run has there."""
        step = run.last_step if self.step is None else self.step
        if not run.is_whole or self._is_beyond(run) or run.lacks_state(step):
            return None
        state = run.state(step)
        try:
            value = get(state, to_wire_path(state, parse_path(self.path)))
        except PathNotFound:
            return None
        if self.equals is not None:
            return replace(self, equals=json.dumps(value, ensure_ascii=False))
        if type(value) not in (int, float):
            return None
        now = cast("float", value)
        return replace(self, at_most=now) if self.at_most is not None else replace(self, about=now)

    def _is_beyond(self, run: Evidence) -> bool:
        return self.step is not None and self.step > run.last_step


@dataclass(frozen=True)
class Answer(Rule):
    """What the agent answers in the end: one of `equals`, `contains` and `matches`.

    Attributes:
        equals: the whole text.
        contains: texts that stand in it, all of them.
        matches: a pattern, found anywhere in it; see `agent_tt.querying.expressions`.
    """

    kind: ClassVar = "answer"
    shapes: ClassVar = {"equals": text, "contains": texts, "matches": text}
    equals: str | None = None
    contains: tuple[str, ...] = ()
    matches: str | None = None

    def check(self) -> None:
        """Check that it says one thing, which can be read.

        Raises:
            UsageError: it does not.
        """
        if [self.equals is not None, bool(self.contains), self.matches is not None].count(True) != 1:
            raise UsageError("one of equals, contains and matches must be given")
        if self.matches is not None:
            try:
                compile_pattern(self.matches)
            except BadPattern as error:
                raise UsageError(f"matches: {error}") from error

    @property
    def sentence(self) -> str:
        """`final answer says “59.90”`."""
        if self.equals is not None:
            return f"final answer is {shown(self.equals)}"
        if self.matches is not None:
            return f"final answer matches {self.matches}"
        return f"final answer says {' and '.join(f'“{each}”' for each in self.contains)}"

    def _judge(self, run: Evidence) -> Judgement:
        if not run.is_whole:
            return unknown(HALTED)
        answer, at = run.answer, run.last_step or None
        if answer is None:
            return failed("there is no answer in the last state", at)
        if self.equals is not None:
            if answer == self.equals:
                return passed("it is the same", at)
            return failed("it is another one", at, (Difference("answer", shown(self.equals), shown(answer)),))
        if self.matches is not None:
            try:
                is_found, _ = compile_pattern(self.matches).matches(answer)
            except TooMuchWork:
                return unknown("the answer is too long for the pattern")
            return passed("it matches", at) if is_found else failed("it does not match", at, _came(answer))
        missing = [each for each in self.contains if each not in answer]
        if missing:
            return failed(f"it does not say {' and '.join(f'“{each}”' for each in missing)}", at, _came(answer))
        return passed("it says so", at)

    def accepting(self, run: Evidence) -> Rule | None:
        """The answer of the run, where the whole text is asked for."""
        is_one = self.equals is not None and run.is_whole and run.answer
        return replace(self, equals=run.answer) if is_one else None


def _came(answer: str) -> tuple[Difference, ...]:
    return (Difference("answer", None, shown(answer)),)


def _below(path: str, inside: str) -> str:
    if not inside:
        return path
    return f"{path}{inside}" if inside.startswith("[") else f"{path}.{inside}"


def _exact(given: float) -> Fraction:
    return Fraction(repr(given))


def _plain(value: Wire) -> object:
    return value.get(VALUE) if is_envelope(value) and isinstance(value, dict) else value
