"""The code of a recorded agent as files: its own, those of its project that it imports, and the packages beside them.

Nothing is run or imported to find them: what a file imports is read off its text. What is imported by a name that is
made up while it runs, and what it reads that is no Python, has to be named.
"""

from __future__ import annotations

import ast
import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.errors import Untrusted, UsageError
from agent_tt.interop.bundle.source import packages_in
from agent_tt.recording.runs.entry import fingerprint
from agent_tt.redaction.texts import redact_text
from agent_tt.store.file.provenance import is_made_here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["changed_since", "code_files", "lock_of", "python_of"]

_NEVER: Final = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})
"""Folders of which nothing is the project's own."""

_VERSION: Final = re.compile(r"^version(?:_info)?\s*=\s*([\d.]+)", re.MULTILINE)


def code_files(source: RunSource, run: Run, more: Sequence[str]) -> dict[str, bytes]:
    """Find and read the files of a run's agent.

    Args:
        source: where the run is.
        run: the run.
        more: patterns of further files of the project, `prompts/*.txt`; hidden ones are none of it.

    Returns:
        What is in the files, by their names below the project, in order.

    Raises:
        Untrusted: the run came from elsewhere: it would choose which files of this machine are handed on.
        UsageError: there are none here, one lies outside of the project, holds what looks like a secret, or a pattern
            fits none.
    """
    of_run = (run.id,) if isinstance(source.path, Address) else ()
    if not is_made_here(source.path, *of_run):
        raise Untrusted(
            f"{source.path} was not made here, and {run.name} would say which of your files are handed on",
            hint="Export it without --code.",
        )
    root = Path(run.code.root or run.code.cwd or "").resolve()
    if not (run.code.root or run.code.cwd) or not root.is_dir():
        raise UsageError(
            f"the code of {run.name} is not here: {run.code.root or 'no project'} is not a folder",
            hint="Export it without --code, or where it ran.",
        )
    found = {file.resolve() for file in _named(source, run, root)}
    if not found:
        raise UsageError(f"{run.name} names no file of its code below {root}", hint="Export it without --code.")
    waiting = sorted(found)
    while waiting:
        imported = set(_imported(waiting.pop(), root)) - found
        found |= imported
        waiting += imported
    for pattern in more:
        files = _fitting(root, pattern)
        if not files:
            raise UsageError(f"no file below {root} fits {pattern!r}")
        found |= files
    contents = {}
    for file in sorted(found):
        if not file.is_relative_to(root):
            raise UsageError(f"{file} lies outside of the project {root}", hint="Export it without --code.")
        contents[file.relative_to(root).as_posix()] = _clean(file)
    return contents


def changed_since(run: Run) -> list[str]:
    """Tell, in a line, where the file that ran is another one now."""
    root, location = Path(run.code.root or run.code.cwd or ""), (run.code.entry or "").rpartition(":")[0]
    named = root / (run.facts.script or location)
    file = named if named.is_file() else next(reversed([*_modules([location], [root])]), None)
    now = fingerprint(file)
    is_same = None in (now, run.code.fingerprint) or now == run.code.fingerprint
    return [] if is_same else [f"{file} was changed since {run.name} was recorded, and goes out as it is now"]


def _fitting(root: Path, pattern: str) -> set[Path]:
    """The project's own files that fit a pattern."""
    try:
        files = [file.resolve() for file in root.glob(pattern)]
    except (ValueError, NotImplementedError) as error:
        raise UsageError(f"{pattern!r} is not a pattern of files below {root}: {error}") from error
    return {file for file in files if file.is_file() and _is_own(file, root)}


def _named(source: RunSource, run: Run, root: Path) -> Iterator[Path]:
    """Yield the files that a run names: what was started, and what made its calls."""
    location, _, _ = (run.code.entry or "").rpartition(":")
    for name in (run.facts.script, location if location.endswith(".py") else None):
        if name:
            file = root / name
            if not file.is_file():
                raise UsageError(
                    f"the code of {run.name} is not here: there is no {file}", hint="Export without --code."
                )
            yield file
    for module in (run.facts.module, location if location and not location.endswith(".py") else None):
        if module:
            yield from _modules([module], [root])
            yield from _modules([f"{module}.__main__"], [root])
    for call in source.call_heads(run.id):
        if call.facts.file and (file := root / call.facts.file).is_file() and _is_own(file.resolve(), root):
            yield file


def _is_own(file: Path, root: Path) -> bool:
    """Whether a file is the project's own, and not one of an environment or a hidden folder in it."""
    if not file.is_relative_to(root):
        return False
    parts = file.relative_to(root).parts
    if any(part in _NEVER or part.startswith(".") for part in parts):
        return False
    return not any((root.joinpath(*parts[:depth]) / "pyvenv.cfg").exists() for depth in range(1, len(parts)))


def _imported(file: Path, root: Path) -> Iterator[Path]:
    """Yield the project's own files that a file imports."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names, folders = [alias.name for alias in node.names], [root, file.parent]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
            folders = [file.parents[node.level - 1]] if 0 < node.level <= len(file.parents) else [root, file.parent]
        else:
            continue
        yield from (found for each in _modules(names, folders) if _is_own(found := each.resolve(), root))


def _modules(names: Iterable[str], folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of modules, and of the packages that they are in."""
    for folder in folders:
        for name in names:
            place = folder
            for part in filter(None, name.split(".")):
                place = place / part
                for file in (place.with_name(f"{part}.py"), place / "__init__.py"):
                    if file.is_file():
                        yield file


def _clean(file: Path) -> bytes:
    """The bytes of a file in which redaction finds nothing: a changed one would not be what ran.

    Raises:
        UsageError: it finds something; names the first line. Or the file cannot be read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    text = content.decode("utf-8", "replace")
    clean = redact_text(text)
    if clean == text:
        return content
    pairs = zip(text.splitlines(), clean.splitlines(), strict=False)
    line = next((number for number, (was, now) in enumerate(pairs, 1) if was != now), 1)
    raise UsageError(
        f"{file}, line {line} holds what looks like a secret, and would be handed on with --code",
        hint="Take it out there, and read it from the environment; or export without --code.",
    )


def lock_of(run: Run) -> str:
    """The packages that a run's Python has now, as `name==version` a line; "" where that cannot be told."""
    folders = _package_folders(run.code.interpreter)
    if folders is None:
        return ""
    found = sorted(packages_in(folders).items(), key=lambda pair: pair[0].lower())
    return "".join(f"{name}=={version}\n" for name, version in found)


def python_of(run: Run) -> str:
    """The version that a run's Python has now, `3.11.9`; "" where that cannot be told."""
    if _is_this(run.code.interpreter):
        return platform.python_version()
    try:
        said = _VERSION.search((Path(run.code.interpreter or "").parents[1] / "pyvenv.cfg").read_text(encoding="utf-8"))
    except (OSError, ValueError, IndexError):
        return ""
    return "" if said is None else said[1].strip(".")


def _is_this(interpreter: str | None) -> bool:
    return interpreter is None or os.path.abspath(interpreter) == os.path.abspath(sys.executable)  # noqa: PTH100  links lead out of environments


def _package_folders(interpreter: str | None) -> list[str] | None:
    """Where a Python finds its packages; of another one than ours only an environment is known."""
    if _is_this(interpreter):
        return [folder for folder in sys.path if Path(folder).name in _NEVER]
    folders = [*Path(interpreter or "").parent.parent.glob("lib*/python3*/site-packages")]
    return [str(folder) for folder in folders] or None
