"""The options that say what a fork is, turned into one request before the command sees them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Edit

__all__ = ["takes_request", "terms_options"]

F = TypeVar("F", bound="Callable[..., Any]")

_OPTIONS = (
    click.option(
        "--input", "inputs", multiple=True, metavar="PATH=VALUE", help="Change the run's input; the fork begins there."
    ),
    click.option("--executor", metavar="NAME", help="Who runs it: python, mock (no model calls) or a plugin's."),
    click.option(
        "--override", "overrides", multiple=True, metavar="KEY=VALUE", help="Tell the agent more; VALUE is JSON."
    ),
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

_TERMS: Final = (
    "executor",
    "overrides",
    "stop_at",
    "time_limit",
    "max_tokens",
    "max_cost",
    "max_memory",
    "breaks",
    "script",
    "seed",
)


def terms_options(command: F) -> F:
    """Give a command the options that say who runs the fork, what it is told, and how far it may go."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def takes_request(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command get `request`, in place of those of its options that a fork is made of."""

    @functools.wraps(command)
    def called(*args: object, **params: Any) -> object:
        request = _request(params)
        return command(*args, request=request, **params)

    return called


def _request(params: dict[str, Any]) -> ForkRequest:
    """Take what a fork is made of out of the parameters of a command."""
    from agent_tt.forking.policy.policies import Rule, configured_policy, read_assignment
    from agent_tt.forking.request import ForkRequest
    from agent_tt.forking.terms import terms_from

    step, edits = params.pop("step", None), params.pop("edits", [])
    if inputs := params.pop("inputs", ()):
        step, edits = "0", [*edits, *_edits_of_input(step, inputs)]
    allow = params.pop("allow", ())
    policy = None
    if "policies" in params:
        rules = [(name, Rule("live")) for name in allow] + [read_assignment(text) for text in params.pop("policies")]
        allow, policy = (), configured_policy().with_all(rules)
    return ForkRequest(
        step=step,
        edits=tuple(edits),
        allow=allow,
        policy=policy,
        terms=terms_from(**{name: params.pop(name) for name in _TERMS if name in params}),
        **{name: params.pop(name) for name in ("agent", "name", "by", "accept_changes") if name in params},
    )


def _edits_of_input(step: str | None, texts: tuple[str, ...]) -> list[Edit]:
    """Edits of the input, which are edits of the state after step 0."""
    from agent_tt.errors import UsageError
    from agent_tt.forking.editing.assignments import parse_assignment

    if step not in (None, "0"):
        raise UsageError(
            f"the input is what the run began with: a fork after step {step} does not read it",
            hint="leave out --at, or change the state with --set",
        )
    return [parse_assignment(text) for text in texts]
