"""Listing sessions of coding agents by what the beginning and the end of each file say.

A file that is found may hold anything. Links are not followed, so that none leads round in a circle or out of the
program's own folder; what cannot be read is counted, and the others are listed.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import field
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.found.places import PLACES, folders_of
from agent_tt.providers.loose import dicts, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.found.places import Place
    from agent_tt.providers.shapes import Json

__all__ = ["MOST_FOUND", "Found", "Scan", "any_place", "find_sessions"]

MOST_FOUND: Final = 20_000
"""So many sessions are listed, the newest."""

_HEAD_BYTES: Final = 64 << 10
_TAIL_BYTES: Final = 16 << 10
_WHOLE_BYTES: Final = 256 << 10
"""A file that is one JSON value has to be read whole to say anything; larger ones say nothing here."""
_MOST_LINES: Final = 200
_FIRST_EVENTS: Final = 5
_MOST_WORDS: Final = 300
_MOST_ENTRIES: Final = 200_000
"""Names in the programs' folders that are looked at."""

_FOLDERS: Final = ("cwd", "directory", "working_dir")
_TITLES: Final = ("customTitle", "aiTitle", "summary", "title")
"""Keys that give a session a title, the strongest first."""
_IDS: Final = ("sessionId", "session_id", "id")
_PUT_IN: Final = ("<", "Caveat:", "# AGENTS.md", "[Request interrupted")
"""How texts begin that a program says in a person's name: settings, instructions, the output of its own commands."""
_COMMAND: Final = re.compile(r"<command-name>([^<]*)</command-name>\s*<command-args>([^<]*)</command-args>")
"""How Claude Code writes down that a person gave a command."""


@dataclass(frozen=True, slots=True)
class Found:
    """A session that was found.

    Attributes:
        program: the program that keeps it.
        path: its file; of OpenHands its folder.
        modified_us: when somebody wrote into it last, in microseconds since the epoch.
        size: bytes; None of a folder.
        id: the program's own id of it, None where the file's beginning does not say.
        title: its title, else the first words of a person; None where neither was found.
        folder: the folder that it worked in, None where the file's beginning does not say.
        run: the run that it is in a file of several, by its id.
    """

    program: str
    path: Path
    modified_us: int
    size: int | None = None
    id: str | None = None
    title: str | None = None
    folder: str | None = None
    run: str | None = None

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return str(self.path) if self.run is None else f"{self.path}:{self.run}"

    def is_in(self, folder: str) -> bool:
        """Whether it worked in a folder, or in one below it."""
        return self.folder is not None and (self.folder == folder or self.folder.startswith(folder.rstrip("/") + "/"))

    def says(self, words: Sequence[str]) -> bool:
        """Whether all of some words, in lower case, stand in what is known of it."""
        known = "\n".join(filter(None, (self.program, self.title, self.folder, str(self.path), self.id))).casefold()
        return all(word in known for word in words)


@dataclass(slots=True)
class Scan:
    """The result of a search for sessions.

    Attributes:
        total: how many there are.
        unread: files and folders that could not be looked at, each with why; the first few.
        more_unread: how many more there are of these.
        is_cut: whether there are more sessions, or names, than are looked at.
    """

    total: int = 0
    unread: list[tuple[Path, str]] = field(default_factory=list)
    more_unread: int = 0
    is_cut: bool = False

    def cannot_read(self, path: Path, error: OSError) -> None:
        """Count what cannot be looked at."""
        if len(self.unread) < _MOST_UNREAD:
            self.unread.append((path, error.strerror or type(error).__name__))
        else:
            self.more_unread += 1


_MOST_UNREAD: Final = 20


def any_place(environ: Mapping[str, str] | None = None) -> bool:
    """Whether one of the programs has a folder here: costs a look at each."""
    return any(folder.is_dir() for place in PLACES for folder in folders_of(place, environ))


def find_sessions(scan: Scan, environ: Mapping[str, str] | None = None) -> Iterator[Found]:
    """Find sessions, newest first; each is read, as far as it is, when it is asked for.

    Args:
        scan: is told what this came to: `total` before the first one is given.
        environ: the environment; the process's own by default.
    """
    found: list[tuple[int, str, Path, int | None] | tuple[int, str, Path, Found]] = []
    left = [_MOST_ENTRIES]
    for place in PLACES:
        for folder in folders_of(place, environ):
            real = Path(os.path.realpath(folder))  # so that files are known again by their paths
            for pattern in place.patterns:
                for each in _below(real, pattern.split("/"), place, scan, left):
                    found += _inside(each, scan) if each[2].suffix == ".db" else [each]
    found.sort(key=lambda each: (-each[0], str(each[2])))
    scan.is_cut = len(found) > MOST_FOUND or left[0] <= 0
    scan.total = min(len(found), MOST_FOUND)
    for modified_us, program, path, about in islice(found, MOST_FOUND):
        yield about if isinstance(about, Found) else _looked_at(program, path, modified_us, about, scan)


def _inside(
    database: tuple[int, str, Path, int | None], scan: Scan
) -> list[tuple[int, str, Path, int | None] | tuple[int, str, Path, Found]]:
    """The sessions in a database; that itself where they cannot be listed."""
    from agent_tt.errors import AgentTTError
    from agent_tt.interop.databases.opencode import heads

    modified_us, program, path, _ = database
    try:
        sessions = heads(path)
    except AgentTTError as error:
        scan.unread.append((path, error.message))
        return [database]
    rows: list[tuple[int, str, Path, int | None] | tuple[int, str, Path, Found]] = []
    for head in sessions:
        at_us = head.updated_us or modified_us
        found = Found(program, path, at_us, None, head.id, head.title, head.folder, run=head.id)
        rows.append((at_us, program, path, found))
    return rows


