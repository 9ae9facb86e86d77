"""What the tests of this folder share."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tests.core.interop import graphs

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.interop.langgraph.source import LangGraphSource
    from agent_tt.model import Step


def digest_of_folder(folder: Path) -> dict[str, str]:
    """Every file of a folder with a digest of its bytes."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def database_of(name: str, folder: Path) -> Path:
    """The database that one of the graphs writes."""
    path = folder / f"{name}.db"
    with graphs.saver(path) as checkpointer:
        graphs.ALL[name](checkpointer)
    return path


def outline(source: LangGraphSource, run_id: str) -> list[str]:
    """The steps of a run, one line each: indented name, and status where it is not ok."""
    depth: dict[int | None, int] = {None: -1}
    lines = []
    for step in source.steps(run_id):
        depth[step.number] = depth[step.parent] + 1
        status = "" if step.status == "ok" else f" [{step.status}]"
        lines.append("  " * depth[step.number] + step.name + status)
    return lines


def only(steps: list[Step], **wanted: Any) -> Step:
    """The one step that has these attributes."""
    (found,) = [step for step in steps if all(getattr(step, name) == value for name, value in wanted.items())]
    return found
