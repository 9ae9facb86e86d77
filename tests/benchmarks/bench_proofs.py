"""What the proofs of rows cost: this checkout beside another one, and beside itself without digests, in turns.

    git worktree add /tmp/before 9fde217  # the commit before the first proof
    python tests/benchmarks/bench_proofs.py /tmp/before [--rounds 9] [--steps 300]

Each round starts one process for each of the three, the first of them in turn, that records runs on its own and says
how much time of the processor a step with one call took (the system's on its behalf included, waiting for the disk
not), and how large the file became. Recorded are: steps with a call through the store's own interface (`store`), an
agent under `record` with a tool and a state (`agent`), and a loop of the real OpenAI SDK against a server on the
loopback interface (`http`), whose own time is in it; each with commits that are forced to the disk (`full`) and that
are not (`normal`). Of every step its quickest round counts: `now/before` is all that has changed since the other
checkout, `proofs` is what this one takes more than it would if no row and no part of one were hashed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[2]


def bench_store(path: Path, durability: Any, steps: int) -> list[float]:
    """Time the steps with a call, each in milliseconds."""
    from agent_tt.model import CallEnd, NewCall, NewRun, NewStep, StepEnd
    from agent_tt.store import open_store

    store = open_store(path, create=True, durability=durability)
    state: dict[str, Any] = {"messages": [], "n": 0}
    writer = store.begin_run(NewRun("bench"), state)
    took = []
    for number in range(steps):
        started = time.process_time()
        step = writer.open_step(NewStep("step"))
        intent = NewCall("tool", "search", {"query": f"words {number}" * 8}, "ab" * 16, "read", "main", number + 1)
        call = writer.begin_call(step, intent)
        writer.end_call(step, call, CallEnd("ok", {"found": [f"result {number}"] * 6}))
        state["messages"].append({"role": "user", "content": f"message {number} " * 10})
        state["n"] = number
        writer.close_step(step, StepEnd("ok", tokens_in=10, tokens_out=5, cost_usd=0.1), state)
        took.append(1e3 * (time.process_time() - started))
    writer.finish("succeeded")
    store.close()
    return took


def bench_agent(path: Path, durability: Any, steps: int) -> list[float]:
    """Time the steps of a recorded agent that calls a tool, each in milliseconds."""
    import agent_tt

    @agent_tt.tool(effect="read")
    def search(query: str) -> dict[str, Any]:
        return {"found": [query] * 4}

    state: dict[str, Any] = {"messages": [], "n": 0}
    with agent_tt.record("bench", state=state, store=path, durability=durability) as run:
        took = []
        for number in range(steps):
            started = time.process_time()
            with run.step("step"):
                state["messages"].append(search(f"words {number} " * 8))
                state["n"] = number
            took.append(1e3 * (time.process_time() - started))
    return took


def bench_http(path: Path, durability: Any, steps: int) -> list[float]:
    """Time the calls of a loop that asks a model, each in milliseconds."""
    import openai
    from tests.core.seams.loopback import Loopback

    import agent_tt

    server = Loopback()
    messages: list[Any] = [{"role": "user", "content": "some words of a question " * 10}]
    with (
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client,
        agent_tt.record("bench", store=path, durability=durability) as run,
    ):
        took = []
        for number in range(steps):
            started = time.process_time()
            with run.step("ask"):
                asked = [*messages, {"role": "user", "content": f"question {number}"}]
                client.chat.completions.create(model="m", messages=asked)
            took.append(1e3 * (time.process_time() - started))
    server.stop()
    return took


_WHAT: Final = {"store": bench_store, "agent": bench_agent, "http": bench_http}


@dataclass
class Measured:
    """What recording one thing took: milliseconds of each step, and the bytes of the file."""

    steps: list[float]
    size: int


def measure(steps: int) -> dict[str, Measured]:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, bench in _WHAT.items():
            for durability in ("full", "normal"):
                path = Path(folder) / f"{name}-{durability}.db"
                bench(path.with_suffix(".first"), durability, 10)  # what is imported only when it is used, compiled too
                took = bench(path, durability, steps)
                size = sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
                found[f"{name} {durability}"] = Measured(took, size)
    return found


def hash_nothing() -> None:
    """Give every row and part the same digest."""
    from agent_tt.store.tables import proofs, table

    digest = bytes(proofs.PROOF_SIZE)
    vars(table).update(hashed=lambda value: digest)


def _measured_in(checkout: Path, steps: int, *options: str) -> dict[str, Measured]:
    places = os.pathsep.join(str(checkout / part) for part in ("core", "tui", "."))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--only", "--steps", str(steps), *options],
        env={**os.environ, "PYTHONPATH": places},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: Measured(**each) for name, each in json.loads(done.stdout).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--only", action="store_true", help="measure the checkout that is imported, as JSON")
    parser.add_argument("--without", action="store_true", help="with --only: hash no rows")
    given = parser.parse_args()
    if given.only or given.before is None:
        if given.without:
            hash_nothing()
        print(json.dumps({name: asdict(each) for name, each in measure(given.steps).items()}))
        return
    befores: list[dict[str, Measured]] = []
    nows: list[dict[str, Measured]] = []
    withouts: list[dict[str, Measured]] = []
    for number in range(given.rounds):
        measured = [(befores, given.before.resolve(), ()), (nows, _ROOT, ()), (withouts, _ROOT, ("--without",))]
        turn = number % len(measured)
        for found, checkout, options in measured[turn:] + measured[:turn]:
            found.append(_measured_in(checkout, given.steps, *options))
    print(f"{'':16} {'before':>9} {'now':>9} {'now/before':>11} {'proofs':>8}   {'file before':>12} {'now':>12}")
    for name in befores[0]:
        old, new, without = (_quickest([each[name] for each in found]) for found in (befores, nows, withouts))
        sizes = befores[0][name].size, nows[0][name].size
        print(
            f"{name:16} {old:6.3f} ms {new:6.3f} ms {new / old:10.3f}x {100 * (new / without - 1):+6.1f} %"
            f"   {sizes[0]:12,.0f} {sizes[1]:12,.0f} {100 * (sizes[1] / sizes[0] - 1):+.0f} %"
        )


def _quickest(rounds: list[Measured]) -> float:
    """Average the steps, of each its quickest round, in milliseconds."""
    return statistics.mean(min(took) for took in zip(*(each.steps for each in rounds), strict=True))


if __name__ == "__main__":
    main()
