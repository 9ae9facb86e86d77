"""A sweep: the matrix of what came out, growing while it runs; any of its runs opened or compared."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.containers import Vertical
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError, Interrupted
from agent_tt.sweeping.matrix import MatrixReader
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState, Pane, PaneTitle
from agent_tt_tui.keymaps import SWEEP
from agent_tt_tui.look import look_of
from agent_tt_tui.lookout import ENDED_SECONDS, Lookout
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.screens.sweep.driving import Driving
from agent_tt_tui.viewmodel.runs.sweeps import Answers, answers_of, left, place, read_chosen, spent
from agent_tt_tui.widgets.runs.sweep_matrix import MatrixLegend, MatrixTitles, SweepMatrix
from agent_tt_tui.widgets.runs.sweep_parts import ChosenRun, SweepAnswers

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.sweeping.matrix import Matrix
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.viewmodel.runs.sweeps import Chosen

_POLL_SECONDS: Final = 0.25
_REST_SECONDS: Final = 0.06
_FRAME_ROWS: Final = 11
"""Rows of header, titles, legend, the answers' title and two of them, the chosen run, footer."""

_COMPARED: Final = 2


class SweepScreen(CommandScreen[None]):
    """One sweep."""

    CONTEXT = SWEEP
    AUTO_FOCUS = "SweepMatrix"
    HELP = "A sweep: a row for each combination of values, a column for each sample; enter opens the run."

    def __init__(self, source: RunSource, sweep_id: str) -> None:
        """Show a sweep.

        Args:
            source: Where it is.
            sweep_id: Its id.
        """
        super().__init__()
        self._source, self._sweep_id = source, sweep_id
        self._driving = Driving(self, source, sweep_id, lambda: self._matrix)
        self.features = (self._driving,)
        self._reader: MatrixReader | None = None
        self._matrix: Matrix | None = None
        self._answers: Answers | None = None
        self._outcome = 0
        self._marked: dict[str, Run] = {}
        self._reading = False
        self._version: int | None = None

    def compose(self) -> ComposeResult:
        """Lay out header, matrix, legend, answers, the chosen run and footer."""
        yield HeaderRow(HeaderState("sweep"))
        with Vertical(id="sweep-matrix"):
            yield MatrixTitles()
            yield SweepMatrix()
            yield MatrixLegend()
        with Pane(PaneTitle("Answers"), id="sweep-answers", classes="ground"):
            yield SweepAnswers()
        yield ChosenRun()
        yield self.footer()

    def on_mount(self) -> None:
        """Read it, and follow the store."""
        self._look()
        self._lookout = Lookout(self, self._has_news, self._look, self._pause)

    def on_unmount(self) -> None:
        """Look no more."""
        self._lookout.end()

    def _has_news(self) -> bool:
        # Who drives it may go without a word in the store.
        return self._goes_on or self._source.version() != self._version

    def _pause(self) -> float:
        return _POLL_SECONDS if self._goes_on else ENDED_SECONDS

    @property
    def _goes_on(self) -> bool:
        return self._matrix is None or self._matrix.status == "running"

    def on_resize(self, event: events.Resize) -> None:
        """Share the rows: the matrix takes what it needs, as long as some answers can be seen."""
        self.set_class(event.size.height < 20, "low")
        self._share_rows()
        self.call_after_refresh(self._choose_soon)

    def _share_rows(self) -> None:
        rows = len(self._matrix.cells) if self._matrix is not None else 1
        low = self.has_class("low")
        room = self.size.height - (_FRAME_ROWS - 3 if low else _FRAME_ROWS)
        self.query_one(SweepMatrix).styles.height = max(1, min(rows, room))

    # Reading.

    def _look(self) -> None:
        """Read anew where the store has changed, or where whoever drives it may have gone."""
        if not self._reading:
            self._reading = True
            self.run_worker(self._read, group="sweep", thread=True, exit_on_error=False)

    def _read(self) -> None:
        worker = get_current_worker()
        try:
            version = self._source.version()
            known = self._matrix
            if version == self._version and known is not None and known.status != "running":
                return
            if self._reader is None:
                self._reader = MatrixReader(self._source, self._sweep_id)
            matrix = self._reader.read()
            if not worker.is_cancelled:
                self.app.call_from_thread(self._show, matrix, version)
        except AgentTTError as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self.say, error.message, None)
        finally:
            self._reading = False

    def _show(self, matrix: Matrix, version: int) -> None:
        changed = version != self._version or self._matrix is None
        first = self._matrix is None
        self._matrix, self._version = matrix, version
        self._driving.say_trouble()
        self.query_one(HeaderRow).state = self._header(matrix)
        self.refresh_footer()
        if not changed:
            return
        self._show_matrix()
        if first:
            self._share_rows()
        self._choose_soon()

    def _show_matrix(self) -> None:
        matrix = self._matrix
        if matrix is None:
            return
        answers = self._answers = answers_of(matrix, self._outcome if matrix.definition.outcomes else None)
        rates = {
            index: rate
            for index, cell in enumerate(matrix.cells)
            if matrix.definition.outcomes and (rate := cell.tally.holds[self._outcome]) is not None
        }
        texts = {answer.letter: answer.text for answer in answers.groups if not answer.failed}
        self.query_one(SweepMatrix).show(matrix, answers.letters, rates, frozenset(self._marked), texts)
        titles = self.query_one(MatrixTitles)
        titles.matrix, titles.answer = matrix, self.query_one(SweepMatrix).longest
        titles.refresh()
        title = self.query_one("#sweep-answers", Pane).title_row
        asked = matrix.definition.outcomes
        title.title = "Answers" if not asked else "Outcome"
        which = f"  {self._outcome + 1} of {len(asked)}" if len(asked) > 1 else ""
        title.detail = answers.about + which if asked else ""
        title.hint = f"{answers.different} different in {answers.succeeded}" if answers.succeeded else ""
        go_on = f": {self.key('sweep.resume')} goes on with the sweep"
        why = f"no run has ended{' yet' if matrix.status == 'running' else go_on}"
        self.query_one(SweepAnswers).show(answers.groups, why)

    def _header(self, matrix: Matrix) -> HeaderState:
        glyphs, total = look_of(self).glyphs, matrix.total
        what = ", ".join(axis.name for axis in matrix.definition.varied) or f"{matrix.definition.samples} samples"
        done = f"{total.done} of {total.samples}"
        facts = [Fact(spent(matrix), 3)] if spent(matrix) else []
        if matrix.status == "running":
            facts.append(Fact(f"{matrix.definition.jobs} at a time", 1))
            facts += [Fact(left(matrix), 2)] if left(matrix) else []
        if matrix.broken:
            facts.append(Fact(f"{matrix.broken} broke off", 0))
        glyph, tone = {
            "running": (glyphs.still, "running"),
            "complete": (glyphs.well, "well"),
            "interrupted": (glyphs.interrupted, "muted"),
        }[matrix.status]
        words = done if matrix.status == "running" else f"{matrix.status}, {done}"
        name = f"{matrix.sweep.run_name} after {matrix.sweep.step}"
        return HeaderState(f"sweep {what}", glyph, words, tone, name, facts=tuple(facts))  # type: ignore[arg-type]

    # The cursor.

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show the run that the cursor came to."""
        if isinstance(message.view, SweepMatrix):
            self._choose_soon()

    def on_sweep_matrix_sample_moved(self) -> None:
        """Show the run that the cursor came to."""
        self._choose_soon()

    def _choose_soon(self) -> None:
        matrix, view = self._matrix, self.query_one(SweepMatrix)
        if matrix is None or view.cursor < 0:
            return
        titles = self.query_one(MatrixTitles)
        titles.first, titles.sample = view.first, view.sample
        sample, pane = view.chosen, self.query_one(ChosenRun)
        pane.place = place(matrix, view.cursor, view.sample)
        if pane.sample is None or sample is None or pane.sample.run != sample.run:
            pane.chosen = None
        pane.sample = sample
        if sample is not None and self._answers is not None:
            letter = self._answers.letters.get((matrix.cells[view.cursor].cell.number, sample.number), "")
            error = sample.run.error.short if sample.run is not None and sample.run.error is not None else ""
            self.query_one(SweepAnswers).follow(letter, error)
        self.set_timer(_REST_SECONDS, self._read_chosen_soon)
        self.refresh_footer()

    def _read_chosen_soon(self) -> None:
        view, matrix = self.query_one(SweepMatrix), self._matrix
        if matrix is not None:
            read = partial(self._read_chosen, matrix, view.cursor, view.sample)
            self.run_worker(read, group="chosen", exclusive=True, thread=True, exit_on_error=False)

    def _read_chosen(self, matrix: Matrix, cell: int, sample: int) -> None:
        worker = get_current_worker()
        try:
            chosen = read_chosen(self._source, matrix, cell, sample, cancelled=lambda: worker.is_cancelled)
        except Interrupted:
            return
        except AgentTTError:  # it was deleted meanwhile, or is damaged: opening it says which
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_chosen, cell, sample, chosen)

    def _show_chosen(self, cell: int, sample: int, chosen: Chosen | None) -> None:
        view = self.query_one(SweepMatrix)
        if (view.cursor, view.sample) == (cell, sample):
            self.query_one(ChosenRun).chosen = chosen

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        matrix = self._matrix
        if matrix is None:
            return "it is being read" if command_id.startswith("sweep.") else None
        if command_id in {"list.choose", "sweep.mark"} and self._run() is None:
            return "no run was begun here yet"
        if command_id == "sweep.compare" and self._run() is None and len(self._marked) != _COMPARED:
            return "no run was begun here yet"
        if command_id == "sweep.outcome" and len(matrix.definition.outcomes) < 2:
            return "no other outcome was asked for: --outcome asks for one"
        return super().blocked(command_id)

    def _run(self) -> Run | None:
        sample = self.query_one(SweepMatrix).chosen
        return sample.run if sample is not None else None

    def action_sample(self, by: int) -> None:
        """Go to another sample of the same values."""
        self.query_one(SweepMatrix).sample += by

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Open the run under the cursor; where several were begun for it, one that is chosen."""
        reason = self.blocked("list.choose")
        sample = self.query_one(SweepMatrix).chosen
        if not isinstance(message.view, SweepMatrix):
            return
        if reason is not None or sample is None or sample.run is None:
            self.say(reason or "no run was begun here yet")
        elif sample.begun > 1:
            others = [run for run in reversed(sample.runs) if run.id != sample.run.id]
            counts = "the one that counts" if sample.is_done else "the newest"
            choices = [Choice(sample.run.id, sample.run.name, f"{sample.run.status}, {counts}")]
            choices += [Choice(run.id, run.name, f"{run.status}, broke off") for run in others]
            self.ask(PickDialog("Open", choices), self._open)
        else:
            self._open(sample.run.id)

    def _open(self, run_id: str) -> None:
        self.post_message(OpenRun(self._source, self._source.run(run_id)))

    def action_mark(self) -> None:
        """Mark the run under the cursor for comparing, or not any more."""
        run = self._run()
        if run is None:
            return
        if self._marked.pop(run.id, None) is None:
            self._marked[run.id] = run
            for old in list(self._marked)[:-_COMPARED]:
                del self._marked[old]
        self._show_matrix()
        self.refresh_footer()

    def action_compare(self) -> None:
        """Compare two runs: the marked ones, the marked one and this one, or this one and its parent."""
        from agent_tt_tui.screens.compare.screen import CompareScreen

        run, marked = self._run(), list(self._marked.values())
        pair: list[Run | None] = [*marked] if len(marked) == _COMPARED else [*marked, run]
        if len(marked) == 1 and run is not None and run.id == marked[0].id:
            pair = [run]
        if len(pair) == 1:
            pair = [self._matrix.run if self._matrix is not None else None, run]
        first, second = pair
        if first is None or second is None:
            self.say("the run that it was forked from is gone")
            return
        # They may have gone on since they were marked.
        first, second = self._source.run(first.id), self._source.run(second.id)
        self.app.push_screen(CompareScreen(self._source, first, self._source, second))

    def action_outcome(self) -> None:
        """Show the next outcome that was asked for."""
        if self._matrix is not None:
            self._outcome = (self._outcome + 1) % len(self._matrix.definition.outcomes)
            self._show_matrix()
            self._choose_soon()
