"""What a bundle says of itself, and the names that its members may have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from agent_tt._dataclass import dataclass
from agent_tt._version import __version__
from agent_tt.errors import Damaged, NewerFormat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "CODE",
    "GOLDENS",
    "LOCK",
    "MANIFEST",
    "MOST_BYTES",
    "MOST_LOCK",
    "MOST_MANIFEST",
    "MOST_MEMBERS",
    "SIGNATURE",
    "STORE",
    "Manifest",
    "Member",
    "is_member_name",
    "read_manifest",
]

VERSION: Final = 1

MANIFEST: Final = "agent-tt-bundle.json"
"""The first member; a file is recognised as a bundle by it."""

SIGNATURE: Final = "signature.json"
STORE: Final = "runs.db"
LOCK: Final = "requirements.txt"
CODE: Final = "code/"
GOLDENS: Final = "goldens/"

MOST_BYTES: Final = 1 << 30
"""What all members of a bundle may unpack to, in bytes."""

MOST_MEMBERS: Final = 10_000
MOST_LOCK: Final = 1 << 20
"""Bytes of the list of packages."""

MOST_MANIFEST: Final = 4 << 20
"""Bytes of the manifest, and of the list that ends the file."""

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MOST_NAME: Final = 200
"""Characters of one part of a name."""

_MOST_PARTS: Final = 40


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a bundle, as the manifest claims it to be.

    Attributes:
        name: its name, with `/` between folders.
        size: bytes, unpacked.
        sha256: of these, in hex.
    """

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself.

    Attributes:
        members: all members but the manifest itself and a signature, in their order.
        runs: ids of the runs that it was made of, in the order in which they were named.
        python: the version that their Python had when it was made; "" where that is not known, or there is no code.
        made_by: what wrote it.
    """

    members: tuple[Member, ...]
    runs: tuple[str, ...]
    python: str = ""
    made_by: str = f"agent-tt {__version__}"

    def named(self, name: str) -> Member | None:
        """The member of a name; None where there is none."""
        return next((member for member in self.members if member.name == name), None)

    def in_folder(self, folder: str) -> list[Member]:
        """The members in `CODE` or `GOLDENS`."""
        return [member for member in self.members if member.name.startswith(folder)]

    def to_bytes(self) -> bytes:
        """The bytes of the member `MANIFEST`."""
        members = [{"name": each.name, "size": each.size, "sha256": each.sha256} for each in self.members]
        said = {"bundle": VERSION, "made_by": self.made_by, "runs": self.runs, "python": self.python}
        return orjson.dumps({**said, "members": members}, option=orjson.OPT_INDENT_2)


def is_member_name(name: str) -> bool:
    """Whether a member may have this name: below its folder on every system, and of a kind that bundles have."""
    parts = name.split("/")
    if name not in (STORE, LOCK) and (len(parts) < 2 or f"{parts[0]}/" not in (CODE, GOLDENS)):
        return False
    return len(parts) <= _MOST_PARTS and all(
        0 < len(part) <= _MOST_NAME
        and part.isprintable()
        and not set(part) & set('\\:*?"<>|')
        and not part.endswith((".", " "))
        for part in parts
    )


def read_manifest(path: Path, text: bytes) -> Manifest:
    """Read a manifest, of which nothing is believed before it was checked.

    Args:
        path: the bundle, for messages.
        text: the bytes of its member `MANIFEST`.

    Raises:
        NewerFormat: a newer agent-tt wrote it.
        Damaged: it is not one.
    """
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Damaged(f"{path}: its manifest is not valid JSON: {error}") from error
    version = said.get("bundle") if isinstance(said, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise NewerFormat(
            f"{path} is a bundle of version {version}, newer than the {VERSION} that this agent-tt reads",
            found=version,
            supported=VERSION,
            hint="Upgrade agent-tt.",
        )
    if version != VERSION or not _is_sound(said):
        raise Damaged(f"{path}: its manifest is not that of a bundle")
    members = tuple(Member(each["name"], each["size"], each["sha256"]) for each in said["members"])
    _check(path, members)
    return Manifest(members, tuple(said["runs"]), said["python"], said["made_by"])


def _is_sound(said: Any) -> bool:
    """Whether all fields have their shapes."""
    return (
        isinstance(said.get("python"), str)
        and isinstance(said.get("made_by"), str)
        and _all(said.get("runs"), lambda run: isinstance(run, str))
        and _all(said.get("members"), _is_member)
    )


def _is_member(said: Any) -> bool:
    if not isinstance(said, dict):
        return False
    name, size, sha256 = said.get("name"), said.get("size"), said.get("sha256")
    return (
        isinstance(name, str)
        and type(size) is int
        and size >= 0
        and isinstance(sha256, str)
        and _DIGEST.fullmatch(sha256) is not None
    )


def _all(found: object, is_right: Any) -> bool:
    return isinstance(found, list) and all(is_right(each) for each in cast("list[object]", found))


def _check(path: Path, members: Sequence[Member]) -> None:
    """Refuse members that are too many or too large, or whose names lead elsewhere or are no names of members."""
    for member in members:
        if not is_member_name(member.name):
            raise Damaged(f"{path}: a member cannot have the name {member.name[:_MOST_NAME]!r}")
    names = {member.name.casefold() for member in members}
    if len(names) != len(members):
        raise Damaged(f"{path}: two of its members have one name")
    folders = {
        "/".join(parts[:depth]) for parts in (name.split("/") for name in names) for depth in range(1, len(parts))
    }
    if names & folders:
        raise Damaged(f"{path}: one of its members is a file and a folder")
    if any(member.name == LOCK and member.size > MOST_LOCK for member in members):
        raise Damaged(f"{path}: its list of packages is too large to be one")
    if STORE not in names:
        raise Damaged(f"{path}: it has no store of runs")
    if len(members) > MOST_MEMBERS or sum(member.size for member in members) > MOST_BYTES:
        raise Damaged(f"{path} is too large: it has {len(members):,} members of {_gigabytes(members):.1f} GB in all")


def _gigabytes(members: Sequence[Member]) -> float:
    return sum(member.size for member in members) / (1 << 30)
