"""How a run or step ended, from the exception that left it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.recording.errors.cancellation import is_cancellation, parts_of_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import RunStatus, StepStatus

_CODE: Final = vars(SystemExit)["code"]


def step_status(error: BaseException | None, *, failures: Sequence[BaseException] = ()) -> StepStatus:
    """The status of a step that `error` left.

    Args:
        error: what left it, None when it went through.
        failures: errors of the store itself, for which the agent is not blamed.
    """
    if error is None or _is_clean_exit(error):
        return "ok"
    return "interrupted" if any(error is failure for failure in failures) or _is_stop(error) else "error"


def run_status(error: BaseException | None, *, failures: Sequence[BaseException] = ()) -> RunStatus:
    """The status of a run that `error` left; the arguments are those of `step_status`.

    Somebody else stopped an interrupted one: Ctrl-C, a cancelled task, a closed generator, a store that could not be
    written. An exit that reports no success is the agent's own word that it failed.
    """
    status = step_status(error, failures=failures)
    if status == "ok":
        return "succeeded"
    return "interrupted" if status == "interrupted" else "failed"


def _is_stop(error: BaseException) -> bool:
    """Whether somebody stopped it; of a group, whether nothing else is in it."""
    group = parts_of_group(error)
    if group is not None:
        return all(_is_stop(part) for part in group)
    return issubclass(type(error), KeyboardInterrupt) or is_cancellation(error)


def _is_clean_exit(error: BaseException) -> bool:
    if not issubclass(type(error), SystemExit):
        return False
    code = _CODE.__get__(error)
    return code is None or (type(code) in (int, bool) and code == 0)
