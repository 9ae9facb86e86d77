"""Edits of a state: checked against the state they are for, applied to a copy.

Paths are those that people write (`messages[3].content`). They lead through typed values: `window[0]` is the first
item of a tuple, `user.name` a field of a dataclass, and `prices[2][1]` the value of the third entry of a dict whose
keys are no plain text (`prices[2][0]` is its key). They lead into texts that are JSON too (`json_text`): such an edit
is one of the text. A state is never changed: what an edit touches is copied, the rest
is shared between the old state and the new.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.encode import encode
from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.codec.text import describe, summary
from agent_tt.codec.typed_text import simple_name
from agent_tt.codec.wire import TYPE, VALUE, Path, Wire, envelope_type, is_envelope
from agent_tt.errors import InvalidEdit, PathNotFound
from agent_tt.forking.editing.json_text import through_text
from agent_tt.forking.editing.typed_text import like_recorded
from agent_tt.model import Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "WrittenEdit",
    "apply_edits",
    "check_type",
    "edit_from_value",
    "is_retyped",
    "value_shape",
    "with_old_values",
]

Container: TypeAlias = "list[Wire] | dict[str, Wire]"
Shape = Literal["list", "object", "fields", "pairs", "pair", "closed"]
"""What can be done inside a value: items, keys, fixed fields, `[key, value]` pairs, the halves of one, nothing."""

_SHAPES: dict[str, Shape] = {
    "tuple": "list",
    "deque": "list",
    "dict": "pairs",
    "namedtuple": "fields",
    "dataclass": "fields",
    "pydantic": "fields",
    "exception": "fields",
}
_SUBCLASS_SHAPES: dict[Wire, Shape] = {"dict": "pairs", "list": "list"}
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, eq=False)
class WrittenEdit(Edit):
    """An edit as it was written: where its value goes, the type of what is there is to stay.

    Attributes:
        written: The text of the value.
    """

    written: str = ""

    def plain(self) -> Edit:
        """The edit whose value is plain JSON, whatever type it replaces."""
        return Edit(self.op, self.path, self.value, self.old, self.to, self.target, self.step, self.call)

    def typed_like(self, old: Wire, label: str, otherwise: str) -> Edit:
        """The edit whose value has the type of what it replaces.

        Args:
            old: What it replaces.
            label: What is edited, for an error.
            otherwise: How to replace it by a value of another type.

        Raises:
            InvalidEdit: What was written cannot be read as that type.
        """
        try:
            return replace(self.plain(), value=like_recorded(old, self.value, self.written))
        except ValueError:
            word = simple_name(old) if isinstance(old, dict) and "class" in old else type_word(old)
            why = f"{label}: {self.written.strip()} is no {word}"
            raise InvalidEdit(why, hint=f"it is {summary(old, 60)}; {otherwise}") from None

    def __eq__(self, other: object) -> bool:
        """Whether another one edits the same; how either was written does not count."""
        return self.plain() == (other.plain() if isinstance(other, WrittenEdit) else other)

    def __hash__(self) -> int:
        """Equal for equal edits."""
        return hash(self.plain())

    def __repr__(self) -> str:
        """Show it as the plain edit."""
        return repr(self.plain())


def edit_from_value(state: Wire, path: str, value: object) -> Edit:
    """Make the edit that sets `path` to a Python value, with the value that `state` has there now.

    Raises:
        InvalidPath: `path` cannot be read.
        InvalidEdit: the state has no such place.
    """
    edit = Edit("set", format_path(parse_path(path)), encode(value))
    return with_old_values(state, [edit])[0]


def is_retyped(edit: Edit) -> bool:
    """Whether an edit that sets a value gives it another type than `WrittenEdit` would."""
    try:
        return like_recorded(edit.old, edit.value, json.dumps(edit.value)) != edit.value
    except ValueError:
        return True


def apply_edits(state: Wire, edits: Sequence[Edit]) -> Wire:
    """Apply edits in order; each one's path is meant for the state that those before it made.

    Edits of something else than a state leave it as it is.

    `set` gives a value to an existing place, to a new key or to the position just after a list's end; `insert` puts a
    value before a list position (its length: at the end); `delete` removes a key or item; `move` deletes `path` and
    then inserts its value at `to`, a path in the state without it.

    Returns:
        A state that shares what no edit touched with `state`; treat both as read-only.

    Raises:
        InvalidPath: a path cannot be read.
        InvalidEdit: an edit does not fit: which one, what is there instead and what to do.
    """
    for number, edit in enumerate(edits, 1):
        state = _apply(state, edit, _label(edit, number, len(edits)))
    return state


def with_old_values(state: Wire, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The same edits, each with the value that it replaces or removes (None where nothing was).

    One that was written as text (`WrittenEdit`) gets the type of the value that it replaces.

    Raises:
        InvalidPath: a path cannot be read.
        InvalidEdit: an edit does not fit, or what was written cannot be read as the type of what is there.
    """
    known: list[Edit] = []
    for number, one in enumerate(edits, 1):
        given = _typed(state, one, _label(one, number, len(edits)))
        edit = through_text(state, given, apply_edits) if given.target == "state" else given
        old = None if edit.op == "insert" else _value_or_none(state, parse_path(edit.path))
        known.append(replace(edit, old=old))
        state = _apply(state, edit, _label(edit, number, len(edits)))
    return tuple(known)


