"""A file as JSON: one value, or one a line; of a large one where its lines or pieces are.

OTLP in protocol buffers is given as pieces of JSON, a compressed file as what it holds, a zip archive by its members,
a cassette of VCR in YAML as the JSON that says the same, and a table as a list of its rows.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts.archive import MAGIC, open_archive
from agent_tt.interop.transcripts.compressed import begins, is_compressed, unpack
from agent_tt.interop.transcripts.pieces import BLANK, BOM, Line, Lines, PieceFile, cut, parse_json
from agent_tt.interop.transcripts.protobuf import could_be_protobuf, cut_protobuf
from agent_tt.interop.transcripts.tables import PARQUET, TooMany, is_csv, read_csv, read_parquet
from agent_tt.interop.transcripts.yaml_text import YamlFlaw, read_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.interop.transcripts.archive import Archive
    from agent_tt.providers.shapes import Json

__all__ = [
    "MOST_BYTES", "MOST_VALUE_BYTES", "Document", "Flaw", "Line", "could_be_document", "flaw_of", "parse_json",
    "read_beginning", "read_document", "too_large",
]  # fmt: skip

MOST_VALUE_BYTES: Final = 24 << 20
"""A larger value, or line, is not parsed as a whole: that takes up to eight times its size in memory."""

MOST_BYTES: Final = 48 << 20
"""Of a larger file a format is given the first lines: a conversation is in memory, which is to stay below 300 MB."""

MOST_OBJECTS: Final = 100_000
"""Of more of them, however small, no format is given a value: as runs each takes up to 2 kB of memory."""

MOST_LINES: Final = 25_000
"""Of more entries a format is given the first: as steps each takes up to 4 kB of memory beside its bytes, and the app
takes more for each."""

_FEW: Final = 30
"""Objects up to which a line counts as one, which an entry of a session is made of."""

MOST_PARTED_BYTES: Final = 1 << 30
"""A larger file is refused, also one whose runs are read one by one."""

MOST_UNPACKED_BYTES: Final = 256 << 20
"""A compressed file that holds more is refused: what it holds stands in a file of its own as long as it is open."""

_HEAD: Final = 512
"""Bytes by which it is told what a file may be."""

_YAML: Final = re.compile(rb"^(http_)?interactions:", re.MULTILINE)
"""The YAML that a format knows, VCR's: any text is YAML, so it takes a word that only such files begin with."""

_KEPT_BYTES: Final = 32 << 20
"""Bytes of lines of a conversation whose values are kept: formats go through them several times."""

