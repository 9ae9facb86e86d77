"""The options that say what a fork is, and the request that they are turned into before the command sees them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from agent_tt.forking.editing.forms import EDIT_FORMS, edits_of_input, read_edit
from agent_tt_tui.cli.options import gathering, with_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.config import ToolEffect
    from agent_tt.forking.request import ForkRequest

__all__ = ["edit_options", "effect_option", "policy_options", "takes_request", "terms_options"]

edit_options = gathering("edits", EDIT_FORMS, read_edit)
"""What is changed; a command gets `edits`, in the order of the command line."""

effect_option = click.option(
    "--effect",
    "effects",
    multiple=True,
    metavar="TOOL=EFFECT",
    help="What a tool does that does not say it itself: read or write. Kept for later forks.",
)
"""What tools do; a command gets `effects`."""

policy_options = with_options(
    click.option("--allow", multiple=True, metavar="TOOL", help="Let this tool write: short for --policy TOOL=live."),
    click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="NAME=WORD",
        help="What to do with the calls of a tool, a pattern, or of *llm, *read, *write, *http, *subprocess, *socket:"
        " live, recorded, recorded-or-ask, recorded-or-deny, stub:JSON, error:TEXT, ask, deny.",
    ),
    effect_option,
)
"""What becomes of calls."""

terms_options = with_options(
    click.option(
        "--input", "inputs", multiple=True, metavar="PATH=VALUE", help="Change the run's input; the fork begins there."
    ),
    click.option("--executor", metavar="NAME", help="Who runs it: python, mock (no model calls) or a plugin's."),
    click.option(
        "--override", "overrides", multiple=True, metavar="KEY=VALUE", help="Pass the agent a setting; VALUE is JSON."
    ),
    click.option("--as-node", metavar="NODE", help="Of a LangGraph thread: the node that the edited state comes from."),
    click.option(
        "--resume", metavar="VALUE", help="Of a LangGraph thread: the answer to its question; JSON, or a text."
    ),
    click.option("--reuse-answers", is_flag=True, help="Of a LangGraph thread: answer as it was answered then."),
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
        help="Answer model calls from this list of answers, in order.",
    ),
    click.option(
        "--with-originals",
        "originals",
        is_flag=True,
        help="Give the agent what marks of personal data stand for, out of the vault.",
    ),
    click.option("--seed", type=int, default=None, metavar="N", help="Varies the answers of --executor mock."),
)
"""Who runs the fork, what it is told, and how far it may go."""

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
    "originals",
)


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
    if "overrides" in params:
        params["overrides"] = (*params["overrides"], *_said_to_graph(params))
    if inputs := params.pop("inputs", ()):
        step, edits = "0", [*edits, *edits_of_input(step, inputs)]
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
        effects=dict(map(_effect, params.pop("effects", ()))),
        terms=terms_from(**{name: params.pop(name) for name in _TERMS if name in params}),
        **{
            name: params.pop(name)
            for name in ("agent", "name", "by", "accept_changes", "expect", "continue_with")
            if name in params
        },
    )


def _said_to_graph(params: dict[str, Any]) -> tuple[str, ...]:
    """What a graph is told, as overrides."""
    if "as_node" not in params:  # the command takes no threads; its --resume is one of its own
        return ()
    from agent_tt.forking.graphs import told_graph

    node, answer, again = params.pop("as_node"), params.pop("resume"), params.pop("reuse_answers")
    return told_graph(as_node=node, answer=answer, as_before=again)


def _effect(text: str) -> tuple[str, ToolEffect]:
    name, _, effect = text.rpartition("=")
    if not name or effect not in ("read", "write"):
        raise click.BadParameter(f"{text!r} is not TOOL=read or TOOL=write", param_hint="--effect")
    return name, cast("ToolEffect", effect)