def check_type(old: Wire, new: Wire) -> str:
    """What an edit does to a value's type, for the dialog: `still a str`, `was int, now str`."""
    before, after = type_word(old), type_word(new)
    if before != after:
        return f"was {before}, now {after}"
    return "still null" if before == "null" else f"still {with_article(before)}"


def with_article(words: str) -> str:
    """Put the article before a noun: `an int`."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def type_word(wire: Wire) -> str:
    """Name a value's type without its size: `str`."""
    words = describe(wire).split()
    return " ".join(word for word in words if not word.isdigit())


def _typed(state: Wire, edit: Edit, label: str) -> Edit:
    if not isinstance(edit, WrittenEdit):
        return edit
    plain = edit.plain()
    if plain.op != "set" or plain.target != "state":
        return plain
    old = _value_or_none(state, parse_path(plain.path))
    return edit.typed_like(old, label, f"--retype {plain.path}=VALUE replaces it by plain JSON, whatever its type")


def _label(edit: Edit, number: int, count: int) -> str:
    which = f"edit {number} of {count}: " if count > 1 else ""
    return f"{which}{edit.op} {edit.path or 'the whole state'}"


def _value_or_none(state: Wire, path: Path) -> Wire:
    try:
        return get(state, to_wire_path(state, path))
    except PathNotFound:
        return None


def _apply(state: Wire, edit: Edit, label: str) -> Wire:
    if edit.target != "state":
        return state
    edit = through_text(state, edit, apply_edits)
    path = parse_path(edit.path)
    match edit.op:
        case "set":
            return _set(state, path, edit.value, label)
        case "insert":
            return _insert(state, path, edit.value, label)
        case "delete":
            return _delete(state, path, label)
        case "move":
            if edit.to is None:
                raise InvalidEdit(f"{label}: it does not say where to", hint="give the target path as `to`")
            value = get(state, _require(state, path, label))
            target = parse_path(edit.to)
            without = _delete(state, path, label)
            place = _insert if target and isinstance(target[-1], int) else _set
            return place(without, target, value, f"{label} to {edit.to}")
        case "mute":
            return state
        case _:
            assert_never(edit.op)


def _set(state: Wire, path: Path, value: Wire, label: str) -> Wire:
    if not path:
        return value
    root, container, shape = _open(state, path[:-1], label)
    if isinstance(container, dict):
        container[_key(container, path, label, new=shape == "object")] = value
    elif shape == "pairs":
        _set_entry(container, path, value, label)
    else:
        index = _index(container, path, label, last=1 if shape == "pair" else len(container))
        container[index : index + 1] = [value]
    return root


def _set_entry(pairs: list[Wire], path: Path, value: Wire, label: str) -> None:
    key = path[-1]
    if isinstance(key, int):
        if key >= len(pairs):
            raise _no_key(path, [_pair_key(pair) for pair in pairs], label)
        name = _name(path)
        raise InvalidEdit(f"{label}: {name} is a key and its value", hint=f"set {name}[1] to change the value")
    position = _entry(pairs, key)
    end = len(pairs) if position is None else position
    pairs[end : end + 1] = [[key, value]]


def _insert(state: Wire, path: Path, value: Wire, label: str) -> Wire:
    if not path:
        raise InvalidEdit(f"{label}: an insert needs a list position", hint="for example messages[0]")
    root, container, shape = _open(state, path[:-1], label)
    if shape != "list" or not isinstance(container, list):
        what = with_article(describe(get(state, to_wire_path(state, path[:-1]))))
        raise InvalidEdit(
            f"{label}: {_name(path[:-1])} is {what}, not a list, so nothing can be inserted by position",
            hint="use set to give a key a value",
        )
    container.insert(_index(container, path, label, last=len(container)), value)
    return root


def _delete(state: Wire, path: Path, label: str) -> Wire:
    if not path:
        raise InvalidEdit(f"{label}: the whole state cannot be deleted", hint="set it to another value instead")
    root, container, shape = _open(state, path[:-1], label)
    if shape in {"fields", "pair"}:
        raise InvalidEdit(f"{label}: {_name(path[:-1])} always has its parts", hint="set the part to another value")
    if isinstance(container, dict):
        del container[_key(container, path, label, new=False)]
    elif shape == "pairs":
        position = _entry(container, path[-1])
        if position is None:
            raise _no_key(path, [_pair_key(pair) for pair in container], label)
        del container[position]
    else:
        del container[_index(container, path, label, last=len(container) - 1)]
    return root


