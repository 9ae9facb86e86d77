"""What is written to a running program, asked about before it goes there: a fork rules what happens outside of calls.

A program that a call has started, and left running, may be told more when the call is over. Its standard input is known
here by the pipe; who guards the fork is asked (`agent_tt.forking.left_open`).
"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_tt.recording.adoption import process_policy
from agent_tt.recording.passing import passing_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[int], None]

__all__ = ["check_written", "checking", "program_behind", "started_with"]

_CHECKS: list[Check] = []
_PROGRAMS: dict[tuple[int, int], str] = {}


@contextmanager
def checking(check: Check) -> Iterator[None]:
    """Let `check` hear of each file descriptor that is written to, while the block lasts; it raises to refuse that."""
    _CHECKS.append(check)
    try:
        yield
    finally:
        _CHECKS.remove(check)


def started_with(number: int, command: Any) -> None:
    """A program was started that reads the pipe of a file descriptor; remembered where a call of a fork did that.

    Args:
        number: the file descriptor.
        command: the program and its arguments, or the line that a shell reads.
    """
    if process_policy() is not None and passing_for() == "call":
        pipe = os.fstat(number)
        words = [command] if isinstance(command, (str, bytes, os.PathLike)) else command
        line = os.fsdecode(words[0]) if words is not command else shlex.join(os.fsdecode(word) for word in words)
        _PROGRAMS[pipe.st_dev, pipe.st_ino] = line


def program_behind(pipe: os.stat_result) -> str:
    """The command of the program that reads a pipe, where a call started it; "" otherwise."""
    return _PROGRAMS.get((pipe.st_dev, pipe.st_ino), "")


def check_written(number: int) -> None:
    """Ask whether a file descriptor may be written to.

    Raises:
        BaseException: it may not.
    """
    for check in _CHECKS:
        check(number)
