"""References: the words that name a place of a run, `RUN@STEP` and `RUN@STEP#CALL`, and finding what they name.

Every claim of an answer has one beside it, with the run's id, and every tool takes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt.errors import RunNotFound, StepNotFound, UsageError
from agent_tt.querying.checkpoints import find_place
from agent_tt.serving.text import written

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Path
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["below", "call_at", "part_of_call", "part_of_state", "reference", "state_at", "step_of"]


def reference(run: str, step: int | None = None, call: int | None = None) -> str:
    """`RUN`, `RUN@STEP` or `RUN@STEP#CALL`."""
    at = "" if step is None else f"@{step}"
    return f"{run}{at}{'' if call is None else f'#{call}'}"


def state_at(source: RunSource, text: str) -> tuple[Run, int]:
    """The run and step that `RUN@STEP` names; of `RUN` alone its last step, of `RUN@STEP#CALL` that step.

    Raises:
        RunNotFound, StepNotFound: there is no such run or step.
        UsageError: it cannot be read.
    """
    run, step = find_place(source, _without_call(source, text)[0], None, option="at")
    return run, source.step_count(run.id) if step is None else step


def call_at(source: RunSource, text: str, *, kind: str | None = None) -> tuple[Run, Call]:
    """The run and call that `RUN@STEP#CALL` names; of `RUN@STEP` the only call, or the only one of a kind.

    Raises:
        RunNotFound, StepNotFound: there is no such run or step.
        UsageError: it names no call, or the step has several.
    """
    place, number = _without_call(source, text)
    run, step = find_place(source, place, None, option="at")
    if step is None:
        raise UsageError(f"{text[:200]!r} names no step", hint=f"For example {reference(run.id, 1, 1)}.")
    calls = source.calls(run.id, step) if step else []
    fits = [call for call in calls if kind is None or call.kind == kind] if number is None else calls
    found = [call for call in fits if number is None or call.number == number]
    if len(found) == 1:
        return run, found[0]
    there = ", ".join(f"#{call.number} {call.name[:60]}" for call in calls[:12]) or "none"
    what = f"no call #{number}" if number is not None else f"{len(found)} calls" + (f" of kind {kind}" if kind else "")
    raise StepNotFound(f"{reference(run.id, step)} has {what}", hint=f"Its calls are: {there}.")


def step_of(source: RunSource, run: Run, number: int) -> Step | None:
    """A step; None for the input."""
    return next(iter(source.steps(run.id, number, number + 1)), None) if number else None


def part_of_state(run: str, step: int) -> Callable[[Path], str]:
    """Say with which call a part of a state is got."""
    return _part(f"state(at={written(reference(run, step))}")


def part_of_call(run: str, call: Call, part: str) -> Callable[[Path], str]:
    """Say with which call a part of what a call was asked, or of what came back, is got."""
    return _part(f"call(at={written(reference(run, call.step, call.number))},part={written(part)}")


def below(where: Callable[[Path], str], path: Path) -> Callable[[Path], str]:
    """The same for a value that lies at a path of the other one."""
    return lambda inner: where((*path, *inner))


def _part(call: str) -> Callable[[Path], str]:
    return lambda path: f"{call},path={written(format_path(path))})"


def _without_call(source: RunSource, text: str) -> tuple[str, int | None]:
    """A reference without its call, and the call; a run whose name ends like one comes first."""
    place, mark, number = text.rpartition("#")
    if not mark or not number.isascii() or not number.isdigit() or "@" not in place or len(number) > 9:
        return text, None
    try:
        source.run(text)
    except RunNotFound:
        return place, int(number)
    return text, None
