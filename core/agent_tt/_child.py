"""The process in which an agent is run again: `python -m agent_tt._child`. Its environment says what is run, and how.

Which of its sides is imported depends on what it is told; see the table of `agent_tt.rerunning`.
"""

from __future__ import annotations

import gc
import os
import sys

from agent_tt.errors import UsageError
from agent_tt.rerunning.rerun import WARM_VARIABLE, Rerun


def main() -> int:
    """Do what the environment says; give the exit code.

    Returns:
        That of `agent_tt.rerunning.filling.fill`; 2 where nothing is said. A replay ends the process.
    """
    is_forked = WARM_VARIABLE in os.environ
    if is_forked:
        from agent_tt.rerunning.warm.server import let_go, serve

        rerun: Rerun | None = serve()
    else:
        rerun = Rerun.take()
    if rerun is None:
        error = UsageError(
            "this is the process of an agent", hint="start one with `agent-tt fork`, `resume` or `replay`"
        )
        print(error, error.hint, sep="\n", file=sys.stderr)  # noqa: T201  whoever started it by hand reads it
        return error.exit_code
    gc.disable()  # while what stays is imported, there is nothing to collect
    if rerun.follows == "halt":
        from agent_tt.rerunning.replayed import replay_and_leave

        _collect_again()
        replay_and_leave(rerun)
    from agent_tt.rerunning.filling import fill

    _collect_again()
    code = fill(rerun)
    if is_forked:
        let_go()
    return code


def _collect_again() -> None:
    """Turn the garbage collector on again; it skips the objects of the imports, which live until the process ends."""
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    sys.exit(main())
