"""The code that a registered executor runs, and whether a fork's terms fit what runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint, UsageError
from agent_tt.forking.entry.code import CodePlan, plan_code
from agent_tt.forking.entry.entry_point import parse_entry_point
from agent_tt.forking.entry.entry_source import refuse_overrides
from agent_tt.forking.entry.executors import check_executor, known_executors

if TYPE_CHECKING:
    from agent_tt.forking.terms import Terms
    from agent_tt.model import Run

__all__ = ["check_terms", "executors_for", "plan_executor"]


def plan_executor(run: Run, agent: str | None, executor: str) -> tuple[CodePlan, tuple[str, ...]]:
    """The code of an agent that a registered executor runs: its module is imported, the executor does the rest.

    Raises:
        InvalidEntryPoint: the agent that was asked for is not there.
        InvalidExecutor: there is no such executor.
    """
    try:
        code, problems = plan_code(run, agent, "restore")
    except InvalidEntryPoint as why:
        if agent is not None and "takes no state" not in why.message:
            raise
        # A function that takes no state, or is gone: its file may still declare the executor.
        code, problems = _without_state(run, agent)
    check_executor(executor, code.file, _folders(code))
    return replace(code, executor=executor, way="restore"), problems


def executors_for(code: CodePlan) -> tuple[str, ...]:
    """The names of the executors that could run an agent; nothing is imported."""
    return known_executors(code.file, _folders(code))


def _folders(code: CodePlan) -> list[Path]:
    return [Path(folder) for folder in (code.root, code.cwd) if folder]


def _without_state(run: Run, agent: str | None) -> tuple[CodePlan, tuple[str, ...]]:
    with suppress(InvalidEntryPoint):
        return plan_code(run, agent, "replay")
    raise InvalidEntryPoint(
        f"{run.name} did not record which code ran it", hint="name the agent with --agent module:callable"
    )


def check_terms(terms: Terms, code: CodePlan, run: Run, kept: int) -> None:
    """Refuse terms that do not fit.

    Args:
        terms: the terms.
        code: what runs.
        run: the run that is forked.
        kept: the last step that is kept.

    Raises:
        UsageError: the fork would stop before it begins, or models are scripted where they are asked.
        InvalidEntryPoint: the agent takes no overrides.
    """
    stop_at = terms.limits.stop_at
    if stop_at is not None and stop_at <= kept:
        raise UsageError(
            f"a fork after step {kept} of {run.name} cannot stop at step {stop_at}: its first own step is {kept + 1}",
            hint=f"--stop-at {kept + 1} or later",
        )
    if terms.script is not None and not terms.is_mock:
        raise UsageError("a script answers for models that are not asked", hint="leave out --executor, or say mock")
    if not terms.overrides or terms.is_custom:
        return
    if code.way == "replay":
        raise UsageError(
            "overrides are handed to an agent with its state; re-entered by replay, it runs as it was started then",
            hint="edit what it asks instead: --system, --model, --param",
        )
    if code.file is not None:
        refuse_overrides(parse_entry_point(code.entry), code.file)