_TRIED: Final = 3
"""Lines at the beginning of a large file of which one has to be an object, for it to be one of lines."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """What of a file cannot be read; the line counts from 1, and is 0 where it is not known."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read.

    Attributes:
        path: the file.
        value: its value, where it is one; None of a file of lines.
        lines: the objects in its lines, where it has several.
        flaws: lines that are not JSON objects, in order.
        is_growing: whether its last line is not complete, as while somebody writes it.
        parts: of a large file, in place of value and lines, its lines or pieces of its value, each of the form of the
            whole. For formats whose runs are read one by one.
        archive: its members, where it is a zip archive.
        alone: of a value that is an object, that as the only line of a file.
        watched: files and folders beside it that a format read too; a change of them is one of the file.
        left_out: how much of it is not here, where only its beginning is.
    """

    path: Path
    value: Json = None
    lines: Sequence[Line] = ()
    flaws: tuple[Flaw, ...] = field(default=())
    is_growing: bool = False
    parts: Lines | tuple[()] = ()
    archive: Archive | None = None
    alone: Sequence[Line] = ()
    watched: list[Path] = field(default_factory=list)
    left_out: str = ""

    @property
    def entries(self) -> Sequence[Line]:
        """Its lines, for formats that are always of lines: one that has just begun has one line, and is a value."""
        return self.lines or self.alone

    @property
    def is_large(self) -> bool:
        """Whether it can only be read in parts."""
        is_json = not isinstance(self.parts, Lines) or self.parts.is_json
        return is_json and self.archive is None and self.value is None and not self.lines

    @property
    def seen_flaws(self) -> tuple[Flaw, ...]:
        """All that cannot be read, as far as is known: parts are checked when they are read."""
        more = [Flaw(line, what) for line, what in self.parts.flaws] if self.parts else []
        return tuple(sorted([*self.flaws, *more], key=lambda flaw: flaw.line))


def could_be_document(head: bytes) -> bool:
    """Whether a file that begins so may be one that is read here."""
    if is_compressed(head):
        head = begins(head)
        if not head:  # nothing is known of it
            return True
    is_text = head.lstrip(BLANK)[:1] in (b"{", b"[") or _YAML.search(head) is not None or is_csv(head)
    return is_text or head.startswith((MAGIC, PARQUET)) or could_be_protobuf(head)


def read_document(path: Path) -> Document | None:
    """Read a file of JSON, YAML or OTLP, which may be compressed, or what a zip archive holds; None of any other.

    A file of lines may have lines that are damaged, as long as more are not; one that is a single value may not, unless
    it is read in parts.

    Raises:
        StoreUnreadable: it is too large, or cannot be read.
    """
    file, flaw = PieceFile(path), ""
    head = file.read(0, _HEAD)
    if head.startswith(MAGIC) and file.size <= MOST_PARTED_BYTES:
        return Document(path, archive=open_archive(path))
    if head.startswith(PARQUET):
        return _table(file)
    if is_compressed(head):
        file, flaw = _unpacked(path)
    elif file.size > MOST_PARTED_BYTES:
        raise too_large(path, file.size, MOST_PARTED_BYTES)
    found = _document(file)
    return replace(found, flaws=(Flaw(0, flaw), *found.flaws)) if flaw and found is not None else found


def _document(file: PieceFile) -> Document | None:
    head = file.read(0, _HEAD)
    if _YAML.search(head) is not None:
        return _yaml(file)
    if is_csv(head):
        return _table(file)
    found = _json(file) if head.lstrip(BLANK)[:1] in (b"{", b"[") else None
    if found is None and could_be_protobuf(head):
        pieces, flaw = cut_protobuf(file)
        found = Document(file.path, flaws=(Flaw(0, flaw),) if flaw else (), parts=pieces) if pieces else None
    return found


def _yaml(file: PieceFile) -> Document:
    if file.size > MOST_VALUE_BYTES:
        raise too_large(file.path, file.size, MOST_VALUE_BYTES)
    try:
        return Document(file.path, read_yaml(file.read(0, file.size)))
    except YamlFlaw as flaw:
        raise StoreUnreadable(f"{file.path} is YAML that cannot be read: {flaw}", hint="Mend it there.") from flaw


def _table(file: PieceFile) -> Document | None:
    """A table; None of one that is none of spans.

    Raises:
        StoreUnreadable: it is too large, or damaged.
        UsageError: what reads it is not installed.
    """
    is_parquet = file.read(0, len(PARQUET)) == PARQUET
    most = MOST_OBJECTS // 2 if is_parquet else MOST_OBJECTS  # what reads Parquet takes memory of its own
    try:
        rows = _rows(file, most, is_parquet=is_parquet)
    except TooMany:
        raise StoreUnreadable(
            f"{file.path} is too large to be read: {MOST_VALUE_BYTES >> 20} MB and {most:,} rows are the most",
            hint="Export fewer traces at once.",
        ) from None
    except ValueError as error:
        raise StoreUnreadable(f"{file.path} is a damaged table: {error}", hint="Export it again.") from error
    return Document(file.path, rows) if rows else None


def _rows(file: PieceFile, most: int, *, is_parquet: bool) -> list[Json]:
    if file.size > MOST_VALUE_BYTES:
        raise TooMany
    if is_parquet:
        return read_parquet(file.path, MOST_VALUE_BYTES, most)
    return read_csv(file.read(0, file.size), most)


def _json(file: PieceFile) -> Document | None:
    if file.size <= min(MOST_VALUE_BYTES, MOST_BYTES):
        body = file.read(0, file.size)
        if body.count(b"{") <= MOST_OBJECTS:
            try:
                return Document(file.path, parse_json(body.removeprefix(BOM)), alone=_alone(file, body))
            except orjson.JSONDecodeError:
                del body
                return _lines(file)
        del body
    if _has_lines(file):
        return _lines(file)
    pieces, flaw = cut(file)
    return Document(file.path, flaws=(Flaw(0, flaw),) if flaw else (), parts=pieces)


def _alone(file: PieceFile, body: bytes) -> Sequence[Line]:
    """A small object as the only line of a file of lines, which that file may be at its beginning."""
    plain = body.strip(BLANK)
    if not plain.startswith(b"{") or b"\n" in plain:
        return ()
    found = Lines(file, _KEPT_BYTES)
    found.add(1, 0, len(body))
    return found


def _unpacked(path: Path) -> tuple[PieceFile, str]:
    """What a compressed file holds, in a file without a name; and what is wrong with it.

    Raises:
        StoreUnreadable: it cannot be read, holds too much, or there is no room for it.
    """
    try:
        with tempfile.TemporaryFile() as into:
            with path.open("rb") as packed:
                flaw = unpack(packed, into, MOST_UNPACKED_BYTES)
            size = into.tell()
            into.flush()
            if size > MOST_UNPACKED_BYTES:
                raise StoreUnreadable(
                    f"{path} holds more than {MOST_UNPACKED_BYTES >> 20} MB when it is unpacked, which are the most",
                    hint="Unpack it, or take the sessions that matter out of it.",
                )
            return PieceFile(path, os.dup(into.fileno())), flaw
    except OSError as error:
        raise StoreUnreadable(
            f"{path} cannot be unpacked: {error.strerror}", hint=f"It needs room in {tempfile.gettempdir()}."
        ) from error


def too_large(path: Path, size: int, most: int = MOST_BYTES) -> StoreUnreadable:
    """Say that a file is too large."""
    entries = "" if most == MOST_PARTED_BYTES else f" and {MOST_OBJECTS:,} entries"
    return StoreUnreadable(
        f"{path} is too large to be read: {size >> 20} MB, and {most >> 20} MB{entries} are the most",
        hint="Take the sessions that matter out of it, into files of their own.",
    )


def flaw_of(path: Path) -> str:
    """Why a file is not valid JSON, `it breaks at line 3: …`; empty where it is, or where most of its lines are."""
    try:
        if path.stat().st_size > MOST_VALUE_BYTES:
            return ""
        parse_json(path.read_bytes().strip(BLANK))
    except orjson.JSONDecodeError as error:
        if read_document(path) is not None:  # of lines, each of them JSON
            return ""
        return f"it breaks at line {error.lineno}, column {error.colno}: {error.msg}"
    except OSError:
        return ""
    return ""


def _has_lines(file: PieceFile) -> bool:
    """Whether one of the first lines is an object, and not all of the file."""
    tried = 0
    for start, raw in file.lines(MOST_VALUE_BYTES):
        plain = raw.strip(BLANK)
        if start + len(raw) == file.size:
            break
        if plain and _object(plain) == "":
            return True
        tried += bool(plain)
        if tried == _TRIED:
            break
    return False


def read_beginning(document: Document) -> Document | None:
    """As much of a large file of lines as is held in memory; None of any other file, and of one that begins too large.

    What had been said at a moment is said by what stands before it: of a conversation it is the beginning that is true.
    """
    if not isinstance(document.parts, Lines) or not document.parts.is_json or document.parts.are_cut:
        return None
    found = _lines(document.parts.file, is_beginning=True)
    if found is None or not found.lines:
        return None
    many, left = len(document.parts), len(document.parts) - len(found.lines)
    of_file = (flaw for flaw in document.flaws if not flaw.line)
    left_out = f"{left:,} of {many:,} lines of its file, which stand last" if left > 0 else ""
    return replace(found, flaws=(*of_file, *found.flaws), left_out=left_out)


def _lines(file: PieceFile, *, is_beginning: bool = False) -> Document | None:
    """The lines of a file; of its beginning so many as are held in memory."""
    is_parted, flaws, objects = file.size > MOST_BYTES and not is_beginning, list[Flaw](), 0
    lines = Lines(file) if is_parted else Lines(file, _KEPT_BYTES)
    raw, last = b"", 0
    for number, (start, raw) in enumerate(file.lines(MOST_VALUE_BYTES), 1):
        plain = raw.strip(BLANK)
        if not plain:
            continue
        objects += max(plain.count(b"{") - _FEW, 1)
        if is_beginning and (start + len(raw) > MOST_BYTES or objects > MOST_LINES):
            flaws.append(Flaw(number, "it and what stands behind it is left out: it would be held in memory"))
            break
        is_parted = is_parted or objects > MOST_LINES
        if len(raw) > MOST_VALUE_BYTES:
            flaw = f"it is longer than {MOST_VALUE_BYTES >> 20} MB"
        elif is_parted and plain[:1] == b"{" and raw.endswith(b"\n"):
            flaw = ""  # what else it is, is seen when it is read
        else:
            flaw = _object(plain)
        if flaw:
            flaws.append(Flaw(number, flaw))
        else:
            lines.add(number, start, start + len(raw))
            last = number
    if len(lines) <= len(flaws):
        return None
    is_growing = bool(flaws) and not raw.endswith(b"\n") and flaws[-1].line > last
    told = tuple(flaws[:-1] if is_growing else flaws)
    if is_parted:
        return Document(file.path, flaws=told, is_growing=is_growing, parts=lines)
    return Document(file.path, None, lines, told, is_growing)


def _object(plain: bytes) -> str:
    """Why some bytes are no object of JSON; nothing where they are one."""
    try:
        return "" if isinstance(parse_json(plain), dict) else "it is not a JSON object"
    except orjson.JSONDecodeError as error:
        return f"it is not valid JSON: {error.msg}"
