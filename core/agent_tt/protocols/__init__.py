"""The two protocols behind which every store lies: `RunSource` reads, `Store` also writes.

Everything above (recorder, forks, comparison, commands, screens) speaks only these. A conformance suite in
`tests/core/conformance` is run on every implementation. What is only read takes `Marks` as well: they lie elsewhere.

Numbers: steps count from 1; checkpoint k is the state after step k and checkpoint 0 the initial input. In a fork, steps
up to `fork_step` are its parent's (`Step.inherited`), and checkpoint `fork_step` is the *edited* state.

| module | says |
|---|---|
| `reading` | what any source of runs can be asked |
| `marks` | what people may write down about runs |
| `writing` | what a store takes |
| `proven` | refusing to use what is damaged |
"""

from __future__ import annotations

from agent_tt.protocols.marks import Anchored, MarkedRuns, Marks
from agent_tt.protocols.proven import Proves, check_count, check_proven, check_run, check_shown
from agent_tt.protocols.reading import Cursor, HoldsOutput, ListsCalls, PagesCalls, RunSource
from agent_tt.protocols.writing import NO_STATE, KeepsOutput, OpenQuestion, RunWriter, Store

__all__ = [
    "NO_STATE",
    "Anchored",
    "Cursor",
    "HoldsOutput",
    "KeepsOutput",
    "ListsCalls",
    "MarkedRuns",
    "Marks",
    "OpenQuestion",
    "PagesCalls",
    "Proves",
    "RunSource",
    "RunWriter",
    "Store",
    "check_count",
    "check_proven",
    "check_run",
    "check_shown",
]
