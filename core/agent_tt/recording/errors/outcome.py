"""How a run or step ended, from the exception that left it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.recording.errors.cancellation import is_cancellation, parts_of_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import ErrorInfo, RunStatus, StepStatus

_CODE: Final = vars(SystemExit)["code"]
_AT_ONCE: Final = "exit code "
_BY_LAUNCHER: Final = "agent_tt.errors:AgentFailed"


def said_of_exit(code: int) -> str:
    """How a process ended that could not say it itself, with an exit code."""
    return f"it ended with {_AT_ONCE}{code}"


def exit_code_said(error: ErrorInfo) -> int | None:
    """The exit code that `said_of_exit` named for a run; None where it ended otherwise."""
    before, _, code = error.message.rpartition(_AT_ONCE)
    return int(code) if error.class_name == _BY_LAUNCHER and before and code.isdecimal() else None


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