def _below(
    folder: Path, names: list[str], place: Place, scan: Scan, left: list[int]
) -> Iterator[tuple[int, str, Path, int | None]]:
    """What fits the names of a pattern: when it was written, its program, where it is, and its size."""
    first, *rest = names
    try:
        with os.scandir(folder) as entries:
            fitting = []
            for entry in entries:
                left[0] -= 1
                if left[0] <= 0:
                    break
                if fnmatchcase(entry.name, first) and not (place.without and fnmatchcase(entry.name, place.without)):
                    fitting.append(entry)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        scan.cannot_read(folder, error)
        return
    for entry in fitting:
        path = folder / entry.name
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError as error:
            scan.cannot_read(path, error)
            continue
        if rest:
            if stat.S_ISDIR(about.st_mode):
                yield from _below(path, rest, place, scan, left)
        elif stat.S_ISREG(about.st_mode):
            yield about.st_mtime_ns // 1000, place.program, path, about.st_size
        elif stat.S_ISDIR(about.st_mode):
            yield about.st_mtime_ns // 1000, place.program, path.parent, None


def _looked_at(program: str, path: Path, modified_us: int, size: int | None, scan: Scan) -> Found:
    """A session with what its beginning and its end say."""
    if size is None:
        return _of_folder(program, path, modified_us)
    try:
        entries = _entries(path, size)
    except OSError as error:
        scan.cannot_read(path, error)
        entries = []
    title = _first(entries, _TITLES, last=True) or next(filter(None, map(_words, entries)), None)
    return Found(
        program,
        path,
        modified_us,
        size,
        id=_first(entries[:1], _IDS),
        title=None if title is None else " ".join(title[:_MOST_WORDS].split()),
        folder=_first(entries, _FOLDERS),
    )


def _of_folder(program: str, path: Path, modified_us: int) -> Found:
    """A session in a folder of events, with what its head and its first events say."""
    state = _entry_in(path / "base_state.json") or {}
    title = text(state.get("title")) or None
    try:
        with os.scandir(path / "events") as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST_LINES) if entry.name.endswith(".json"))
    except OSError:
        names = []
    if title is None:
        first = (_entry_in(path / "events" / name) for name in names[:_FIRST_EVENTS])
        title = next(filter(None, (_words(entry) for entry in first if entry)), None)
    folder = text(mapping(state.get("workspace")).get("working_dir")) or None
    said = None if title is None else " ".join(title[:_MOST_WORDS].split())
    return Found(program, path, modified_us, id=path.name, title=said, folder=folder)


def _entry_in(path: Path) -> dict[str, Json] | None:
    """The object in a small file; None of any other."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            return _object(file.read(_WHOLE_BYTES))
    except OSError:
        return None


def _entries(path: Path, size: int) -> list[dict[str, Json]]:
    """The objects at the beginning and at the end of a file of lines; of one value that, where it is small."""
    # A link or a pipe that somebody put in the file's place meanwhile is not followed, and stops nobody.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        body = file.read(_HEAD_BYTES)
        if body[:1] == b"{" and size <= _WHOLE_BYTES and b"\n" in body[:3]:  # one value, indented
            return [*filter(None, [_object(body + file.read(_WHOLE_BYTES))])]
        lines = body.split(b"\n")[:_MOST_LINES]
        if size > _HEAD_BYTES:
            file.seek(max(size - _TAIL_BYTES, _HEAD_BYTES))
            lines += file.read(_TAIL_BYTES).split(b"\n")
    return [entry for line in lines if (entry := _object(line))]


def _object(line: bytes) -> dict[str, Json] | None:
    try:
        return mapping(orjson.loads(line))
    except orjson.JSONDecodeError:  # cut, or no JSON
        return None


def _first(entries: list[dict[str, Json]], keys: tuple[str, ...], *, last: bool = False) -> str | None:
    """The text under the strongest key in the first entry that has it, or with `last` in the last one."""
    for key in keys:
        for entry in reversed(entries) if last else entries:
            inside = mapping(entry.get("payload")) if key != "summary" else {}  # of Codex that is a setting
            for holder in (entry, inside):
                if found := text(holder.get(key)):
                    return found
    return None


def _words(entry: dict[str, Json]) -> str | None:
    """What a person said in an entry."""
    if entry.get("isMeta") is True or entry.get("isSidechain") is True:
        return None
    turns = (mapping(entry.get(key)) for key in ("message", "payload", "llm_message"))
    for turn in (*turns, entry):
        if turn.get("role") == "user" or turn.get("type") in ("user", "user_message"):
            content = turn.get("content") or turn.get("message")
            said = [content] if isinstance(content, str) else [text(block.get("text")) for block in dicts(content)]
            words = next((each.strip() for each in said if each.strip()), "")
            if command := _COMMAND.search(words):
                return " ".join(command.groups())
            if words and not words.startswith(_PUT_IN):
                return words
    messages = dicts(entry.get("messages"))
    return next(filter(None, map(_words, messages)), None) if messages else None