def _open(state: Wire, parent: Path, label: str) -> tuple[Wire, Container, Shape]:
    """Copy the way down to the container at `parent`; give the new state, the container in it and what it allows."""
    wire_path = _require(state, parent, label)
    root: Wire = _copied(state)
    node, shape = root, value_shape(root)[0]
    for depth, key in enumerate(wire_path):
        if shape == "closed":
            raise _closed(get(state, wire_path[:depth]), wire_path[:depth], label)
        holder = cast("dict[str | int, Wire]", node)  # a list or a dict, since to_wire_path has checked each step
        node = holder[key] = _copied(holder[key])
        if key != VALUE:  # the payload is held to what its envelope allows
            shape = "pair" if shape == "pairs" else value_shape(node)[0]
    if shape == "closed":
        raise _closed(node, wire_path, label)
    if is_envelope(node):
        payload = node[VALUE] = _copied(node[VALUE])
        return root, cast("Container", payload), shape
    return root, cast("Container", node), shape


def _closed(value: Wire, wire_path: Path, label: str) -> InvalidEdit:
    name = _name(wire_path)
    return InvalidEdit(
        f"{label}: {name} is {with_article(describe(value))} with no parts that can be edited",
        hint=f"set {name} as a whole",
    )


def _copied(node: Wire) -> Wire:
    return node.copy() if isinstance(node, list | dict) else node


def value_shape(node: Wire) -> tuple[Shape, Path]:
    """What can be done inside `node`, and the way from it to the container that holds its parts."""
    if isinstance(node, list):
        return "list", ()
    if not isinstance(node, dict):
        return "closed", ()
    if not is_envelope(node):
        return "object", ()
    kind = envelope_type(node) or ""
    shape = _SUBCLASS_SHAPES.get(node.get("base"), "closed") if kind == "sub" else _SHAPES.get(kind, "closed")
    payload_type = dict if shape == "fields" else list
    if shape == "closed" or not isinstance(node.get(VALUE), payload_type):
        return "closed", ()
    return shape, (VALUE,)


def _require(state: Wire, path: Path, label: str) -> Path:
    """The wire path of a place that must exist; the error names the deepest place that does."""
    try:
        return to_wire_path(state, path)
    except PathNotFound:
        for depth in range(len(path)):
            try:
                to_wire_path(state, path[: depth + 1])
            except PathNotFound:
                raise _missing(get(state, to_wire_path(state, path[:depth])), path[: depth + 1], label) from None
        raise


def _missing(parent: Wire, path: Path, label: str) -> InvalidEdit:
    shape, inside = value_shape(parent)
    container = get(parent, inside)
    if shape == "list" and isinstance(container, list):
        return _no_item(path, len(container), label)
    if isinstance(container, dict) and shape != "closed":
        return _no_key(path, list(container), label)
    if shape == "pairs" and isinstance(container, list):
        return _no_key(path, [_pair_key(pair) for pair in container], label)
    return _closed(parent, path[:-1], label)


def _index(container: list[Wire], path: Path, label: str, *, last: int) -> int:
    index = path[-1]
    if not isinstance(index, int) or index > last:
        raise _no_item(path, len(container), label)
    return index


def _no_item(path: Path, count: int, label: str) -> InvalidEdit:
    name = _name(path[:-1])
    have = (
        f"its items are [0] to [{count - 1}]; [{count}] adds one at the end"
        if count
        else "it is empty; [0] adds the first"
    )
    return InvalidEdit(f"{label}: {name} is a list of {count} and has no {format_path(path[-1:])}", hint=have)


def _key(container: dict[str, Wire], path: Path, label: str, *, new: bool) -> str:
    key = path[-1]
    if isinstance(key, int):
        raise _no_key(path, list(container), label)
    if key not in container and not new:
        raise _no_key(path, list(container), label)
    if key in {TYPE, VALUE}:
        raise InvalidEdit(f"{label}: the key {key} is kept for typed values", hint=f"use another key than {key}")
    return key


def _no_key(path: Path, keys: Sequence[Wire], label: str) -> InvalidEdit:
    names = [str(key) for key in keys]
    near = difflib.get_close_matches(str(path[-1]), names, n=3) or names[:_MOST_NAMED]
    listed = ", ".join(near) + (", …" if len(near) == _MOST_NAMED < len(names) else "")
    missing = format_path(path[-1:])
    return InvalidEdit(
        f"{label}: {_name(path[:-1])} has no {missing}",
        hint=f"it has {listed}" if near else "it is empty",
    )


def _entry(pairs: list[Wire], key: str | int) -> int | None:
    """Position of the entry that a path's last step means: a text key, or a position."""
    if isinstance(key, int):
        return key if key < len(pairs) else None
    return next((position for position, pair in enumerate(pairs) if _pair_key(pair) == key), None)


def _pair_key(pair: Wire) -> Wire:
    return pair[0] if isinstance(pair, list) and pair else None


def _name(path: Path) -> str:
    return format_path(path) or "the state"
