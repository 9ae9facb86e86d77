"""Calls that nothing records, in a process that runs a fork: its policy holds for them all the same.

They are made before, beside or after the agent's recording, or in a thread that none reaches. They have no row of their
own, so who runs the fork is told of each, whether it was made or denied, and writes it down
(`agent_tt.forking.guarding`). It is kept as a note of kind `effect`, whose body is JSON:

| key | says |
|---|---|
| `kind`, `name`, `effect` | what was called, as in a call |
| `happened` | `sent` where it was made, `denied` where it was not. How it ended is not known |
| `because` | who decided: `default`, `you` or a file; left out where nobody had to |
| `when` | `before` the recording, `beside` or `after` it |
| `file`, `line` | where in the agent |
| `run` | id of another run that this process recorded: its calls are to be counted too. Then nothing else is said |
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt.errors import ToolDenied
from agent_tt.recording.adoption import process_policy
from agent_tt.recording.call_site import call_site
from agent_tt.recording.policy import denied, effect_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, Effect

    Told: TypeAlias = Callable[["Unrecorded"], None]

__all__ = ["Unrecorded", "check_unrecorded", "telling"]

_TOLD: list[Told] = []


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """A call that nothing records.

    Attributes:
        kind, name, effect: what was called, as of a call.
        happened: whether it was made.
        because: who decided about it, "" where nobody had to.
        site: `file` and `line` of the agent's, as far as they are known.
    """

    kind: CallKind
    name: str
    effect: Effect | None
    happened: Literal["sent", "denied"]
    because: str = ""
    site: Mapping[str, Wire] = field(default_factory=dict, hash=False)

    def to_text(self, when: str) -> str:
        """As it is kept; see the module.

        Args:
            when: `before`, `beside` or `after` the recording.
        """
        facts = {
            "kind": self.kind,
            "name": self.name,
            "effect": self.effect,
            "happened": self.happened,
            "because": self.because,
            "when": when,
            **self.site,
        }
        return json.dumps({key: fact for key, fact in facts.items() if fact not in (None, "")})


@contextmanager
def telling(told: Told) -> Iterator[None]:
    """Let `told` hear of what is made or denied where nothing records it, while the block lasts."""
    _TOLD.append(told)
    try:
        yield
    finally:
        _TOLD.remove(told)


def check_unrecorded(kind: CallKind, name: str, effect: Effect | None, *, is_own_doing: bool = False) -> None:
    """Refuse a call that no recording reaches, where the policy of this process does not let it be made.

    Args:
        kind: its kind.
        name: what is called.
        effect: what was declared that it does to the world.
        is_own_doing: whether something makes it that runs: then only what a person denies is refused, and only that
            is told.

    Raises:
        ToolDenied: it may not be made.
    """
    policy = process_policy()
    if policy is None:
        return
    known, site = effect_of(kind, name, effect), call_site(None)
    if is_own_doing:
        rule = policy.forbids(kind, name, known)
        if rule is None:
            return
        _tell(Unrecorded(kind, name, known, "denied", rule.where, site))
        raise denied(name, rule, kind, site)
    rule = policy.decide(kind, name, known)
    try:
        policy.check(kind, name, effect, site)
    except ToolDenied:
        _tell(Unrecorded(kind, name, known, "denied", rule.where, site))
        raise
    _tell(Unrecorded(kind, name, known, "sent", "" if rule.source == "default" else rule.where, site))


def _tell(call: Unrecorded) -> None:
    for told in _TOLD:
        told(call)
