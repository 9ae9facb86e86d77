"""What a step is remembered by while it is open: which calls it made, and whether it only repeats an earlier one."""

from __future__ import annotations

from dataclasses import field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.model import ACTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, Effect
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["OpenStep", "answer_fingerprint"]

_UNREPEATABLE: Final = frozenset({"clock", "rng", "id"})
"""Kinds of calls that never ask the same twice, and so say nothing about a step being a repetition."""


@dataclass(slots=True)
class OpenStep:
    """What a step's end needs to know of its calls.

    Attributes:
        kinds: kind and effect of each call so far.
        asked: signature of each call that counts for repetition.
        acting: which of these do something, instead of asking a model.
        answers: fingerprint of what came back, by call.
        meta: the facts of calls that are still pending.
        row: the step's own row as this process wrote it, its parts as digests; None where another one did.
        breaks: how often somebody else had written into the file when it began (see `store.numbers`): while that is
            so, the calls known here are all calls; -1 where there may be others.
        pending: the rows of calls that are still pending, the parts of each as digests.
    """

    kinds: list[tuple[CallKind, Effect | None]] = field(default_factory=list)
    asked: dict[int, str] = field(default_factory=dict)
    acting: set[int] = field(default_factory=set)
    answers: dict[int, bytes] = field(default_factory=dict)
    meta: dict[int, dict[str, Wire]] = field(default_factory=dict)
    row: Sequence[SqlValue] | None = None
    breaks: int = -1
    pending: dict[int, Sequence[SqlValue]] = field(default_factory=dict)

    def ask(self, call: int, kind: str, signature: str) -> None:
        """Note what a call asked."""
        if kind not in _UNREPEATABLE:
            self.asked[call] = signature
            if kind in ACTING:
                self.acting.add(call)

    @property
    def kind(self) -> str | None:
        """The strongest kind of call, None without calls."""
        strongest = None
        for kind, effect in self.kinds:
            name = _kind_name(kind, effect)
            if strongest is None or _STRENGTH[name] > _STRENGTH[strongest]:
                strongest = name
        return strongest

    @property
    def fingerprint(self) -> bytes | None:
        """Equal for steps that asked the same and were answered the same; None where that says nothing."""
        if not self.asked or self.asked.keys() != self.answers.keys():
            return None
        counted = sorted(self.acting or self.asked)
        plain = b"".join(self.asked[number].encode() + self.answers[number] for number in counted)
        return blake2b(plain, digest_size=16).digest()


_STRENGTH: Final = {"other": 0, "human": 1, "llm": 2, "http": 3, "read": 4, "write": 5}


def _kind_name(kind: CallKind, effect: Effect | None) -> str:
    if kind in ("tool", "socket"):
        return "read" if effect == "read" else "write"
    return kind if kind in _STRENGTH else "other"


def answer_fingerprint(status: str, result: str | None, error: str | None) -> bytes:
    """What came back of a call, as far as it tells repetitions: tracebacks of equal errors are equal too."""
    return blake2b("\0".join((status, result or "", error or "")).encode(), digest_size=16).digest()
