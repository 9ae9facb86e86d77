"""Running a recorded agent again, with every call answered from its recording. Nothing reaches the world.

| module | what it does |
|---|---|
| `tape` | a recorded run in memory, by lane, question and order of answers |
| `matching` | which recorded call answers a question |
| `turns`, `waiters` | the order in which answers are given out, and who waits for them |
| `engine`, `answer` | one replay: questions in, recorded answers out, failures that stay |
| `course`, `repeats`, `siblings` | what else its process did: other runs, and what a resumed run holds twice |
| `divergence`, `findings`, `likeness`, `changed_lines`, `notes` | what differs, and how it is said |
| `report` | all of that as data and JSON |
| `rebuilt_errors`, `special_exceptions`, `unusable`, `loaded_classes` | recorded exceptions and values, made again |
| `standard_input`, `same_screen`, `program_end` | what a program reads, prints on, and does as it ends |
| `guard`, `guard_events`, `attempts`, `quiet` | nothing gets past the replay; nobody complains about its exception |
| `foreign_calls`, `uvloop_calls` | what C code is called for, asked about where Python raises no audit event |
| `virtual_time`, `timeline`, `sleepers`, `busy_threads` | nobody waits, and time moves on |
| `without_clock` | waiting for answers where time is real |
| `loop_inside`, `standard_loops`, `paces` | event loops whose clock is moved, and how many passes an answer took |
| `trio_loop`, `trio_time` | the same of trio |
| `numbering` | where the replaying agent's own recording goes: nowhere |
| `block`, `given` | replaying a block of code in this process; answers that are given for a name |
| `shown_tools` | tools that the conversation shows and no call stands for |
| `preflight`, `source_trees` | what a run has answers for; the source of its agent |
| `progress` | how far the replay of a whole run is |
| `debugging` | pdb inside the agent of a replay |
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
