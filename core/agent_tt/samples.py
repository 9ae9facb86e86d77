"""The sample agents that come with agent-tt, and the runs that they made.

Their code and the store of shipped runs (`runs.db`) lie in one folder: `agent_tt/_samples` in an installed wheel,
`sample_runs` beside `core` in a source tree. A sample is opened by copying its run into the user's own store.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agent_tt._version import __version__
from agent_tt.addresses import told
from agent_tt.cache_files import CacheLost, alone_in, cache_folder, make_folder
from agent_tt.errors import AgentFailed, AgentTTError, NotFound, StoreNotFound, StoreUnreadable, UsageError
from agent_tt.model.facts import RunFacts
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.model import Run

    Progress = Callable[[int, int], None]

__all__ = ["SHIPPED_RUNS", "WORKPLACE", "Sample", "build", "ensure", "find", "folder", "made_by", "names", "record_run"]

SHIPPED_RUNS = "runs.db"
"""Name of the store, inside the folder of samples, that holds the runs of all prebuilt samples."""

WORKPLACE = "samples"
"""Name of the folder, inside the scratch folder of `record_run`, that the agent runs in."""

_POLL_SECONDS = 0.1
_ENDED = frozenset({"succeeded", "failed"})
"""Statuses of runs that came to their end: such a run is complete."""
_OUTPUT_TAIL = 4_000


class Sample(NamedTuple):
    """One sample agent.

    Attributes:
        name: the name of its run, by which it is opened.
        title: a few words for lists.
        summary: one sentence: what it does and what can be seen in it.
        entry: the entry point that made the run, `file.py:callable` in `folder()`.
        versions: further entry points to fork it with.
        steps: how many steps its run has.
        prebuilt: its run is shipped; otherwise it is made on demand.
        any_length: its agent takes a number of steps on its command line.
    """

    name: str
    title: str
    summary: str
    entry: str
    steps: int
    versions: tuple[str, ...] = ()
    prebuilt: bool = True
    any_length: bool = False

    @property
    def file(self) -> str:
        """The file in `folder()` that holds the agent."""
        return self.entry.partition(":")[0]


_SAMPLES = (
    Sample(
        name="refund-loop",
        title="a search that never ends",
        summary="A support agent searches for the same words 20 times and gives up; version 2 sees that it is in vain.",
        entry="refund_loop.py:main",
        versions=("refund_loop.py:main_v2",),
        steps=21,
    ),
    Sample(
        name="trip-planner",
        title="a healthy tool loop",
        summary="A travel agent looks things up, books and pays; with another destination it takes other tools.",
        entry="trip_planner.py:main",
        steps=11,
    ),
    Sample(
        name="flaky-checkout",
        title="a wrong value, three retries later",
        summary="A payment is refused three times; the reason is a wrong amount in the state after step 6.",
        entry="flaky_checkout.py:main",
        steps=10,
    ),
    Sample(
        name="research-team",
        title="four agents at once",
        summary="A lead, two researchers and a critic answer a question, at the same time and in lanes of their own.",
        entry="research_team.py:main",
        steps=15,
    ),
    Sample(
        name="long-haul",
        title="10,000 steps",
        summary="A watch over a water meter, one step an hour, with a conversation that only grows.",
        entry="long_haul.py:main",
        steps=10_000,
        prebuilt=False,
        any_length=True,
    ),
)


def names() -> tuple[Sample, ...]:
    """All samples, in the order in which they are best looked at."""
    return _SAMPLES


def find(name: str) -> Sample | None:
    """Find the sample of that name, None when there is none."""
    return next((sample for sample in _SAMPLES if sample.name == name), None)


def made_by(run: Run) -> Sample | None:
    """The sample whose agent made a run (or a fork of its run) in this installation, None when no sample did."""
    if run.code.entry is None or run.code.root != str(folder()):
        return None
    module = Path(run.code.entry.partition(":")[0]).stem
    return next((sample for sample in _SAMPLES if Path(sample.file).stem == module), None)


def folder() -> Path:
    """Find the folder that holds the sample agents and their runs.

    Raises:
        StoreNotFound: this installation has none.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "_samples", package.parents[1] / "sample_runs"):
        if candidate.is_dir():
            return candidate
    raise StoreNotFound(
        f"the sample agents are missing from this installation ({package})",
        hint="install agent-tt again: they are part of its wheel",
    )


def ensure(name: str, store_path: Path, progress: Progress | None = None) -> str:
    """Give the id of a sample's run in a store; where the store has none yet, it is copied in, or made.

    Args:
        name: name of the sample.
        store_path: the user's store, created when it is not there.
        progress: told (steps done, steps in all) while a run is made.

    Raises:
        NotFound: no sample has that name.
        StoreNotFound: the shipped runs are missing from this installation.
        AgentFailed: a run had to be made, and the agent did not make it.
    """
    from agent_tt.store import open_store

    sample = _known(name)
    existing = _copied_before(sample, store_path)
    if existing is not None:
        return existing
    if not sample.prebuilt:
        return build(name, store_path, progress)
    shipped = folder() / SHIPPED_RUNS
    with closing(open_store(shipped, read_only=True)) as source:
        run_id = source.run(name).id
    return _copy(sample, shipped, run_id, store_path)


def build(
    name: str,
    store_path: Path,
    progress: Progress | None = None,
    *,
    steps: int | None = None,
) -> str:
    """Run a sample agent afresh and put the run that it makes into a store.

    One that is shipped leaves nothing behind when it is stopped. A longer one is kept in the user's cache as far as it
    is then, and the next time goes on where it stopped.

    Args:
        name: name of the sample.
        store_path: the store, created when it is not there.
        progress: told (steps done, steps in all) while the agent runs.
        steps: how many steps to make, for a sample of any length (`long-haul`).

    Returns:
        The id of the new run.

    Raises:
        NotFound: no sample has that name.
        UsageError: `steps` was given for a sample whose length is what its agent makes it.
        AgentFailed: the agent ended without making a run.
    """
    sample = _known(name)
    with _workshop(sample, steps) as scratch:
        try:
            recorded, run_id = record_run(sample, scratch, progress, steps=steps)
        except AgentTTError:  # going on from there would fail again
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        return _copy(sample, recorded, run_id, store_path)


def record_run(
    sample: Sample,
    scratch: Path,
    progress: Progress | None = None,
    *,
    steps: int | None = None,
    through: Sequence[str] = (),
) -> tuple[Path, str]:
    """Run a sample agent in a process of its own, in a copy of its folder, recording into a store in `scratch`.

    A run that broke off there before is resumed; one that has ended is given as it is.

    Args:
        sample: which.
        scratch: a folder for all that.
        progress: told (steps done, steps in all) while the agent runs.
        steps: as of `build`.
        through: a program in `folder()` and its arguments, which is given the agent's file and runs it.

    Returns:
        The store and the id of the run in it.

    Raises:
        UsageError: `steps` was given for a sample whose length is what its agent makes it.
        AgentFailed: the agent ended without making a run.
    """
    if steps is not None and not sample.any_length:
        raise UsageError(f"the sample {sample.name} has as many steps as its agent makes: their number cannot be set")
    workplace = scratch / WORKPLACE
    shutil.copytree(folder(), workplace, ignore=shutil.ignore_patterns("__pycache__", SHIPPED_RUNS), dirs_exist_ok=True)
    store_path = scratch / f"{sample.name}.db"
    report = partial(_report, store_path, progress, steps or sample.steps)
    before = _newest_run(store_path)
    code, output = 0, ""
    if before is None:
        command = [*through, sample.file, *([] if steps is None else [str(steps)])]
        code, output = _begin(sample, scratch, store_path, report, command)
    elif before.status not in _ENDED:
        code, output = _resume(before, store_path, report)
    run = _newest_run(store_path)
    if run is None or run.status not in _ENDED:
        raise AgentFailed(
            f"the sample agent {sample.name} ended without making its run (exit code {code})",
            traceback=output[-_OUTPUT_TAIL:],
            hint=f"run it by hand to see why: {sys.executable} {folder() / sample.file}",
        )
    report()
    return store_path, run.id


def _begin(
    sample: Sample, scratch: Path, store_path: Path, report: Callable[[], None], command: Sequence[str]
) -> tuple[int, str]:
    """Run an agent from its beginning to its end; its exit code, and what it printed."""
    output = scratch / f"{sample.name}.out"
    with output.open("wb") as sink:
        agent = subprocess.Popen(  # noqa: S603  our own interpreter and our own file
            [sys.executable, *command],
            cwd=scratch / WORKPLACE,
            env=_agent_environment(store_path, scratch),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us: it would end the agent in the middle of a step
        )
        try:
            while not _ended(agent):
                report()
        finally:
            agent.kill()
            agent.wait()
    return agent.returncode, output.read_text(encoding="utf-8", errors="replace")


