"""Keeping order among runs: their names, what is pinned or archived, and the labels of checkpoints.

Each function writes in the transaction that it is given, and looks its run up there: whoever deleted it meanwhile was
faster, and nothing is left behind that belongs to no run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import HasForks, IsPinned, IsRunning, NotFound, RunNotFound, UsageError
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store import ingest_filter
from agent_tt.store.liveness import now_us
from agent_tt.store.rows import columns, naming
from agent_tt.store.rows.run_rows import LABEL, descendants, label_of
from agent_tt.store.tables.definitions import NOTES, RUNS, TAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Label, Run
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows

__all__ = [
    "add_tags",
    "change_metadata",
    "change_note",
    "check_deletion",
    "check_unpinned",
    "checked_metadata",
    "label_metadata",
    "listed",
    "name_checkpoint",
    "pinned_names",
    "rename",
    "row_number",
    "set_archived",
    "set_pinned",
]

_MOST_LISTED: Final = 5
_METADATA: Final = RunMeta.metadata.key


def row_number(rows: Rows, run_id: str) -> int:
    """The row number of a run that is there now.

    Raises:
        RunNotFound: it is not, or not any more.
    """
    found = rows.query("SELECT run FROM runs WHERE id = ?", (run_id,))
    if not found:
        raise RunNotFound(f"no run {run_id!r}", hint="`agent-tt runs` lists what there is.")
    return int(found[0][0])


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; of many the first few, and how many more."""
    shown = list(names[:_MOST_LISTED])
    if len(names) > _MOST_LISTED:
        shown.append(f"{len(names) - _MOST_LISTED} more")
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def change_note(tx: Transaction, note: int, body: str) -> None:
    """Replace the text of a note, a bookmark or a watch.

    Raises:
        NotFound: it is gone.
    """
    kinds = ("note", "bookmark", "watch")
    if not tx.query("SELECT 1 FROM notes WHERE note = ? AND kind IN (?, ?, ?)", (note, *kinds)):
        raise NotFound(f"note {note} is gone", hint="Somebody took it away meanwhile.")
    NOTES.update(tx, (note,), {"body": body})


# -------------------------------------------------------------------- runs


def rename(tx: Transaction, run_id: str, name: str) -> None:
    """Rename a run, and with it the forks that are called after it; their former names still name them.

    Raises:
        UsageError: the name, or that of one of the forks, would name something else too.
    """
    run, name = row_number(tx, run_id), naming.tidy(ingest_filter.admit_text(name))
    ((old, parent_name),) = tx.query(
        "SELECT r.name, p.name FROM runs r LEFT JOIN runs p ON p.run = r.parent WHERE r.run = ?", (run,)
    )
    if name == old:
        return
    naming.check_run_name(tx, run, name, parent_name=parent_name)
    _set_name(tx, run, name)
    for fork in descendants(tx, run):
        ((called,),) = tx.query("SELECT name FROM runs WHERE run = ?", (fork,))
        if str(called).startswith(f"{old}/"):
            theirs = name + str(called)[len(old) :]
            if tx.query("SELECT 1 FROM runs WHERE name = ? AND run <> ?", (theirs, fork)):
                raise UsageError(f"its fork {called} would be called {theirs}, as another run is already")
            _set_name(tx, fork, theirs)


def _set_name(tx: Transaction, run: int, name: str) -> None:
    def remember(facts: dict[str, Wire]) -> None:
        ((old,),) = tx.query("SELECT name FROM runs WHERE run = ?", (run,))
        before = RunMeta.former_names.of(facts)
        RunMeta.former_names.put(facts, tuple(naming.former_names(before, old, name)))

    _change_facts(tx, run, remember)
    RUNS.update(tx, (run,), {"name": name})


def set_pinned(tx: Transaction, run_ids: Sequence[str], *, pinned: bool) -> None:
    """Pin runs or unpin them; what is pinned is listed."""
    for run_id in run_ids:
        run = row_number(tx, run_id)
        _change_facts(tx, run, lambda facts: facts.update(pinned=True if pinned else None))
        if pinned:
            RUNS.update(tx, (run,), {"hidden": 0})


def set_archived(tx: Transaction, run_ids: Sequence[str], *, archived: bool) -> None:
    """Hide runs from lists, or show them again.

    Raises:
        IsPinned: one that is to go is pinned.
    """
    runs = [row_number(tx, run_id) for run_id in run_ids]
    if archived:
        check_unpinned(pinned_names(tx, runs))
    for run in runs:
        RUNS.update(tx, (run,), {"hidden": int(archived)})


def check_unpinned(pinned: Sequence[str]) -> None:
    """Refuse to archive runs of which some, named here, are pinned.

    Raises:
        IsPinned: there is one.
    """
    if pinned:
        verb = "is" if len(pinned) == 1 else "are"
        raise IsPinned(f"{listed(pinned)} {verb} pinned: nothing was archived", runs=pinned, hint="Unpin first.")


