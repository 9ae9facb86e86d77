"""What a program keeps of a session in files beside the one that is opened: bounded, and links are not followed.

Where they lie follows from the name of the file that is opened, never from what stands in it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.document import MOST_BYTES, read_document
from agent_tt.interop.transcripts.pieces import Line, Lines
from agent_tt.providers.loose import parse, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.providers.shapes import Json

__all__ = ["Room", "agent_files", "files_in", "is_beside", "part_of", "session_in"]

_MOST_FILES: Final = 100_000
_MOST_AGENTS: Final = 500
_HEAD_BYTES: Final = 64 << 10
_OTHERS_FROM: Final = -1_000_000_000
"""The number of the first line of other files: below all those of the file itself, so that none counts as behind it."""


class Room:
    """How much may still be read of the files beside a session, and what was left out.

    Attributes:
        flaws: what was left out, in words.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.flaws: list[str] = []
        self._bytes, self._files, self._lines = most, _MOST_FILES, _OTHERS_FROM

    def objects(self, folder: Path) -> Iterator[tuple[str, dict[str, Json]]]:
        """The JSON objects in a folder by their files' names, in the order of these."""
        for path in files_in(folder, ".json"):
            found = self.object(path)
            if found is not None:
                yield path.stem, found

    def object(self, path: Path) -> dict[str, Json] | None:
        """The JSON object in a file; None of what is none, which is a flaw."""
        body = self.body(path)
        found = None if body is None else parse(body)
        if isinstance(found, dict):
            return found
        if body is not None:
            self._left_out(path, "it is not a JSON object")
        return None

    def body(self, path: Path) -> bytes | None:
        """What a file holds; None where there is no room for it, or it cannot be read, which is a flaw."""
        try:
            return path.read_bytes() if self._takes(path) else None
        except OSError as error:
            self._left_out(path, str(error.strerror))
            return None

    def lines(self, path: Path) -> list[Line]:
        """The lines of a file, with numbers below those of the file that is opened; none of what `body` does not give.

        Raises:
            StoreUnreadable: it is too large, or cannot be read.
        """
        document = read_document(path) if self._takes(path) else None
        if document is None or not isinstance(document.entries, Lines):
            return []
        found = document.entries
        self.flaws += [f"{path.name}, {flaw}" for flaw in document.flaws]
        begun, self._lines = self._lines, self._lines + len(found)
        return [Line(begun + at, found, at) for at in range(len(found))]

    def _takes(self, path: Path) -> bool:
        """Whether a file is a plain one, and there is room for it, which it takes; else that is a flaw."""
        try:
            kept = path.lstat()
        except OSError as error:
            return self._left_out(path, str(error.strerror))
        if not stat.S_ISREG(kept.st_mode):
            return self._left_out(path, "it is no plain file")
        if kept.st_size > self._bytes or not self._files:
            return self._left_out(path, "there is no room for more")
        self._bytes, self._files = self._bytes - kept.st_size, self._files - 1
        return True

    def _left_out(self, path: Path, why: str) -> bool:
        self.flaws.append(f"{path.parent.name}/{path.name} is left out: {why}")
        return False


def files_in(folder: Path, suffix: str) -> list[Path]:
    """What has a suffix in a folder, in the order of names; links too, which `Room` refuses. None of no folder."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if each.name.endswith(suffix))
    except OSError:
        return []
    return [folder / name for name in names]


def is_beside(path: Path) -> Path | None:
    """The session that the file of a sub-agent of Claude Code belongs to, where that lies at its place; else None."""
    if not path.name.startswith("agent-") or not path.name.endswith((".jsonl", ".meta.json")):
        return None
    if path.parent.name == "subagents":
        session = path.parent.parent.with_name(path.parent.parent.name + ".jsonl")
    else:
        named = part_of(path)
        session = path.with_name(f"{named}.jsonl") if named else path
    return session if session != path and session.is_file() else None


def session_in(folder: Path) -> Path | None:
    """The file that stands for a folder which is one session as a whole; None of any other folder."""
    if (folder / "events").is_dir():  # of OpenHands
        for name in ("base_state.json", "events/0.json"):
            if (folder / name).is_file():
                return folder / name
    if (folder / "events.jsonl").is_file() and (folder / "manifest.json").is_file():  # of OrcaReplay
        return folder / "events.jsonl"
    if folder.name == "events" and (folder / "0.json").is_file():
        return folder / "0.json"
    return None


def part_of(path: Path) -> str:
    """The id of the session that the first line of a sub-agent's file names; empty where it names none."""
    try:
        with path.open("rb") as file:
            first = parse(file.read(_HEAD_BYTES).partition(b"\n")[0])
    except OSError:
        return ""
    named = text(first.get("sessionId")) if isinstance(first, dict) else ""
    return named if "/" not in named and "\0" not in named and len(named) <= 100 else ""


def agent_files(session: Path) -> list[Path]:
    """The files of the sub-agents of a session of Claude Code, at the places of its versions."""
    found = files_in(session.with_suffix("") / "subagents", ".jsonl")
    beside = [path for path in files_in(session.parent, ".jsonl") if path.name.startswith("agent-")]
    found += [path for path in beside[:_MOST_AGENTS] if not path.is_symlink() and part_of(path) == session.stem]
    return [path for path in found[:_MOST_AGENTS] if path.name.startswith("agent-")]
