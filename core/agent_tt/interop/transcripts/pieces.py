"""Files that are read piece by piece: only where each piece lies is kept, and it is parsed when it is asked for."""

from __future__ import annotations

import json
import os
import weakref
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, overload

import orjson

from agent_tt.errors import StoreUnreadable
from agent_tt.interop.kept import Kept
from agent_tt.providers.loose import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agent_tt.providers.shapes import Json

__all__ = ["BLANK", "BOM", "Line", "Lines", "PieceFile", "cut", "parse_json"]

BOM: Final = b"\xef\xbb\xbf"
BLANK: Final = b" \t\r\n" + BOM

_KEPT_BYTES: Final = 4 << 20
_WINDOW: Final = 4 << 20
_LARGEST: Final = 1 << 20
"""Bytes up to which a value is one of a piece; a larger list or object is cut."""

_BATCH: Final = 128 << 10
"""Bytes of elements of a list from which on they are a piece."""

_MOST_LEVELS: Final = 8
_ALIKE: Final = 12
"""Characters by which an element of a list begins as the one before it does."""

_SPARE: Final = 8 * _WINDOW
"""Bytes more than those of such elements that may be looked at without finding that they are so."""

_COLUMNS: Final = "starts", "stops", "numbers", "around"


def parse_json(text: bytes) -> Json:
    """Parse JSON, also with `NaN` and `Infinity`, which Python and JavaScript write although JSON has no such words.

    Raises:
        orjson.JSONDecodeError: it is neither.
    """
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = parse(text) if b"NaN" in text or b"Infinity" in text else None
        if found is None:
            raise
    return found


class PieceFile:
    """A file, held open, of which pieces are read. What is written into another file of its name does not matter.

    Attributes:
        is_itself: whether it is the file of that name, and not another one that is read in its place.
    """

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        """Open it.

        Args:
            path: the file.
            descriptor: another file that is read in its place, unpacked say; it is closed with this.

        Raises:
            StoreUnreadable: it cannot be opened.
        """
        self.path, self.is_itself = path, descriptor is None
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if descriptor is None else descriptor
        except OSError as error:
            raise StoreUnreadable(f"{path} cannot be read: {error.strerror}", hint="Check its permissions.") from error
        weakref.finalize(self, os.close, self._descriptor)
        self.size = os.fstat(self._descriptor).st_size

    def read(self, start: int, length: int) -> bytes:
        """The bytes from `start` on; fewer at the end of the file.

        Raises:
            StoreUnreadable: the disk does not give them.
        """
        try:
            return os.pread(self._descriptor, length, start)
        except OSError as error:
            raise StoreUnreadable(f"{self.path} cannot be read: {error.strerror}", hint="Check its disk.") from error

    def lines(self, most: int) -> Iterator[tuple[int, bytes]]:
        """Each line with where it begins; of one that is longer than `most` bytes its first `most + 1`."""
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            while raw := file.readline(most + 1):
                yield file.tell() - len(raw), raw
                while len(raw) > most and not raw.endswith(b"\n"):
                    raw = file.readline(most + 1)


class Line:
    """A line of a file of lines, or a piece of a file.

    Attributes:
        number: of the line, or of the piece; it counts from 1.
    """

    __slots__ = ("_at", "_lines", "number")

    def __init__(self, number: int, lines: Lines, at: int) -> None:
        self.number, self._lines, self._at = number, lines, at

    @property
    def value(self) -> dict[str, Json]:
        """The object that it is, parsed now unless it still is kept. Others are given it too: never change it."""
        return self._lines.value(self._at)


