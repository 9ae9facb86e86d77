"""Where the agent's modules hold an original that binding names anew does not reach."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.patching.agent_modules import AgentModules
    from agent_tt.patching.replacements import Replacements

__all__ = ["unreached_places"]

_MADE_BY_DATACLASSES: Final = ("_dflt_", "__dataclass_")
"""Names that an `__init__` made by dataclasses has for default factories, which are listed as fields."""


def unreached_places(modules: AgentModules, replacements: Replacements) -> tuple[str, ...]:
    """Dotted places, sorted: default arguments, class attributes, items of containers, partials, field factories."""
    found: set[str] = set()
    for name, module in modules.loaded():
        for key, value in list(vars(module).items()):
            if not key.startswith("__"):
                found.update(_within(f"{name}.{key}", value, name, replacements))
    return tuple(sorted(found))


def _within(place: str, value: object, module: str, replacements: Replacements) -> Iterator[str]:
    if isinstance(value, types.FunctionType):
        yield from _in_function(place, value, replacements)
    elif isinstance(value, type) and value.__module__ == module:
        for key, held in list(vars(value).items()):
            inner = held.__func__ if isinstance(held, (staticmethod, classmethod)) else held
            if replacements.replacement(inner) is not None:
                yield f"{place}.{key}"
            elif isinstance(inner, types.FunctionType):
                yield from _in_function(f"{place}.{key}", inner, replacements)
            elif key == "__dataclass_fields__" and isinstance(held, dict):
                for field_name, field in held.items():
                    if replacements.replacement(getattr(field, "default_factory", None)) is not None:
                        yield f"{place}.{field_name}"
    else:
        yield from _in_container(place, value, replacements)


def _in_function(place: str, function: types.FunctionType, replacements: Replacements) -> Iterator[str]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    held = [*zip(names[len(names) - len(defaults) :], defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    for name, value in held:
        if replacements.replacement(value) is not None:
            yield f"{place}({name}=)"
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        if replacements.replacement(value) is not None and not name.startswith(_MADE_BY_DATACLASSES):
            yield f"{place}.<locals>.{name}"


def _in_container(place: str, value: object, replacements: Replacements) -> Iterator[str]:
    items: list[tuple[object, object]] = []
    if type(value) is dict:
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    elif type(value) is functools.partial:
        items = [("func", value.func), *enumerate(value.args), *value.keywords.items()]
    for key, held in items:
        if replacements.replacement(held) is not None:
            yield f"{place}[{key!r}]"
