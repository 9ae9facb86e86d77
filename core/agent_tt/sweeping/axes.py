"""What a sweep varies: one edit, or one choice of how a fork is run, with each value that it takes.

An axis with a single value is varied by nobody: it holds for every run of the sweep. On the command line values of JSON
and names are separated by commas (`temperature=0,0.5,1`), those inside of JSON apart; free text (a prompt, an answer)
may hold commas, so each is given by itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, get_args

from agent_tt._dataclass import dataclass
from agent_tt.codec.parse import parse_value
from agent_tt.codec.paths import format_path, parse_path
from agent_tt.codec.text import summary
from agent_tt.errors import InvalidEdit, InvalidValue, UsageError
from agent_tt.forking.editing.assignments import parse_assignment, parse_move, parse_removal, split_assignment
from agent_tt.forking.editing.call_edits import parse_call_edit
from agent_tt.forking.editing.edits import WrittenEdit
from agent_tt.forking.editing.request_edits import model_edit, parameter_edit, system_edit
from agent_tt.forking.policy.policies import read_rule
from agent_tt.model import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["Axis", "AxisKind", "axes_of", "axis_of", "edit_of", "split_values"]

AxisKind = Literal[
    "set",
    "retype",
    "insert",
    "delete",
    "move",
    "result",
    "error",
    "answer",
    "system",
    "model",
    "param",
    "mute",
    "agent",
    "executor",
    "policy",
]

KINDS: Final[tuple[AxisKind, ...]] = get_args(AxisKind)

_OF_STATE: Final = frozenset({"set", "retype", "insert"})
_OF_JSON: Final = _OF_STATE | {"result", "param"}
_FREE_TEXT: Final = frozenset({"error", "answer", "system"})
_NAMED_BY_KIND: Final = frozenset({"system", "model", "mute", "agent", "executor"})
_REPEATED: Final = frozenset({"mute", "insert", "move"})
_LABEL_COLUMNS: Final = 40
_EXAMPLES: Final = {
    "param": "temperature=0,1",
    "result": "6.price=10,20",
    "error": '6="TimeoutError: no answer"',
    "answer": '3="Book it."',
    "policy": 'book_hotel=live,deny,stub:{"booked": true}',
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that is varied.

    Attributes:
        kind: what it is: an edit, by the name of its option, or `agent`, `executor`, `policy`.
        place: what is edited: a path, a call, a parameter, a tool; "" where the kind says it.
        values: the values that it takes, as wire values.
    """

    kind: AxisKind
    place: str
    values: tuple[Wire, ...]

    @property
    def name(self) -> str:
        """What it is called: `temperature`, `result 6.price`, `model`."""
        if self.kind in ("set", "retype"):
            return self.place or "the whole state"
        return f"{self.kind} {self.place}".rstrip()

    @property
    def varies(self) -> bool:
        """Whether it takes several values."""
        return len(self.values) > 1

    def label(self, index: int) -> str:
        """One of its values, in at most 40 columns."""
        value = self.values[index]
        if isinstance(value, str) and self.kind not in _OF_JSON:
            return value if len(value) <= _LABEL_COLUMNS else value[: _LABEL_COLUMNS - 1] + "…"
        return summary(value, _LABEL_COLUMNS)

    def to_mapping(self) -> dict[str, Wire]:
        """As a sweep keeps it."""
        return {"kind": self.kind, "place": self.place, "values": list(self.values)}


# ---------------------------------------------------------------- as they are written


def axis_of(kind: AxisKind, text: str) -> Axis:
    """Read what an option of the command says: `temperature=0,0.5,1` of `set`.

    Raises:
        UsageError: a value is missing, or is given twice.
        InvalidEdit, InvalidPath, InvalidValue: it cannot be read; the message says what.
    """
    if kind == "delete":
        return Axis(kind, parse_removal(text).path, (None,))
    if kind == "move":
        moved = parse_move(text)
        return Axis(kind, moved.path, (moved.to,))
    place, value = ("", text) if kind in _NAMED_BY_KIND else _split(kind, text)
    if kind in _FREE_TEXT:
        return _checked(Axis(kind, place, (_words(kind, value),)))
    label = f"--{kind} {place}".rstrip()
    pieces = split_values(value, label)
    if kind in _OF_JSON:
        return _checked(Axis(kind, place, tuple(_json(label, piece, words=kind == "param") for piece in pieces)))
    return _checked(Axis(kind, place, tuple(piece.strip() for piece in pieces)))