class Lines(Sequence[Line]):
    """The lines of a file, or its pieces, by where they lie.

    Args:
        file: the file.
        kept: bytes of pieces whose values are kept, being asked for again soon.

    Attributes:
        broken: the numbers of those that were asked for and are no object, or not any more; those read as empty ones.
        is_json: whether the file is of JSON, and of another format only where it is too large for that.
        are_cut: whether they are pieces of one value.
    """

    is_json: ClassVar[bool] = True

    def __init__(self, file: PieceFile, kept: int = _KEPT_BYTES, *, are_cut: bool = False) -> None:
        self.are_cut = are_cut
        self.broken: set[int] = set()
        self._file = file
        self._values: Kept[tuple[int, dict[str, Json]]] = Kept(kept, lambda kept: kept[0])
        self._starts, self._stops, self._numbers, self._around = array("q"), array("q"), array("q"), array("l")
        self._put_around: list[tuple[bytes, bytes]] = [(b"", b"")]

    def add(self, number: int, start: int, stop: int, around: tuple[bytes, bytes] = (b"", b"")) -> None:
        """Add a piece behind the others; `around` is what is put around it to make it an object."""
        if around != self._put_around[-1]:
            self._put_around.append(around)
        self._starts.append(start)
        self._stops.append(stop)
        self._numbers.append(number)
        self._around.append(len(self._put_around) - 1)

    @property
    def file(self) -> PieceFile:
        """The file that they are of."""
        return self._file

    def where(self) -> dict[str, Any] | None:
        """Where they lie, for `lie_at`; None where that is of no use, as their file is gone when it is closed."""
        if not self._file.is_itself:
            return None
        around = [[each.decode("latin-1") for each in pair] for pair in self._put_around]
        columns = {name: getattr(self, f"_{name}").tolist() for name in _COLUMNS}
        return {"are_cut": self.are_cut, "put_around": around, **columns}

    def said_around(self) -> list[Json]:
        """What is said by that which is put around pieces.

        Raises:
            ValueError: it says nothing that can be read.
        """
        return [parse_json(b"".join(pair)) for pair in self._put_around if any(pair)]

    @classmethod
    def lie_at(cls, file: PieceFile, where: Mapping[str, Any]) -> Self:
        """Those of a file that were cut before, by where they lie."""
        found = cls(file, are_cut=where["are_cut"])
        found._put_around = [(one.encode("latin-1"), other.encode("latin-1")) for one, other in where["put_around"]]
        for name in _COLUMNS:
            getattr(found, f"_{name}").extend(where[name])
        return found

    def value(self, at: int) -> dict[str, Json]:
        """The object that one of them is; its place counts from 0."""
        return self._values.get(at, lambda: self._parsed(at))[1]

    def outline(self, at: int) -> dict[str, Json]:
        """As much of it as tells where the parts of a trace are; here all of it."""
        return self.value(at)

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, at: int) -> Line: ...

    @overload
    def __getitem__(self, at: slice) -> list[Line]: ...

    def __getitem__(self, at: int | slice) -> Line | list[Line]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return Line(self._numbers[at], self, at if at >= 0 else len(self) + at)

    @property
    def flaws(self) -> list[tuple[int, str]]:
        """What is wrong with those in `broken`: the number of the line, 0 where they are no lines, and words."""
        if self.are_cut:
            return [(0, f"piece {number} of {len(self)} is not valid JSON") for number in sorted(self.broken)]
        return [(number, "it is not a JSON object") for number in self.broken]

    def _parsed(self, at: int) -> tuple[int, dict[str, Json]]:
        start, stop = self._starts[at], self._stops[at]
        before, behind = self._put_around[self._around[at]]
        try:
            found = parse_json(before + self._file.read(start, stop - start).strip(BLANK) + behind)
        except orjson.JSONDecodeError:
            found = None
        if isinstance(found, dict):
            return stop - start, found
        self.broken.add(self._numbers[at])
        return stop - start, {}


# ---------------------------------------------------------------- one value in pieces


class _Broken(Exception):
    """The value ends, or stops being JSON, at a byte."""


def cut(file: PieceFile) -> tuple[Lines, str]:
    """Cut a file of one large value of JSON.

    Each piece is an object like the whole, with the same names on the way down to a list in it, or to some elements of
    a long one, and with what is no list and stands beside that way before it.

    Returns:
        The pieces, and why there are no more of them; nothing where they reach to the end.
    """
    cutter = _Cutter(file)
    try:
        cutter.descend(0, (b"", b""), 0)
    except _Broken as broken:
        return cutter.pieces, str(broken)
    return cutter.pieces, ""


