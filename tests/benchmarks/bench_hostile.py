"""Searching and listing LangGraph databases that are larger than any, or made to harm their reader, by the command.

    python tests/benchmarks/bench_hostile.py [--threads 20000] [--file checkpoints.db]

Times are the processor's, of the command and what it starts, and by the clock, which is printed beside them; that of
the processor is judged: no more than 10 s, whatever is searched for. `read` says how many of how many threads were
read where not all were: a search says so itself. Exits with 1 if one takes longer or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ormsgpack

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.core.interop.test_langgraph_large_and_hostile import TABLES, checkpoint, database, ident

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_S: Final = 10.0
WORDS: Final = re.findall(
    r"\w+",
    "refund policy order customer shipping delay agent search result document answer question invoice account reset "
    "password update status pending approved denied manager escalate ticket number date amount total payment",
)
SEARCHES: Final = (
    ("qzxwv",), ("refund",), ("input",), ("agent",), ("Refund Policy",), ("--by", "step", "refund"), ("1999",),
    ("true",), ("日本",), ('"not in the database"',), ("Exception",), ("in:error refund",), ("tool:search refund",),
    ("--regex", "refund (policy|order) zzz"), ("--regex", "[xyz]{7}q"), ("--regex", r"\d{4}"), ("redacted",),
)  # fmt: skip


def conversations(path: Path, threads: int) -> Path:
    """Threads of a question, a tool call and an answer, in five checkpoints each, as LangGraph writes them."""
    drawn = random.Random(1)
    checkpoints: list[tuple[Any, ...]] = []
    writes: list[tuple[Any, ...]] = []
    number = 0
    for _ in range(threads):
        thread, before = _id(drawn), None
        for values, node, wrote, facts in _steps(drawn):
            number += 1
            name = f"1f1e{number >> 28:04x}{ident(number)[8:]}"
            document = {
                "v": 4, "id": name, "channel_values": values,
                "channel_versions": dict.fromkeys(values, f"{number:032}.5"),
                "versions_seen": {"__input__": {}, "agent": {"branch:to:agent": f"{number:032}.5"}},
            }  # fmt: skip
            facts_json = json.dumps(facts).encode()
            checkpoints.append((thread, "", name, before, "msgpack", ormsgpack.packb(document), facts_json))
            task = _id(drawn)
            for index, (channel, value) in enumerate(wrote.items()):
                stored = ("null", b"") if value is None else ("msgpack", ormsgpack.packb(value))
                writes.append((thread, "", name, task, f"~__pregel_pull, {node}", index, channel, *stored))
            before = name
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        connection.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", checkpoints)
        connection.executemany("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", writes)
        connection.commit()
    return path


def _steps(drawn: random.Random) -> Iterator[tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]]:
    call = f"call_{drawn.getrandbits(90):x}"
    asked = _message(drawn, "human", "HumanMessage", 20)
    calls = [{"name": "search", "args": {"query": _text(drawn, 5)}, "id": call, "type": "tool_call"}]
    usage = {"input_tokens": drawn.randrange(2000), "output_tokens": drawn.randrange(100)}
    about = {"model_name": "gpt-5", "finish_reason": "tool_calls"}
    wanted = _message(drawn, "ai", "AIMessage", 30, tool_calls=calls, usage_metadata=usage, response_metadata=about)
    found = _message(drawn, "tool", "ToolMessage", 40, name="search", tool_call_id=call, status="success")
    said = _message(drawn, "ai", "AIMessage", 30, tool_calls=[], response_metadata=about)
    yield {"__start__": {"messages": [asked]}}, "__start__", {"messages": [asked]}, {"source": "input", "step": -1}
    made = [asked, wanted, found, said]
    for step, node in enumerate(("agent", "tools", "agent")):
        state = {"messages": made[: step + 1], f"branch:to:{node}": None}
        yield state, node, {"messages": [made[step + 1]]}, {"source": "loop", "step": step, "parents": {}}
    yield {"messages": made}, "", {}, {"source": "loop", "step": 3, "parents": {}}


def _message(drawn: random.Random, kind: str, made_by: str, words: int, **more: Any) -> Any:
    fields = {"content": _text(drawn, words), "additional_kwargs": {}, "type": kind, "id": _id(drawn), **more}
    return ormsgpack.Ext(
        5, ormsgpack.packb([f"langchain_core.messages.{kind}", made_by, fields, "model_validate_json"])
    )


def _text(drawn: random.Random, words: int) -> str:
    return " ".join(drawn.choices(WORDS, k=words))


def _id(drawn: random.Random) -> str:
    return str(uuid.UUID(int=drawn.getrandbits(128)))


def branches(path: Path, count: int) -> Path:
    """One thread of which many branches left the first checkpoint."""
    rows = [("t", "", ident(0), None, "msgpack", checkpoint({"a": "root"}), b"{}")]
    rows += (
        ("t", "", ident(number), ident(0), "msgpack", checkpoint({"a": f"tip {number}"}), b"{}")
        for number in range(1, count)
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        connection.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    return path


def files(folder: Path, threads: int) -> Iterator[tuple[str, Path]]:
    """The databases, each with what it is."""
    short = [(f"thread {number}", checkpoint({"a": f"hello {number}"}), "msgpack") for number in range(threads)]
    yield f"{threads:,} threads of five checkpoints", conversations(folder / "long.db", threads)
    yield f"{threads:,} threads of one", database(folder / "short.db", short)
    yield (
        f"{threads:,} that are cut short",
        database(folder / "cut.db", [(thread, blob[:-3], kind) for thread, blob, kind in short]),
    )
    wide = checkpoint({f"channel {number}": f"refund {number}" for number in range(200_000)})
    yield "one with 200,000 channels", database(folder / "wide.db", [("t", wide, "msgpack")])
    yield "one with 5,000 branches", branches(folder / "branches.db", 5_000)


def ran(path: Path, words: tuple[str, ...], cache: Path) -> tuple[float, float, int, Any]:
    """Run a command: seconds of the processor and by the clock, its exit code, and what it says."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "agent_tt_tui", *words, "--store", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    said = json.loads(done.stdout) if done.stdout.startswith((b"{", b"[")) else done.stderr.decode()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took, done.returncode, said


def main() -> int:
    """Measure all of it, print a line for each, and say whether all end in time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=20_000)
    parser.add_argument("--file", type=Path, help="measure this database, or address, alone")
    given = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':44}{'s':>7}{'by the clock':>14}{'code':>6}{'hits':>9}  read")
        made = [(given.file.name, given.file)] if given.file else files(Path(folder), given.threads)
        for what, path in made:
            print(what)
            for words in (("runs",), *(("find", "--all", *each) for each in SEARCHES)):
                seconds, clock, code, said = ran(path, words, Path(folder) / "cache")
                is_bad = seconds > MOST_S or code not in (0, 1, 2) or isinstance(said, str)
                missed += is_bad
                found = said if isinstance(said, dict) else {"total": len(said)}
                read = f"{found['newest']:,} of {found['of']:,}" if "newest" in found else ""
                line = f"  {' '.join(words):42}{seconds:>7.1f}{clock:>14.1f}{code:>6}{found['total']:>9,}  {read}"
                print(line, "missed" if is_bad else "", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
