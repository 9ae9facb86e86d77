"""The lines of the first page: sessions that were found, the newest recorded runs, what does not open."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt_tui import format as fmt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.found.folders import Unread
    from agent_tt.found.measures import Measures
    from agent_tt.found.sessions import Found
    from agent_tt.model import Run

__all__ = ["FirstLine", "Page", "first_lines"]

_MOST_RUNS: Final = 5
Kind = Literal["title", "columns", "session", "more", "run", "unread", "start", "blank"]


@dataclass(frozen=True, slots=True)
class FirstLine:
    """One line.

    Attributes:
        kind: what it is of.
        label: what it says first: of a title its words, of a session its program.
        words: what it says then.
        note: at the right of a title.
        found: the session, or the file.
        run: the recorded run.
        imported: the id of the run that the session was imported as.
        measures: what the session comes to, as far as it was read.
        opens: what a title, or a way to start, leads to.
    """

    kind: Kind
    label: str = ""
    words: str = ""
    note: str = ""
    found: Found | None = None
    run: Run | None = None
    imported: str | None = None
    measures: Measures | None = None
    opens: str = ""


@dataclass(slots=True)
class Page:
    """What is known so far.

    Attributes:
        here: the folder that was asked about, or that the app was started in.
        is_folder: whether the files of a folder are listed, in place of sessions.
        found: sessions, or files that open, as they came.
        unread: files that do not open.
        runs: the recorded runs, newest first.
        imported: the run that each file was imported as.
        is_open: whether sessions of all other folders are listed too.
        text: what was typed.
        is_done: whether all was looked at.
        measured: what sessions come to, by their keys; None of those that cannot be said.
        most: so many sessions of other folders are listed before somebody asks for all of them.
    """

    here: str
    is_folder: bool = False
    found: list[Found] = field(default_factory=list)
    unread: Sequence[Unread] = ()
    runs: Sequence[Run] = ()
    imported: Mapping[str, str] = field(default_factory=dict)
    is_open: bool = False
    text: str = ""
    is_done: bool = False
    measured: dict[str, Measures | None] = field(default_factory=dict)
    most: int = 12


def first_lines(page: Page) -> list[FirstLine]:
    """The lines of the first page, from the top."""
    words = page.text.casefold().split()
    lines = _files(page, words) if page.is_folder else _sessions(page, words)
    roots = [run for run in page.runs if not run.archived and all(word in run.name.casefold() for word in words)]
    if roots:
        more = f"{fmt.counted(len(page.runs), 'run')} in the store"
        lines += [FirstLine("blank"), FirstLine("title", "RECORDED RUNS", "open: all of them", more, opens="runs")]
        lines += [FirstLine("run", run.name, run=run) for run in roots[:_MOST_RUNS]]
    if not page.is_folder and not words:
        start = [
            FirstLine("title", "OR START"),
            FirstLine("start", "a sample", "a run that comes with agent-tt: no key, no network", opens="sample"),
            FirstLine("start", "record", "agent-tt record -- python my_agent.py; or five lines", opens="record"),
        ]
        between = [FirstLine("blank")]
        lines = lines + between + start if page.found or not page.is_done else start + between + lines
    return lines


def _sessions(page: Page, words: Sequence[str]) -> list[FirstLine]:
    fitting = [each for each in page.found if each.says(words)]
    here = [each for each in fitting if each.is_in(page.here)]
    near = {id(each) for each in here}
    others = [each for each in fitting if id(each) not in near]
    count = f"{fmt.count(len(fitting))} found, {fmt.count(len(here))} here"
    lines = [FirstLine("title", "SESSIONS OF YOUR CODING AGENTS", "in this folder first", count)]
    if not fitting:
        why = "none fits what was typed" if words else "none was found" if page.is_done else "looking"
        return [*lines, FirstLine("more", words=why)]
    shown = others if page.is_open or words else others[: page.most]
    lines.append(FirstLine("columns"))
    lines += [_session(page, each) for each in (*here, *shown)]
    if left := others[len(shown) :]:
        programs: dict[str, int] = {}
        for each in left:
            programs[each.program] = programs.get(each.program, 0) + 1
        counts = ", ".join(f"{program} {fmt.count(number)}" for program, number in programs.items())
        said = f"{fmt.count(len(left))} more in other folders: {counts}"
        lines.append(FirstLine("more", words=said, note="open: all of them", opens="others"))
    return lines


def _files(page: Page, words: Sequence[str]) -> list[FirstLine]:
    fitting = [each for each in page.found if each.says(words)]
    lines = [FirstLine("title", "FILES THAT OPEN", page.here, fmt.count(len(fitting)))]
    lines += [_session(page, each) for each in fitting]
    if not fitting:
        lines.append(FirstLine("more", words="none" if page.is_done else "looking"))
    unread = [each for each in page.unread if all(word in str(each.path).casefold() for word in words)]
    if unread:
        lines += [FirstLine("blank"), FirstLine("title", "THESE DO NOT", note=fmt.count(len(unread)))]
        lines += [FirstLine("unread", each.path.name, each.why) for each in unread]
    return lines


def _session(page: Page, each: Found) -> FirstLine:
    imported, measures = page.imported.get(str(each.path)), page.measured.get(each.key)
    return FirstLine("session", each.program, each.title or "", found=each, imported=imported, measures=measures)
