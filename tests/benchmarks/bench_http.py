"""What recording costs an agent that asks a model, and how fast a replay is, beside agentrr where that is installed.

    python -m tests.benchmarks.bench_http [--calls 300] [--messages 30]

The real OpenAI SDK asks a server on the loopback interface with a conversation of 30 messages. Times are the median of
a call, in milliseconds, and the whole of a replay; both recorders make each call durable before the agent goes on
(`full`), ours also without waiting for the disk (`normal`). agentrr keeps a call's words alone and gives back an object
made from them; ours gives back the bytes, so streams, errors, ids and usage are exact.

A replay shows the agent's modules, of which this is one, the time that the recorded answers took; the real one is asked
for under a name of the standard library's.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import timeit
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
from tests.core.seams.loopback import Loopback

import agent_tt
from agent_tt.replaying.block import served

if TYPE_CHECKING:
    from collections.abc import Callable


class Agent:
    """Asks the same conversation again and again, with one word that changes."""

    def __init__(
        self, url: str, calls: int, messages: int, prepare: Callable[[Any], Any] = lambda client: client
    ) -> None:
        self._url = url
        self._calls = calls
        self._messages: list[Any] = [
            {"role": "user" if index % 2 else "assistant", "content": "some words of an answer " * 40}
            for index in range(messages)
        ]
        self._prepare = prepare

    def run(self) -> list[float]:
        """Milliseconds of each call."""
        took = []
        with openai.OpenAI(base_url=f"{self._url}/v1", api_key="k", max_retries=0) as client:
            asking = client if self._prepare is None else self._prepare(client)
            for number in range(self._calls):
                started = timeit.default_timer()
                asking.chat.completions.create(
                    model="m", messages=[*self._messages, {"role": "user", "content": f"question {number}"}]
                )
                took.append((timeit.default_timer() - started) * 1e3)
        return took


def show(what: str, took: list[float], bare: float) -> None:
    middle = statistics.median(took)
    print(f"{what:28} {middle:8.2f} ms a call   {middle / bare:5.2f} x bare   {sum(took) / 1e3:7.2f} s in all")


def bench_agentrr(server: Loopback, calls: int, messages: int, bare: float, folder: Path) -> None:
    try:
        import agentrr_sdk
    except ImportError:
        print("agentrr                      not installed")
        return
    agent = Agent(server.url, calls, messages, agentrr_sdk.wrap_openai_client)
    took, log = agentrr_sdk.record("bench", agent.run, log_path=folder / "agentrr.jsonl")
    show("agentrr, recording", took, bare)
    show("agentrr, replay", agentrr_sdk.replay(log, agent.run), bare)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--messages", type=int, default=30)
    given = parser.parse_args()
    server = Loopback()
    agent = Agent(server.url, given.calls, given.messages)
    agent.run()
    took = agent.run()
    bare = statistics.median(took)
    show("bare", took, bare)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for durability in ("full", "normal"):
            store = folder / f"{durability}.db"
            with agent_tt.record("bench", store=store, durability=durability) as run, run.step("ask"):
                took = agent.run()
            show(f"agent-tt, recording ({durability})", took, bare)
        bench_agentrr(server, given.calls, given.messages, bare, folder)
        server.stop()
        started = timeit.default_timer()
        with served("latest", store=folder / "full.db"):
            took = agent.run()
        show("agent-tt, replay", took, bare)
        print(f"{'':28} {timeit.default_timer() - started:8.2f} s with reading the run ({given.calls} calls)")


if __name__ == "__main__":
    main()
