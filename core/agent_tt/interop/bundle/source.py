"""A bundle as a source of runs, and unpacking one so that its code can run."""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import ExitStack, closing
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, Damaged, NewerFormat, OlderFormat, UsageError
from agent_tt.interop.bundle.container import Container, is_bundle
from agent_tt.interop.bundle.manifest import CODE, LOCK, STORE
from agent_tt.interop.bundle.signing import check_signature
from agent_tt.model.facts import RunFacts
from agent_tt.store import SqliteStore, copy_run, copy_runs, open_store
from agent_tt.store.file.opening import open_database
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.bundle.manifest import Member
    from agent_tt.model import Run

__all__ = ["BundleSource", "Project", "detect_bundle", "import_bundle", "packages_in", "unpack_project"]


class BundleSource(SqliteStore):
    """The runs in a bundle, read from a temporary copy of its store that goes away when it is closed.

    Args:
        path: the bundle.

    Attributes:
        container: the open file.
        signature: what is known of who made it.

    Raises:
        Damaged, NewerFormat, OlderFormat, StoreUnreadable: as of `Container`, or its store cannot be read.
        UsageError: there is no room for the copy.
    """

    def __init__(self, path: Path) -> None:
        with ExitStack() as stack:
            self.container = stack.enter_context(Container(path))
            self.signature = check_signature(self.container)
            folder = Path(stack.enter_context(temporary_folder("agent-tt-bundle-")))
            manifest = self.container.manifest
            self.container.unpack([member for member in manifest.members if member.name == STORE], folder)
            try:
                super().__init__(open_database(folder / STORE, read_only=True))
                stack.callback(super().close)
                for run_id in {*manifest.runs}:
                    self.run(run_id)
            except (NewerFormat, OlderFormat):
                raise
            except AgentTTError as error:
                why = error.message.replace(f"{folder}{os.sep}", "")
                raise Damaged(f"{path}: its store cannot be read: {why}", hint=error.hint) from error
            self._open = stack.pop_all()

    @property
    def path(self) -> Path:
        """The bundle."""
        return self.container.path

    @property
    def code_members(self) -> list[Member]:
        """The files of its agents."""
        return self.container.manifest.in_folder(CODE)

    def close(self) -> None:
        """Let go of the file, and remove the temporary copy."""
        self._open.close()


def detect_bundle(path: Path, head: bytes) -> BundleSource | None:
    """The source of a bundle, None of any other file.

    Args:
        path: the file.
        head: its first bytes.

    Raises:
        Damaged, NewerFormat, StoreUnreadable, UsageError: as of `BundleSource`.
    """
    return BundleSource(path) if is_bundle(head) else None


def import_bundle(source: BundleSource, store: Path) -> dict[str, str]:
    """Copy the runs of a bundle into a store of ours; those that are there already stay as they are.

    The copies name no program: nothing that came in a bundle is run before somebody names it.

    Returns:
        The ids of the copies by those in the bundle.

    Raises:
        Damaged: something of them is not as it was recorded.
        StoreUnreadable: the store cannot be opened.
    """
    with closing(open_store(store, create=True)) as target:
        runs = sorted(source.runs(archived=True), key=lambda run: run.started_us)
        return copy_runs(source, target, [run.id for run in runs], origin=source.path.absolute())


@dataclass(frozen=True, slots=True)
class Project:
    """A bundle unpacked so that its code can run.

    Attributes:
        store: a store of ours, with the run.
        run_id: its id in there.
        code: the folder with the agent's files.
        lock: the packages beside it where the bundle was made, `name==version` a line.
        python: the version of the Python there; "" where that is not known.
    """

    store: Path
    run_id: str
    code: Path
    lock: str
    python: str

    def differing(self) -> list[str]:
        """What this Python has otherwise than the one there: `httpx 0.28.1 (here 0.27.0)`; the Python itself first."""
        here, found = platform.python_version(), list[str]()
        if self.python and self.python != here:
            found.append(f"Python {self.python} (here {here})")
        installed = {_folded(name): there for name, there in packages_in(sys.path).items()}
        for name, _, wanted in (line.partition("==") for line in self.lock.splitlines()):
            there = installed.get(_folded(name))
            if there != wanted:
                found.append(f"{name} {wanted} ({f'here {there}' if there else 'not here'})")
        return found


def packages_in(folders: Sequence[str]) -> dict[str, str]:
    """The versions of the packages in folders, by name; of one that is in several the first, as Python imports it."""
    found: dict[str, str] = {}
    for each in distributions(path=[*folders]):
        if each.name:
            found.setdefault(each.name, each.version)
    return found


def _folded(name: str) -> str:
    """The name of a package, of whose spellings several count as one (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def unpack_project(source: BundleSource, run: Run, folder: Path, *, needs_code: bool = True) -> Project:
    """Unpack the code of a bundle, and one of its runs into a store that names it. Nothing is run.

    Whoever calls this has asked whether the code is trusted: a store that is made here is.

    Args:
        source: the bundle.
        run: one of its runs.
        folder: an empty folder that nobody else writes to.
        needs_code: whether it has to have code; else the store names what it names.

    Raises:
        UsageError: it has no code, or cannot be unpacked there.
        Damaged: something of the run is not as it was recorded.
    """
    manifest, members = source.container.manifest, source.code_members
    if needs_code and not members:
        raise UsageError(
            f"{source.path} has no code that could run",
            hint="Ask for one that was exported with --code, or name what runs: --agent FILE:NAME.",
        )
    code = folder / CODE.rstrip("/")
    code.mkdir()
    source.container.unpack(members, folder)
    store = folder / STORE
    with closing(open_store(store, create=True)) as target:
        run_id = copy_run(source, target, run.id, root=str(code))
        if run.facts.script is not None and manifest.named(CODE + run.facts.script) is not None:
            target.set_metadata(run_id, RunFacts.script.entry(str(code / run.facts.script)))
    lock = source.container.bytes_of(LOCK).decode("utf-8", "replace")
    return Project(store, run_id, code, lock, manifest.python)
