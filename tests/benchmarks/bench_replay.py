"""What it takes to run a recorded agent again: one replay beside reeltime's, and many forks beside one by one.

`python -m tests.benchmarks.bench_replay [--rounds N] [--forks N] [--environment FOLDER] [--before FOLDER]` prints
processor time and clock, medians of interleaved rounds, and their ratios.

Both tools record the same script, which asks a model on loopback three times through httpx, and replay it. They are
installed in one environment, so that the script imports the same; reeltime also in one of its own, where httpx does not
find what it imports if it is there (rich, click, Pygments). The forks are those of `sample_runs`: a sweep of one cell,
one run at a time and two. With --before they are also run by another checkout of agent-tt.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).parents[2]
PEER: Final = "reeltime==1.0.0"
LIBRARY: Final = "httpx==0.28.1"

AGENT: Final = """
import sys
import httpx

with httpx.Client() as client:
    messages = [{"role": "user", "content": "hello"}]
    for _ in range(3):
        answer = client.post(sys.argv[1], json={"model": "gpt-4o-mini", "messages": messages}).json()
        messages += [answer["choices"][0]["message"], {"role": "user", "content": "go on"}]
    print(messages[-2]["content"])
"""

FORKS: Final = """
import json, resource, sys, time
from agent_tt.sweeping import sweep

def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)

count, jobs = int(sys.argv[1]), int(sys.argv[2])
used, clock = spent(), time.perf_counter()
matrix = sweep("refund-loop", 1, agents=["refund_loop.py:main_v2"], samples=count, jobs=jobs, store="runs.db")
assert matrix.total.done == count and matrix.total.succeeded.count == count
print(json.dumps([(spent() - used) / count, (time.perf_counter() - clock) / count]))
"""

Measured = tuple[float, float]
"""Seconds of processor time, with all processes that were started, and of the clock."""


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_replay", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--forks", type=int, default=100)
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="keep what is installed, for the next time")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another checkout of agent-tt that forks too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-replay-") as folder:
        environments = options.environment or Path(folder)
        show("replay of three calls", replays(Path(folder), environments, options.rounds), "reeltime, beside agent-tt")
        show(f"each of {options.forks} forks", forks(Path(folder), options), next(iter(names(options))))


def show(title: str, measured: Mapping[str, Sequence[Measured]], base: str) -> None:
    """Print a table; each row also as a share of the row `base`."""
    medians = {
        name: tuple(statistics.median(part) for part in zip(*rounds, strict=True)) for name, rounds in measured.items()
    }
    print(f"{title:<34} {'processor':>10} {'clock':>8} {'to the first named':>20}")
    for name, (cpu, clock) in medians.items():
        shares = f"{cpu / medians[base][0]:.2f}  {clock / medians[base][1]:.2f}"
        print(f"  {name:<32} {cpu:>8.3f} s {clock:>6.3f} s {shares:>20}")


# ---------------------------------------------------------------- one replay


def replays(folder: Path, environments: Path, rounds: int) -> dict[str, list[Measured]]:
    """Record the script with both tools, and replay it in turns."""
    beside = environment(environments / "beside", PEER, LIBRARY, "-e", str(ROOT))
    alone = environment(environments / "alone", PEER, LIBRARY)
    place = folder / "three-calls"
    place.mkdir()
    (place / "agent.py").write_text(AGENT)
    with model() as address:
        for tool in (beside, alone):
            shutil.rmtree(place / tool.parent.name, ignore_errors=True)
            run([tool / "tape", "--tape-dir", tool.parent.name, "run", tool / "python", "agent.py", address], place)
        run([beside / "agent-tt", "record", "--store", "runs.db", "--", beside / "python", "agent.py", address], place)
    commands: dict[str, list[object]] = {
        "reeltime, beside agent-tt": [beside / "tape", "--tape-dir", "beside", "replay"],
        "reeltime, alone": [alone / "tape", "--tape-dir", "alone", "replay"],
        "agent-tt": [beside / "agent-tt", "replay", "latest", "--store", "runs.db"],
        "python -c 'import httpx'": [beside / "python", "-c", "import httpx"],
    }
    measured: dict[str, list[Measured]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            measured[name].append(timed(command, place))
    return measured


def environment(folder: Path, *requirements: str) -> Path:
    """The folder of programs of an environment with these packages; made where it is not there."""
    programs = folder / "bin"
    if not (programs / "tape").exists():
        run([sys.executable, "-m", "venv", folder], Path.cwd())
        run(
            [programs / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *requirements],
            Path.cwd(),
        )
    return programs


def plain() -> dict[str, str]:
    """Our environment, without what would make Python begin otherwise than people's."""
    return {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "AGENT_TT"))}


def run(command: Sequence[object], place: Path) -> None:
    """Run a program; what it prints is shown where it fails."""
    done = subprocess.run(list(map(str, command)), cwd=place, env=plain(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def timed(command: Sequence[object], place: Path) -> Measured:
    """Run a program that has to succeed."""
    begun = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), cwd=place, env=plain(), stdout=-3, stderr=-3)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed with {process.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begun


class Model(BaseHTTPRequestHandler):
    """Answers as a model does that counts what it was told."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": f"answer to {len(told['messages'])}"}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def model() -> Iterator[str]:
    """A model on loopback; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
        server.shutdown()


# ---------------------------------------------------------------- many forks


def names(options: argparse.Namespace) -> dict[str, tuple[Path, int, dict[str, str]]]:
    """What forks: which checkout, how many at a time, with which variables. Others are compared with the first."""
    found: dict[str, tuple[Path, int, dict[str, str]]] = {}
    if options.before is not None:
        found["before, one by one"] = (options.before.resolve(), 1, {})
    found["each from nothing, one by one"] = (ROOT, 1, {"AGENT_TT_COLD": "1"})
    found["forked, one by one"] = (ROOT, 1, {})
    found["forked, two at a time"] = (ROOT, 2, {})
    return found


def forks(folder: Path, options: argparse.Namespace) -> dict[str, list[Measured]]:
    """Fork the sample in turns."""
    measured: dict[str, list[Measured]] = {name: [] for name in names(options)}
    for number in range(max(1, options.rounds // 3)):
        for name, (checkout, jobs, variables) in names(options).items():
            place = folder / f"forks {number} {name}"
            place.mkdir()
            for file in (*(ROOT / "sample_runs").glob("*.py"), ROOT / "sample_runs" / "runs.db"):
                shutil.copy(file, place)
            paths = os.pathsep.join(str(checkout / part) for part in ("core", "tui"))
            done = subprocess.run(
                [sys.executable, "-c", FORKS, str(options.forks), str(jobs)],
                cwd=place,
                env={**plain(), **variables, "PYTHONPATH": paths},
                stdout=subprocess.PIPE,
                check=True,
            )
            cpu, clock = json.loads(done.stdout)
            measured[name].append((cpu, clock))
    return measured


if __name__ == "__main__":
    main()
