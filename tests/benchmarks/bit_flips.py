"""What one flipped bit does to a store: it is noticed by `verify`, or everything is as it was.

    python -m tests.benchmarks.bit_flips [--flips 2000] [--seed 1] [--workers 2] [--steps 8]

A store is made of the sample runs and of a recorded loop of the real OpenAI SDK against a server on the loopback
interface. Then, for each flip, one bit of a copy of the file is turned over, the copy is opened and verified,
everything in it is read (rows as SQLite gives them; runs, steps, calls, pieces, marks, states, and who wrote what as
the store gives them), what a replay of each run would serve is read, and the loop is replayed. Each flip has a forked
process of its own, which is ended when it takes longer than two minutes; no command is started.

| counted as | what it means |
|---|---|
| unaffected | every row, index answer and state is as it was; the replay served what was recorded |
| noticed | `verify` says what is wrong, or the file is refused when it is opened |
| wrong | neither; or a replay served something else; or an error that is none of ours; or no end. There must be none |
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
from tests.core.seams.loopback import Loopback

import agent_tt
from agent_tt.codec.tlv import tlv
from agent_tt.errors import AgentTTError
from agent_tt.replaying.block import served
from agent_tt.replaying.tape.full_history import read_calls
from agent_tt.store import copy_run, open_store

if TYPE_CHECKING:
    from agent_tt.store import SqliteStore

SAMPLES = Path(__file__).parents[2] / "sample_runs" / "runs.db"
TIMEOUT_S = 120


class Loop:
    """An agent that asks a model again and again, with the conversation so far as its state."""

    def __init__(self, url: str, steps: int) -> None:
        self.url = url
        self.steps = steps
        self.heard: list[str] = []

    def run(self, recorded: Any = None) -> list[str]:
        """What the model answered; `recorded` is the run that it is recorded into."""
        self.heard = []
        state: dict[str, Any] = recorded.state if recorded is not None else {"messages": [], "n": 0}
        with openai.OpenAI(base_url=f"{self.url}/v1", api_key="k", max_retries=0) as client:
            for number in range(self.steps):
                if recorded is None:
                    self._step(client, state, number)
                else:
                    with recorded.step(f"ask {number}"):
                        self._step(client, state, number)
        return self.heard

    def _step(self, client: Any, state: dict[str, Any], number: int) -> None:
        state["messages"].append({"role": "user", "content": f"question {number} " * 20})
        answer = client.chat.completions.create(model="m", messages=state["messages"])
        text = f"{answer.id} {answer.choices[0].message.content}"
        state["messages"].append({"role": "assistant", "content": text})
        state["n"] = number
        self.heard.append(text)


def make_store(folder: Path, steps: int) -> tuple[Path, Loop]:
    """The store, and the agent of its run `loop`."""
    path = folder / "whole.db"
    server = Loopback()
    loop = Loop(server.url, steps)
    state: dict[str, Any] = {"messages": [], "n": 0}
    with agent_tt.record("loop", state=state, store=path, durability="normal") as run:
        run.state = state
        loop.run(run)
    server.stop()
    with closing(open_store(path)) as store, closing(open_store(SAMPLES, read_only=True)) as samples:
        for sample in samples.runs():
            copy_run(samples, store, sample.id)
        store.add_note(store.run("loop").id, 2, "note", "look here")
        store.set_tags(store.run("loop").id, ["kept"])
        store.database.checkpoint("TRUNCATE")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return path, loop


# -------------------------------------------------------------------- what is there


def raw_rows(path: Path) -> bytes:
    """A digest of every row of every table, as SQLite gives it."""
    found = blake2b()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for (name,) in tables:
            rows = connection.execute(f'SELECT * FROM "{name.decode()}"').fetchall()
            found.update(repr((name, sorted(rows, key=repr))).encode())
    return found.digest()


def answers(store: SqliteStore) -> bytes:
    """A digest of everything that the store answers."""
    found = blake2b()

    def add(value: object) -> None:
        found.update(repr(value).encode("utf-8", "backslashreplace"))

    for run in store.runs(archived=True):
        add(run)
        add((store.notes(run.id), store.labels(run.id), store.damaged_steps(run.id)))
        cursor = store.cursor(run.id, 0)
        for step in store.steps(run.id):
            add((step, store.digest(run.id, step.number), store.changes(run.id, step.number)))
            found.update(tlv(cursor.seek(step.number)))
            for call in store.calls(run.id, step.number):
                add((call, store.deliveries(run.id, step.number, call.number)))
        last = store.step_count(run.id)
        state = store.state(run.id, last)
        for key in state if isinstance(state, dict) else ():
            add((key, store.last_write(run.id, last, (key,)), store.next_write(run.id, 1, (key,))))
            if isinstance(state[key], list) and state[key]:
                add(store.last_write(run.id, last, (key, len(state[key]) // 2)))
    return found.digest()


def tapes(store: SqliteStore) -> dict[str, bytes]:
    """A digest of what a replay of each run serves; nothing of a run that is refused."""
    found = {}
    for run in store.runs(archived=True):
        try:
            found[run.id] = blake2b(repr(read_calls(store, run)).encode("utf-8", "backslashreplace")).digest()
        except AgentTTError:
            continue
    return found


class Truth:
    """What the whole store holds."""

    def __init__(self, path: Path, loop: Loop) -> None:
        self.heard = [*loop.heard]
        self.rows = raw_rows(path)
        with closing(open_store(path, read_only=True)) as store:
            assert store.verify() == []
            self.answers = answers(store)
            self.tapes = tapes(store)
        assert replayed(path, loop) == self.heard


def replayed(path: Path, loop: Loop) -> list[str] | None:
    """What the loop hears in a replay; None where that is refused, or ends by an error of ours."""
    loop.heard = []
    try:
        with served("loop", store=path):
            loop.run()
    except AgentTTError:
        return None
    return loop.heard


# -------------------------------------------------------------------- one flip


def look_at(path: Path, loop: Loop, truth: Truth) -> str:
    """What a flip did to a copy of the file: `unaffected`, `noticed`, or what went wrong."""
    noticed = False
    same = False
    try:
        with closing(open_store(path, read_only=True)) as store:
            noticed = bool(store.verify())
            for run_id, tape in tapes(store).items():
                if run_id in truth.tapes and tape != truth.tapes[run_id]:
                    return f"wrong: a replay of {run_id} would serve something else"
            same = answers(store) == truth.answers
    except AgentTTError as error:
        if not noticed and error.kind not in _REFUSED:
            return f"wrong: {error.kind}, but verify had nothing to say: {error.message}"
        noticed = True
    try:
        same = same and raw_rows(path) == truth.rows
    except sqlite3.DatabaseError:
        same = False
    heard = replayed(path, loop)
    served_so_far = loop.heard
    if served_so_far != truth.heard[: len(served_so_far)]:
        return f"wrong: the replay served {served_so_far}"
    if noticed:
        return "noticed"
    if not same:
        return "wrong: something else is there, and verify did not notice"
    return "unaffected" if heard == truth.heard else "wrong: it could not be replayed, and verify did not notice"


_REFUSED = frozenset({"not_a_store", "newer_format", "older_format", "damaged", "store_unreadable", "store_not_found"})
"""What a file is refused as when it is opened, or read at all."""


def in_child(path: Path, loop: Loop, truth: Truth) -> tuple[int, int]:
    """Look at a file in a process of its own; its id, and where its word can be read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 0
    try:
        os.close(reading)
        devnull = os.open(os.devnull, os.O_RDWR)
        os.dup2(devnull, 2)
        try:
            word = look_at(path, loop, truth)
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            word = f"wrong: {type(error).__name__}: {error} at {Path(where.filename).name}:{where.lineno}"
        os.write(writing, word.encode("utf-8", "backslashreplace")[:4000])
    finally:
        os._exit(code)


