"""agent-tt: a time-travel debugger for AI agents.

What an agent needs to be recorded, and what a program needs to travel through what was recorded:

| name | what it does |
|---|---|
| `record` | record one run: `with agent_tt.record("refund-loop", state=state) as run:` |
| `tool`, `llm` | mark a function as a tool, or as a model call, so that its calls are recorded |
| `register` | the same from outside: for a function that is named or given |
| `lane` | name the logical thread of control for a `with` block |
| `patched` | record the clock, random numbers, ids and the environment of the agent's own modules in a `with` block |
| `open_source` | open a store, or another system's database, to read |
| `replay` | run a recorded agent again offline, with every call answered from its recording |
| `fork` | run a recorded agent again from one of its steps, with changes |
| `send_spans` | send runs as spans of OpenTelemetry, while they go on |
| `sweep` | fork a run with every combination of some values, and see what came out |
| `resume` | go on with a run that crashed or was interrupted |
| `compare` | align two runs and say where they part |
| `diff` | what differs between two states, of any runs |
| `compare_many` | one run against its forks, or any others: a table |
| `blame` | say who wrote a value, and what caused it |
| `find` | full-text search in a run, or in all of a store |
| `find_steps` | all steps at which an expression holds |
| `bisect` | the first step after which an expression holds, recorded or over live forks |
| `AgentTTError` | the root of every error raised on purpose |
| `ToolDenied` | what a forked agent sees of a call that its policy does not let it make |

`agent_tt.shims` has functions to call in place of the names that `patched` replaces.

Everything is loaded when it is first used: importing the package costs next to nothing.
"""

from __future__ import annotations

import os

from agent_tt._lazy import lazily
from agent_tt._version import __version__

TYPE_CHECKING = False  # `typing` has it too, but takes as long to import as all that `--version` does
if TYPE_CHECKING:
    from agent_tt.bisecting import bisect
    from agent_tt.comparing import compare, compare_many
    from agent_tt.errors import AgentTTError, ToolDenied
    from agent_tt.forking.entry.executors import executor
    from agent_tt.interop.opentelemetry.live import send_spans
    from agent_tt.launching.tools.outside_tools import register
    from agent_tt.patching import patched
    from agent_tt.querying import blame, find, find_steps
    from agent_tt.querying.differing import diff
    from agent_tt.recording.lanes.named_lanes import lane
    from agent_tt.recording.llm import llm
    from agent_tt.recording.record import record
    from agent_tt.recording.tools import tool
    from agent_tt.rerunning.faces import fork, replay, resume
    from agent_tt.sources import open_source
    from agent_tt.sweeping import sweep

__all__ = [
    "AgentTTError",
    "ToolDenied",
    "__version__",
    "bisect",
    "blame",
    "compare",
    "compare_many",
    "diff",
    "executor",
    "find",
    "find_steps",
    "fork",
    "lane",
    "llm",
    "open_source",
    "patched",
    "record",
    "register",
    "replay",
    "resume",
    "send_spans",
    "sweep",
    "tool",
]

_HOMES = {
    "AgentTTError": "agent_tt.errors",
    "ToolDenied": "agent_tt.errors",
    "bisect": "agent_tt.bisecting",
    "blame": "agent_tt.querying",
    "compare": "agent_tt.comparing",
    "diff": "agent_tt.querying.differing",
    "compare_many": "agent_tt.comparing",
    "executor": "agent_tt.forking.entry.executors",
    "find": "agent_tt.querying",
    "find_steps": "agent_tt.querying",
    "fork": "agent_tt.rerunning.faces",
    "lane": "agent_tt.recording.lanes.named_lanes",
    "llm": "agent_tt.recording.llm",
    "open_source": "agent_tt.sources",
    "patched": "agent_tt.patching",
    "record": "agent_tt.recording.record",
    "register": "agent_tt.launching.tools.outside_tools",
    "replay": "agent_tt.rerunning.faces",
    "resume": "agent_tt.rerunning.faces",
    "send_spans": "agent_tt.interop.opentelemetry.live",
    "sweep": "agent_tt.sweeping",
    "tool": "agent_tt.recording.tools",
}

_COMPANIONS = {"record": ("agent_tt.seams.install", "agent_tt.holding.offered")}
"""Modules to import with a name: `record` also hooks HTTP libraries and lets an agent be held."""

__getattr__ = lazily(__name__, _HOMES, _COMPANIONS)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if "AGENT_TT_POLICY" in os.environ:  # an agent of a fork started this process: the fork's policy holds here, too
    import agent_tt.intercepting.inherited  # noqa: F401  it starts the session
