"""The file of a bundle: writing it, and checking it before anything of it is used.

It is a zip archive (APPNOTE 6.3.10) of a narrow kind. The manifest comes first, then a signature where there is one,
then what the manifest lists, in that order and without gaps. Its comment is the last thing in it: `agent-tt bundle 1
sha256:` and the digest of every byte before that digest. So a file of which any byte was changed, or the end is
missing, is refused before anything in it is parsed; `unzip -l` shows what is in one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final, Self

from agent_tt.errors import Damaged, StoreUnreadable, UsageError
from agent_tt.interop.bundle.manifest import (
    MANIFEST,
    MOST_BYTES,
    MOST_MANIFEST,
    MOST_MEMBERS,
    SIGNATURE,
    Manifest,
    Member,
    read_manifest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Container", "is_bundle", "is_bundle_file", "write_container"]

_COMMENT: Final = b"agent-tt bundle 1 sha256:"
_HEX: Final = 64
"""Letters of a SHA-256 digest."""

_END: Final = struct.Struct("<4sHHHHIIH")
"""The record that ends an archive (4.3.16), without its comment."""

_LOCAL: Final = 30
"""Bytes of the header before a member (4.3.7), without its name."""

_FLAGS: Final = frozenset({0, 0x800})
"""The general purpose flags that a member may have (4.4.4): none, or that its name is UTF-8."""

_HEAD: Final = 64
"""Bytes by which a bundle is known."""

_MODE: Final = 0o100644 << 16
_TIME: Final = (1980, 1, 1, 0, 0, 0)
_CHUNK: Final = 1 << 16
_HINT: Final = "Ask for the file again."


def is_bundle(head: bytes) -> bool:
    """Whether a file begins as a bundle does."""
    return head.startswith(b"PK\x03\x04") and head[_LOCAL:].startswith(MANIFEST.encode())


def is_bundle_file(path: Path) -> bool:
    """Whether a file is there and begins as a bundle does."""
    try:
        with path.open("rb") as file:
            return is_bundle(file.read(_HEAD))
    except OSError:
        return False


def write_container(
    path: Path,
    files: Mapping[str, Path | bytes],
    runs: Sequence[str],
    python: str,
    sign: Callable[[bytes], bytes] | None = None,
) -> Manifest:
    """Write a bundle.

    Args:
        path: the file; it is not there yet.
        files: what each member is, by its name.
        runs: ids of the runs that it was made of.
        python: the version that their Python has; "" where that is not known.
        sign: gives the signature of a manifest's bytes; None to sign nothing.

    Returns:
        What it says of itself.

    Raises:
        UsageError: it would be larger than bundles may be.
        OSError: it cannot be written.
    """
    members = tuple(Member(name, *_measured(file)) for name, file in files.items())
    if len(members) > MOST_MEMBERS or sum(member.size for member in members) > MOST_BYTES:
        raise UsageError("a bundle holds at most 1 GB and 10,000 files", hint="Export fewer runs, or less code.")
    manifest = Manifest(members, tuple(runs), python)
    said = manifest.to_bytes()
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, MANIFEST, said)
        if sign is not None:
            _add(archive, SIGNATURE, sign(said))
        for name, file in files.items():
            _add(archive, name, file)
        archive.comment = _COMMENT + b"0" * _HEX
    with path.open("r+b") as whole:
        digest = _digest_before(whole, path.stat().st_size - _HEX)
        whole.seek(-_HEX, os.SEEK_END)
        whole.write(digest)
    return manifest


def _measured(file: Path | bytes) -> tuple[int, str]:
    """The size and digest of a file."""
    if isinstance(file, bytes):
        return len(file), hashlib.sha256(file).hexdigest()
    with file.open("rb") as stream:
        return file.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()


def _add(archive: zipfile.ZipFile, name: str, file: Path | bytes) -> None:
    info = zipfile.ZipInfo(name, _TIME)
    info.external_attr, info.create_system, info.compress_type = _MODE, 3, zipfile.ZIP_DEFLATED
    if isinstance(file, bytes):
        archive.writestr(info, file)
        return
    info.file_size = file.stat().st_size
    with file.open("rb") as source, archive.open(info, "w") as member:
        shutil.copyfileobj(source, member)


def _digest_before(file: BinaryIO, end: int) -> bytes:
    """The digest of the bytes before `end`, as letters."""
    file.seek(0)
    digest = hashlib.sha256()
    while end > 0 and (chunk := file.read(min(_CHUNK, end))):
        digest.update(chunk)
        end -= len(chunk)
    return digest.hexdigest().encode()


class Container:
    """An open bundle of which every byte and every digest was checked. A context manager.

    Args:
        path: the file.

    Attributes:
        path: the file.
        manifest: what it says of itself.
        said: the bytes of the manifest, which a signature is of.
        signature: the bytes of its signature; None where it has none.

    Raises:
        Damaged: it is not as it was written, or is not what a bundle is.
        NewerFormat: a newer agent-tt wrote it.
        StoreUnreadable: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise StoreUnreadable(f"{path} cannot be read: {error.strerror}") from error
        try:
            self._infos = self._checked()
            self.said = self._whole(MANIFEST, MOST_MANIFEST)
            self.signature = self._whole(SIGNATURE, MOST_MANIFEST) if SIGNATURE in self._infos else None
            self.manifest = read_manifest(path, self.said)
            self._check_members()
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError) as error:
            self._file.close()
            raise self._damaged(f"it cannot be read: {error}") from error
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def bytes_of(self, name: str) -> bytes:
        """The bytes of a member; empty where there is none."""
        member = self.manifest.named(name)
        return b"" if member is None else b"".join(self._pieces(member))

    def unpack(self, members: Sequence[Member], folder: Path) -> None:
        """Write members into a folder that nobody else writes to.

        Args:
            members: some of the manifest's.
            folder: it is there; no file in it has a member's name.

        Raises:
            Damaged: one is not as it was when the bundle was opened.
            UsageError: they cannot be written there.
        """
        for member in members:
            place = folder / member.name
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as out:
                    for piece in self._pieces(member):
                        out.write(piece)
            except OSError as error:
                raise UsageError(f"{place} cannot be written: {error.strerror or error}") from error

    def _damaged(self, why: str) -> Damaged:
        return Damaged(f"{self.path} is damaged, or was changed: {why}", hint=_HINT)

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        """The members by their names, once the file is as it was written and nothing is hidden in it."""
        file, size = self._file, self._file.seek(0, os.SEEK_END)
        tail = _END.size + len(_COMMENT) + _HEX
        file.seek(max(0, size - tail))
        end = file.read(tail)
        if len(end) < tail or end[_END.size : -_HEX] != _COMMENT or end[:4] != b"PK\x05\x06":
            raise self._damaged("its end is not that of a bundle")
        if _digest_before(file, size - _HEX) != end[-_HEX:]:
            raise self._damaged("its digest is another one")
        _, disk, first_disk, here, count, listed, begins, _ = _END.unpack(end[: _END.size])
        if disk or first_disk or here != count or begins + listed != size - tail:
            raise self._damaged("it is not one archive from its beginning to its end")
        if count > MOST_MEMBERS + 2 or listed > MOST_MANIFEST:
            raise self._damaged(f"it lists {count:,} members in {listed:,} bytes")
        self._archive = zipfile.ZipFile(file)
        infos = self._archive.infolist()
        place = 0
        for info in infos:
            if not _is_plain(info) or info.header_offset != place:
                raise self._damaged(f"{info.filename[:80]!r} is not a plain member after the one before it")
            place += _LOCAL + len(info.orig_filename.encode()) + info.compress_size
        names = {info.filename: info for info in infos}
        if place != begins or len(names) != len(infos) or not infos or infos[0].filename != MANIFEST:
            raise self._damaged("its members are not those of a bundle")
        return names

    def _check_members(self) -> None:
        """Compare what the manifest claims with what is there."""
        first = [MANIFEST, *([SIGNATURE] if self.signature is not None else [])]
        if [*self._infos] != [*first, *(member.name for member in self.manifest.members)]:
            raise self._damaged("its members are not those that its manifest lists")
        for member in self.manifest.members:
            for _ in self._pieces(member):
                pass

    def _whole(self, name: str, most: int) -> bytes:
        info = self._infos[name]
        if info.file_size > most:
            raise self._damaged(f"{name} has {info.file_size:,} bytes")
        return b"".join(self._read(info, info.file_size))

    def _pieces(self, member: Member) -> Iterator[bytes]:
        """The bytes of a member, in pieces; never more than the manifest claims.

        Raises:
            Damaged: they are not what the manifest claims; raised at the end, too.
        """
        digest = hashlib.sha256()
        try:
            for piece in self._read(self._infos[member.name], member.size):
                digest.update(piece)
                yield piece
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise self._damaged(f"{member.name} cannot be read: {error}") from error
        if digest.hexdigest() != member.sha256:
            raise self._damaged(f"{member.name} is not what the manifest says")

    def _read(self, info: zipfile.ZipInfo, size: int) -> Iterator[bytes]:
        left = size
        with self._archive.open(info) as stream:
            while piece := stream.read(_CHUNK):
                left -= len(piece)
                if left < 0:
                    break
                yield piece
        if left:
            raise self._damaged(f"{info.filename} has not the size that is said of it")


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Whether a member is an ordinary file, as `write_container` writes it."""
    return (
        info.flag_bits in _FLAGS
        and info.compress_type == zipfile.ZIP_DEFLATED
        and info.external_attr == _MODE
        and not info.extra
        and not info.comment
        and info.filename == info.orig_filename
    )
