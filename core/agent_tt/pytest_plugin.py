"""The plugin of pytest: goldens are collected as tests, and tests may open recorded runs.

It imports nothing of ours before a file that begins as a golden is met, or the fixture is asked for.

| outcome | in pytest |
|---|---|
| every rule was kept | passed |
| a rule was broken, or the agent asked what was never recorded | failed |
| it could not be run or judged | error |
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_tt.golden.opened_run import OpenedRun
    from agent_tt.golden.running import GoldenResult

_UPDATE = "--golden-update"
_WRITE = "--golden-write"
_LIVE = "--golden-live"
_JUDGE = "--golden-judge"
_REMARK = "agent-tt"
"""Under this name a report says what is worth knowing of a golden whatever came of it; in JUnit a property."""


class GoldenNotPassed(Exception):
    """A golden did not pass; the message says why, for people."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    group = parser.getgroup("agent-tt", "goldens of agent-tt")
    group.addoption(_UPDATE, action="store_true", help="show how the rules that fail would have to be to pass")
    group.addoption(_WRITE, action="store_true", help=f"with {_UPDATE}: write them into the goldens")
    group.addoption(_LIVE, action="store_true", help="make the calls for real that goldens name")
    group.addoption(_JUDGE, action="store_true", help="ask the models that rules name what they make of an answer")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an option that would write unseen.

    Raises:
        pytest.UsageError: one is given without the other.
    """
    if config.getoption(_WRITE) and not config.getoption(_UPDATE):
        raise pytest.UsageError(f"{_WRITE} is given with {_UPDATE}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect goldens; every other file is left alone."""
    if file_path.suffix != ".toml":
        return None
    from agent_tt.golden.header import is_golden

    return GoldenFile.from_parent(parent, path=file_path) if is_golden(file_path) else None


class GoldenFile(pytest.File):
    """The file of a golden."""

    def collect(self) -> Iterator[pytest.Item]:
        """The one test that it is, named after the file: it need not be readable for that."""
        yield GoldenItem.from_parent(self, name=self.path.stem)


class GoldenItem(pytest.Item):
    """A golden as a test."""

    _result: GoldenResult | None = None

    def setup(self) -> None:
        """Run the agent and judge what comes. What cannot be run or judged is an error, and no failure.

        Raises:
            GoldenNotPassed: it cannot.
        """
        from agent_tt.errors import AgentTTError
        from agent_tt.golden.golden_file import read_golden
        from agent_tt.golden.running import run_golden

        try:
            golden = read_golden(self.path)
        except AgentTTError as error:
            raise GoldenNotPassed(f"could not run: {error.message}") from error
        self._result = run_golden(
            golden,
            live="named" if self.config.getoption(_LIVE) else "nothing",
            asks_judges=bool(self.config.getoption(_JUDGE)),
        )
        for remark in self._result.remarks:
            self.user_properties.append((_REMARK, remark))
        if self._result.outcome == "unknown":
            raise GoldenNotPassed("\n".join(self._result.lines()))

    def runtest(self) -> None:
        """Fail where a rule was broken, or the agent asked what was never recorded.

        Raises:
            GoldenNotPassed: it was.
        """
        result = self._result
        if result is None or result.outcome == "passed":
            return
        lines = result.lines()
        if self.config.getoption(_UPDATE):
            lines += self._update(result)
        raise GoldenNotPassed("\n".join(lines))

    def _update(self, result: GoldenResult) -> list[str]:
        """What would be accepted, in lines; where it is to be written and is all, the test is skipped with them."""
        from agent_tt.golden.golden_file import write_golden
        from agent_tt.golden.updating import accepting, with_accepted

        accepted = accepting(result)
        if not accepted:
            return ["nothing can be updated: record a run and keep it with `agent-tt golden save --replace`"]
        said = [f"{rule.sentence} → {'change it by hand' if now is None else now.sentence}" for rule, now in accepted]
        if not self.config.getoption(_WRITE):
            return ["", f"with {_WRITE} it would become:", *(f"  {line}" for line in said)]
        write_golden(with_accepted(result.golden, accepted))
        if all(now is not None for _, now in accepted):
            pytest.skip(f"the golden was updated: {'; '.join(said)}")
        return ["", "the golden was updated:", *(f"  {line}" for line in said)]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:  # type: ignore[override]  # noqa: ARG002
        """The message alone: where in the plugin it was raised helps nobody."""
        if isinstance(excinfo.value, GoldenNotPassed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is, for the heading of a failure."""
        return self.path, None, f"golden {self.name}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what is worth knowing of goldens whatever came of them: a rule that was not judged, say."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    remarks = {
        f"{report.nodeid}: {said}": None
        for report in reports
        for name, said in getattr(report, "user_properties", ())
        if name == _REMARK
    }
    if remarks:
        terminalreporter.section("goldens of agent-tt")
        for line in remarks:
            terminalreporter.line(line)


@pytest.fixture
def recorded_run() -> Iterator[Callable[..., OpenedRun]]:
    """Open recorded runs: `recorded_run("refund-loop", store="runs.db")`; without a store the project's."""
    from agent_tt.golden.opened_run import OpenedRun
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    with ExitStack() as stack:

        def open_run(run: str, *, store: str | Path | None = None) -> OpenedRun:
            source = stack.enter_context(closing(open_source(resolve_store_path(store))))
            return OpenedRun(source, source.run(run))

        yield open_run
