"""The preview pane of the run browser: it reads what it shows of the run under the cursor once that rests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError, Interrupted
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.viewmodel.runs.preview import Preview, read_preview
from agent_tt_tui.widgets.runs.run_preview import RunPreview

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

_DELAY_SECONDS: Final = 0.06
"""How long the cursor rests before a preview is read: while a key is held down none is."""


class PreviewPane(Pane):
    """A preview of one run, under a title with its name and how long it took."""

    def __init__(
        self,
        source: RunSource,
        under_cursor: Callable[[], Run | None],
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Make the pane, empty.

        Args:
            source: Where the runs are.
            under_cursor: Gives the run to show; None for none.
            id: Textual's id of the pane.
        """
        self._body = RunPreview(id="preview")
        super().__init__(PaneTitle("Preview"), self._body, id=id, classes="ground")
        self._source, self._under_cursor = source, under_cursor

    def read_soon(self) -> None:
        """Read the preview of the run that is then under the cursor."""
        self.set_timer(_DELAY_SECONDS, self._start)

    def _start(self) -> None:
        if not self.is_attached:  # the screen was left while the cursor rested
            return
        run = self._under_cursor()
        if run is None:
            self.title_row.detail, self.title_row.hint = "", ""
            self._body.preview, self._body.trouble = None, ""
            return
        self.run_worker(lambda: self._read(run), group="preview", exclusive=True, thread=True, exit_on_error=False)

    def _read(self, run: Run) -> None:
        worker = get_current_worker()
        trouble, preview = "", None
        try:
            preview = read_preview(self._source, run, cancelled=lambda: worker.is_cancelled)
        except Interrupted:
            return
        except AgentTTError as error:
            trouble = error.message
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, run, preview, trouble)

    def _show(self, run: Run, preview: Preview | None, trouble: str) -> None:
        self.title_row.detail = run.name
        took_us = None if run.ended_us is None else run.ended_us - run.started_us
        self.title_row.hint = "" if took_us is None else fmt.duration(took_us / 1e6)
        self._body.preview, self._body.trouble = preview, trouble
