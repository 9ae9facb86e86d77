"""Clock, random, ids and environment: values that no two runs share, recorded and given again.

Two ways, both opt-in: `patched(...)` replaces the names of the standard library in the agent's own modules, and
`agent_tt.shims` offers functions to call in their place. Both draw through `agent_tt.patching.draws`.

| module | does |
|---|---|
| `kinds` | what can be patched |
| `patches`, `replacements`, `standins` | replaces names and puts them back: by what, for each kind |
| `agent_modules`, `unreached` | says which modules are the agent's own, and where an original stays |
| `clock`, `randomness`, `ids`, `environment` | has one kind each |
| `draws` | draws a value: recorded as a call, given again in a replay |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from agent_tt.patching.draws import draw
    from agent_tt.patching.patches import Patching, patched

__all__ = ["Patching", "draw", "patched"]

_HOMES = {
    "Patching": "agent_tt.patching.patches",
    "draw": "agent_tt.patching.draws",
    "patched": "agent_tt.patching.patches",
}

__getattr__ = lazily(__name__, _HOMES)
