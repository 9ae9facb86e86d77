"""The storage boundary: what everything above a store speaks, and what a backend has to implement.

Everything above (recorder, forks, comparison, commands, screens) speaks only these. A conformance suite in
`tests/core/conformance` is run on every implementation.

`RunSource` is read, `MarkedRuns` also takes what people write down, `Store` also records. A source implements six
primitives, and the base class derives the rest; what it can do beyond, it states in `capabilities`.

Numbers: steps count from 1; checkpoint k is the state after step k and checkpoint 0 the initial input. In a fork, steps
up to `fork_step` are its parent's (`Step.inherited`), and checkpoint `fork_step` is the *edited* state.

| module | says |
|---|---|
| `reading` | what any source of runs can be asked |
| `capabilities` | what a source can do beyond that |
| `derived` | what follows from rows, steps and states where a source does not know it itself |
| `counted` | statistics where a source does not count by itself |
| `references` | which run or step a word names |
| `marks` | what people may write down about runs |
| `writing`, `writers` | what a store takes; bases of writers that forward, or only number |
| `proven` | refusing to use what is damaged |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily
from agent_tt.protocols.capabilities import Capabilities
from agent_tt.protocols.marks import MarkedRuns
from agent_tt.protocols.proven import check_count, check_proven, check_run, check_shown
from agent_tt.protocols.reading import Cursor, Needed, RunSource
from agent_tt.protocols.writing import NO_STATE, OpenQuestion, RunWriter, Store

if TYPE_CHECKING:
    from agent_tt.protocols.writers import ForwardingWriter, NumberingWriter, Numbers, keys_unknown

__all__ = [
    "NO_STATE",
    "Capabilities",
    "Cursor",
    "ForwardingWriter",
    "MarkedRuns",
    "Needed",
    "NumberingWriter",
    "Numbers",
    "OpenQuestion",
    "RunSource",
    "RunWriter",
    "Store",
    "check_count",
    "check_proven",
    "check_run",
    "check_shown",
    "keys_unknown",
]

# Whoever only reads runs has none.
__getattr__ = lazily(
    __name__,
    dict.fromkeys(("ForwardingWriter", "NumberingWriter", "Numbers", "keys_unknown"), "agent_tt.protocols.writers"),
)
