"""Goldens that are run again as soon as a source file that they run is saved: what happens, as events.

Which files a golden runs is what its last run imported of the project; while that is not known, each Python file of the
project counts. Beside these its own two files do.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, NotFound, UsageError
from agent_tt.golden.golden_file import find_goldens, read_golden
from agent_tt.golden.running import run_golden
from agent_tt.rerunning.warm.pool import warm_agents

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.golden.golden_file import Golden
    from agent_tt.golden.running import GoldenResult, Outcome
    from agent_tt.rerunning.warm.pool import WarmAgents

__all__ = ["Began", "Ended", "Event", "Saved", "Unread", "watch_goldens"]

_EARLIER: Final = 3
"""So many of the last runs of a golden give again what its calls that were made for real were answered."""

_LOOK_MS: Final = 100
_TOGETHER_MS: Final = 400


@dataclass(frozen=True, slots=True)
class Saved:
    """Files were saved.

    Attributes:
        files: those that some golden runs, sorted.
        goldens: names of the goldens that run them, and that are run now.
    """

    files: tuple[Path, ...]
    goldens: tuple[str, ...]

    def to_json(self) -> dict[str, Wire]:
        """`{event: "saved", files, goldens}`."""
        return {"event": "saved", "files": [str(file) for file in self.files], "goldens": list(self.goldens)}


@dataclass(frozen=True, slots=True)
class Began:
    """A golden begins to run.

    Attributes:
        golden: the golden.
    """

    golden: Golden

    def to_json(self) -> dict[str, Wire]:
        """`{event: "began", name, file}`."""
        return {"event": "began", "name": self.golden.name, "file": str(self.golden.path)}


@dataclass(frozen=True, slots=True)
class Ended:
    """A golden has run.

    Attributes:
        result: what came of it; `result.live` says what was made for real and what was saved.
        before: what came of it the time before; None for the first time.
    """

    result: GoldenResult
    before: Outcome | None = None

    @property
    def change(self) -> str:
        """`broke` or `mended`; "" where it is as it was, or nobody knows."""
        ways = {("passed", "failed"): "broke", ("failed", "passed"): "mended"}
        return ways.get((self.before or "", self.result.outcome), "")

    def to_json(self) -> dict[str, Wire]:
        """`{event: "ended", change, …}` with what `GoldenResult.to_json` gives."""
        return {"event": "ended", "change": self.change, **self.result.to_json()}


@dataclass(frozen=True, slots=True)
class Unread:
    """A golden cannot be read.

    Attributes:
        path: its file.
        problem: why.
    """

    path: Path
    problem: str

    def to_json(self) -> dict[str, Wire]:
        """`{event: "unread", file, problem}`."""
        return {"event": "unread", "file": str(self.path), "problem": self.problem}


Event: TypeAlias = Saved | Began | Ended | Unread


def watch_goldens(
    paths: Sequence[Path],
    stop: threading.Event,
    *,
    live: bool = False,
    store: Path | None = None,
    timeout: float | None = None,
) -> Iterator[Event]:
    """Run goldens once, and again whenever a file that they run is saved, until `stop` is set.

    It waits between the events, so a program that does something else meanwhile iterates over them in a thread.

    Args:
        paths: goldens, and folders of them; those that are there now.
        stop: looked at a few times a second, also while an agent runs.
        live: make calls for real that nothing recorded answers, where the policy lets them. What such a call was
            answered the last times is given again.
        store: where the runs that come are kept; see `run_golden`.
        timeout: seconds after which an agent is stopped.

    Raises:
        NotFound: there is no golden.
        UsageError: one of the paths is no golden, or files cannot be watched.
    """
    watched = [_Watched(path) for path in dict.fromkeys(found for each in paths for found in find_goldens(each))]
    if not watched:
        raise NotFound("there are no goldens to watch", hint="`agent-tt golden save RUN` makes one.")
    for golden in watched:
        golden.read()
    saves = _saves({golden.root for golden in watched}, stop)
    next(saves, None)  # from here on nothing that is saved is missed
    with warm_agents() as warm:
        run = partial(_Watched.run, stop=stop, live=live, store=store, timeout=timeout, warm=warm)
        yield from _at_saves(watched, saves, stop, run)


def _at_saves(
    watched: Sequence[_Watched],
    saves: Iterator[set[Path]],
    stop: threading.Event,
    run: Callable[[_Watched], Iterator[Event]],
) -> Iterator[Event]:
    due = watched
    while not stop.is_set():
        for golden in due:
            if not stop.is_set():
                yield from run(golden)
        due = []
        for files in saves:
            due = [golden for golden in watched if golden.is_of(files)]
            if due:
                break
        if due:
            _forget_compiled(files)
            for golden in due:
                golden.read()
            of_some = sorted(file for file in files if any(golden.is_of({file}) for golden in due))
            yield Saved(tuple(of_some), tuple(golden.name for golden in due))


def _saves(roots: set[Path], stop: threading.Event) -> Iterator[set[Path]]:
    """The files that were saved below some folders, again and again; none where a moment has passed without any."""
    from watchfiles import watch

    outermost = [root for root in roots if not any(other in root.parents for other in roots)]
    try:
        for changes in watch(
            *outermost,
            stop_event=stop,
            debounce=_TOGETHER_MS,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            yield {Path(path) for _, path in changes}
    except (OSError, RuntimeError) as error:
        places = ", ".join(map(str, outermost))
        raise UsageError(
            f"{places} cannot be watched: {error}", hint="Is a folder gone, or are they too many?"
        ) from error


def _forget_compiled(files: set[Path]) -> None:
    """Let files be compiled anew: Python tells one save from another by its second and size alone."""
    for file in files:
        if file.suffix == ".py":
            with suppress(OSError):
                Path(cache_from_source(str(file))).unlink(missing_ok=True)


@dataclass
class _Watched:
    """One golden that is watched."""

    path: Path
    golden: Golden | None = None
    problem: str = ""
    files: frozenset[Path] = frozenset()
    outcome: Outcome | None = None
    earlier: list[str] = field(default_factory=list)

    def read(self) -> None:
        """Read its file, which may have been edited."""
        try:
            self.golden, self.problem = read_golden(self.path), ""
        except AgentTTError as error:
            self.golden, self.problem = None, error.message

    @property
    def name(self) -> str:
        """Its name; that of the file where it cannot be read."""
        return self.path.stem if self.golden is None else self.golden.name

    @property
    def root(self) -> Path:
        """The folder of its project; its own where it cannot be read."""
        return self.path.parent.resolve() if self.golden is None else self.golden.root

    def is_of(self, files: set[Path]) -> bool:
        """Whether it is another one when these files are."""
        own = {self.path.resolve()} | (set() if self.golden is None else {self.golden.recording_path.resolve()})
        if own & files:
            return True
        if self.files:
            return bool(self.files & files)
        return any(file.suffix == ".py" and file.is_relative_to(self.root) for file in files)

    def run(
        self, *, stop: threading.Event, live: bool, store: Path | None, timeout: float | None, warm: WarmAgents
    ) -> Iterator[Event]:
        """Run it."""
        golden = self.golden
        if golden is None:
            yield Unread(self.path, self.problem)
            return
        yield Began(golden)
        result = run_golden(
            golden,
            store=store,
            timeout=timeout,
            live="changed" if live else "nothing",
            earlier=tuple(self.earlier),
            cancelled=stop.is_set,
            warm=warm,
        )
        if result.files:
            self.files = frozenset(golden.root / file for file in result.files)
        if live and result.now is not None and result.now not in self.earlier:
            self.earlier = [result.now, *self.earlier][:_EARLIER]
        if stop.is_set():
            return
        before, self.outcome = self.outcome, result.outcome
        yield Ended(result, before)
