"""Where the store is: nothing here creates anything but `make_room`, which recording calls.

`--store`, else `AGENT_TT_STORE`, else `store` of `[tool.agent-tt]` in the project's pyproject.toml, else
`.agent-tt/runs.db` of the project; outside any project `store` of the user's own settings, else the user's data folder.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt import config
from agent_tt.addresses import STORE_VARIABLE, Address, identity_of, located
from agent_tt.errors import NotAStore, StoreUnreadable, UsageError
from agent_tt.store.file import schema
from agent_tt.store.file.heads import MAGIC, read_head

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ENVIRONMENT",
    "FILE_NAME",
    "FOLDER_NAME",
    "make_room",
    "own_store_path",
    "project_root",
    "refuse_special",
    "resolve_store_path",
    "writable_store_path",
]

ENVIRONMENT: Final = STORE_VARIABLE
FOLDER_NAME: Final = ".agent-tt"
FILE_NAME: Final = "runs.db"

_MARKERS: Final = (FOLDER_NAME, "pyproject.toml", ".git")
"""What makes a folder the project's root, strongest first."""


def resolve_store_path(
    explicit: str | os.PathLike[str] | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """The store to use, a file or an address; it need not exist.

    Args:
        explicit: what the person named, if anything.
        start: the folder to look from; None means the working directory.
        environ: the environment; None means this process's.

    Raises:
        UsageError: a settings file cannot be read, or something in it is unknown.
    """
    here = _folder(start)
    variables = os.environ if environ is None else environ
    if named := explicit or variables.get(ENVIRONMENT):
        return located(named, here)
    root = project_root(here)
    if root is not None:
        return config.read_project(root / "pyproject.toml").store or root / FOLDER_NAME / FILE_NAME
    return config.read_user(config.user_file()).store or _user_data() / FILE_NAME


def writable_store_path(explicit: str | os.PathLike[str] | None = None) -> Path:
    """The store to write to: that of `resolve_store_path`, unless settings name LangGraph's own database.

    Then it is the one that keeps what is written down about that database.

    Args:
        explicit: what the person named, if anything.

    Raises:
        UsageError: such a database was named; or as of `resolve_store_path`.
    """
    path = resolve_store_path(explicit)
    if not isinstance(path, Address) or not _is_only_read(path):
        return path
    if explicit:
        raise UsageError(
            f"{path} has LangGraph's tables, which are only read",
            hint="Name a file to write to; or let agent-tt record beside them: CREATE SCHEMA agent_tt; in it.",
        )
    return own_store_path(path)


def _is_only_read(address: Address) -> bool:
    """Whether a database has LangGraph's tables alone. One that cannot be asked now may be recorded into later."""
    if address.is_langgraphs:
        return True
    if address.identity in _WRITTEN:
        return False
    from agent_tt.store.postgres.opening import tables_of

    try:
        if tables_of(address) == "langgraph":
            return True
    except StoreUnreadable:
        return False
    _WRITTEN.add(address.identity)
    return False


_WRITTEN: Final[set[str]] = set()
"""Databases that were found to be no others' than ours."""


def _folder(start: Path | None) -> Path:
    """The folder to look from; that of the user's own data where the working directory was removed."""
    try:
        return (start or Path.cwd()).absolute()
    except FileNotFoundError:
        return Path.home()


def own_store_path(besides: Path) -> Path:
    """The store that keeps what is written down about runs of a file that is only read; it need not exist.

    It is the store to use, unless that is the file itself or one of another program: then that of the project, else
    the one in the user's data folder.

    Args:
        besides: the file.

    Raises:
        UsageError: a settings file cannot be read, or there is no other store.
    """
    root = project_root(Path.cwd())
    places = [resolve_store_path(), resolve_store_path(environ={})]
    places += [] if root is None else [root / FOLDER_NAME / FILE_NAME]
    places.append(_user_data() / FILE_NAME)
    for place in places:
        if isinstance(place, Address):
            continue
        if identity_of(place) != identity_of(besides) and (_is_ours(place) or not place.exists()):
            return place
    raise UsageError(f"there is no store for marks on {besides}", hint=f"Name one with {ENVIRONMENT}.")


def _is_ours(path: Path) -> bool:
    try:
        head = read_head(path, 72) if path.is_file() else b""
    except OSError:
        return False
    return head.startswith(MAGIC) and int.from_bytes(head[68:], "big") == schema.APPLICATION_ID


def project_root(start: Path) -> Path | None:
    """The nearest folder up with `.agent-tt`, else with pyproject.toml, else with .git; None outside any project."""
    folders = [start, *start.parents]
    for marker in _MARKERS:
        for folder in folders:
            if (folder / marker).exists():
                return folder
    return None


def refuse_special(path: Path) -> None:
    """Refuse a pipe, a socket or a device: opening one may wait for ever. Says nothing of what is not there.

    Raises:
        NotAStore: it is one.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise NotAStore(f"{path} is a pipe or a device, not a store", hint="Name a file.")


def make_room(path: Path) -> None:
    """Create the folder of a store that is about to be recorded into; `.agent-tt` keeps itself out of git."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.name == FOLDER_NAME:
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")


def _user_data() -> Path:
    import platformdirs

    return platformdirs.user_data_path("agent-tt", appauthor=False)
