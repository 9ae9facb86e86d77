"""The words that facts of runs, steps and calls are one of, and which kinds of calls act."""

from __future__ import annotations

from typing import Final, Literal

__all__ = [
    "ACTING",
    "COPY",
    "MADE_UP",
    "OWN_DOING",
    "SKIPPED",
    "TERMS",
    "UNMADE",
    "UNPRICED",
    "CallKind",
    "CallStatus",
    "DeliveryKind",
    "EditTarget",
    "Effect",
    "NoteKind",
    "RunStatus",
    "StepStatus",
    "StreamEnd",
    "WayBackIn",
]

RunStatus = Literal["running", "succeeded", "failed", "interrupted", "crashed", "unknown"]
"""`unknown`: of a run in another system's file, which does not tell whether anything was left to run."""
StepStatus = Literal["running", "ok", "error", "interrupted"]
CallStatus = Literal["pending", "ok", "error", "denied"]
CallKind = Literal["llm", "tool", "http", "subprocess", "socket", "clock", "rng", "id", "env", "human"]
Effect = Literal["read", "write"]
DeliveryKind = Literal["chunk", "end", "error", "closed"]
StreamEnd = Literal["end", "error", "closed"]
WayBackIn = Literal["restore", "replay"]
NoteKind = Literal["note", "bookmark", "watch", "effect"]
"""`effect`: a call that nothing recorded, as the process of a fork wrote it down; see `recording.unrecorded`."""
EditTarget = Literal["state", "result", "error", "answer", "system", "model", "parameter", "step"]

ACTING: Final[frozenset[CallKind]] = frozenset({"tool", "http", "subprocess", "socket", "human"})
"""Kinds of calls that do something in the world; clocks, random numbers and ids differ in every run, and in a loop a
model is asked with all that was said so far."""

OWN_DOING: Final[frozenset[CallKind]] = frozenset({"http", "subprocess", "socket"})
"""Kinds of calls that are the doing of the call that they are made inside of."""

UNPRICED: Final = "unpriced"
"""Among the further facts of a step: how many of its model calls have no known price."""

MADE_UP: Final = "made_up"
"""Among the facts of a call, and of its step: no model gave this answer; `mock` or `script` did."""

COPY: Final = "copy_of"
"""Among the facts of a call of a resumed run: it repeats an earlier one word for word, and was not made again."""

UNMADE: Final = "edits_without_effect"
"""Key of a fork's metadata: the edits of which nothing came, as `[{"edit": position, "reason": words}]`."""

TERMS: Final = "fork_terms"
"""Among the facts of a fork: on what terms it runs; see `agent_tt.forking.terms`."""

SKIPPED: Final = "without_checkpoint"
"""Among the facts of a step: no checkpoint was taken of it."""
