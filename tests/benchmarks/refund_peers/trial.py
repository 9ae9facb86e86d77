"""Install a tool in an environment of its own, record the agent with it, fork it, and say what came of that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.refund_peers.bank import open_bank

if TYPE_CHECKING:
    from tests.benchmarks.refund_peers.tools import Tool, Way

AGENTS = Path(__file__).parent / "agents"
PAID = "paid again"
HELD = "held back, and the agent went on"
ENDED = "held back, and the run ended there"
STOPPED = "stopped before it"
FAILED = "failed"
TIME_LIMIT = 300
"""Seconds that one agent may take. None takes more than some."""


class NotInstalledError(Exception):
    """A tool cannot be installed here: why, in pip's words."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one way of forking came to."""

    way: str
    """The name of the `Way`."""
    result: str
    """`PAID`; `HELD` or `ENDED` (the agent came to its refund and the bank did not pay); `STOPPED` or `FAILED`."""
    amounts: tuple[int, ...]
    """What the bank paid during the fork."""
    said: str
    """What the agent was told in place of a receipt, or why the trial failed."""


def environment_of(tool: Tool, folder: Path) -> Path:
    """Give the Python of the tool's environment in a folder; make it, and install the tool, where it is not there.

    Raises:
        NotInstalledError: There is no such Python on this machine, or pip does not find or install the tool.
    """
    if not tool.requirements:
        return Path(sys.executable)
    python = folder / tool.key / "bin" / "python"
    installed = folder / tool.key / "installed"
    if installed.exists() and installed.read_text().split() == list(tool.requirements):
        return python
    base = sys.executable if tool.python is None else shutil.which(f"python{tool.python}")
    if base is None:
        raise NotInstalledError(f"needs Python {tool.python}")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *tool.requirements]
    for command in ([base, "-m", "venv", folder / tool.key], pip):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            raise NotInstalledError(lines[-1])
    installed.write_text("\n".join(tool.requirements))
    return python


def try_tool(tool: Tool, python: Path) -> list[Outcome]:
    """Record and fork the agent once for each way, each time in a folder and with a bank of its own."""
    outcomes = []
    for way in tool.ways:
        with tempfile.TemporaryDirectory(prefix=f"refund-{tool.key}-") as folder:
            try:
                outcomes.append(_try_way(tool, way, python, Path(folder)))
            except subprocess.TimeoutExpired:
                outcomes.append(Outcome(way.name, FAILED, (), f"took more than {TIME_LIMIT} seconds"))
    return outcomes


def _try_way(tool: Tool, way: Way, python: Path, folder: Path) -> Outcome:
    marks = folder / "marks"
    with open_bank() as bank:
        # Nothing of the caller's environment but the way to programs: no keys, no settings, no home.
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(AGENTS),
            "PYTHONDONTWRITEBYTECODE": "1",
            "BANK": bank.url,
            "MARKS": str(marks),
            "DO_NOT_TRACK": "1",
        }

        def run(argument: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [str(python), "-m", tool.module, argument],
                cwd=folder,
                env=environment,
                input=way.typed,
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT,
                check=False,
            )

        recorded = run(way.recorded_by)
        if recorded.returncode or len(bank.paid) != 1 or _read(marks) != ["asked", "replied"]:
            return Outcome(way.name, FAILED, (), f"recording: {_last(recorded.stderr)}")
        marks.unlink()  # what is left there now, the fork leaves
        forked = run(way.argument)
        amounts = tuple(bank.paid[1:])
        left = _read(marks)
    said = next((line[6:] for line in forked.stdout.splitlines() if line.startswith("said: ")), "")
    if amounts:
        result = PAID
    elif forked.returncode:
        result, said = FAILED, _last(forked.stderr or forked.stdout)
    else:
        result = STOPPED if "asked" not in left else HELD if "replied" in left else ENDED
    return Outcome(way.name, result, amounts, said.replace(bank.port, "PORT"))


def _read(marks: Path) -> list[str]:
    return marks.read_text().split() if marks.exists() else []


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "no reason given"
