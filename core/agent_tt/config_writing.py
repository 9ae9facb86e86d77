"""Writing one setting into the user's own file; all else in it stays as it is, comments too."""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["keep_names"]

_MOST_LINES: Final = 200
"""Lines that one value takes at most."""


def keep_names(path: Path, key: str, names: Sequence[str] | None) -> None:
    """Keep a list of names as a setting of a file, which is made where there is none.

    Args:
        path: the file.
        key: the key of the setting, at the top level.
        names: the names; None takes the setting out of the file.

    Raises:
        UsageError: the file cannot be read, understood or written; it is as it was then.
    """
    import tomllib

    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        before = tomllib.loads(text)
        written = _with(path, text, before, key, names)
        if written == text:
            return
        _replace(path, written)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", hint="Correct the file; nothing was changed.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint=_by_hand(path, key, names)) from error


def _with(path: Path, text: str, before: dict[str, object], key: str, names: Sequence[str] | None) -> str:
    """The text with the setting; every other setting is compared with what it was."""
    wanted = {name: value for name, value in before.items() if name != key}
    line = ""
    if names is not None:
        wanted[key] = list(names)
        line = _line(key, names)
    lines = text.splitlines(keepends=True)
    spans: Iterator[tuple[int, int]]
    if key in before:
        starts = [at for at, each in enumerate(lines) if re.match(rf"\s*{re.escape(key)}\s*=", each)]
        spans = ((at, end) for at in starts for end in _ends(lines, at))
    elif names is None:
        return text
    else:
        # Below what is said at the top of the file, and above its first setting or table.
        at = next(
            (at for at, each in enumerate(lines) if each.strip() and not each.lstrip().startswith("#")), len(lines)
        )
        if lines and at == len(lines) and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        spans = iter([(at, at)])
    for start, end in spans:
        tried = "".join([*lines[:start], line, *lines[end:]])
        if _says(tried, wanted):
            return tried
    raise UsageError(f"{key} cannot be written into the settings as they are", hint=_by_hand(path, key, names))


def _ends(lines: Sequence[str], start: int) -> range:
    return range(start + 1, min(len(lines), start + _MOST_LINES) + 1)


def _says(text: str, wanted: dict[str, object]) -> bool:
    import tomllib

    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _line(key: str, names: Sequence[str]) -> str:
    return f"{key} = [{', '.join(json.dumps(name) for name in names)}]\n"


def _by_hand(path: Path, key: str, names: Sequence[str] | None) -> str:
    return f"Take {key} out of it." if names is None else f"Write into {path}: {_line(key, names).strip()}"


def _replace(path: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all; a link to the file stays one."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    made = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        made.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        made.replace(target)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise
