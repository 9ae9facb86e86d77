"""Each mutant in a forked process: the tests that reach its lines, the quickest first, until one fails.

    python -m tests.mutants.running JOB.json

One process for each package: pytest collects its tests once; then a forked process runs them all under coverage, which
says how long each takes and which lines it reaches; then each mutant has a forked process of its own, in which the
functions that have the code of the original are given the mutant's. Nothing is written into the project, and a mutant
costs what its tests take. What tests start as other processes runs the original: only tests in this process count.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

import coverage
import pytest
from tests.mutants.making import Mutant, function_code

if TYPE_CHECKING:
    from collections.abc import Iterable

_Key = tuple[str, str, int]
"""File, qualified name and first line of a function."""
_SURVIVED, _KILLED, _INAPPLICABLE = 0, 1, 3
_MOST_SECONDS_A_MUTANT = 10.0
"""Of processor time, as its tests take without it: the tests beyond that are not run for it."""
_MOST_EXAMPLES = 30
"""Of one law, in place of hypothesis' hundred or what the test says."""
_MEMORY_BYTES = 3 << 30
"""A mutant that allocates without end is killed by this."""


class Runner:
    """A plugin for pytest that runs the mutants in place of the tests."""

    def __init__(self, files: list[str], mutants: list[Mutant], results: Path, shown: int) -> None:
        self.files, self.mutants, self.results = files, mutants, results
        self._shown = shown
        self._sources = {file: Path(file).read_text(encoding="utf-8") for file in files}
        self._seconds: dict[str, float] = {}
        self._reached: dict[str, dict[int, list[str]]] = {}
        self._functions: dict[_Key, list[FunctionType]] = {}
        self._is_mutated = False
        self._failed: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests could not be collected")
        for file in self.files:
            module = file.removeprefix("core/").removesuffix(".py").replace("/", ".")
            importlib.import_module(module.removesuffix(".__init__"))
        _make_laws_brief(session.items)
        gc.unfreeze()  # what is frozen (by tests/conftest.py) is not among the objects that are looked through
        self._functions = _functions(self.files)
        if not self._functions:
            raise session.Failed("no function of these files was found: no mutant could be tried")
        gc.collect()
        gc.freeze()  # else the collector of each forked process would copy all this memory
        self._measure(session)
        with self.results.open("w", encoding="utf-8") as results:
            for number, mutant in enumerate(self.mutants, 1):
                tests = self._tests_for(mutant)
                begun = time.monotonic()
                outcome = self._try(session, mutant, tests) if tests else "no test"
                row = asdict(mutant) | {"outcome": outcome, "tests": len(tests), "seconds": time.monotonic() - begun}
                results.write(json.dumps(row) + "\n")
                results.flush()
                self._show(f"{number}/{len(self.mutants)}  {outcome:9}  {mutant.name}")
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)
            if self._is_mutated:
                os._exit(_KILLED)

    def _show(self, line: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._shown, f"{line}\n".encode())

    def _measure(self, session: pytest.Session) -> None:
        """Run every test without a mutant: how long it takes, and the lines that it reaches."""
        with tempfile.TemporaryFile() as told:
            pid = os.fork()
            if not pid:
                try:
                    pickle.dump(self._measured(session), told)
                    told.flush()
                finally:
                    os._exit(0)
            os.waitpid(pid, 0)
            told.seek(0)
            self._seconds, self._reached, failed = pickle.load(told)
        if failed:
            raise session.Failed(f"these fail without any mutant: {', '.join(failed)}")
        self._show(f"{len(self._seconds)} tests take {sum(self._seconds.values()):.0f} s of processor time")

    def _measured(self, session: pytest.Session) -> tuple[dict[str, float], dict[str, dict[int, list[str]]], list[str]]:
        include = [str(Path(file).resolve()) for file in self.files]
        measure = coverage.Coverage(data_file=None, include=include, config_file=False)
        measure.start()
        seconds: dict[str, float] = {}
        for item, after in _one_after_another(session.items):
            measure.switch_context(item.nodeid)
            begun = sum(os.times()[:4])  # with the processes that it starts and waits for
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            seconds[item.nodeid] = sum(os.times()[:4]) - begun
        measure.stop()
        data = measure.get_data()
        return seconds, {file: data.contexts_by_lineno(str(Path(file).resolve())) for file in self.files}, self._failed

    def _tests_for(self, mutant: Mutant) -> list[str]:
        lines = self._reached[mutant.file]
        reaching = {test for line in range(mutant.line, mutant.last_line + 1) for test in lines.get(line, ()) if test}
        chosen: list[str] = []
        left = _MOST_SECONDS_A_MUTANT
        for test in sorted(reaching, key=lambda test: (self._seconds[test], test)):
            left -= self._seconds[test]
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen

    def _try(self, session: pytest.Session, mutant: Mutant, tests: list[str]) -> str:
        pid = os.fork()
        if not pid:
            try:
                self._run_mutated(session, mutant, tests)
            except BaseException:  # what a mutant raises where no test looks ends its tests too
                os._exit(_KILLED)
            os._exit(_SURVIVED)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # what its tests have started
        for made in Path(os.environ["TMPDIR"]).iterdir():
            shutil.rmtree(made, ignore_errors=True)
        if os.WIFSIGNALED(status):
            return "timed out" if os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM) else "killed"
        return {_SURVIVED: "survived", _INAPPLICABLE: "inapplicable"}.get(os.WEXITSTATUS(status), "killed")

    def _run_mutated(self, session: pytest.Session, mutant: Mutant, tests: list[str]) -> None:
        os.setpgid(0, 0)
        session.config._tmp_path_factory._basetemp = Path(tempfile.mkdtemp())
        self._is_mutated = True
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        if not self._apply(mutant):
            os._exit(_INAPPLICABLE)
        items = {item.nodeid: item for item in session.items}
        for item, after in _one_after_another([items[test] for test in tests]):
            seconds = self._seconds[item.nodeid]
            signal.setitimer(signal.ITIMER_PROF, 2 + 5 * seconds)
            signal.setitimer(signal.ITIMER_REAL, 30 + 20 * seconds)  # one that waits for what never comes
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)

    def _apply(self, mutant: Mutant) -> bool:
        """Give the mutant's code to each function that has the original's; False: there is none, or it does not fit."""
        path = str(Path(mutant.file).resolve())
        code = function_code(mutant, mutant.applied_to(self._sources[mutant.file]), path)
        functions = self._functions.get((path, mutant.function, mutant.first_line), [])
        try:
            for function in functions:
                function.__code__ = code
        except ValueError:  # it has another number of free variables: `super()` is gone, say
            return False
        return bool(functions)


