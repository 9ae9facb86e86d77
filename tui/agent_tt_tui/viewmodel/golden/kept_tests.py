"""The tests that are kept (goldens), with what came of them, and in lines what is to be known of one."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt.golden.golden_file import find_goldens, read_golden
from agent_tt.golden.recording_file import open_recording
from agent_tt.golden.results import read_results
from agent_tt.golden.rule import in_one_line
from agent_tt.golden.running import results_path
from agent_tt_tui.status import verdict_glyph
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import wrap, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.golden.golden_file import Golden
    from agent_tt.golden.results import KeptResult, KeptVerdict
    from agent_tt.golden.rule import Verdict
    from agent_tt.golden.running import GoldenResult
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

__all__ = [
    "VERDICT_ROLES",
    "KeptTest",
    "State",
    "check_recording",
    "detail_lines",
    "list_tests",
    "standing",
    "with_results",
]

State: TypeAlias = "Literal['passed', 'failed', 'unknown', 'new', 'waiting', 'running']"
"""How a test stands: what came of it last, or why there is nothing: it is `new`, or cannot be run (`unknown`)."""

VERDICT_ROLES: Final[dict[Verdict, PieceRole]] = {"passed": "well", "failed": "failed", "unknown": "changed_mark"}
"""How the mark of a verdict is drawn."""
_LONGEST: Final = 2_000


@dataclass(frozen=True, slots=True)
class KeptTest:
    """A test that is kept.

    Attributes:
        path: Its file.
        golden: What it says; None where it cannot be read.
        problem: Why it cannot be run, as far as that is known without running it; "" else.
        results: What came of it, oldest first.
        under_way: Whether it waits to be run, or runs.
        answered: How many calls were answered, while it runs.
    """

    path: Path
    golden: Golden | None = None
    problem: str = ""
    results: tuple[KeptResult, ...] = ()
    under_way: Literal["", "waiting", "running"] = ""
    answered: int = 0

    @property
    def name(self) -> str:
        """What it is called."""
        return self.path.stem if self.golden is None else self.golden.name

    @property
    def last(self) -> KeptResult | None:
        """What came of it last."""
        return self.results[-1] if self.results else None

    @property
    def state(self) -> State:
        """How it stands."""
        if self.under_way:
            return self.under_way
        if self.problem:
            return "unknown"
        return "new" if self.last is None else self.last.outcome

    @property
    def first(self) -> str:
        """Why it does not pass, in one line; "" where it does, or was not run."""
        return self.problem or ("" if self.last is None else self.last.first)

    @property
    def is_changed(self) -> bool:
        """Whether its rules are others than those that were judged last."""
        if self.golden is None or self.last is None or not self.last.rules:
            return False
        return [each.rule.sentence for each in self.golden.rules if each.is_on] != [
            each.sentence for each in self.last.rules
        ]

    @property
    def compare_command(self) -> str:
        """What opens the kept run and the one that came last; "" where none came."""
        last = self.last
        if last is None or last.now is None:
            return ""
        return shlex.join(["agent-tt", "compare", last.kept, last.now.id, "--store", str(last.store)])


def standing(states: Sequence[State]) -> list[tuple[Verdict, str]]:
    """How many tests failed, could not be run, and passed, each in words where there is one; the worst comes first."""
    counts: tuple[tuple[Verdict, str], ...] = (
        ("failed", "failed"),
        ("unknown", "could not be run or judged"),
        ("passed", f"of {len(states)} passed"),
    )
    return [(verdict, f"{states.count(verdict)} {words}") for verdict, words in counts if verdict in states]


def list_tests(folder: Path) -> list[KeptTest]:
    """The tests in a folder and all below; of recordings nothing is read. None where there is no such folder.

    Raises:
        AgentTTError: The results cannot be read.
    """
    found: list[KeptTest] = []
    for path in find_goldens(folder) if folder.is_dir() else ():
        try:
            found.append(KeptTest(path, read_golden(path)))
        except AgentTTError as error:
            found.append(KeptTest(path, problem=error.message))
    return with_results(found)


def with_results(tests: Sequence[KeptTest]) -> list[KeptTest]:
    """The same tests with what came of them by now.

    Raises:
        AgentTTError: That cannot be read.
    """
    known: dict[Path, dict[str, list[KeptResult]]] = {}
    shown = []
    for test in tests:
        if test.golden is not None:
            path = results_path(test.golden)
            if path not in known:
                known[path] = read_results(path)
            test = replace(test, results=tuple(known[path].get(str(test.path.resolve()), ())))  # noqa: PLW2901
        shown.append(test)
    return shown


def check_recording(test: KeptTest) -> str:
    """Why the recording of a test cannot be used: it is missing, damaged, edited or stale; "" where it can."""
    if test.golden is None:
        return test.problem
    try:
        with open_recording(test.golden):
            return ""
    except AgentTTError as error:
        return ". ".join(filter(None, (error.message, error.hint)))


def detail_lines(
    test: KeptTest, fresh: GoldenResult | None, columns: int, glyphs: Glyphs
) -> Iterator[tuple[Piece, ...]]:
    """What is to be known of a test: why it does not pass, what each rule said and what differs, what opens both runs.

    Args:
        test: The test.
        fresh: What came of it since the app was opened.
        columns: The columns there are.
        glyphs: The glyphs.
    """
    more = glyphs.cut
    if reason := _reason(test):
        role: PieceRole = "failed_text" if test.state == "failed" else "changed_mark"
        yield from wrap_text(reason, columns, role, more, limit=_LONGEST)
        yield ()
    if test.is_changed:
        yield from wrap([("its rules were changed since it was run: run it again", "note")], columns)
    last = test.last
    if last is not None and last.rules:
        for verdict in last.rules:
            yield from _verdict(verdict, columns, glyphs)
    elif test.golden is not None:
        for kept in test.golden.rules:
            mark = "on   " if kept.is_on else "off  "
            yield from _hanging((mark, "muted"), [(clean(kept.rule.sentence), "text")], columns)
    if test.compare_command and (last is None or last.outcome != "passed"):
        yield ()
        yield from wrap([(clean(test.compare_command), "muted")], columns)
    if fresh is not None and fresh.outcome == "failed" and fresh.new_request is not None:
        yield ()
        said = "what it asks has no recording: fork or record a run that asks it, and keep that as a test"
        yield from wrap([(said, "note")], columns)


def _reason(test: KeptTest) -> str:
    """Why it does not pass; without what the rules below say themselves."""
    reason = test.first
    for verdict in test.last.rules if test.last is not None else ():
        rule = in_one_line(verdict.sentence, verdict.said, verdict.step)
        if verdict.verdict != "passed" and (reason == rule or reason.endswith(f": {rule}")):
            return reason.removesuffix(rule).removesuffix(": ")
    return reason


def _verdict(verdict: KeptVerdict, columns: int, glyphs: Glyphs) -> Iterator[tuple[Piece, ...]]:
    at = "" if verdict.step is None or verdict.verdict == "passed" else f" (step {verdict.step})"
    strong: PieceRole = "text" if verdict.verdict == "passed" else "strong"
    said: list[Piece] = [(clean(verdict.sentence), strong), (f"  {clean(verdict.said)}{at}", "muted")]
    yield from _hanging((f"{verdict_glyph(verdict.verdict, glyphs)} ", VERDICT_ROLES[verdict.verdict]), said, columns)
    for path, old, new in verdict.differences:
        pieces: list[Piece] = [(f"{clean(path)}  ", "muted"), (clean(old) or "nothing", "removed")]
        pieces += [(f" {glyphs.to} ", "muted"), (clean(new) or "nothing", "added")]
        yield from _hanging(("    ", "text"), pieces, columns)


def _hanging(lead: Piece, pieces: Sequence[Piece], columns: int) -> Iterator[tuple[Piece, ...]]:
    """Pieces behind a lead, with as many blanks before the rows that follow."""
    blank: Piece = (" " * len(lead[0]), "text")
    for number, row in enumerate(wrap(pieces, columns - len(lead[0]))):
        yield (blank if number else lead, *row)
