"""Headers of HTTP messages, which are nearly the same each time: what stays the same is kept once.

The headers of a message stand under the key `headers`, as an object of texts or as a list of pairs of texts. Where they
repeat those of an earlier message, they are kept as a *template*, a blob that holds them with null for each value that
changes; in their place stands the list of these values, in order, and a reference of the kind `t` names the blob. Which
values change is learned from the messages of a run as they come; a reader need not know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.errors import Damaged

__all__ = ["HEADERS", "Templates", "filled"]

HEADERS: Final = "headers"
"""The key that templates are made for."""

_LEAST_SAVED: Final = 64
"""Bytes that a template must save in each message."""

_REFERENCE: Final = 100
"""Bytes that naming a template takes."""

_MOST_KNOWN: Final = 64
"""Kinds of messages that are remembered."""


class _Known:
    """The headers of one kind of message: the values of the first one, which have changed since, and what that saves.

    `saved` counts bytes of each message that its template holds; `plain` is the template.
    """

    __slots__ = ("holes", "plain", "saved", "values")

    def __init__(self, values: list[str]) -> None:
        self.values = values
        self.holes: set[int] = set()
        self.plain: bytes | None = None
        self.saved = 0


class Templates:
    """The templates of what one process writes into one run. Used under the lock of the file."""

    def __init__(self) -> None:
        self._known: dict[tuple[bool, tuple[str, ...]], _Known] = {}

    def split(self, headers: Wire) -> tuple[bytes, list[Wire]] | None:
        """Template (plain bytes of a blob) and values of some headers; None where they are better kept as they are."""
        found = _taken_apart(headers)
        if found is None:
            return None
        names, values = found
        kind = (type(headers) is dict, names)
        known = self._known.get(kind)
        if known is None:
            if len(self._known) < _MOST_KNOWN:
                self._known[kind] = _Known(values)
            return None
        changed = {at for at, value in enumerate(values) if value != known.values[at]}
        if known.plain is None or not changed <= known.holes:
            known.holes |= changed
            kept: list[str | None] = [None if at in known.holes else value for at, value in enumerate(known.values)]
            known.plain = orjson.dumps(_put_together(names, kept, is_object=kind[0]))
            fixed = [text for text in (*names, *kept) if text is not None]
            known.saved = len("".join(fixed)) + 3 * len(fixed) - _REFERENCE
        if known.saved < _LEAST_SAVED:
            return None
        return known.plain, [values[at] for at in sorted(known.holes)]


def _taken_apart(headers: Wire) -> tuple[tuple[str, ...], list[str]] | None:
    """Names and values; None where they are not texts alone."""
    names: list[str] = []
    values: list[str] = []
    if type(headers) is dict:
        names, given = list(headers), list(headers.values())
    elif type(headers) is list:
        given = []
        for pair in headers:
            if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str:
                return None
            names.append(pair[0])
            given.append(pair[1])
    else:
        return None
    for value in given:
        if type(value) is not str:
            return None
        values.append(value)
    return (tuple(names), values) if names else None


def _put_together(names: tuple[str, ...], kept: list[str | None], *, is_object: bool) -> Wire:
    if is_object:
        return dict(zip(names, kept, strict=True))
    return [[name, value] for name, value in zip(names, kept, strict=True)]


def filled(template: Wire, given: Wire, damaged: Callable[[Wire], Damaged]) -> Wire:
    """A template with the values that change; one that is a text stands for what is not read.

    Raises:
        Damaged: they do not fit each other.
    """
    if type(template) is str:
        return template
    values = iter(given) if type(given) is list else None
    pairs: list[tuple[Wire, Wire]] = []
    if type(template) is dict:
        pairs = list(template.items())
    elif type(template) is list and all(type(pair) is list and len(pair) == 2 for pair in template):
        pairs = [(pair[0], pair[1]) for pair in template if type(pair) is list]
    else:
        raise damaged(template)
    if values is None:
        raise damaged(given)
    whole = [(name, next(values, None) if value is None else value) for name, value in pairs]
    if any(value is None for _, value in whole) or next(values, None) is not None:
        raise damaged(given)
    if type(template) is dict:
        return {str(name): value for name, value in whole}
    return [[name, value] for name, value in whole]
