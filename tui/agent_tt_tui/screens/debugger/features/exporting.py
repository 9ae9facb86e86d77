"""Writing the run into a file that others can read, in the format that the file's name says."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt.exporting.export import Export, Exported
from agent_tt_tui.feature import hears
from agent_tt_tui.format import short_path
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.text import clean, cut_start, width

_PICTURE: Final = ".svg"
"""What a picture of this screen ends in: the app has it drawn already."""

_LEAST_NAME: Final = 40
"""Columns that a file's name has, whatever else is to be said."""
_ODD: Final = re.compile(r"[^\w.-]+")


@dataclass
class Written(Message):
    """A run was exported, or was not."""

    words: str


class _Picture(Export):
    """What the screen showed."""

    SUFFIXES: ClassVar = (_PICTURE,)
    HELP: ClassVar = "A picture of this screen."

    def __init__(self, svg: str) -> None:
        self._svg = svg

    def write(self, exported: Exported, path: Path) -> None:  # noqa: ARG002  the screen is drawn already
        """Write the picture."""
        path.write_text(self._svg, encoding="utf-8")


class Exporting(DebuggerFeature):
    """Exports the run."""

    COMMANDS = frozenset({"run.export"})

    def action_export(self) -> None:
        """Ask for a file, and write the run into it."""
        from agent_tt.exporting.formats import EXPORTS
        from agent_tt_tui.screens.dialogs.prompt import PromptDialog

        ends = dict.fromkeys(end for _, export in EXPORTS.all() for end in export.SUFFIXES[:1])
        dialog = PromptDialog(
            "Export",
            detail=f"a file that ends in {' '.join({**ends, _PICTURE: None})}",
            value=f"{_ODD.sub('-', self.model.run.name)}.html",
            check=self._trouble,
        )
        self.screen.ask(dialog, self._begin)

    def _trouble(self, text: str) -> str | None:
        from agent_tt.exporting.formats import format_for
        from agent_tt.exporting.redacted import is_unredacted

        path = Path(text).expanduser()
        try:
            if not text.endswith(_PICTURE):
                format_for(path)
            elif is_unredacted(self.model.source, self.model.run):
                return "what this screen shows may hold secrets: `agent-tt export --svg` draws it without"
        except AgentTTError as error:
            return error.message
        return f"{path.name} is there already" if path.exists() else None  # the line above says where

    def _begin(self, text: str) -> None:
        from agent_tt.exporting.formats import format_for
        from agent_tt_tui.picture import svg_of

        path = Path(text).expanduser()
        if text.endswith(_PICTURE):
            # The dialog is gone from the screen by then.
            self.screen.call_after_refresh(lambda: self._write(_Picture(svg_of(self.screen.app)), path))
        else:
            self._write(format_for(path), path)

    def _write(self, export: Export, path: Path) -> None:
        self.screen.say(self._said("writing ", path), None)
        work = partial(self._export, export, path, self.time.number)
        self.screen.run_worker(work, group="export", thread=True, exit_on_error=False)

    def _export(self, export: Export, path: Path, step: int) -> None:
        from agent_tt.exporting.redacted import exported
        from agent_tt.exporting.writing import export_file

        try:
            left_out = export_file(export, exported(self.model.source, [(self.model.run, step)]), path)
        except AgentTTError as error:
            self.screen.post_message(Written(error.message))
        else:
            self.screen.post_message(Written(self._said("written: ", path, f" · {left_out}" if left_out else "")))

    def _said(self, before: str, path: Path, after: str = "") -> str:
        """One line about a file: of a path that does not fit the end is kept, which names the file."""
        named = clean(short_path(path))
        room = max(self.screen.size.width - 2 - width(before) - width(after), min(width(path.name) + 2, _LEAST_NAME))
        return f"{before}{cut_start(named, room, look_of(self.screen).glyphs.cut)}{after}"

    @hears(Written)
    def _on_written(self, message: Written) -> None:
        self.screen.say(message.words)
