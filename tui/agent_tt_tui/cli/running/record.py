"""`agent-tt record`: run a program and record what it does, without a change to its code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal, cast

import click

from agent_tt.errors import UsageError
from agent_tt.shapes.records import run_shape
from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, common_options, with_options
from agent_tt_tui.cli.terminal import Terminal
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.launching.command import Recorded
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.model import Run
    from agent_tt.patching.kinds import PatchKind


call_options = with_options(
    click.option(
        "--call",
        "calls",
        multiple=True,
        metavar="PATH=EFFECT",
        help="Record the calls of a function, by dotted path; EFFECT is read, write or llm.",
    ),
    click.option(
        "--patch",
        default="",
        metavar="KINDS",
        help="Record these values too, in the program's own modules: clock, random, ids, env, or all; several with"
        " commas.",
    ),
)
"""What is recorded beside what is always; see `named_calls` and `patch_kinds`."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@click.option("--name", default="", help="Name of the run, instead of the script's.")
@call_options
@click.option(
    "--checkpoints",
    metavar="RULES",
    help="Which steps get a checkpoint: all, every:N, error, write, sample:P; several with commas.",
)
@click.option(
    "--on-store-error",
    type=click.Choice(["continue", "stop"]),
    help="Where the store cannot be written: continue, and record into a file beside it (default), or stop.",
)
@click.option(
    "--proxy",
    is_flag=True,
    help="Record a program in any language, by its requests to OpenAI, Anthropic and Gemini.",
)
@click.option("--attach", is_flag=True, help="Let it be held while it runs, by `agent-tt hold` or Z in the app.")
@common_options
def command(
    options: Options,
    command: tuple[str, ...],
    *,
    name: str,
    calls: tuple[str, ...],
    patch: str,
    checkpoints: str | None,
    on_store_error: Literal["continue", "stop"] | None,
    attach: bool,
    proxy: bool,
) -> int:
    """Run COMMAND and record its model calls, HTTP requests and tools; its code stays as it is.

    The command runs as it would without us, and its exit code is ours. What was recorded is told on standard error:
    standard output is the program's.

    \b
    agent-tt record -- python my_agent.py --fast
    agent-tt record --name nightly -- python -m my_app
    agent-tt record --proxy -- node agent.js
    agent-tt record --call my_app.api.charge=write --call my_app.llm.invoke=llm -- python my_agent.py
    --json: {exit_code, runs: [as in `runs`], unseen, warnings}, on standard error
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.config import load
    from agent_tt.launching.command import record_command
    from agent_tt.store.file.locate import writable_store_path

    config = load()
    if proxy:
        if calls or patch:
            raise UsageError(
                "--call and --patch look into a Python program, and --proxy does not", hint="leave one out"
            )
        command, name = proxied(command), name or name_of(command)
    named = {**config.calls, **named_calls(calls)}
    recorded = record_command(
        command,
        store=writable_store_path(options.store),
        name=name,
        calls=named,
        patch=patch_kinds(patch),
        checkpoints=checkpoints or config.checkpoints or "all",
        on_store_error=on_store_error or config.on_store_error or "continue",
        attach=attach,
    )
    if options.as_json:
        _write_json(recorded)
    else:
        _write(recorded)
    if recorded.problem is None:
        return recorded.exit_code
    if recorded.exit_code:
        return recorded.exit_code
    raise recorded.problem


def proxied(command: Sequence[str]) -> tuple[str, ...]:
    """The command that starts a program behind the proxy.

    Raises:
        UsageError: a variable that names a provider's address holds none.
        NotFound: there is no such program.
    """
    import os

    from agent_tt.proxying.child import Child
    from agent_tt.proxying.upstreams import to_arguments, upstreams_of

    Child(command)  # which refuses one that is not there
    return (sys.executable, "-m", "agent_tt.proxying", *to_arguments(upstreams_of(os.environ), command))


def name_of(command: Sequence[str]) -> str:
    """What the run of a program behind the proxy is called: its script, else the program."""
    from pathlib import Path

    words = [word for word in command[1:] if not word.startswith("-")]
    script = next((word for word in words if Path(word).is_file()), command[0])
    return Path(script).stem


def named_calls(texts: Iterable[str]) -> dict[str, OutsideEffect]:
    """The functions that `--call` names, with what they do.

    Raises:
        BadParameter: one of the texts says something else.
    """
    return dict(map(_call, texts))


def _call(text: str) -> tuple[str, OutsideEffect]:
    path, equals, effect = text.rpartition("=")
    if not equals or effect not in ("read", "write", "llm"):
        raise click.BadParameter(f"{text!r} is not PATH=read, PATH=write or PATH=llm", param_hint="--call")
    return path, cast("OutsideEffect", effect)


def patch_kinds(text: str) -> tuple[PatchKind, ...]:
    """What `--patch` names.

    Raises:
        BadParameter: one of the words is no kind.
    """
    from agent_tt.patching.kinds import KINDS

    named = tuple(word.strip() for word in text.split(",") if word.strip())
    if named == ("all",):
        return KINDS
    for word in named:
        if word not in KINDS:
            raise click.BadParameter(f"{word!r} is none of {', '.join(KINDS)}", param_hint="--patch")
    return cast("tuple[PatchKind, ...]", named)


def _write_json(recorded: Recorded) -> None:
    import json

    shape = {
        "exit_code": recorded.exit_code,
        "runs": [run_shape(run) for run in recorded.runs],
        "unseen": list(recorded.unseen),
        "warnings": list(recorded.warnings),
    }
    sys.stderr.write(json.dumps(shape) + "\n")


def _write(recorded: Recorded) -> None:

    terminal = Terminal.of(sys.stderr)
    lines = [_line(run) for run in recorded.runs]
    lines += [f"{path} matched no call: nothing is recorded of it" for path in recorded.unseen]
    lines += recorded.warnings
    if recorded.problem is not None and recorded.exit_code:
        lines.append(recorded.problem.message)
    for line in lines:
        sys.stderr.write(f"{terminal.paint('agent-tt:', 'muted')} {terminal.safe(line)}\n")


def _line(run: Run) -> str:

    cost = "" if run.cost_usd is None else f", {shown.cost(run.cost_usd, run.unpriced)}"
    if cost and run.unpriced:
        cost += f" ({counted(run.unpriced, 'model call')} without a known price)"
    ended = "" if run.status == "succeeded" else f", {run.status}"
    return f"recorded {run.name}: {counted(run.steps, 'step')}{cost}{ended}. Look at it with `agent-tt open {run.id}`"
