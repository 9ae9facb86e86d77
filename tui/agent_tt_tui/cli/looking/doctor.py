"""`agent-tt doctor`: what agent-tt finds on this machine, what it lacks, and what is wrong."""

from __future__ import annotations

import importlib.metadata as metadata
import os
import platform
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Final, Literal

import click

from agent_tt._dataclass import dataclass
from agent_tt._version import __version__
from agent_tt.errors import AgentTTError
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.terminal import Cell, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_tt_tui.cli.terminal import Terminal

State = Literal["ok", "missing", "wrong"]

_INTERNAL: Final = frozenset({"test", "check", "bench", "mutants"})
"""Extras for those who work on agent-tt."""

_EXTRA: Final = re.compile(r"^(?P<name>[\w.-]+).*;.*extra == ['\"](?P<extra>[\w-]+)['\"]")
_LEAST_WORDS: Final = 30
_LEAST_COLUMNS: Final = 80
_LEAST_ROWS: Final = 24
_ROLES: Final[dict[State, Role]] = {"ok": "well", "missing": "muted", "wrong": "failed"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at.

    Attributes:
        about: What it is.
        state: `missing` is what one can do without; `wrong` is what has to be mended.
        words: What was found.
        hint: What to do about it; "" for nothing.
    """

    about: str
    state: State
    words: str
    hint: str = ""


@click.command()
@common_options
def command(options: Options) -> int:
    """Show what agent-tt finds on this machine: store, settings, terminal, extras, frameworks, sessions.

    Nothing is written, and nothing is asked of the network but a store that is on a server. What is missing is what one
    can do without; the exit code is 1 where something is wrong.

    \b
    agent-tt doctor
    --json: [{about, state, words, hint}] with state ok, missing or wrong
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    found = [finding for look in _LOOKS for finding in _guarded(look, options)]
    if options.as_json:
        write_json([{"about": f.about, "state": f.state, "words": f.words, "hint": f.hint} for f in found])
    else:
        _write(options.terminal(), found)
    return 1 if any(finding.state == "wrong" for finding in found) else 0


def _write(terminal: Terminal, found: list[Finding]) -> None:
    """Write each finding on as many lines as its words need."""
    signs = {"ok": terminal.glyphs.well, "missing": terminal.glyphs.dot, "wrong": terminal.glyphs.failed}
    margin = max(len(finding.about) for finding in found) + 2
    room = max(_LEAST_WORDS, terminal.columns - margin - 3)
    for finding in found:
        lines = [*textwrap.wrap(terminal.safe(finding.words), room), *textwrap.wrap(terminal.safe(finding.hint), room)]
        said = len(textwrap.wrap(terminal.safe(finding.words), room))
        for number, line in enumerate(lines):
            sign, about = (signs[finding.state], finding.about) if number == 0 else ("", "")
            terminal.line(
                Cell(sign.ljust(2), _ROLES[finding.state]),
                Cell(about.ljust(margin), "strong"),
                Cell(line, "text" if number < said else "muted"),
            )


def _guarded(look: Callable[[Options], Iterator[Finding]], options: Options) -> Iterator[Finding]:
    """What a look finds; an error of ours is a finding too."""
    try:
        yield from look(options)
    except AgentTTError as error:
        yield Finding(look.__name__.strip("_"), "wrong", error.message, error.hint)


def _python(_options: Options) -> Iterator[Finding]:
    yield Finding("agent-tt", "ok", f"{__version__}, Python {platform.python_version()}, {sys.executable}")


def _settings(_options: Options) -> Iterator[Finding]:
    from agent_tt import config
    from agent_tt_tui.settings import chosen_look

    settings, file = config.load(), config.user_file()
    chosen_look(settings)
    own = str(file) if file.exists() else f"none of your own ({file} is not there)"
    yield Finding("settings", "ok", f"{own}; theme {settings.theme or 'auto'}, {len(settings.keys)} keys changed")


def _store(options: Options) -> Iterator[Finding]:
    path = options.store_path()
    if not path.exists():
        room = _first_there(path.parent)
        if os.access(room, os.W_OK):
            yield Finding("store", "missing", f"{path} is not there yet", "the first recording makes it")
        else:
            hint = f"{room} cannot be written: name another file with --store or AGENT_TT_STORE"
            yield Finding("store", "wrong", f"{path} is not there, and cannot be made", hint)
        return
    with options.source() as source:
        runs = len(source.runs(archived=True))
        kind = "only read" if source.read_only else "written"
        yield Finding("store", "ok", f"{source.path}, {runs} runs, can be {kind}", "" if runs else "agent-tt samples")


def _terminal(_options: Options) -> Iterator[Finding]:
    from agent_tt import config
    from agent_tt_tui.glyphs import ASCII
    from agent_tt_tui.look import Look
    from agent_tt_tui.settings import chosen_look

    if not sys.stdout.isatty():
        yield Finding("terminal", "missing", "output is not a terminal", "the app needs one; --web serves a browser")
        return
    columns, rows = shutil.get_terminal_size()
    try:
        look = chosen_look(config.load())
    except AgentTTError:  # which is told of the settings
        look = Look.choose()
    glyphs = "ASCII" if look.glyphs is ASCII else "Unicode"
    words = f"{os.environ.get('TERM', 'no TERM')}, {columns}×{rows}, {glyphs}, theme {look.theme}"
    small = columns < _LEAST_COLUMNS or rows < _LEAST_ROWS
    yield Finding("terminal", "ok", words, f"{_LEAST_COLUMNS}×{_LEAST_ROWS} show more" if small else "")


def _editor(_options: Options) -> Iterator[Finding]:
    from agent_tt_tui.viewmodel.edits.external_editor import editor_command

    name = editor_command(os.environ)[0]
    found = shutil.which(name)
    if found:
        yield Finding("editor", "ok", found)
    else:
        yield Finding("editor", "missing", f"{name} is not installed", "VISUAL or EDITOR names another")


def _sessions(_options: Options) -> Iterator[Finding]:
    from agent_tt.found.places import PLACES, folders_of

    there = sorted({place.program for place in PLACES if any(folder.is_dir() for folder in folders_of(place, None))})
    if there:
        yield Finding("sessions", "ok", f"of {', '.join(there)}", "agent-tt sessions lists them")
    else:
        yield Finding("sessions", "missing", "no coding agent that is known has been here")


def _frameworks(_options: Options) -> Iterator[Finding]:
    from importlib.util import find_spec

    from agent_tt.frameworks.adapters import ADAPTERS

    names = sorted({plugin.name.partition(".")[0] for plugin, _ in ADAPTERS.look()})
    there = [name for name in names if find_spec(name) is not None]
    words = ", ".join(there) if there else f"none of {', '.join(names)}"
    yield Finding("frameworks", "ok" if there else "missing", words)


def _extras(_options: Options) -> Iterator[Finding]:
    needed: dict[str, list[str]] = {}
    for line in metadata.requires("agent-tt") or []:
        match = _EXTRA.match(line)
        if match is not None and match["extra"] not in _INTERNAL:
            needed.setdefault(match["extra"], []).append(match["name"])
    for extra, names in sorted(needed.items()):
        lacking = [name for name in names if not _is_installed(name)]
        if lacking:
            yield Finding(
                f"extra {extra}", "missing", f"without {', '.join(lacking)}", f"pip install 'agent-tt[{extra}]'"
            )
        else:
            yield Finding(f"extra {extra}", "ok", ", ".join(f"{name} {metadata.version(name)}" for name in names))


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _first_there(folder: Path) -> Path:
    """A folder, or the nearest above it that is there."""
    return next(each for each in (folder, *folder.parents) if each.exists())


_LOOKS: Final = (_python, _settings, _store, _terminal, _editor, _sessions, _frameworks, _extras)
