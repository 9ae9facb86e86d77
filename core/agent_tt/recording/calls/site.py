"""Which line of the agent's own code makes a call."""

from __future__ import annotations

import functools
import inspect
import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from types import CodeType

    from agent_tt.codec.wire import Wire

_NOT_THE_AGENT: Final = (
    f"{Path(__file__).parents[2]}{os.sep}",
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("platstdlib"),
    "<",  # code without a file
)
_LOOPS: Final = {
    "Handle._run": str(Path("asyncio", "events.py")),
    "unrolled_run": str(Path("trio", "_core", "_run.py")),
}
"""A loop is known by the code that it runs: the name of a function and its file, of asyncio and trio."""

_OURS: Final[dict[int, CodeType]] = {}
"""By identity: two codes of the same text are equal."""

_FILE: Final = CallFacts.file.key
_LINE: Final = CallFacts.line.key
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


def call_site(root: str | None) -> dict[str, Wire]:
    """`file` and `line` of the innermost frame that is the agent's: not ours, not the library's, not installed.

    Args:
        root: the project root; a file below it is given relative to it.

    Returns:
        Both facts, or none where no such frame is on the stack (a task that is itself the call).
    """
    frame = inspect.currentframe()
    while frame is not None and not is_event_loop(frame.f_code) and not is_agent_code(frame.f_code):
        frame = frame.f_back
    if frame is None or is_event_loop(frame.f_code):
        return {}
    return {_FILE: shown_path(frame.f_code.co_filename, root), _LINE: frame.f_lineno}


def not_the_agents(code: CodeType) -> None:
    """Take code for ours although it names a file of the agent's: it stands in a function of that file."""
    _OURS[id(code)] = code


def is_agent_code(code: CodeType) -> bool:
    """Whether code was written for the agent."""
    return is_agent_file(code.co_filename) and id(code) not in _OURS


def is_event_loop(code: CodeType) -> bool:
    """Whether it is what runs the callbacks or tasks of asyncio or trio: below it lies who started the loop."""
    file = _LOOPS.get(code.co_qualname)
    return file is not None and code.co_filename.endswith(file)


@functools.lru_cache(maxsize=1024)
def is_agent_file(file: str) -> bool:
    """Whether the code in `file` was written for the agent."""
    return not file.startswith(_NOT_THE_AGENT) and _INSTALLED.isdisjoint(Path(file).parts)


@functools.lru_cache(maxsize=1024)
def shown_path(file: str, root: str | None) -> str:
    """`file` relative to `root` where it lies below it."""
    path = Path(file)
    return str(path.relative_to(root)) if root is not None and path.is_relative_to(root) else file
