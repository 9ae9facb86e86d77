"""Asking the tools of the debugger for coding agents, as a client does that believes only their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tt.serving.debugger import Debugger
from agent_tt.serving.tool import Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"
FLAKY = "flaky-checkout"

TOOLS = Debugger(SAMPLES).tools


def told(source: RunSource, tool: str, **arguments: Wire) -> dict[str, Any]:
    """What a tool answers about an open source."""
    return TOOLS[tool].answer(Asked(source, TOOLS[tool].check(arguments)))


def pages(ask: Callable[..., dict[str, Any]], **arguments: Wire) -> Iterator[dict[str, Any]]:
    """Every page of an answer."""
    page = ask(**arguments)
    yield page
    seen = set()
    while "next" in page:
        assert page["next"] not in seen
        seen.add(page["next"])
        page = ask(**arguments, cursor=page["next"])
        yield page


def asked(store: Path, tool: str, **arguments: Wire) -> dict[str, Any]:
    """What a tool answers about a file, read again from its text; errors too."""
    reply = Debugger(store).answer(tool, arguments)
    answer = json.loads(reply.text)
    assert reply.is_error == ("error" in answer and set(answer) == {"error"})
    return answer
