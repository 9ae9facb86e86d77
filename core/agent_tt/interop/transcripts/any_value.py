"""An `AnyValue` of OpenTelemetry as plain JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.loose import dicts, items, mapping, text

if TYPE_CHECKING:
    from agent_tt.providers.shapes import Json

__all__ = ["plain"]

_MOST_DEPTH: Final = 64


def plain(value: Json, depth: int = 0) -> Json:
    """An `AnyValue` as plain JSON."""
    for kind, given in mapping(value).items() if depth < _MOST_DEPTH else ():
        if kind in ("arrayValue", "array_value"):
            return [plain(each, depth + 1) for each in items(mapping(given).get("values"))]
        if kind in ("kvlistValue", "kvlist_value"):
            pairs = dicts(mapping(given).get("values"))
            return {text(each.get("key")): plain(each.get("value"), depth + 1) for each in pairs}
        if kind in ("intValue", "int_value") and isinstance(given, str) and len(given) < 20:
            return int(given) if given.lstrip("-").isdigit() else given
        return given
    return None
