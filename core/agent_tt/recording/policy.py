"""What a fork allows its tools to do."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal

from agent_tt.errors import ToolDenied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.model import CallKind, Effect

Decision = Literal["live", "deny"]

_EVERY_WRITE = "*write"

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods of requests that ask for nothing to be changed (RFC 9110, section 9.2.1)."""

POLICY_VARIABLE: Final = "AGENT_TT_POLICY"
"""Tells the Python processes that a forked agent starts what its tools may do, as JSON of `to_mapping`."""


def effect_of(kind: CallKind, name: str, effect: Effect | None) -> Effect | None:
    """What a call does to the world: as declared; a request that is no model call writes if its method is not safe.

    Args:
        kind: the kind of the call.
        name: its name, of a request `POST https://host/path`.
        effect: what was declared.
    """
    if kind == "http" and effect is None and name.partition(" ")[0].upper() not in _SAFE_METHODS:
        return "write"
    return effect


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """Which tools run and which are refused.

    Attributes:
        allow: names of tools and requests that run whatever their effect, or patterns (`search_*`,
            `POST https://host/*`).
        writes: what happens to the other tools that write. Tools that read always run.
    """

    allow: frozenset[str] = frozenset()
    writes: Decision = "live"

    def decide(self, name: str, effect: Effect | None) -> Decision:
        """Whether the tool `name` may run. `effect` None (a model call) counts as reading."""
        if effect != "write" or self.writes == "live" or self.allows(name):
            return "live"
        return self.writes

    def allows(self, name: str) -> bool:
        """Whether `allow` names a tool or request, as it is or by a pattern."""
        return name in self.allow or any(fnmatchcase(name, pattern) for pattern in self.allow)

    def check(self, name: str, effect: Effect | None) -> None:
        """Refuse a tool that may not run.

        Raises:
            ToolDenied: the policy denies it.
        """
        if self.decide(name, effect) == "deny":
            raise ToolDenied(
                f"{name} was not run: this fork denies it (allow it with --allow {shlex.quote(name)})",
                tool=name,
                hint=f"fork again with --allow {shlex.quote(name)} to let it run",
            )

    def to_mapping(self) -> dict[str, str]:
        """The policy as it is kept with a run: `{"*write": "deny", "book_hotel": "live"}`."""
        return {_EVERY_WRITE: self.writes, **dict.fromkeys(sorted(self.allow), "live")}

    def to_environment(self) -> dict[str, str]:
        """The variables of the environment that hand the policy on."""
        return {POLICY_VARIABLE: json.dumps(self.to_mapping())}

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> ToolPolicy | None:
        """The policy that was handed on, None where none was. One that cannot be read denies every write."""
        text = environ.get(POLICY_VARIABLE)
        if text is None:
            return None
        try:
            words = json.loads(text)
        except ValueError:
            words = None
        return cls.from_mapping(words if isinstance(words, dict) else {})

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, str]) -> ToolPolicy:
        """The policy that `to_mapping` wrote. What it does not say, or says in unknown words, is denied."""
        return cls(
            allow=frozenset(name for name, word in mapping.items() if word == "live" and name != _EVERY_WRITE),
            writes="live" if mapping.get(_EVERY_WRITE) == "live" else "deny",
        )
