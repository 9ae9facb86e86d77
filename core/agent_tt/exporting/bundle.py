"""Runs as a bundle, `.att`: with all that belongs to them, and their code where it is wanted.

The format is that of `agent_tt.interop.bundle`, which opens it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt import config
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.exporting.agent_code import changed_since, code_files, lock_of, python_of
from agent_tt.exporting.export import Export
from agent_tt.exporting.taken_in import as_store
from agent_tt.golden.golden_file import find_goldens, read_golden
from agent_tt.golden.header import FOLDER
from agent_tt.interop.bundle.container import write_container
from agent_tt.interop.bundle.manifest import CODE, GOLDENS, LOCK, STORE, is_member_name
from agent_tt.interop.bundle.signing import signer
from agent_tt.model.facts.program import program_below
from agent_tt.protocols import check_proven
from agent_tt.redacting.taking_out import take_out
from agent_tt.redaction.texts import redact_text
from agent_tt.store import copy_runs, open_store
from agent_tt.store.file.provenance import forget_maker
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.exporting.export import Exported
    from agent_tt.model import Run
    from agent_tt.store import SqliteStore

__all__ = ["Bundle"]

_HERE: Final = "."
"""What stands in a bundle for the folder of a project."""


class Bundle(Export):
    """Runs with their forks, and what those were forked from.

    Args:
        with_code: whether the files of their agents go with them.
        more: with those, patterns of further files of the project.
        key: file of the private key that signs it; None to leave it unsigned.
    """

    SUFFIXES: ClassVar = (".att",)
    HELP: ClassVar = "A bundle: the runs with forks, notes and goldens, to open or replay elsewhere."

    def __init__(self, *, with_code: bool = False, more: Sequence[str] = (), key: Path | None = None) -> None:
        self._with_code, self._more, self._key = with_code, more, key

    def write(self, exported: Exported, path: Path) -> str | None:
        """Write the runs; give what was left out, as every format does.

        Raises:
            UsageError: one of them still runs; its code, or the key, cannot be used.
            Damaged: something of them is not as it was recorded.
        """
        sign = None if self._key is None else signer(self._key)
        remarks: list[str] = []
        with (
            as_store(exported.source, exported.runs, remarks) as (source, named),
            temporary_folder("agent-tt-export-") as folder,
        ):
            runs = _with_relatives(source, named)
            store = Path(folder) / STORE
            changed = _pack(source, runs, store)
            files: dict[str, Path | bytes] = {STORE: store}
            if self._with_code:
                files |= self._code(source, named, remarks)
            files |= _goldens(runs, remarks, is_changed=changed)
            python = python_of(named[0]) if self._with_code else ""
            write_container(path, files, [run.id for run in named], python, sign)
        return "\n".join(remarks) or None

    def _code(self, source: SqliteStore, runs: Sequence[Run], remarks: list[str]) -> dict[str, Path | bytes]:
        """The files of the runs' agents, and the packages beside them."""
        if len({run.code.root for run in runs}) > 1:
            raise UsageError("the runs are of several projects, and a bundle has the code of one", hint="One by one.")
        found: dict[str, bytes] = {}
        for run in runs:
            found |= code_files(source, run, self._more)
            remarks += changed_since(run)
        for name in found:
            if not is_member_name(CODE + name):
                raise UsageError(f"a bundle cannot hold a file of the name {name!r}", hint="Rename it.")
        lock = lock_of(runs[0])
        if not lock:
            remarks.append(f"the packages of {runs[0].name} are not known: {runs[0].code.interpreter} shows none")
        files: dict[str, Path | bytes] = {LOCK: lock.encode()} if lock else {}
        return files | {CODE + name: content for name, content in sorted(found.items())}


def _goldens(runs: Sequence[Run], remarks: list[str], *, is_changed: bool) -> dict[str, Path | bytes]:
    """The goldens that the runs are kept as in their projects, each with its recording."""
    ids, files = {run.id for run in runs}, dict[str, Path | bytes]()
    roots = dict.fromkeys(Path(run.code.root) for run in runs if run.code.root)
    for path in (path for root in roots if (root / FOLDER).is_dir() for path in find_goldens(root / FOLDER)):
        try:
            golden = read_golden(path)
            if golden.run_id not in ids:
                continue
            text, recording = path.read_bytes(), golden.recording_path.read_bytes()
        except (AgentTTError, OSError) as error:
            remarks.append(f"the golden {path} is left out: {error}")
            continue
        said = text.decode("utf-8", "replace")
        if is_changed or redact_text(said) != said:
            remarks.append(f"the golden {path} is left out: it may hold what was taken out of its run")
            continue
        names = (GOLDENS + path.name, GOLDENS + golden.recording)
        if files.keys() & {*names} or not all(map(is_member_name, names)):
            remarks.append(f"the golden {path} is left out: a bundle cannot hold two of its name, or its name")
            continue
        files |= zip(names, (text, recording), strict=True)
    return files


def _with_relatives(source: SqliteStore, named: Sequence[Run]) -> list[Run]:
    """Runs, what was forked from them, and what they were forked from; oldest first.

    Raises:
        UsageError: one of them still runs.
        Damaged: one is not as it was recorded.
    """
    found: dict[str, Run] = {}
    for each in named:
        run: Run | None = source.run(each.id)
        while run is not None:
            found[run.id] = run
            run = None if run.parent is None else source.run(run.parent)
        found |= {fork.id: fork for fork in source.forks(each.id, deep=True)}
    for run in found.values():
        if run.status == "running":
            raise UsageError(f"{run.name} still runs", hint="Export it when it is over.")
        check_proven(source, run)
    return sorted(found.values(), key=lambda run: run.started_us)


def _pack(source: SqliteStore, runs: Sequence[Run], store: Path) -> bool:
    """Copy runs into a new store, and take out what the rules that hold now find; whether that was anything."""
    with closing(open_store(store, create=True)) as target:
        copy_runs(source, target, [run.id for run in runs], root=_HERE)
        for run in runs:
            if run.code.root and (said := program_below(Path(run.code.root), run.metadata)):
                target.set_metadata(run.id, said)
    rules = config.load().redaction
    is_changed = take_out(store, runs, rules, is_all=True, is_tried=True).changed.total() > 0
    if is_changed:
        take_out(store, runs, rules, is_all=True)
    forget_maker(store)
    return is_changed
