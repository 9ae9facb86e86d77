"""Recording an agent once and replaying it many times in this process."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agent_tt
from agent_tt.replaying.block import replaying
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.tape.full_history import read_calls
from agent_tt.replaying.tape.tape import lay_out
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.model import Run

Agent = "Callable[[], Any]"


def run_agent(agent: Callable[[], Any], *, name: str = "agent", store: Path | None = None) -> Any:
    """Run an agent, plain or async, inside a recording of its own."""
    with agent_tt.record(name, store=store, durability="normal"):
        outcome = agent()
        return asyncio.run(outcome) if inspect.iscoroutine(outcome) else outcome


class Recorded:
    """A recorded run, and replays of it."""

    def __init__(self, store: Path, run: Run, calls: list[Any], result: Any) -> None:
        self.store = store
        self.run = run
        self.calls = calls
        self.result = result

    @contextmanager
    def replaying(self, **options: Any) -> Iterator[Replay]:
        """A block whose calls are served; the replay's failure is not raised at its end."""
        replay = Replay(lay_out(self.run, self.calls), **options)
        with replaying(replay):
            yield replay

    def replay(self, agent: Callable[[], Any], **options: Any) -> tuple[Any, Replay]:
        """Replay an agent; its result, or the exception that left it."""
        result: Any = None
        with self.replaying(**options) as replay:
            try:
                result = run_agent(agent)
            except BaseException as error:  # a divergence is looked at by the test
                result = error
        return result, replay


def record(folder: Path, agent: Callable[[], Any]) -> Recorded:
    """Run an agent for real, recording it into a store in `folder`.

    Its project is the folder that it is written in, not that of all tests: a replay goes through each name of each
    module of the project as it begins and as it ends, and there are hundreds of tests to be gone through.
    """
    path = folder / "runs.db"
    try:
        result = run_agent(agent, store=path)
    except Exception as error:
        result = error
    recorded = read(path, result)
    code = getattr(inspect.unwrap(agent), "__code__", None)
    if code is not None:
        root = str(Path(code.co_filename).parent)
        recorded.run = replace(recorded.run, code=replace(recorded.run.code, root=root))
    return recorded


def read(path: Path, result: Any = None) -> Recorded:
    """The newest run of a store."""
    with closing(open_store(path, read_only=True)) as store:
        run = store.run("latest")
        return Recorded(path, run, read_calls(store, run), result)