def axes_of(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """Axes in their order, with free texts of the same place as one axis.

    Several steps may be muted, and a list may be edited at one place several times, one edit after the other.

    Raises:
        UsageError: two others vary the same.
    """
    known: dict[tuple[str, str, int], Axis] = {}
    for axis in axes:
        kind = "set" if axis.kind in ("delete", "retype") else axis.kind
        key = (kind, axis.place, 0)
        before = known.get(key)
        item = axis.kind == "delete" and axis.place.endswith("]")  # the next one has come to stand there
        if before is not None and before.kind == axis.kind and (item or axis.kind in _REPEATED):
            same = [each for each in known.values() if each.kind == "mute" == axis.kind]
            if not any(value in each.values for each in same for value in axis.values):
                key, before = (kind, axis.place, len(known)), None
        if before is None:
            known[key] = axis
        elif axis.kind in _FREE_TEXT:
            known[key] = _checked(Axis(axis.kind, axis.place, (*before.values, *axis.values)))
        else:
            raise UsageError(
                f"{axis.name} is varied twice", hint=f"give all values at once: --{axis.kind} {_example(axis)}"
            )
    return tuple(known.values())


def _example(axis: Axis) -> str:
    return f"{axis.place}=0,1" if axis.place else "A,B"


def _split(kind: AxisKind, text: str) -> tuple[str, str]:
    """Place and value of `PLACE=VALUE`."""
    if "=" not in text:
        hint = f"for example --{kind} {_EXAMPLES.get(kind, 'temperature=0,0.5,1')}"
        raise InvalidEdit(f"{text!r} does not say what to vary, or with which values", hint=hint)
    if kind in _OF_STATE:
        return split_assignment(text)
    place, _, value = text.partition("=")
    return place.strip(), value


def _words(kind: AxisKind, text: str) -> Wire:
    """A free text; an answer may be a list of tool calls, in JSON, and either may stand in quotes as in JSON."""
    if kind == "system":
        return text
    try:
        wire = parse_value(text)
    except InvalidValue:
        return text
    return wire if isinstance(wire, str | list | dict) else text


def _json(label: str, text: str, *, words: bool) -> Wire:
    try:
        return parse_value(text)
    except InvalidValue as error:
        if words:
            return text.strip()
        why = f"{label}: {text.strip()!r} cannot be read: {error}"
        raise InvalidValue(why, line=error.line, column=error.column, hint=error.hint) from error


def split_values(text: str, label: str = "values") -> list[str]:
    """The pieces between commas that stand in no text, list or object of JSON.

    Raises:
        UsageError: there is nothing between two of them.
    """
    pieces: list[str] = []
    begins, depth, quoted, skip = 0, 0, False, False
    for index, character in enumerate(text):
        if skip:
            skip = False
        elif quoted:
            skip, quoted = character == "\\", character != '"'
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth <= 0:
            pieces.append(text[begins:index])
            begins = index + 1
    pieces.append(text[begins:])
    if not all(piece.strip() for piece in pieces):
        why = "there is no value" if len(pieces) == 1 else f"a value is missing in {text!r}"
        raise UsageError(f"{label}: {why}", hint="write the values with commas between them: 0,0.5,1")
    return pieces


def _checked(axis: Axis) -> Axis:
    """Refuse values that make no sense, or that are given twice.

    Raises:
        UsageError, InvalidEdit, InvalidPath: says which.
    """
    seen: set[str] = set()
    for value in axis.values:
        written = json.dumps(value, sort_keys=True)
        if written in seen:
            why = f"{axis.name} takes {summary(value, _LABEL_COLUMNS)} twice"
            raise UsageError(why, hint="--samples N takes each value N times")
        seen.add(written)
        edit_of(axis, value)
    if not axis.values:
        raise UsageError(f"{axis.name} takes no value", hint="give it at least one")
    if axis.kind in ("agent", "executor") and not all(isinstance(value, str) and value for value in axis.values):
        raise UsageError(f"each {axis.kind} is a name")
    if axis.kind == "policy":
        _check_policy(axis)
    return axis


def _check_policy(axis: Axis) -> None:
    if not axis.place:
        raise UsageError("--policy names no tool", hint=f"for example --policy {_EXAMPLES['policy']}")
    for value in axis.values:
        rule = read_rule(_name(axis, value), about=f"policy of {axis.place}")
        if "ask" in (rule.word, rule.otherwise):
            why = f"{axis.place} cannot ask in a sweep: nobody is there to answer"
            raise UsageError(why, hint="let it be live, recorded, stub or deny, or fork once with ask")


# ---------------------------------------------------------------- as edits


def edit_of(axis: Axis, value: Wire) -> Edit | None:
    """The edit of a fork that takes one value of an axis; None where it is not an edit but a choice of how it runs.

    Raises:
        InvalidEdit, InvalidPath, UsageError: there is no such edit.
    """
    match axis.kind:
        case "set":  # keeps the type of what is there, as the option of a fork does
            return WrittenEdit("set", format_path(parse_path(axis.place)), value, written=json.dumps(value))
        case "retype":
            return Edit("set", format_path(parse_path(axis.place)), value)
        case "insert":
            return Edit("insert", format_path(parse_path(axis.place)), value)
        case "delete":
            return Edit("delete", format_path(parse_path(axis.place)))
        case "move":
            return parse_move(f"{axis.place}={value}")
        case "result" | "error" | "answer":
            return parse_call_edit(f"{axis.place}={json.dumps(value)}", axis.kind)
        case "system":
            return system_edit(_name(axis, value))
        case "model":
            return model_edit(_name(axis, value))
        case "param":
            return parameter_edit(axis.place, value)
        case "mute":
            if not (isinstance(value, str | int) and str(value).isdecimal()):
                raise UsageError(f"{summary(value, 40)} is not the number of a step")
            return Edit("mute", "", target="step", step=int(value))
    return None


def _name(axis: Axis, value: Wire) -> str:
    if not isinstance(value, str):
        raise UsageError(f"each {axis.kind} is a text, which {summary(value, 40)} is not")
    return value


def axis_from_values(kind: AxisKind, place: str, values: Sequence[Wire]) -> Axis:
    """An axis of values that are at hand.

    Raises:
        UsageError, InvalidEdit, InvalidPath: they make no sense.
    """
    if kind in _OF_STATE:
        place = parse_assignment(f"{place}=null").path
    return _checked(Axis(kind, place, tuple(values)))
