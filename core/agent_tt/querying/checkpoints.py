"""How people name a checkpoint, `RUN@STEP`, and which one is meant where nobody names one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.addresses import found_again, is_address
from agent_tt.errors import RunNotFound, StepNotFound, UsageError

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["find_checkpoint", "find_place", "opening_step", "parse_checkpoint", "split_file"]


def opening_step(source: RunSource, run: Run) -> int:
    """Where a run is looked at first: its first failed step, else its last one; 0 where it has none."""
    try:
        return source.step_number(run, "@error")
    except StepNotFound:
        return source.step_count(run.id)


def parse_checkpoint(text: str) -> tuple[str, str]:
    """Take `RUN@STEP` apart.

    The step is what follows the last `@`, except that `@error` is a step by itself: `refund-loop@@error`, or shorter
    `refund-loop@error`, is the first failed step. Run names may hold an `@` (`THREAD@1f0c9a3e@4`).

    Args:
        text: as it was typed.

    Returns:
        What names the run and what names the step, for `RunSource.run` and `RunSource.step_number`.

    Raises:
        UsageError: there is no `@`, or nothing before or after it.
    """
    run, separator, step = text.rpartition("@")
    if step == "error":
        run, step = run.removesuffix("@"), "@error"
    if not separator or not run or not step:
        raise UsageError(
            f"{text!r} is not RUN@STEP",
            hint="Name a run and a step of it: refund-loop@3, latest@~1, refund-loop@error.",
        )
    return run, step


def find_checkpoint(source: RunSource, text: str) -> tuple[Run, int]:
    """The run and step that `RUN@STEP` names.

    Raises:
        UsageError, RunNotFound, StepNotFound: it cannot be read, or names nothing.
    """
    run_ref, step_ref = parse_checkpoint(text)
    run = source.run(run_ref)
    return run, source.step_number(run, step_ref)


def find_place(source: RunSource, run: str, step: int | str | None, *, option: str = "--at") -> tuple[Run, int | None]:
    """Find the run, and the step if one was named: apart, or as `RUN@STEP`. A whole name that holds an `@` comes first.

    Every command that takes a step asks here, and so does the server for coding agents. Whoever names the same step in
    both ways is understood.

    Args:
        source: where the runs are.
        run: what was typed for the run.
        step: what was typed for the step; None where nothing was.
        option: where `step` was typed, for messages.

    Raises:
        UsageError: two different steps were named.
        RunNotFound, StepNotFound: there is no such run or step.
    """
    try:
        found = source.run(run)
    except RunNotFound:
        if "@" not in run:
            raise
        found, number = find_checkpoint(source, run)
        if step is not None and source.step_number(found, str(step)) != number:
            raise UsageError(
                f"{run} names step {number} of {found.name}, and {option} names step {step}", hint="Name one step."
            ) from None
        return found, number
    return found, None if step is None else source.step_number(found, str(step))


def split_file(text: str) -> tuple[Path | None, str]:
    """Take `FILE:RUN@STEP` apart: what lies in another file than the one that is looked at.

    Args:
        text: as it was typed; what is before a colon is a file only if there is one of that name. The address of a
            database ends at the first colon after its last part begins: `postgresql://user@host:5432/database:RUN`.

    Returns:
        The file, None where none is named, and the rest.
    """
    if is_address(text):
        server, slash, rest = text.partition("://")[2].partition("/")
        database, _, run = rest.partition(":")
        return found_again(f"{text.partition('://')[0]}://{server}{slash}{database}"), run
    at = text.find(":")
    while at > 0:
        file = Path(text[:at]).expanduser()
        if text[at + 1 :] and file.is_file():
            return file, text[at + 1 :]
        at = text.find(":", at + 1)
    return None, text
