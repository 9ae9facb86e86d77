"""Messages that are looked at, and made, many together: the list of a conversation only grows.

A message may be changed in place at any time, and that must show: the fields of all messages of a list are packed and
compared, which takes a quarter of a microsecond for each. What is equal is not converted again.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import ormsgpack
from langchain_core.messages import BaseMessage

from agent_tt._dataclass import dataclass
from agent_tt.history.digest import CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire

__all__ = ["EXACT", "Chunk", "Form", "Template", "copies"]

EXACT: Final = (
    ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
"""Packs what JSON has, and bytes; everything else is refused."""

_FIELDS: Final = attrgetter("__dict__")
_EXTRAS: Final = attrgetter("__pydantic_extra__")


class Form(NamedTuple):
    """All that messages are written from: their classes, their fields, and what else they have, where one has anything.

    The forms of two lists, each part joined, are that of the lists joined; or of no messages, where one of them has
    nothing else.
    """

    kinds: list[type]
    fields: bytes
    extras: bytes

    @classmethod
    def of(cls, messages: list[object]) -> Form:
        """That of messages.

        Raises:
            TypeError, AttributeError: one holds objects, or is no message.
        """
        head = 1 if len(messages) < 16 else 3  # it counts the items
        fields = ormsgpack.packb([*map(_FIELDS, messages)], option=EXACT)
        extras: list[object] = [*map(_EXTRAS, messages)]
        beside = ormsgpack.packb(extras, option=EXACT)[head:] if any(extras) else b""
        return cls([*map(type, messages)], fields[head:], beside)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Messages that follow one another, the form of what they held, and what is kept of them."""

    messages: list[object]
    form: Form
    wires: list[Wire]

    def is_of(self, messages: list[object]) -> bool:
        """Whether these are the same messages, and hold what they held."""
        return (
            len(messages) == len(self.messages)
            and all(map(is_, messages, self.messages))
            and Form.of(messages) == self.form
        )

    def joined(self, other: Chunk) -> Chunk:
        """The messages of both."""
        kinds, fields, extras = other.form
        form = Form(self.form.kinds + kinds, self.form.fields + fields, self.form.extras + extras)
        return Chunk(self.messages + other.messages, form, self.wires + other.wires)


@dataclass(frozen=True, slots=True)
class Template:
    """What copies of a message are made of, which share only what cannot be changed.

    Attributes:
        kind: its class.
        fields: its fields.
        makers: gives each of those that can be changed.
        extra: gives what it has besides fields.
        names: the fields that were set.
    """

    kind: type[BaseMessage]
    fields: dict[str, object]
    makers: list[tuple[str, Callable[[], object]]]
    extra: Callable[[], object]
    names: set[str]

    @classmethod
    def of(cls, message: object) -> Template | None:
        """That of what a serializer made; None of what holds more than plain data, and is made anew each time."""
        if not isinstance(message, BaseMessage) or message.__pydantic_private__ is not None:
            return None
        try:
            packed = ormsgpack.packb([message.__dict__, message.__pydantic_extra__], option=EXACT)
        except TypeError:
            return None
        fields, extra = ormsgpack.unpackb(packed)
        makers = [(name, _maker(value)) for name, value in fields.items() if type(value) in CONTAINERS]
        return cls(type(message), fields, makers, _maker(extra), message.__pydantic_fields_set__.copy())


def _maker(value: Any) -> Callable[[], object]:
    """What gives a value again and again, each time in new containers."""
    if value is None or not value:
        return type(value)
    parts = value.values() if type(value) is dict else value
    if CONTAINERS.isdisjoint(map(type, parts)):
        return value.copy  # type: ignore[no-any-return]  # a dict or list
    return partial(ormsgpack.unpackb, ormsgpack.packb(value))


def copies(templates: list[Template]) -> list[object]:
    """Messages made of templates, each the caller's own."""
    made: list[object] = []
    put = object.__setattr__
    for template in templates:
        fields = template.fields.copy()
        for name, make in template.makers:
            fields[name] = make()
        message = template.kind.__new__(template.kind)
        put(message, "__dict__", fields)
        put(message, "__pydantic_extra__", template.extra())
        put(message, "__pydantic_fields_set__", template.names.copy())
        put(message, "__pydantic_private__", None)
        made.append(message)
    return made
