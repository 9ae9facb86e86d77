"""A file as JSON: one value, or one a line; or as YAML; or as an archive of files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts.archive import MAGIC, open_archive
from agent_tt.interop.transcripts.yaml_text import YamlFlaw, read_yaml
from agent_tt.providers.loose import parse

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.interop.transcripts.archive import Archive
    from agent_tt.providers.shapes import Json

__all__ = ["MOST_BYTES", "Document", "Flaw", "Line", "flaw_of", "may_be_document", "parse_json", "read_document"]

MOST_BYTES: Final = 64 << 20
"""A larger file is refused: parsed JSON takes up to five times its size in memory, which is to stay below 300 MB."""

_BLANK: Final = b" \t\r\n\xef\xbb\xbf"
_YAML: Final = re.compile(rb"^(http_)?interactions:", re.MULTILINE)
"""The YAML that a format knows, VCR's: any text is YAML, so it takes a word that only such files begin with."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file of lines; its number counts from 1."""

    number: int
    value: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Flaw:
    """What of a file cannot be read; the line counts from 1."""

    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read.

    Attributes:
        path: the file.
        value: its value, where it is one; None of a file of lines.
        lines: the objects in its lines, where it has several.
        flaws: lines that are no JSON objects, in order.
        is_growing: whether its last line is not complete, as while somebody writes it.
        archive: its members, where it is a zip archive.
    """

    path: Path
    value: Json = None
    lines: tuple[Line, ...] = ()
    flaws: tuple[Flaw, ...] = field(default=())
    is_growing: bool = False
    archive: Archive | None = None


def may_be_document(head: bytes) -> bool:
    """Whether `read_document` can read a file that begins so."""
    return head.startswith(MAGIC) or head.lstrip(_BLANK)[:1] in (b"{", b"[") or _YAML.search(head) is not None


def read_document(path: Path) -> Document | None:
    """Read a file of JSON or YAML, or what a zip archive holds; None where it is neither.

    A file of lines may have lines that are damaged, as long as more are not; one that is a single value may not.

    Raises:
        StoreUnreadable: it is too large, or cannot be read.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise StoreUnreadable(
                f"{path} is too large to be read as JSON: {size >> 20} MB, and {MOST_BYTES >> 20} MB are the most",
                hint="Take the sessions that matter out of it, into files of their own.",
            )
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return Document(path, archive=open_archive(path))
        body = path.read_bytes()
    except OSError as error:
        raise StoreUnreadable(f"{path} cannot be read: {error.strerror}", hint="Check its permissions.") from error
    if _YAML.search(body[:512]) is not None:
        try:
            return Document(path, read_yaml(body))
        except YamlFlaw as flaw:
            raise StoreUnreadable(
                f"{path} is YAML that cannot be read: {flaw}", hint="Mend it at this place."
            ) from flaw
    plain = body.strip(_BLANK)
    if plain[:1] not in (b"{", b"["):
        return None
    try:
        return Document(path, parse_json(plain))
    except orjson.JSONDecodeError:
        return _lines(path, body)


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


def flaw_of(path: Path) -> str:
    """Why a file is no JSON, `it breaks at line 3: …`; empty where it is, or where most of its lines are."""
    try:
        parse_json(path.read_bytes().strip(_BLANK))
    except orjson.JSONDecodeError as error:
        if read_document(path) is not None:  # of lines, each of them JSON
            return ""
        return f"it breaks at line {error.lineno}, column {error.colno}: {error.msg}"
    except OSError:
        return ""
    return ""


def _lines(path: Path, body: bytes) -> Document | None:
    lines: list[Line] = []
    flaws: list[Flaw] = []
    for number, text in enumerate(body.split(b"\n"), 1):
        plain = text.strip(_BLANK)
        if not plain:
            continue
        try:
            value = parse_json(plain)
        except orjson.JSONDecodeError as error:
            flaws.append(Flaw(number, f"it is no JSON: {error.msg}"))
            continue
        if isinstance(value, dict):
            lines.append(Line(number, value))
        else:
            flaws.append(Flaw(number, "it is no JSON object"))
    if len(lines) <= len(flaws):
        return None
    is_growing = bool(flaws) and not body.endswith(b"\n") and flaws[-1].line > lines[-1].number
    return Document(path, None, tuple(lines), tuple(flaws[:-1] if is_growing else flaws), is_growing)
