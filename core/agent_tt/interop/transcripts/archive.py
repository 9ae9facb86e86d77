"""The members of a zip archive, bounded by what comes out of them, whatever the archive claims."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import zstandard

from agent_tt._dataclass import dataclass
from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts.compressed import BreaksOff, unpacked_zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["MAGIC", "Archive", "MemberUnreadable", "open_archive"]

MAGIC: Final = b"PK\x03\x04"

_MOST_DIRECTORY: Final = 8 << 20
"""Bytes of the list of members: some 100,000 of them. Read, it takes up to thirteen times as much memory."""

_END: Final = b"PK\x05\x06"
_END_OF_LARGE: Final = b"PK\x06\x07"
_END_SIZE: Final = 22
_LARGE_END_SIZE: Final = 20
_MOST_COMMENT: Final = 1 << 16
_LOCAL_SIZE: Final = 30
_ZSTANDARD: Final = 93
"""Its number as a method of compression (APPNOTE.TXT 4.4.5). Python's own reader knows it from 3.14 on."""

_ENCRYPTED: Final = 1
_PIECE: Final = 1 << 16


class MemberUnreadable(Exception):
    """A member cannot be read; the message says why, as what follows its name."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip archive. It is opened anew for each member that is read.

    Attributes:
        path: the file.
        members: what it holds by name; of two members with one name the later, which replaces the other.
    """

    path: Path
    members: dict[str, ZipInfo]

    def read(self, name: str, most: int) -> bytes:
        """Read a member.

        Args:
            name: one of `members`.
            most: how many bytes may come out.

        Raises:
            MemberUnreadable: it is damaged, packed in a way that is not known, or larger.
        """
        member = self.members[name]
        if member.flag_bits & _ENCRYPTED:
            raise MemberUnreadable("is encrypted")
        found = bytearray()
        try:
            with self.path.open("rb") as file:
                for piece in _unpacked(file, member):
                    found += piece
                    if len(found) > most:
                        raise MemberUnreadable(f"holds more than the {most >> 20} MB that may still be read")
        except (OSError, zlib.error, zstandard.ZstdError, BreaksOff) as error:
            raise MemberUnreadable(f"is damaged: {error}") from error
        if zlib.crc32(found) != member.CRC:
            raise MemberUnreadable("is damaged: its checksum is another one")
        return bytes(found)


def open_archive(path: Path) -> Archive:
    """Read what an archive holds.

    Raises:
        StoreUnreadable: it is damaged, or has too many members.
    """
    try:
        with path.open("rb") as file:
            _check_directory(path, file)
            with ZipFile(file) as archive:
                return Archive(path, {member.filename: member for member in archive.infolist()})
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise StoreUnreadable(
            f"{path} is a damaged zip archive: {str(error) or type(error).__name__}",
            hint="It may not have been written or copied to its end.",
        ) from error
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be read: {error.strerror}", hint="Check its permissions.") from error


def _check_directory(path: Path, file: BinaryIO) -> None:
    """Refuse an archive whose list of members would not fit into memory, before it is read."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_SIZE - _MOST_COMMENT - _LARGE_END_SIZE))
    tail = file.read()
    end = tail.rfind(_END)
    if end < 0 or len(tail) - end < _END_SIZE:
        raise BadZipFile("the list of its members is not there")
    is_large = tail[max(0, end - _LARGE_END_SIZE) : end].startswith(_END_OF_LARGE)
    if is_large or int.from_bytes(tail[end + 12 : end + 16], "little") > _MOST_DIRECTORY:
        raise StoreUnreadable(f"{path} is a zip archive with too many members", hint="Take what matters out of it.")


def _unpacked(file: BinaryIO, member: ZipInfo) -> Iterator[bytes]:
    """What a member holds, in pieces that are bounded themselves."""
    file.seek(member.header_offset)
    local = file.read(_LOCAL_SIZE)
    if len(local) < _LOCAL_SIZE or not local.startswith(MAGIC):
        raise MemberUnreadable("is damaged: it is not where the list of members says")
    file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
    packed = _pieces(file, member.compress_size)
    if member.compress_type == ZIP_STORED:
        yield from packed
    elif member.compress_type == ZIP_DEFLATED:
        inflating = zlib.decompressobj(-zlib.MAX_WBITS)
        for piece in packed:
            yield inflating.decompress(piece, _PIECE)
            while inflating.unconsumed_tail:
                yield inflating.decompress(inflating.unconsumed_tail, _PIECE)
    elif member.compress_type == _ZSTANDARD:
        yield from unpacked_zstandard(packed)
    else:
        raise MemberUnreadable(f"is packed by method {member.compress_type}, which is not known here")


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        size -= len(piece)
        yield piece
