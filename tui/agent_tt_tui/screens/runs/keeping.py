"""What the browser does to keep order among runs: pin, archive, rename, tag, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.protocols import Store
from agent_tt.sources import marks_of
from agent_tt_tui import format as fmt
from agent_tt_tui.feature import Feature
from agent_tt_tui.screens.dialogs.about import TAGS_DETAIL, AboutDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import MarkedRuns
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.runs.listing import Listing
    from agent_tt_tui.screens.runs.opening import Opening

_CHANGING = frozenset({"runs.pin", "runs.archive", "runs.rename", "runs.tag", "runs.delete"})
_OF_ONE = frozenset({"runs.rename", "run.about"})
_MOST_NAMED = 5


class Keeping(Feature):
    """Changes what is written down about the marked runs, and deletes them."""

    COMMANDS = _CHANGING | {"run.about"}

    def __init__(self, screen: CommandScreen[None], listing: Listing, opening: Opening) -> None:
        """Initialise the feature.

        Args:
            screen: the screen with the list.
            listing: the list, which knows which runs are marked.
            opening: opens a run.
        """
        self._screen, self._listing, self._opening = screen, listing, opening

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in _CHANGING and self._marks is None:
            return "this file is only read: its runs cannot be pinned, archived, renamed, tagged or deleted"
        if command_id == "runs.delete" and self._store is None:
            return "this file is only read: its runs cannot be deleted"
        if command_id in _CHANGING and not self._listing.marked:
            return "there is no run yet"
        if command_id in _OF_ONE and self._listing.run_under_cursor is None:
            return "there is no run yet"
        return None

    @property
    def _marks(self) -> MarkedRuns | None:
        return marks_of(self._listing.source)

    @property
    def _store(self) -> Store | None:
        source = self._listing.source
        return source if isinstance(source, Store) and not source.read_only else None

    def _do(self, work: Callable[[MarkedRuns], str]) -> None:
        """Write something in a thread, and say what was done, or why not."""
        marks = self._marks
        if marks is not None:
            self._start(lambda: work(marks))

    def _start(self, work: Callable[[], str]) -> None:
        self._screen.run_worker(lambda: self._work(work), group="keeping", thread=True, exit_on_error=False)

    def _work(self, work: Callable[[], str]) -> None:
        try:
            said = work()
        except AgentTTError as error:
            said = f"{error.message}. {error.hint}" if error.hint else error.message
        self._screen.app.call_from_thread(self._done, said)

    def _done(self, said: str) -> None:
        self._screen.say(said)
        self._listing.read_again()

    # What keys do.

    def action_pin(self) -> None:
        """Pin the runs, or unpin them where all of them are pinned."""
        runs = self._listing.marked
        pinned = not all(run.pinned for run in runs)

        def pin(store: MarkedRuns) -> str:
            store.set_pinned([run.id for run in runs], pinned=pinned)
            return f"{'pinned' if pinned else 'unpinned'} {_named(runs)}"

        self._do(pin)

    def action_archive(self) -> None:
        """Archive the runs with what was forked from them, or list them again where all of them are archived."""
        runs = self._listing.marked
        archived = not all(run.archived for run in runs)

        def archive(store: MarkedRuns) -> str:
            all_runs = {run.id: run for run in runs}
            all_runs |= {fork.id: fork for run in runs for fork in store.forks(run.id, deep=True)}
            store.set_archived(list(all_runs), archived=archived)
            more = len(all_runs) - len(runs)
            with_forks = f" and {fmt.counted(more, 'fork')}" if more else ""
            how = f": {self._screen.key('runs.archived')} shows archived runs" if archived else ""
            return f"{'archived' if archived else 'listed again:'} {_named(runs)}{with_forks}{how}"

        self._do(archive)

    def action_rename(self) -> None:
        """Ask for another name of the run under the cursor."""
        run = self._listing.run_under_cursor
        if run is None:
            return

        def renamed(name: str) -> None:
            if name != run.name:
                self._do(lambda store: _rename(store, run, name))

        dialog = PromptDialog(
            "Name",
            detail="its forks are renamed with it",
            value=run.name,
            check=lambda text: None if text else "type a name",
        )
        self._screen.ask(dialog, renamed)

    def action_tag(self) -> None:
        """Ask for the tags of the runs; of several, for tags to add."""
        runs = self._listing.marked
        if len(runs) == 1:
            (run,) = runs
            dialog = PromptDialog("Tags", detail=TAGS_DETAIL, value=" ".join(run.tags))
            self._screen.ask(dialog, lambda text: self._tag(runs, text, add=False))
        else:
            dialog = PromptDialog("Tags", detail=f"to add to {len(runs)} runs, with spaces between them")
            self._screen.ask(dialog, lambda text: self._tag(runs, text, add=True))

    def _tag(self, runs: Sequence[Run], text: str, *, add: bool) -> None:
        tags = text.split()

        def tag(store: MarkedRuns) -> str:
            for run in runs:
                store.set_tags(run.id, list(dict.fromkeys((*run.tags, *tags) if add else tags)))
            return f"{_named(runs)}: {' '.join(tags) or 'no tags'}"

        self._do(tag)

    def action_about(self) -> None:
        """Show what was written down about the run under the cursor."""
        run = self._listing.run_under_cursor
        if run is not None:
            self._screen.app.push_screen(
                AboutDialog(self._listing.source, run.id), lambda step: self._about_closed(run, step)
            )

    def _about_closed(self, run: Run, step: int | None) -> None:
        self._listing.read_again()
        if step is not None:
            self._opening.open(run, step)

    def action_delete(self) -> None:
        """Ask whether the runs may go, with what would go with them."""
        store, runs = self._store, self._listing.marked
        if store is not None:
            self._screen.run_worker(lambda: self._plan(store, runs), group="keeping", thread=True, exit_on_error=False)

    def _plan(self, store: Store, runs: Sequence[Run]) -> None:
        try:
            planned = store.plan_deletion([run.id for run in runs], with_forks=True)
        except AgentTTError as error:
            self._screen.app.call_from_thread(self._screen.say, f"{error.message}: nothing was deleted")
            return
        self._screen.app.call_from_thread(self._ask, runs, planned)

    def _ask(self, runs: Sequence[Run], planned: Sequence[Run]) -> None:
        chosen = {run.id for run in runs}
        forks = [run for run in planned if run.id not in chosen]
        question = f"Delete {_named(runs)} for good?"
        if forks:
            them = "it" if len(runs) == 1 else "them"
            question += f"\n\nWhat was forked from {them} goes too, as it cannot be read without {them}:\n"
            question += "\n".join(f"  {run.name}  {run.status}" for run in forks[:_MOST_NAMED])
            if len(forks) > _MOST_NAMED:
                question += f"\n  and {fmt.count(len(forks) - _MOST_NAMED)} more"
        self._screen.confirm("Delete", question, lambda: self._delete(planned))

    def _delete(self, planned: Sequence[Run]) -> None:
        store = self._store
        if store is None:
            return

        def delete() -> str:
            from agent_tt.querying.search.finder import forget_runs

            # Exactly what was shown: what was forked from it meanwhile stands in the way.
            deletion = store.delete_runs([run.id for run in planned])
            forget_runs(store.path, [run.id for run in deletion.runs])
            count = fmt.counted(len(deletion.runs), "run")
            return f"deleted {count}; {fmt.size(deletion.freed_bytes)} are free again"

        self._start(delete)


def _rename(store: MarkedRuns, run: Run, name: str) -> str:
    store.rename_run(run.id, name)
    return f"{run.name} is now called {name}"


def _named(runs: Sequence[Run]) -> str:
    """The name of one run; of several, how many they are."""
    return runs[0].name if len(runs) == 1 else f"{fmt.count(len(runs))} runs"