def word_of(child: int, reading: int, deadline: float) -> str:
    """What a child says; it is ended when it says nothing in time."""
    ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
    word = os.read(reading, 4096).decode() if ready else "wrong: it did not end"
    os.close(reading)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return word or f"wrong: the process ended with {status}"


def flip_bits(flips: int, seed: int, workers: int, steps: int) -> tuple[Counter[str], list[dict[str, Any]]]:
    """How many flips came to what, and each that went wrong."""
    choose = random.Random(seed)
    counts: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="bit-flips-") as name:
        folder = Path(name)
        path, loop = make_store(folder, steps)
        truth = Truth(path, loop)
        original = path.read_bytes()
        print(f"a store of {len(original):,} bytes, {len(truth.tapes)} runs", flush=True)
        running: list[tuple[int, int, float, int, int, Path]] = []
        for number in range(flips):
            at, bit = choose.randrange(len(original)), choose.randrange(8)
            copy = folder / f"flip-{number}.db"
            copy.write_bytes(original[:at] + bytes([original[at] ^ 1 << bit]) + original[at + 1 :])
            child, reading = in_child(copy, loop, truth)
            running.append((child, reading, time.monotonic() + TIMEOUT_S, at, bit, copy))
            while len(running) >= workers or (number == flips - 1 and running):
                child, reading, deadline, at, bit, copy = running.pop(0)
                word = word_of(child, reading, deadline)
                counts[word.partition(":")[0]] += 1
                if word.startswith("wrong"):
                    wrong.append({"byte": at, "bit": bit, "what": word})
                    print(f"byte {at} bit {bit}: {word}", flush=True)
                for left in folder.glob(f"{copy.name}*"):
                    left.unlink()
            if number % 100 == 99:
                print(f"{number + 1} flips: {dict(counts)}", flush=True)
    return counts, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--flips", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    given = parser.parse_args()
    started = time.monotonic()
    counts, wrong = flip_bits(given.flips, given.seed, given.workers, given.steps)
    print(
        f"{sum(counts.values())} flips in {time.monotonic() - started:.0f} s: {counts['unaffected']} unaffected,"
        f" {counts['noticed']} noticed by verify, {counts['wrong']} wrong"
    )
    if wrong:
        print(json.dumps(wrong, indent=1))
        sys.exit(1)


if __name__ == "__main__":
    main()
