"""How a run or step ended, from the exception that left it."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tt.model import RunStatus, StepStatus

_STOPS = (KeyboardInterrupt, CancelledError, GeneratorExit, SystemExit)


def step_status(error: BaseException | None, *, failure: BaseException | None = None) -> StepStatus:
    """The status of a step that `error` left.

    Args:
        error: what left it, None when it went through.
        failure: an error of the store itself, for which the agent is not blamed.
    """
    if error is None or _is_clean_exit(error):
        return "ok"
    return "interrupted" if error is failure or isinstance(error, _STOPS) else "error"


def run_status(error: BaseException | None, *, failure: BaseException | None = None) -> RunStatus:
    """The status of a run that `error` left; the arguments are those of `step_status`.

    Somebody stopped it: Ctrl-C, a cancelled task, a closed generator, an exit that reports no success, a store that
    could not be written.
    """
    status = step_status(error, failure=failure)
    if status == "ok":
        return "succeeded"
    return "interrupted" if status == "interrupted" else "failed"


def _is_clean_exit(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)
