"""Values as TOML, as far as goldens need it: the standard library reads TOML and does not write it."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["lines_of", "toml_value"]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED: Final = re.compile("[\x7f\ud800-\udfff]")


def toml_value(value: object) -> str:
    """A text, number, truth value, list or mapping as TOML.

    Raises:
        ValueError: TOML has no way to write it.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case dict():
            inside = ", ".join(f"{_key(key)} = {toml_value(each)}" for key, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
    raise ValueError(f"TOML has no way to write {value!r}")


def lines_of(table: Mapping[str, object]) -> list[str]:
    """The keys of a table, one on each line."""
    return [f"{_key(key)} = {toml_value(value)}" for key, value in table.items()]


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    """A basic string: JSON's escapes are those of TOML, which also escapes DEL and has no lone surrogates."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("TOML has no way to write half of a surrogate pair")
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))
