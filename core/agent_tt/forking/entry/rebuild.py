"""The state that an agent starts from, made from what was recorded with the classes that the agent itself loaded."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent_tt.codec.decode import decode
from agent_tt.codec.wire import envelope_type
from agent_tt.forking.checks import envelopes

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.codec.wire import Wire

__all__ = ["known_classes", "rebuild_state", "stand_in_for_main"]

_SCRIPT = "__main__"
_WITH_CLASS = frozenset({"enum", "namedtuple", "dataclass", "pydantic", "exception", "sub"})


def rebuild_state(state: Wire, entry_module: ModuleType) -> object:
    """The Python value of a state, with classes from modules that are loaded by now; nothing is imported for it.

    A script records its own classes as `__main__:Name`. They are found in `entry_module`, and called `__main__` again,
    so that the states of the fork equal those of the run that it came from.

    Raises:
        NotRebuildable: a class is not loaded, or a value cannot be rebuilt at all; names the path.
    """
    types = known_classes(state, entry_module)
    if any(name.startswith(f"{_SCRIPT}:") for name in types):
        stand_in_for_main(entry_module)
    return decode(state, types)


def known_classes(state: Wire, entry_module: ModuleType) -> dict[str, type]:
    """The classes that a state names and that loaded modules have, by `module:Qualified.Name`."""
    found: dict[str, type] = {}
    for _, envelope in envelopes(state):
        name = envelope.get("class")
        if envelope_type(envelope) in _WITH_CLASS and isinstance(name, str) and name not in found:
            known = _loaded_class(name, entry_module)
            if known is not None:
                found[name] = known
    return found


def _loaded_class(name: str, entry_module: ModuleType) -> type | None:
    module_name, _, qualname = name.partition(":")
    holder: object = entry_module if module_name == _SCRIPT else sys.modules.get(module_name)
    for part in qualname.split("."):
        # Only what a module or class itself holds: a lazy module's __getattr__ would import, a descriptor would run.
        holder = vars(holder).get(part) if hasattr(holder, "__dict__") else None
    return holder if isinstance(holder, type) else None


def stand_in_for_main(module: ModuleType) -> None:
    """Let a module be the `__main__` that it was as a script, with its classes called so."""
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            value.__module__ = _SCRIPT
    sys.modules[_SCRIPT] = module  # pickle and typing look a class up in the module that it names
