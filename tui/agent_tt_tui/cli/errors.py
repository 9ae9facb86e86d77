"""How a command fails: one line for people or one JSON object for programs, and an exit code."""

from __future__ import annotations

import json
import os
import sys
import traceback
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import AgentFailed, AgentTTError, InvalidExpression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INTERRUPTED: Final = 130
USAGE: Final = 2
BROKEN_PIPE: Final = 141
"""128 and the number of SIGPIPE: what a shell reports of a program whose reader has gone."""
BUG: Final = 70
"""`EX_SOFTWARE` of sysexits.h: the mistake is ours."""


class ReaderGone(Exception):
    """Whoever read our output has gone. Click would turn a `BrokenPipeError` into exit code 1: here, "no"."""


def guarded(command: Callable[[], int], arguments: Sequence[str]) -> int:
    """Run a command; whatever it raises becomes a message on standard error and an exit code.

    Args:
        command: the command, which gives its exit code.
        arguments: those of the command line: `--json` and `--debug` in them decide how failures are told, also when the
            command line itself cannot be understood.
    """
    as_json, debug = "--json" in arguments, "--debug" in arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What a terminal's encoding cannot say is escaped; it must not end the command.
            stream.reconfigure(errors="backslashreplace")
    try:
        return _flushed(command())
    except (BrokenPipeError, ReaderGone):
        # Python would complain once more when it closes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  the one place where every failure is told
        if debug:
            traceback.print_exc()
        code, kind, message, hint = describe(error)
        _tell(kind, message, hint, as_json=as_json, place=error.caret() if isinstance(error, InvalidExpression) else ())
        return code
    except KeyboardInterrupt:
        _tell("interrupted", "interrupted", "", as_json=as_json)
        return INTERRUPTED


def describe(error: Exception) -> tuple[int, str, str, str]:
    """Say what a failure is: its exit code, kind, message and hint."""
    if isinstance(error, AgentTTError):
        hint = error.advice
        if isinstance(error, AgentFailed) and error.traceback:
            hint = hint or "`agent-tt open latest` shows where."
        return error.exit_code, error.kind, error.message, hint
    if isinstance(error, click.Abort):
        return INTERRUPTED, "interrupted", "interrupted", ""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f"See `{context.command_path} --help`." if isinstance(context, click.Context) else ""
        return USAGE, "usage", error.format_message(), hint
    return BUG, "bug", f"{type(error).__name__}: {error}", "This is a mistake in agent-tt: --debug shows where."


def _flushed(code: int) -> int:
    sys.stdout.flush()
    return code


def _tell(kind: str, message: str, hint: str, *, as_json: bool, place: Sequence[str] = ()) -> None:
    """Write a failure; `place` is what stands between message and hint, to point into what was typed."""
    from agent_tt_tui.cli.terminal import Terminal

    if as_json:
        sys.stderr.write(json.dumps({"error": {"kind": kind, "message": message, "hint": hint}}) + "\n")
        return
    terminal = Terminal.of(sys.stderr)
    sys.stderr.write(f"{terminal.paint('agent-tt:', 'failed')} {terminal.safe(message)}\n")
    for line in place:
        sys.stderr.write(f"  {terminal.safe(line)}\n")
    if hint:
        sys.stderr.write(terminal.paint(f"  {terminal.safe(hint)}", "muted") + "\n")
