"""Spill files: lines that are proven one after another, and where the files lie.

`runs.db.spill-TOKEN-PART` lies beside the store, or, where there is no room or right to write, in a folder of the
user's own in the folder for temporary files. `TOKEN` is drawn for each recording process; where one place fails too,
`PART` is counted up and the file goes on elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.addresses import SERVERS, beside
from agent_tt.store.liveness import Owner, is_alive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["SPILL_FORMAT", "SpillFile", "Spilled", "find", "places", "read"]

SPILL_FORMAT: Final = 1
_MIDDLE: Final = ".spill-"
_DIGEST_BYTES: Final = 8


class SpillFile:
    """A spill file that is being written. Nothing of it stays open between two lines.

    A program may close descriptors that are not its own, and a process that is forked shares them.

    Attributes:
        path: the file.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, path: Path, *, is_durable: bool) -> None:
        self.path = path
        self._is_durable = is_durable
        self._chain = ""
        self._size = 0
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            found = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        self._identity = found.st_dev, found.st_ino

    def append(self, action: Mapping[str, Wire]) -> None:
        """Write a line; all of it, or nothing.

        Raises:
            OSError: it cannot be written, or is not the file any more that it was.
            ValueError: the action holds something that JSON does not.
        """
        text = json.dumps(action, separators=(",", ":"), allow_nan=False)
        chain = _linked(self._chain, text)
        line = f"{chain} {text}\n".encode("ascii")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0))
        try:
            found = os.fstat(descriptor)
            if (found.st_dev, found.st_ino) != self._identity or found.st_size != self._size:
                raise OSError(f"{self.path} was changed while it was written")
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                if self._is_durable:
                    os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, self._size)
                raise
        finally:
            os.close(descriptor)
        self._chain = chain
        self._size += len(line)


class Spilled(NamedTuple):
    """A spill file, read.

    Attributes:
        path: the file.
        store: the store that it belongs to.
        run: the run whose actions it holds.
        token: what its parts share.
        part: its place among them, from 0.
        header: its first line.
        actions: the other lines, in order.
        is_whole: False where lines at its end are damaged.
    """

    path: Path
    store: Path
    run: str
    token: str
    part: int
    header: Mapping[str, Wire]
    actions: tuple[Mapping[str, Wire], ...]
    is_whole: bool

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be written that counts: it says so itself, is damaged, or its process is gone."""
        if not self.is_whole or any(action.get("do") in ("finish", "output", "moved") for action in self.actions[-1:]):
            return True
        return not is_alive(Owner.from_json(self.header.get("owner")), None)


def places(store: Path) -> list[Path]:
    """The folders in which spill files of a store may lie, the preferred one first."""
    return [beside(store).parent, _own_temporary_folder()]


def ready(folder: Path) -> bool:
    """Make the folder for temporary files where it is the one meant; whether files may be put into `folder`.

    That folder lies where others may write: it must be the user's own, and nobody else's to look into.
    """
    if folder != _own_temporary_folder():
        if folder.parent.name == SERVERS:  # of the user's own data: nobody else makes it
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder.is_dir()
    folder.mkdir(mode=0o700, exist_ok=True)
    return _is_private(folder)


def find(store: Path) -> list[Path]:
    """The spill files of a store, in no order."""
    found: list[Path] = []
    for folder in places(store):
        if folder == _own_temporary_folder() and not _is_private(folder):
            continue
        try:
            names = os.listdir(folder)  # noqa: PTH208  names alone: a folder may hold many files
        except OSError:
            continue
        found += [folder / name for name in names if name.startswith(beside(store).name + _MIDDLE)]
    return [path for path in found if _is_ours(path)]


def name_of(store: Path, token: str, part: int) -> str:
    """The name of a spill file."""
    return f"{beside(store).name}{_MIDDLE}{token}-{part}"


def read(path: Path) -> Spilled | None:
    """A spill file; None for a file that is none, or that is so new that nothing is in it.

    Raises:
        OSError: it cannot be read.
    """
    lines = list(_sound_lines(path))
    actions = [line for line in lines if line is not None]
    header = actions[0] if actions else {}
    store, run, token, part = (header.get(name) for name in ("store", "run", "token", "part"))
    if header.get("spill") != SPILL_FORMAT or not (isinstance(store, str) and isinstance(run, str)):
        return None
    if not isinstance(token, str) or not isinstance(part, int):
        return None
    return Spilled(path, Path(store), run, token, part, header, tuple(actions[1:]), len(actions) == len(lines))


def _sound_lines(path: Path) -> Iterator[Mapping[str, Wire] | None]:
    """The lines of a file up to the first that is damaged, which is given as None.

    A last line without its end is one that was being written, and was never said to be there.
    """
    chain = ""
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            digest, _, text = line[:-1].decode("ascii", "replace").partition(" ")
            chain = _linked(chain, text)
            if digest != chain:
                yield None
                return
            action = json.loads(text)
            yield action if isinstance(action, dict) else None


def _linked(before: str, text: str) -> str:
    return hashlib.blake2b(f"{before} {text}".encode("ascii", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def _own_temporary_folder() -> Path:
    # Not `tempfile.gettempdir()`: where that folder is full, it gives the working directory.
    named = next((os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)), None)
    if named is None:
        named = "/tmp" if os.name == "posix" else tempfile.gettempdir()  # noqa: S108  a folder of the user's own in it
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(named) / f"agent-tt-{user}"


def _is_private(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    is_mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and is_mine and not found.st_mode & 0o077


def _is_ours(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and (not hasattr(os, "getuid") or found.st_uid == os.getuid())
