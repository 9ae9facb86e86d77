"""What runs when a recorded agent is run again: its function, its arguments, and whether its file has changed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.forking.entry.code import plan_code

if TYPE_CHECKING:
    from agent_tt.model import Run


def what_runs(run: Run) -> str:
    """The function that recorded the run; of a script just its file."""
    return (run.code.entry or run.facts.script or "").removesuffix(":__main__")


def recorded_arguments(run: Run) -> str:
    """The arguments that the run's script was given, as a shell would take them."""
    return shlex.join(run.facts.arguments or ())


def is_changed(run: Run) -> bool:
    """Whether the file of a run's entry point is known to be another than when it was recorded."""
    try:
        code, _ = plan_code(run, None)
    except AgentTTError:  # an entry point that takes no state can be replayed, but not forked
        return False
    return bool(code.changed)
