"""What a launcher tells the processes that it records, and what they tell it: environment and report file.

The report is a file of JSON lines that every process of the command adds to:

| `event` | said | with |
|---|---|---|
| `boot` | before the program's first line | `pid`, `ppid`, `executable` |
| `foreign` | by an interpreter that has no agent-tt | `pid` |
| `run` | when a run begins | `pid`, `id`, `own`: whether the program itself called `record` |
| `held` | when something keeps a function where it cannot be replaced | `pid`, `path`, `message` |
| `called` | when a process makes its first call of what was named | `pid`, `path` |
| `refused` | instead of running the program, or going on with it | `kind`, `message`, `hint`, `nearest` |
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.patching.kinds import PatchKind

__all__ = [
    "BOOT_FOLDER", "REPORT_VARIABLE", "SETTINGS_VARIABLE", "OutsideEffect", "Report", "Settings", "settings_here"
]  # fmt: skip

SETTINGS_VARIABLE: Final = "AGENT_TT_LAUNCH"
REPORT_VARIABLE: Final = "AGENT_TT_REPORT"
BOOT_FOLDER: Final = Path(__file__).parent / "boot"
"""The folder that goes first on PYTHONPATH."""

OutsideEffect: TypeAlias = Literal["read", "write", "llm"]
"""What a function that is named from outside is: a tool that reads or writes, or one that asks a model."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the processes of one command are recorded.

    Attributes:
        session: id that the runs of one command share.
        launcher: process id of the launcher.
        name: name of the first run; empty to name it after its script.
        calls: functions that are recorded, by dotted path.
        patch: what is recorded of the clock, random numbers, ids and the environment; see `agent_tt.patched`.
        is_direct: whether the command is a Python of its own, not a program that starts one.
        fixed_seed: PYTHONHASHSEED where the launcher chose it.
        durability: as for `agent_tt.record`.
        checkpoints: which steps get a checkpoint, likewise.
        on_store_error: whether the program goes on where the store fails, likewise.
        attach: whether it waits where somebody holds it, likewise.
    """

    session: str
    launcher: int
    name: str = ""
    calls: Mapping[str, OutsideEffect] = field(default_factory=dict)
    patch: Sequence[PatchKind] = ()
    is_direct: bool = False
    fixed_seed: str | None = None
    durability: Literal["full", "normal"] = "full"
    checkpoints: str = "all"
    on_store_error: Literal["continue", "stop"] = "continue"
    attach: bool = False

    def to_text(self) -> str:
        """As the environment carries them."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_text(text: str) -> Settings:
        """What `to_text` gave.

        Raises:
            ValueError, TypeError: it is something else.
        """
        return Settings(**json.loads(text))


def settings_here() -> Settings | None:
    """The settings of this process; None where nobody records it from outside, or what is said cannot be understood."""
    text = os.environ.get(SETTINGS_VARIABLE)
    try:
        return None if not text else Settings.from_text(text)
    except (ValueError, TypeError):
        return None


class Report:
    """The report of a command, for writers and for the launcher.

    Attributes:
        path: the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def here(cls) -> Report | None:
        """The report that this process adds to, None where nobody waits for one."""
        path = os.environ.get(REPORT_VARIABLE)
        return cls(path) if path else None

    def add(self, event: str, **facts: object) -> None:
        """Add a line; lines of several processes do not mix. Nothing happens where the launcher is gone."""
        line = json.dumps({"event": event, "pid": os.getpid(), **facts}) + "\n"
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def lines(self) -> list[dict[str, object]]:
        """Everything that was said, in order; a line that was cut off is left out."""
        found: list[dict[str, object]] = []
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return found
        for line in text.splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict):
                found.append(cast("dict[str, object]", said))
        return found