def check_deletion(runs: Sequence[Run], left: Sequence[Run]) -> None:
    """Refuse to delete runs that have to stay.

    Args:
        runs: those to be deleted.
        left: those that descend from them and are not.

    Raises:
        IsRunning, HasForks, IsPinned: one of them has to stay.
    """
    running = [run.name for run in runs if run.status == "running"]
    if running:
        verb = "is" if len(running) == 1 else "are"
        raise IsRunning(f"{listed(running)} {verb} running", runs=running, hint="Stop it first, or wait.")
    if left:
        names = [run.name for run in left]
        raise HasForks(
            f"{listed(names)} descend{'s' if len(names) == 1 else ''} from {listed([run.name for run in runs])}"
            " and cannot be read without it",
            runs=names,
            hint="--with-forks deletes them too.",
        )
    pinned = [run.name for run in runs if run.pinned]
    if pinned:
        verb = "is" if len(pinned) == 1 else "are"
        raise IsPinned(f"{listed(pinned)} {verb} pinned", runs=pinned, hint="Unpin first.")


def pinned_names(rows: Rows, runs: Sequence[int]) -> list[str]:
    """The names of those among some runs that are pinned."""
    names: list[str] = []
    for run in runs:
        ((name, meta),) = rows.query("SELECT name, meta FROM runs WHERE run = ?", (run,))
        if RunMeta.pinned.of(columns.mapping_from_text(meta)):
            names.append(str(name))
    return names


# -------------------------------------------------------------------- metadata and labels


def checked_metadata(metadata: Mapping[str, Wire]) -> dict[str, Wire]:
    """Facts that a person wrote down, as they are kept.

    Raises:
        UsageError: a name is empty, or a fact that is a text is none.
    """
    from agent_tt.model.fact_text import TEXT_FACTS

    for name, value in metadata.items():
        if not name.strip():
            raise UsageError("a fact needs a name")
        if name in TEXT_FACTS and not isinstance(value, str):
            raise UsageError(f"{name} is a text", hint=f"""Write {name}='"…"'.""")
    return ingest_filter.admit_mapping(metadata)


def change_metadata(tx: Transaction, run: int, metadata: Mapping[str, Wire], remove: Sequence[str]) -> None:
    """Merge into a run's metadata."""
    _change_facts(tx, run, lambda facts: facts.update({_METADATA: _merged(facts.get(_METADATA), metadata, remove)}))


def name_checkpoint(tx: Transaction, run: int, step: int, name: str | None) -> None:
    """Names a checkpoint, or takes its name away.

    Raises:
        UsageError: the name would name another step too.
    """
    if name is not None:
        name = naming.tidy(ingest_filter.admit_text(name))
        rows = tx.query("SELECT step, body FROM notes WHERE run = ? AND kind = ? AND step <> ?", (run, LABEL, step))
        others = (label_of(at, body).name for at, body in rows)
        naming.check_checkpoint_name(name, {other for other in others if other is not None})
    _change_label(tx, run, step, lambda label: {"name": name, "metadata": dict(label.metadata) or None})


def label_metadata(tx: Transaction, run: int, step: int, metadata: Mapping[str, Wire], remove: Sequence[str]) -> None:
    """Merge into a checkpoint's metadata."""
    _change_label(
        tx,
        run,
        step,
        lambda label: {"name": label.name, "metadata": _merged(dict(label.metadata), metadata, remove)},
    )


def _change_label(tx: Transaction, run: int, step: int, change: Callable[[Label], dict[str, Wire]]) -> None:
    """Replace the label of a checkpoint; one that says nothing is taken away."""
    found = tx.query("SELECT body FROM notes WHERE run = ? AND kind = ? AND step = ?", (run, LABEL, step))
    body = columns.mapping_to_text(change(label_of(step, found[0][0] if found else None)))
    NOTES.delete(tx, "run = ? AND kind = ? AND step = ?", (run, LABEL, step))
    if body is not None:
        NOTES.insert(tx, (None, run, step, LABEL, body, now_us()))


def _change_facts(tx: Transaction, run: int, change: Callable[[dict[str, Wire]], None]) -> None:
    """Changes what `runs.meta` says of a run; a fact of None is taken away."""
    ((meta,),) = tx.query("SELECT meta FROM runs WHERE run = ?", (run,))
    facts = columns.mapping_from_text(meta)
    change(facts)
    RUNS.update(tx, (run,), {"meta": columns.mapping_to_text(facts) or "{}"})


def _merged(before: Wire, more: Mapping[str, Wire], remove: Sequence[str]) -> Wire:
    known = before if isinstance(before, dict) else {}
    return {name: value for name, value in {**known, **more}.items() if name not in remove} or None


def add_tags(tx: Transaction, run: int, tags: Sequence[str]) -> None:
    """Give a run the tags that it lacks."""
    known = {tag for (tag,) in tx.query("SELECT tag FROM tags WHERE run = ?", (run,))}
    for tag in dict.fromkeys(map(ingest_filter.admit_text, tags)):
        if tag not in known:
            TAGS.insert(tx, (run, tag))
