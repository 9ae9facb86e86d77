"""The tables whose rows are proven: their keys and columns, in the order in which these enter the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.store.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BLOBS",
    "CALLS",
    "DELIVERIES",
    "DELTAS",
    "DICTS",
    "FOREIGN_MARKS",
    "KEYFRAMES",
    "META",
    "NOTES",
    "RUNS",
    "STEPS",
    "SWEEPS",
    "TABLES",
    "TAGS",
    "TRACKS",
    "UNCLEAN",
]

UNCLEAN: Final = "unclean"
"""Key of `meta` that is there while bytes of what was taken out of runs may still lie in the file."""

RUNS: Final = Table(
    "runs",
    ("run",),
    (
        *("run", "id", "name", "status", "agent", "agent_version", "parent", "fork_step", "started_us", "ended_us"),
        *("error", "owner", "beat_us", "hidden", "meta"),
    ),
    parts=("error", "meta"),
    owner="",
    counted=True,
)
TRACKS: Final = Table(
    "tracks",
    ("track",),
    ("track", "run", "name", "parent", "fork_seq", "indexed_to", "dict"),
    counted=True,
)
STEPS: Final = Table(
    "steps",
    ("run", "step"),
    (
        *("run", "step", "parent_step", "kind", "name", "agent", "lane", "status", "started_us", "ended_us"),
        *("tokens_in", "tokens_out", "cost_usd", "error", "track", "seq", "meta"),
    ),
    parts=("error", "meta"),
    reals=("cost_usd",),
    sealed=False,
)
CALLS: Final = Table(
    "calls",
    ("run", "step", "call"),
    (
        *("run", "step", "call", "lane", "lane_seq", "kind", "name", "effect", "status", "signature", "args", "result"),
        *("error", "refs", "started_us", "ended_us", "delivered", "meta"),
    ),
    parts=("args", "result", "error", "meta"),
    keeps=("args", "result", "error"),
    sealed=False,
)
DELIVERIES: Final = Table(
    "deliveries",
    ("id",),
    ("id", "step", "call", "kind", "at_us", "data", "refs"),
    parts=("data",),
    owner="id",
    packed=True,
    sealed=False,
)
DELTAS: Final = Table(
    "deltas",
    ("id",),
    ("id", "digest", "chain", "dict", "size", "flags", "refs", "ops"),
    parts=("ops",),
    owner="id",
    packed=True,
    sealed=False,
)
KEYFRAMES: Final = Table(
    "keyframes", ("id",), ("id", "size", "refs", "state"), parts=("state",), owner="id", packed=True, sealed=False
)
BLOBS: Final = Table("blobs", ("id",), ("id", "hash", "form", "size", "data"), ("data",), owner="", sealed=False)
DICTS: Final = Table("dicts", ("id", "copy"), ("id", "copy", "agent", "data"), parts=("data",), owner="")
META: Final = Table("meta", ("key",), ("key", "value"), owner="")
TAGS: Final = Table("tags", ("run", "tag"), ("run", "tag"))
NOTES: Final = Table(
    "notes", ("note",), ("note", "run", "step", "kind", "body", "created_us"), parts=("body",), counted=True
)
SWEEPS: Final = Table(
    "sweeps",
    ("sweep",),
    ("sweep", "id", "run", "number", "step", "definition", "created_us", "owner", "beat_us"),
    parts=("definition",),
    counted=True,
)
FOREIGN_MARKS: Final = Table(
    "foreign_marks",
    ("mark",),
    ("mark", "file", "run", "checkpoint", "step", "kind", "body", "created_us"),
    parts=("body",),
    owner="",
    counted=True,
)

TABLES: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        *(META, RUNS, TRACKS, STEPS, CALLS, DELIVERIES, DELTAS, KEYFRAMES, BLOBS, DICTS, TAGS, NOTES, SWEEPS),
        FOREIGN_MARKS,
    )
}
"""All tables whose rows are proven."""
