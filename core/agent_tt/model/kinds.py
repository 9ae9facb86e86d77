"""The words that facts of runs, steps and calls are one of, and which kinds of calls act."""

from __future__ import annotations

from typing import Final, Literal

__all__ = [
    "ACTING",
    "COMPACTION",
    "LIMIT_REACHED",
    "OWN_DOING",
    "STOPPED_BY_LIMIT",
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
"""`effect`: a call that nothing recorded, as the process of a fork wrote it down; see `forking.outside.outside`."""
EditTarget = Literal["state", "result", "error", "answer", "system", "model", "parameter", "step"]

ACTING: Final[frozenset[CallKind]] = frozenset({"tool", "http", "subprocess", "socket", "human"})
"""Kinds of calls that do something in the world; clocks, random numbers and ids differ in every run, and in a loop a
model is asked with all that was said so far."""

OWN_DOING: Final[frozenset[CallKind]] = frozenset({"http", "subprocess", "socket"})
"""Kinds of calls that are the doing of the call that they are made inside of."""

LANGGRAPH_KEY: Final = "__langgraph__"
"""The key of a state under which LangGraph's checkpointer keeps what only LangGraph uses, such as versions."""

COMPACTION: Final = "compaction"
"""The name of a step that put another conversation, often a summary, in the place of the one so far."""

LIMIT_REACHED: Final = "agent_tt.intercepting.limits:LimitReached"
"""The class of the error of a run that came to one of its limits."""

STOPPED_BY_LIMIT: Final = frozenset({LIMIT_REACHED, "agent_tt.recording.limits:LimitReached"})
"""The names under which files keep that class; the second one is its name in files of before."""
