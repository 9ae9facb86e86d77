"""What is replaced by what, for each kind of patch."""

from __future__ import annotations

import datetime as dt
import os
import random
import secrets
import time
import uuid
from typing import TYPE_CHECKING, Final

from agent_tt.patching.clock import CLOCK_NAMES, DATE_NAMES
from agent_tt.patching.environment import OS_ENVIRONMENT_NAMES
from agent_tt.patching.ids import UUID_NAMES
from agent_tt.patching.randomness import RANDOM_NAMES, SECRETS_NAMES, urandom
from agent_tt.patching.standins import StandInModule, all_like
from agent_tt.recording.lanes.hooks import made_by_patches, unpatched

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from types import ModuleType

    from agent_tt.patching.kinds import PatchKind

__all__ = ["Replacements"]

_NAMES: Final[Mapping[PatchKind, tuple[tuple[ModuleType, Mapping[str, object]], ...]]] = {
    "clock": ((time, all_like(time, CLOCK_NAMES)), (dt, DATE_NAMES)),
    "random": (
        (random, all_like(random, RANDOM_NAMES)),
        (secrets, all_like(secrets, SECRETS_NAMES)),
        (os, all_like(os, {"urandom": urandom})),
    ),
    "ids": ((uuid, UUID_NAMES),),
    "env": ((os, OS_ENVIRONMENT_NAMES),),
}

_ORIGINALS: Final[dict[ModuleType, dict[str, object]]] = {}
for _module, _names in (pair for pairs in _NAMES.values() for pair in pairs):
    _ORIGINALS.setdefault(_module, {}).update((name, unpatched(getattr(_module, name))) for name in _names)
"""By module and name: a replay or a hold replaces `time.monotonic` itself, and modules still have the original."""


class Replacements:
    """What replaces each original function. Objects are compared by identity, not by name: one may have several names.

    A module that was imported during a hold or a replay has our function for the original; that one is replaced too.
    """

    def __init__(self, kinds: Collection[PatchKind]) -> None:
        by_module: dict[ModuleType, dict[str, object]] = {}
        for kind in kinds:
            for module, names in _NAMES[kind]:
                by_module.setdefault(module, {}).update(names)
        pairs: list[tuple[object, object]] = []
        for module, names in by_module.items():
            pairs.append((module, StandInModule(module, names)))
            pairs += [(_ORIGINALS[module][name], replacement) for name, replacement in names.items()]
        self._originals = frozenset(by_module)
        self._forth = {id(original): replacement for original, replacement in pairs}
        self._back = {id(replacement): original for original, replacement in pairs}
        over = [
            (made, self._forth[id(unpatched(made))]) for made in made_by_patches() if id(unpatched(made)) in self._forth
        ]
        self._forth.update((id(made), replacement) for made, replacement in over)
        self._pairs = [*pairs, *over]  # keeps the originals, and so their ids, alive

    def replacement(self, value: object) -> object | None:
        """What stands for `value`, None where nothing does."""
        return self._forth.get(id(value))

    def original(self, value: object) -> object | None:
        """What `value` stands for, None where it is not a replacement."""
        return self._back.get(id(value))

    def has_original(self, values: Iterable[object]) -> bool:
        """Whether something stands for any of the values. Asked of every name of every module, so it is quick."""
        return not self._forth.keys().isdisjoint(map(id, values))

    def has_replacement(self, values: Iterable[object]) -> bool:
        """Whether any of the values is a replacement; quick, too."""
        return not self._back.keys().isdisjoint(map(id, values))

    @property
    def originals(self) -> frozenset[ModuleType]:
        """The modules that are replaced."""
        return self._originals

    @property
    def modules(self) -> frozenset[str]:
        """Names of the modules that are replaced."""
        return frozenset(replacement.__name__ for _, replacement in self._pairs if type(replacement) is StandInModule)
