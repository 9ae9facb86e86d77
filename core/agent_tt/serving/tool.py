"""What a tool is: its name, what it takes, the function that answers; and the arguments of one call, checked."""

from __future__ import annotations

import difflib
from types import EllipsisType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource
    from agent_tt.shapes.records import Shape

__all__ = ["BUDGET", "CURSOR", "LEAST_BUDGET", "MOST_BUDGET", "RUN", "Asked", "Kind", "Parameter", "Tool"]

Kind: TypeAlias = Literal["text", "texts", "number", "flag"]

LEAST_BUDGET: Final = 4_000
MOST_BUDGET: Final = 40_000
_LONGEST: Final = 100_000
"""Characters of an argument."""

_TYPES: Final[dict[Kind, Shape]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
}
_WORDS: Final[dict[Kind, str]] = {
    "text": "a text",
    "texts": "a list of texts",
    "number": "a whole number",
    "flag": "true or false",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool.

    Attributes:
        name: its name.
        kind: what it takes.
        help: what it is, for the one who calls.
        default: what it is where it is not given; a parameter without one has to be given.
        least: of a number, the smallest.
        most: of a number, the largest.
        choices: of a text or texts, what there is to choose from; everything where nothing is named.
    """

    name: str
    kind: Kind
    help: str
    default: Wire | EllipsisType = ...
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def is_needed(self) -> bool:
        """Whether it has to be given."""
        return isinstance(self.default, EllipsisType)

    def schema(self) -> Shape:
        """Its JSON schema."""
        shape: Shape = {**_TYPES[self.kind], "description": self.help}
        if self.choices:
            chosen: Shape = {"type": "string", "enum": [*self.choices]}
            shape |= {"items": chosen} if self.kind == "texts" else chosen
        if self.least is not None:
            shape["minimum"] = self.least
        if self.most is not None:
            shape["maximum"] = self.most
        if not isinstance(self.default, EllipsisType) and self.default is not None and self.default != []:
            shape["default"] = self.default
        return shape

    def check(self, value: Wire) -> Wire:
        """The value, if it is one for this parameter.

        Raises:
            UsageError: it is none.
        """
        if value is None and not isinstance(self.default, EllipsisType):
            return self.default
        if not self._fits(value):
            raise UsageError(f"{self.name} has to be {_WORDS[self.kind]}", hint=self.help)
        texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
        for text in texts:
            if isinstance(text, str) and len(text) > _LONGEST:
                raise UsageError(f"{self.name} has {len(text):,} characters", hint=f"At most {_LONGEST:,} are taken.")
            if self.choices and text not in self.choices:
                raise UsageError(f"{self.name} cannot be {str(text)[:80]!r}", hint=f"One of {', '.join(self.choices)}.")
        if isinstance(value, int) and not isinstance(value, bool):
            if self.least is not None and value < self.least:
                raise UsageError(f"{self.name} is at least {self.least}")
            if self.most is not None and value > self.most:
                raise UsageError(f"{self.name} is at most {self.most}")
        return value

    def _fits(self, value: Wire) -> bool:
        match self.kind:
            case "text":
                return isinstance(value, str)
            case "texts":
                return isinstance(value, list) and all(isinstance(each, str) for each in value)
            case "number":
                return isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, bool)


BUDGET: Final = Parameter(
    "budget",
    "number",
    "Most characters of the answer.",
    8_000,
    LEAST_BUDGET,
    MOST_BUDGET,
)
RUN: Final = Parameter("run", "text", "The run: its id, its name, or latest.")
CURSOR: Final = Parameter("cursor", "text", "`next` of the page before.", None)


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a tool.

    Attributes:
        source: where the runs are.
        arguments: what was given, checked, with defaults.
        cancelled: whether nobody waits for the answer any more, or it has taken too long.
    """

    source: RunSource
    arguments: Mapping[str, Wire]
    cancelled: Callable[[], bool] = lambda: False

    def text(self, name: str) -> str:
        """A text that has to be given."""
        return str(self.arguments[name])

    def text_or_none(self, name: str) -> str | None:
        """A text, None where none was given."""
        value = self.arguments[name]
        return None if value is None else str(value)

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        value = self.arguments[name]
        return [str(each) for each in value] if isinstance(value, list) else []

    def number(self, name: str) -> int | None:
        """A number, None where none was given."""
        value = self.arguments[name]
        return value if isinstance(value, int) else None

    def flag(self, name: str) -> bool:
        """Yes or no."""
        return self.arguments[name] is True

    @property
    def budget(self) -> int:
        """The characters of the answer."""
        return self.number("budget") or LEAST_BUDGET

    @property
    def cursor(self) -> str | None:
        """Where the page begins."""
        return self.text_or_none("cursor")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the server.

    Attributes:
        name: its name.
        help: what it answers, for the model that chooses among tools.
        parameters: what it takes.
        answer: the answer.
        starts: whether it may start a process: such a tool is there only with leave.
    """

    name: str
    help: str
    parameters: Sequence[Parameter]
    answer: Callable[[Asked], Shape]
    starts: bool = False

    def schema(self) -> Shape:
        """The JSON schema of what it takes."""
        needed: list[Wire] = [each.name for each in self.parameters if each.is_needed]
        return {
            "type": "object",
            "properties": {each.name: each.schema() for each in self.parameters},
            **({"required": needed} if needed else {}),
            "additionalProperties": False,
        }

    def check(self, arguments: Mapping[str, Wire]) -> dict[str, Wire]:
        """The arguments of a call, with defaults for those that were not given.

        Raises:
            UsageError: one is missing, unknown or of another kind.
        """
        known = {each.name: each for each in self.parameters}
        for name in arguments:
            if name not in known:
                near = difflib.get_close_matches(name[:80], known, n=1)
                guess = f"Did you mean {near[0]}? " if near else ""
                raise UsageError(
                    f"{self.name} takes no {name[:80]!r}", hint=f"{guess}It takes {', '.join(known) or 'nothing'}."
                )
        for name, parameter in known.items():
            if parameter.is_needed and arguments.get(name) is None:
                raise UsageError(f"{self.name} needs {name}", hint=parameter.help)
        return {name: known[name].check(arguments.get(name)) for name in known}
