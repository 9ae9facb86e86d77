"""The options of `fork` that say on what terms it runs: who runs it, what it is told, how far it may go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agent_tt_tui.cli.option_groups import with_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.forking.terms import Terms

__all__ = ["terms_options"]

F = TypeVar("F", bound="Callable[..., Any]")

_NAMES = (
    "executor",
    "override",
    "stop_at",
    "time_limit",
    "max_tokens",
    "max_cost",
    "max_memory",
    "breaks",
    "script",
    "seed",
)

_OPTIONS = (
    click.option("--input", multiple=True, metavar="PATH=VALUE", help="Change the run's input; the fork begins there."),
    click.option("--executor", metavar="NAME", help="Who runs it: python, mock (no model calls) or a plugin's."),
    click.option("--override", multiple=True, metavar="KEY=VALUE", help="Tell the agent more; VALUE is JSON."),
    click.option("--stop-at", metavar="STEP", type=click.IntRange(min=1), help="Stop when this step has ended."),
    click.option("--time-limit", metavar="TIME", help="Stop after 30s, 5m or 1h30m."),
    click.option("--max-tokens", metavar="N", type=click.IntRange(min=0), help="Stop after that many tokens."),
    click.option("--max-cost", metavar="USD", type=click.FloatRange(min=0), help="Stop when models have cost that."),
    click.option("--max-memory", metavar="SIZE", help="Most memory of the agent's process: 512MB, 2GB."),
    click.option(
        "--break",
        "breaks",
        multiple=True,
        metavar="EXPRESSION",
        help="Stop after the step with which this begins to hold.",
    ),
    click.option(
        "--script",
        metavar="FILE.json",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Models are not asked: a list of answers is given, in order.",
    ),
    click.option("--seed", type=int, default=None, metavar="N", help="Varies the answers of --executor mock."),
)


def terms_options(command: F) -> F:
    """Give a command all of them; it gets `terms`."""
    return with_options(command, _OPTIONS, _said)


def _said(params: dict[str, Any]) -> None:
    given = {name: params.pop(name) for name in _NAMES}
    _change_input(params, params.pop("input"))
    params["terms"] = _terms(**given)


def _change_input(params: dict[str, Any], texts: tuple[str, ...]) -> None:
    """Edits of the input are edits of the state after step 0."""
    if not texts:
        return
    from agent_tt.errors import UsageError
    from agent_tt.forking.assignments import parse_assignment

    if params.get("step") not in (None, "0"):
        raise UsageError(
            f"the input is what the run began with: a fork after step {params['step']} does not read it",
            hint="leave out --at, or change the state with --set",
        )
    params["step"] = "0"
    params["edits"] = [*params.get("edits", []), *map(parse_assignment, texts)]


def _terms(
    *,
    executor: str | None,
    override: tuple[str, ...],
    stop_at: int | None,
    time_limit: str | None,
    max_tokens: int | None,
    max_cost: float | None,
    max_memory: str | None,
    breaks: tuple[str, ...],
    script: Path | None,
    seed: int | None,
) -> Terms:
    from agent_tt.forking.terms import terms_from

    return terms_from(
        executor=executor,
        overrides=override,
        stop_at=stop_at,
        time_limit=time_limit,
        max_tokens=max_tokens,
        max_cost=max_cost,
        max_memory=max_memory,
        breaks=breaks,
        script=script,
        seed=seed,
    )
