"""Running a recorded agent again, with every call answered from its recording. Nothing reaches the world.

| folder or module | what it does |
|---|---|
| `engine` | one replay: questions in, recorded answers out, failures that stay |
| `live_replay` | the same, with some calls made for real |
| `tape` | the recorded run |
| `answers` | giving its answers out |
| `findings`, `divergence`, `report` | what differs, the exception that halts an agent, and all of it as data |
| `guard` | nothing gets past the replay |
| `clock` | nobody waits, and time moves on |
| `program` | standard input, the screen, the end of the program, and pdb |
| `null_store`, `kept_store` | where the replaying agent's own recording goes: nowhere, or into a store |
| `block`, `given` | replaying a block of code in this process; answers that are given for a name |
| `preflight`, `progress` | what a run has answers for, and how far a replay is |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from agent_tt.replaying.block import served
    from agent_tt.replaying.divergence import Divergence
    from agent_tt.replaying.given import given, in_order
    from agent_tt.replaying.report import ReplayReport

__all__ = ["Divergence", "ReplayReport", "given", "in_order", "served"]

_HOMES = {
    "Divergence": "agent_tt.replaying.divergence",
    "ReplayReport": "agent_tt.replaying.report",
    "given": "agent_tt.replaying.given",
    "in_order": "agent_tt.replaying.given",
    "served": "agent_tt.replaying.block",
}


__getattr__ = lazily(__name__, _HOMES)