def _one_after_another(items: list[pytest.Item]) -> Iterable[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


def _make_laws_brief(items: list[pytest.Item]) -> None:
    """Have hypothesis try few examples, always the same, and not look for the smallest one that fails."""
    from hypothesis import Phase, settings  # not before pytest has prepared its assertions

    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        said = getattr(test, "_hypothesis_internal_use_settings", None)
        if said is not None:
            most = min(said.max_examples, _MOST_EXAMPLES)
            phases = (Phase.explicit, Phase.generate)
            brief = settings(said, max_examples=most, derandomize=True, database=None, phases=phases)
            test._hypothesis_internal_use_settings = brief


def _functions(files: list[str]) -> dict[_Key, list[FunctionType]]:
    """Find every function that was made of these files, whatever it is wrapped in."""
    paths = {str(Path(file).resolve()) for file in files}
    found: dict[_Key, list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in paths:
            code = each.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(each)
    return found


def main(job_file: str) -> int:
    """Run the mutants that a job names, and write a line of JSON for each to the file that it names."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    mutants = [Mutant(**each) for each in job["mutants"]]
    shown = os.dup(sys.stderr.fileno())
    runner = Runner(job["files"], mutants, Path(job["results"]), shown)
    arguments = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-p",
        "no:xdist",
        "--no-header",
        "-rN",
        *job["tests"],
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        return int(pytest.main(arguments, plugins=[runner]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