def _resume(run: Run, store_path: Path, report: Callable[[], None]) -> tuple[int, str]:
    """Let an agent go on that was stopped, to its end; its exit code, and what it printed."""
    from agent_tt.rerunning.launch import start_resume
    from agent_tt.resuming.plan import plan_resume
    from agent_tt.store import open_store

    with closing(open_store(store_path)) as source:
        plan = plan_resume(source, run)
    with start_resume(plan) as handle:
        try:
            while (code := handle.poll()) is None:
                report()
                time.sleep(_POLL_SECONDS)
        except BaseException:
            # As where it was begun. The handle would interrupt it, in the middle of a step.
            with suppress(ProcessLookupError):
                os.kill(handle.process, signal.SIGKILL)
            raise
        return code, handle.output()


@contextmanager
def _workshop(sample: Sample, steps: int | None) -> Iterator[Path]:
    """Give the folder in which a sample is made: of a long one it stays if that is stopped, and is found again.

    It is named after all that the run depends on. Where it cannot be had, or somebody else makes the same, it is one
    that does not stay.

    Raises:
        UsageError: there is no place for it.
    """
    with ExitStack() as stack:
        kept = None if sample.prebuilt else _kept_folder(sample, steps, stack)
        if kept is None:
            yield Path(stack.enter_context(temporary_folder("agent-tt-sample-")))
            return
        yield kept
        shutil.rmtree(kept, ignore_errors=True)


def _kept_folder(sample: Sample, steps: int | None, stack: ExitStack) -> Path | None:
    """The folder in the user's cache, for us alone until the stack ends; None where that cannot be."""
    told_by = hashlib.blake2b(digest_size=8)
    for word in (__version__, sys.executable, sys.version, str(steps)):
        told_by.update(word.encode() + b"\0")
    for file in sorted(folder().glob("*.py")):
        told_by.update(file.read_bytes())
    kept = cache_folder("samples") / f"{sample.name}-{told_by.hexdigest()}"
    try:
        make_folder(kept)
        stack.enter_context(alone_in(kept))
        begun = _newest_run(kept / f"{sample.name}.db")
    except (OSError, CacheLost, ImportError):
        return None
    except StoreUnreadable:  # stopped before there was anything
        shutil.rmtree(kept, ignore_errors=True)
        return None
    # One that still runs has lost whoever waited for it.
    return None if begun is not None and begun.status == "running" else kept


def _agent_environment(store_path: Path, scratch: Path) -> dict[str, str]:
    """The environment of an agent that records into `store_path`; its temporary files go where scratch goes."""
    environment = os.environ | {"AGENT_TT_STORE": told(store_path), "TMPDIR": str(scratch)}
    environment.pop("AGENT_TT_RERUN", None)
    return environment


def _ended(agent: subprocess.Popen[bytes]) -> bool:
    try:
        agent.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _report(store_path: Path, progress: Progress | None, steps_in_all: int) -> None:
    if progress is None:
        return
    try:
        run = _newest_run(store_path)
    except StoreUnreadable:  # the agent is just creating it
        return
    if run is not None:
        progress(run.steps, steps_in_all)


def _newest_run(store_path: Path) -> Run | None:
    from agent_tt.store import open_store

    try:
        with closing(open_store(store_path, read_only=True)) as source:
            return next(iter(source.runs()), None)
    except StoreNotFound:
        return None


def _copied_before(sample: Sample, store_path: Path) -> str | None:
    """The id of a copy made earlier whose code still lies where this installation has it."""
    from agent_tt.store import open_store

    try:
        with closing(open_store(store_path, read_only=True)) as source:
            runs = source.runs(archived=True)
    except StoreNotFound:
        return None
    home = str(folder())
    mine = (run for run in runs if run.facts.sample == sample.name and run.parent is None)
    return next((run.id for run in mine if run.code.root == home), None)


def _copy(sample: Sample, source_path: Path, run_id: str, store_path: Path) -> str:
    """Copy a sample's run into a store, so that a fork of it finds this installation's agents and Python."""
    from agent_tt.store import copy_run, open_store

    with (
        closing(open_store(source_path, read_only=True)) as source,
        closing(open_store(store_path, create=True)) as target,
    ):
        copied = copy_run(source, target, run_id, root=str(folder()))
        target.set_metadata(copied, RunFacts.sample.entry(sample.name))
        return copied


def _known(name: str) -> Sample:
    sample = find(name)
    if sample is None:
        every = [sample.name for sample in _SAMPLES]
        import difflib

        nearest = difflib.get_close_matches(name, every)
        raise NotFound(f"there is no sample called {name!r}", hint=f"there are {', '.join(every)}", nearest=nearest)
    return sample
