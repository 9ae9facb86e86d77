"""Where the store is: nothing here creates anything but `make_room`, which recording calls.

`--store`, else `AGENT_TT_STORE`, else `store` of `[tool.agent-tt]` in the project's pyproject.toml, else
`.agent-tt/runs.db` of the project; outside any project `store` of the user's own settings, else the user's data folder.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ENVIRONMENT", "FILE_NAME", "FOLDER_NAME", "make_room", "project_root", "resolve_store_path"]

ENVIRONMENT: Final = "AGENT_TT_STORE"
FOLDER_NAME: Final = ".agent-tt"
FILE_NAME: Final = "runs.db"

_MARKERS: Final = (FOLDER_NAME, "pyproject.toml", ".git")
"""What makes a folder the project's root, strongest first."""


def resolve_store_path(
    explicit: str | Path | None = None, *, start: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """The store file to use; it need not exist.

    Args:
        explicit: what the person named, if anything.
        start: the folder to look from; None means the working directory.
        environ: the environment; None means this process's.

    Raises:
        UsageError: a settings file cannot be read, or `store` in it is not a path.
    """
    here = (start or Path.cwd()).absolute()
    variables = os.environ if environ is None else environ
    if explicit:
        return here / Path(explicit).expanduser()
    if named := variables.get(ENVIRONMENT):
        return here / Path(named).expanduser()
    root = project_root(here)
    if root is not None and (named_path := _setting(root / "pyproject.toml", ("tool", "agent-tt"))) is not None:
        return named_path
    if root is not None:
        return root / FOLDER_NAME / FILE_NAME
    return _setting(_user_settings(), ()) or _user_data() / FILE_NAME


def project_root(start: Path) -> Path | None:
    """The nearest folder up with `.agent-tt`, else with pyproject.toml, else with .git; None outside any project."""
    folders = [start, *start.parents]
    for marker in _MARKERS:
        for folder in folders:
            if (folder / marker).exists():
                return folder
    return None


def make_room(path: Path) -> None:
    """Creates the folder of a store that is about to be recorded into; `.agent-tt` keeps itself out of git."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.name == FOLDER_NAME:
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")


def _setting(file: Path, table: tuple[str, ...]) -> Path | None:
    """The path that `store` names in a TOML file, relative to the file's folder; None if it names none."""
    try:
        settings: object = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} cannot be read: {error}", hint="Correct the file, or name the store with --store."
        ) from error
    for name in table:
        settings = settings.get(name) if isinstance(settings, dict) else None
    value = settings.get("store") if isinstance(settings, dict) else None
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise UsageError(f"{file}: store = {value!r} is not a path", hint='Write it as text: store = "runs.db".')
    return file.parent / Path(value).expanduser()


def _user_settings() -> Path:
    import platformdirs

    return platformdirs.user_config_path("agent-tt", appauthor=False) / "config.toml"


def _user_data() -> Path:
    import platformdirs

    return platformdirs.user_data_path("agent-tt", appauthor=False)