class _Cutter:
    """Reads on through a file, a window at a time. Bytes are read as Latin 1, so that places are theirs."""

    def __init__(self, file: PieceFile) -> None:
        self.pieces = Lines(file, are_cut=True)
        self._file = file
        self._decoder = json.JSONDecoder(parse_int=len, parse_float=len, strict=False)
        self._text, self._base = "", 0
        self._spare = _SPARE
        self._look(0)

    def descend(self, at: int, around: tuple[bytes, bytes], level: int) -> int:
        """Cut the list or object that begins at a place; give the place behind it.

        Raises:
            _Broken: it does not go on as JSON does.
        """
        at, opened = self._next(at)
        if level > _MOST_LEVELS or opened not in ("{", "["):
            raise _Broken(f"the value at byte {at + 1} is not valid JSON, or too large" if opened else "it breaks off")
        return self._members(at + 1, around, level) if opened == "{" else self._elements(at + 1, around, level)

    def _members(self, at: int, around: tuple[bytes, bytes], level: int) -> int:
        beside = b"{"
        at, found = self._next(at)
        while found != "}":
            end = self._end(at) if found == '"' else None
            if end is None:
                raise _Broken(f"it breaks at byte {at + 1}")
            key = self._file.read(at, end - at)
            at = self._behind(end, ":")
            end, inner = self._end(at), (around[0] + beside + key + b":", b"}" + around[1])
            is_list = self._next(at)[1] == "["
            if end is None or (is_list and end - at > _BATCH):
                end = self.descend(at, inner, level + 1)
            elif is_list:
                self._add(at, end, inner)
            elif end - at <= _BATCH:
                beside += key + b":" + self._file.read(at, end - at) + b","
            at, found = self._after(end, "}")
        return at + 1

    def _elements(self, at: int, around: tuple[bytes, bytes], level: int) -> int:
        around = around[0] + b"[", b"]" + around[1]
        at, found = self._next(at)
        begun = end = at
        while found != "]":
            inside = self._end(at)
            if inside is None or inside - begun > _BATCH:
                self._add(begun, end, around)
                begun = at
            if inside is None:
                end = self.descend(at, around, level + 1)
                at, found = self._after(end, "]")
                begun = end = at
            else:
                end = inside
                at, found = self._after(end, "]", begun, around)
        self._add(begun, end, around)
        return at + 1

    def _add(self, start: int, stop: int, around: tuple[bytes, bytes]) -> None:
        if stop > start:
            self.pieces.add(len(self.pieces) + 1, start, stop, around)

    def _after(
        self, at: int, closing: str, begun: int = 0, around: tuple[bytes, bytes] = (b"", b"")
    ) -> tuple[int, str]:
        """The next value, or what closes the list or object; a piece that was begun is whole where nothing follows."""
        at, found = self._next(at)
        if found == closing:
            return at, found
        if found != ",":
            if begun:
                self._add(begun, at, around)
            raise _Broken(f"it breaks at byte {at + 1}" if found else "it breaks off")
        return self._next(at + 1)

    def _behind(self, at: int, sign: str) -> int:
        at, found = self._next(at)
        if found != sign:
            raise _Broken(f"it breaks at byte {at + 1}")
        return self._next(at + 1)[0]

    def _next(self, at: int) -> tuple[int, str]:
        """The next place that is not blank, and what stands there; nothing at the end."""
        while True:
            self._look(at)
            rest = self._text[at - self._base : at - self._base + 1]
            if not rest or rest not in " \t\r\n\xef\xbb\xbf":
                return at, rest
            at += 1

    def _end(self, at: int) -> int | None:
        """Where the value at a place ends; None where it is large, or no JSON."""
        self._look(at)
        end = self._end_of_one_alike(at - self._base) if self._spare > 0 else None
        if end is not None:
            return end + self._base
        try:
            return self._decoder.raw_decode(self._text, at - self._base)[1] + self._base
        except (ValueError, RecursionError):
            return None

    def _end_of_one_alike(self, at: int) -> int | None:
        """Where an object ends, before the next that begins as it does, which elements of a list mostly do.

        That it ends there is seen by parsing it, in a fifth of the time that looking for its end takes.
        """
        if self._text[at : at + 1] != "{":
            return None
        behind = self._text.find(self._text[at : at + _ALIKE], at + 1)
        end = self._text.rfind("}", at, behind) + 1 if behind > 0 else 0
        if end and self._text[end:behind].strip(" \t\r\n") == ",":
            with suppress(orjson.JSONDecodeError):
                orjson.loads(self._text[at:end])
                self._spare += end - at
                return end
        self._spare -= (behind if behind > 0 else len(self._text)) - at
        return None

    def _look(self, at: int) -> None:
        """Have the window reach from a place so far as the largest value of a piece does."""
        has = self._base + len(self._text)
        if not self._text or (at + _LARGEST > has and has < self._file.size):
            self._base, self._text = at, self._file.read(at, _WINDOW).decode("latin-1")
