"""A folder in the user's cache for files that can be made anew. Nobody else may read it."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_tt.addresses import identity_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = [
    "CacheLost", "alone_in", "cache_folder", "cache_path", "clear_up", "file_of", "keep_in", "kept_in", "make_file",
    "make_folder", "remove_all",
]  # fmt: skip

Kept = TypeVar("Kept")

_TRIES: Final = 100
_RETRY_S: Final = 0.05
_FOLDER_MODE: Final = 0o700
_DIGEST: Final = 16

_MOST_FOLDER_BYTES: Final = 4 << 30
_MOST_DAYS: Final = 60
"""Files of other stores that were not used for so long, or that make the folder larger than that, are deleted."""


class CacheLost(Exception):
    """The file cannot be used: it is damaged, gone, or cannot be made."""


def cache_folder(kind: str = "search") -> Path:
    """Where files of a kind lie; those of `search` are indexes of texts."""
    import platformdirs

    return platformdirs.user_cache_path("agent-tt", appauthor=False) / kind


def cache_path(store: Path, folder: Path | None = None, ending: str = ".db") -> Path:
    """The file for a store, by default its index of texts; neither need exist."""
    name = hashlib.blake2b(os.fsencode(identity_of(store)), digest_size=16).hexdigest()
    return (folder or cache_folder()) / f"{name}{ending}"


def make_folder(folder: Path) -> None:
    """Make the folder for the user alone.

    Raises:
        OSError: it cannot be made, or is another user's, or leads elsewhere: then texts would be read by others.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is not a folder of yours")
    if stat.S_IMODE(found.st_mode) != _FOLDER_MODE:
        folder.chmod(_FOLDER_MODE)


def make_file(path: Path) -> None:
    """Make the file for the user alone.

    Raises:
        OSError: it cannot be made, or something else is there.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink != 1:
            raise OSError(f"{path} is not a file of yours alone")
        os.fchmod(descriptor, 0o600)
        os.utime(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Be the only one who makes and deletes files in a folder.

    A file of SQLite is several: who deletes them one after the other must not meet somebody who makes new ones.

    Raises:
        CacheLost: somebody else goes on for too long, or the folder is gone.
    """
    import fcntl  # which not every system has: see `can_index`

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CacheLost(str(error)) from error
    try:
        for _ in range(_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_RETRY_S)
            except OSError:  # a file system without locks: as well as it goes
                break
        else:
            raise CacheLost("somebody else makes or deletes files")
        yield
    finally:
        os.close(descriptor)


def remove_all(path: Path) -> None:
    """Delete a file with what SQLite keeps beside it."""
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + ending).unlink()


def file_of(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def clear_up(folder: Path, besides: Path) -> None:
    """Delete files that were not used for long, and those used longest ago while the folder is too large."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.glob(f"*{besides.suffix}"):
        with suppress(OSError):
            about = path.stat()
            found.append((about.st_mtime, about.st_size, path))
    size = sum(bytes_ for _, bytes_, _ in found)
    oldest = time.time() - _MOST_DAYS * 86_400
    for used, bytes_, path in sorted(found):
        if path != besides and (size > _MOST_FOLDER_BYTES or used < oldest):
            remove_all(path)
            size -= bytes_


def kept_in(kept: Path, identity: str, read: Callable[[Any], Kept]) -> Kept | None:
    """What was kept of a file; None, and then it is deleted, where it is damaged, or of the file as it was before."""
    import orjson

    try:
        digest, _, body = kept.read_bytes().partition(b"\n")
        if digest.decode() != hashlib.blake2b(body, digest_size=_DIGEST).hexdigest():
            raise ValueError("it is damaged")  # noqa: TRY301  # as what else cannot be read
        found = orjson.loads(body)
        if found["identity"] == identity:
            return read(found["said"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, IndexError, OverflowError):
        pass
    remove_all(kept)
    return None


def keep_in(kept: Path, identity: str, said: Any) -> None:
    """Keep what is said of a file, if nothing is in the way; no secret may be in it."""
    import orjson

    with suppress(OSError, TypeError, CacheLost):
        body = orjson.dumps({"identity": identity, "said": said})
        make_folder(kept.parent)
        with alone_in(kept.parent):
            clear_up(kept.parent, kept)
            make_file(kept)
            kept.write_bytes(hashlib.blake2b(body, digest_size=_DIGEST).hexdigest().encode() + b"\n" + body)
