"""YAML as values of JSON, from the events of a parser: nothing is made by its tag, nothing grows unbounded.

PyYAML's own loaders are not used: its fast one ends the process where a text nests deeply, and an alias inside an alias
makes any of them give what no memory holds.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.codec.encode import encode
from agent_tt.codec.wire import MAX_DEPTH

if TYPE_CHECKING:
    from agent_tt.providers.shapes import Json

__all__ = ["YamlFlaw", "read_yaml"]

_MOST_NODES: Final = 1_000_000
"""Each counted as often as it is there by aliases."""

_BINARY: Final = "tag:yaml.org,2002:binary"
_WORDS: Final[dict[str, Json]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT: Final = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})(\.[0-9]{0,40})?([eE][-+][0-9]{1,3})?")


class YamlFlaw(Exception):
    """A text is no YAML that can be read; the message says where and why."""


def read_yaml(body: bytes) -> Json:
    """Read one document.

    A word without quotes is what YAML 1.2's core schema makes of it: null, a truth value, a number, or a text. Bytes
    (`!!binary`) are an envelope, as in states; any other tag is left out of account.

    Raises:
        YamlFlaw: it breaks off, nests deeper than 200, or has more than a million values.
    """
    import yaml  # type: ignore[import-untyped, unused-ignore]  # its types are a package of their own

    building = _Building()
    try:
        for event in yaml.parse(body, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            building.take(type(event).__name__, event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise YamlFlaw(f"it breaks{where}: {getattr(error, 'problem', None) or type(error).__name__}") from error
    return building.value


class _Building:
    """A value that is put together from events.

    Attributes:
        value: the last one that is whole.
    """

    def __init__(self) -> None:
        self.value: Json = None
        self._open: list[_Collection] = []
        self._named: dict[str, tuple[Json, int]] = {}
        self._nodes = 0

    def take(self, kind: str, event: Any) -> None:
        """Take the next event."""
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self._open) >= MAX_DEPTH:
                raise YamlFlaw(f"it nests deeper than {MAX_DEPTH}, at line {event.start_mark.line + 1}")
            self._count(1)
            self._open.append(_Collection({} if kind.startswith("M") else [], event.anchor, self._nodes))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            done = self._open.pop()
            self._add(done.value, done.anchor, self._nodes - done.before + 1)
        elif kind == "ScalarEvent":
            self._count(1)
            self._add(_scalar(event), event.anchor, 1)
        elif kind == "AliasEvent":
            if event.anchor not in self._named:
                raise YamlFlaw(f"at line {event.start_mark.line + 1} it names {event.anchor!r}, which is not there yet")
            value, nodes = self._named[event.anchor]
            self._count(nodes)
            self._add(value, None, 0)

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise YamlFlaw(f"it has more than {_MOST_NODES:,} values")

    def _add(self, value: Json, anchor: str | None, nodes: int) -> None:
        if anchor:
            self._named[anchor] = value, nodes
        if self._open:
            self._open[-1].add(value)
        else:
            self.value = value


class _Collection:
    """A mapping or a list that is not over."""

    def __init__(self, value: dict[str, Json] | list[Json], anchor: str | None, before: int) -> None:
        self.value, self.anchor, self.before = value, anchor, before
        self._key: str | None = None

    def add(self, value: Json) -> None:
        """Add an item, a key, or the value of the key before."""
        if isinstance(self.value, list):
            self.value.append(value)
        elif self._key is None:
            self._key = value if isinstance(value, str) else repr(value)
        else:
            self.value[self._key] = value
            self._key = None


def _scalar(event: Any) -> Json:
    text = cast("str", event.value)
    if event.tag == _BINARY:
        try:
            plain = base64.b64decode(text)
        except (ValueError, binascii.Error):
            return text
        return encode(plain)
    if not event.implicit[0]:  # in quotes, or with a tag
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
