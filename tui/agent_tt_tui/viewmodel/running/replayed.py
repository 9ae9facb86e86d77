"""What a replay found, in words and rows: the verdict, one row for each divergence, and all that is known of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import summary
from agent_tt.replaying.report import VERDICT_WORDS, compared
from agent_tt_tui.format import counted, percent
from agent_tt_tui.text import call_name, clean, show, width
from agent_tt_tui.viewmodel.values.difftext import CUT
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Call
    from agent_tt.replaying.divergence import ChangedPart, Finding, Near
    from agent_tt.replaying.report import ReplayReport, Verdict
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

_ROLES: Final[dict[Verdict, PieceRole]] = {"as_recorded": "well", "reserved": "changed_mark", "diverged": "failed"}
_MOST_CHANGES: Final = 20
_MOST_NEAR_CHANGES: Final = 3
_MOST_STRETCHES: Final = 200
"""Ranges of words, same, removed or added, that are shown of one change."""

_LONGEST: Final = 2_000
"""Characters shown of a message, a hint, or a stretch of words."""

_LONG_TEXT: Final = 200
"""Characters from which on it is said where in a text it changed."""

_NAME: Final = 32
"""Columns of what is called, in the list."""

_OUTPUT: Final = 20_000
_INDENT: Final = 2
_STEP: Final = 5
_KIND: Final = 18
"""Columns of the step and of the kind in the list; the longest common kind is `unrecorded effect`."""


@dataclass(frozen=True, slots=True)
class VerdictLines:
    """How a replay went.

    Attributes:
        verdict: Which of the three it is.
        text: That, with its figures.
        detail: How the agent ended.
    """

    verdict: Verdict
    text: str
    detail: str

    @property
    def role(self) -> PieceRole:
        """The role that colours it."""
        return _ROLES[self.verdict]

    def glyph(self, glyphs: Glyphs) -> str:
        """The glyph that stands before it."""
        return {"as_recorded": glyphs.well, "reserved": glyphs.crashed, "diverged": glyphs.differs}[self.verdict]


def verdict(report: ReplayReport) -> VerdictLines:
    """Say how a replay went."""
    word = VERDICT_WORDS[report.verdict]
    served = f"{report.served:,} {'call' if report.served == 1 else 'calls'} served"
    if report.verdict == "diverged":
        served = f"{report.served:,} of {report.recorded:,} calls served"
        count = len(report.divergences)
        what = f" in {counted(count, 'place')}" if count else f": {_ended_otherwise(report)}"
        word = f"{word}{what}"
        if report.failed_before_asking:
            return VerdictLines(report.verdict, word, _agent_end(report))
    return VerdictLines(report.verdict, f"{word}: {served}{_reached(report)}", _agent_end(report))


def _ended_otherwise(report: ReplayReport) -> str:
    if report.failed_before_asking:
        return "the agent failed before its first call"
    return "failed otherwise" if report.agent.failed_otherwise else "ended otherwise"


def _reached(report: ReplayReport) -> str:
    """That nothing was reached, where that is known."""
    return "" if any(note.kind == "not covered" for note in report.notes) else ", 0 requests made"


def _agent_end(report: ReplayReport) -> str:
    agent = report.agent
    same = {True: ", as it did then", False: ", which it did not then", None: ""}[agent.as_recorded]
    match agent.status:
        case "halted":
            return "the agent was halted there" if len(report.divergences) == 1 else "the agent was halted at the last"
        case "raised":
            return f"the agent raised {clean(agent.error)}{same}"
        case "ended":
            return f"the agent ended{same}"
        case _:
            return ""


def divergence_pieces(finding: Finding, glyphs: Glyphs) -> tuple[Piece, ...]:
    """The row of a divergence in a list: step, kind, what is called, and the first part that changed."""
    step = "" if finding.step is None else f"{finding.step:,}"
    pieces: list[Piece] = [
        (f"{step:>{_STEP}} ", "strong"),
        (f"{glyphs.differs} ", "yours"),
        (f"{finding.kind:<{_KIND}}", "failed"),
    ]
    if finding.name:
        pieces.append((f" {call_name(finding.name, _NAME, glyphs.cut)}", "text"))
    if finding.changes:
        first, more = finding.changes[0], len(finding.changes) - 1
        pieces.append((f" {glyphs.path} {clean(first.path) or 'all of it'}", "muted"))
        if more:
            pieces.append((f" +{more:,}", "muted"))
    elif not finding.name:
        pieces.append((f" {clean(finding.message[:_LONGEST])}", "muted"))
    return tuple(pieces)


def divergence_lines(finding: Finding, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    """Lay out all that is known of a divergence.

    Args:
        finding: The divergence.
        columns: Columns there are.
        glyphs: The glyphs to use.

    Yields:
        What happened, where, which words changed, which recorded calls look most like it, and what to do.
    """
    # An address is long: once is enough, and its scheme says nothing.
    named = bool(finding.name) and finding.name in finding.message
    short = call_name(finding.name, _LONGEST, glyphs.cut)
    message = finding.message.replace(finding.name, short) if named else finding.message
    head, _, paths = message.rpartition(": ")
    if finding.changes and head and paths.startswith(finding.changes[0].path):
        message = head  # they stand below, with what changed in each
    yield from _passage(message, "strong", columns, glyphs)
    place = list(_place(finding, short, columns, glyphs))
    # Where there is little room the words come first: where it is, the debugger shows too.
    if len(place) == 1:
        yield from place
    for change in finding.changes[:_MOST_CHANGES]:
        yield from _change(change, columns, glyphs)
    left = len(finding.changes) - _MOST_CHANGES
    if left > 0:
        yield TextLine(((f"{glyphs.cut} {left:,} more changes", "note"),))
    if len(place) > 1:
        yield from place
    own = (finding.step, finding.call)
    others = [near for near in finding.nearest if not finding.changes or (near.call.step, near.call.number) != own]
    if others:
        yield TextLine((("NEAREST RECORDED", "title"),))
    for near in others:
        yield from _near(near, columns, glyphs)
    if finding.hint:
        yield from _passage(finding.hint, "note", columns, glyphs)


def _place(finding: Finding, name: str, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    """`step 3 · call 2 · llm support_model · lane main`, and the source line that asked.

    Args:
        finding: The divergence.
        name: What is called; empty where that was said already.
        columns: Columns there are.
        glyphs: The glyphs to use.
    """
    parts = [
        _nowhere(finding) if finding.step is None else f"step {finding.step}",
        "" if finding.call is None else f"call {finding.call}",
        " ".join(filter(None, (finding.call_kind, name))),
        f"lane {clean(finding.lane)}" if finding.lane else "",
        f"from {clean(finding.source)}" if finding.source else "",
    ]
    row, dot = "", f" {glyphs.dot} "
    rows: list[str] = []
    for part in filter(None, parts):
        if row and width(row + dot + part) > columns:
            rows.append(row)
            row = part
        else:
            row = f"{row}{dot}{part}" if row else part
    for text in (*rows, row):
        for pieces in wrap([(text, "muted")], columns):
            yield TextLine(pieces)


def _nowhere(finding: Finding) -> str:
    return "standard output" if finding.kind == "changed output" else "outside any step"


def _change(change: ChangedPart, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    """The path, and the words below it; on one row where they fit."""
    path: Piece = (clean(change.path) or "the whole question", "text")
    where: Piece = (_from_character(change), "muted")
    words = list(_words(change, glyphs))
    lead: Piece = (f"{glyphs.changed} ", "changed_mark")
    rows = list(wrap([path, where, ("  ", "text"), *words], columns - _INDENT))
    if len(rows) == 1:
        yield TextLine(rows[0], lead=(lead,))
        return
    below: Piece = (" " * _INDENT, "text")
    for index, pieces in enumerate(wrap([path, where], columns - _INDENT)):
        yield TextLine(pieces, lead=(below if index else lead,))
    for pieces in wrap(words, columns - _INDENT):
        yield TextLine(pieces, lead=(below,))


def _from_character(change: ChangedPart) -> str:
    """Where in a long text the first change is; empty in a short one, where it is seen."""
    old, new = change.old, change.new
    if not isinstance(old, str) or not isinstance(new, str) or min(len(old), len(new)) < _LONG_TEXT:
        return ""
    same = next((index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    return f"  from character {(min(len(old), len(new)) if same is None else same) + 1:,}"


def _words(change: ChangedPart, glyphs: Glyphs) -> Iterator[Piece]:
    roles: dict[str, PieceRole] = {"same": "text", "removed": "removed", "added": "added"}
    if not any(segment.kind != "same" and segment.text for segment in change.words):
        # Nothing in words, as with an empty text that became a list: then the values say it.
        old, new = (clean(summary(value, _LONGEST)).replace(CUT, glyphs.cut) for value in (change.old, change.new))
        yield from ((old, "removed"), (f" {glyphs.to} ", "muted"), (new, "added"))
        return
    before = ""
    for segment in change.words[:_MOST_STRETCHES]:
        if not segment.text:
            continue
        if segment.kind == "added" and before == "removed":
            yield " ", "text"
        yield show(segment.text, _LONGEST, glyphs.cut).replace(CUT, glyphs.cut), roles[segment.kind]
        before = segment.kind
    left = len(change.words) - _MOST_STRETCHES
    if left > 0:
        yield f" {glyphs.cut} {left:,} more stretches", "note"


def alike(near: Near) -> str:
    """How much of a question a recorded call shares: `40%`, and `100%` only of the same question."""
    part = min(near.likeness, 0.99) if near.changes else near.likeness
    return percent(part).replace(" ", "")


def _near(near: Near, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    call = near.call
    paths = [clean(change.path) or "all of it" for change in near.changes[:_MOST_NEAR_CHANGES]]
    more = len(near.changes) - len(paths)
    unlike = f"{glyphs.differs} {', '.join(paths)}{f' +{more:,}' if more else ''}" if paths else "the same question"
    pieces: list[Piece] = [
        (f"step {call.step} call {call.number} ", "strong"),
        (call_name(call.name, _LONGEST, glyphs.cut), "text"),
        (f"  {alike(near)} alike  ", "muted"),
        (unlike, "muted"),
    ]
    for row in wrap(pieces, columns - _INDENT):
        yield TextLine(row, lead=((" " * _INDENT, "text"),))


def remark_lines(report: ReplayReport, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    """What else is worth knowing of a replay: its notes, and what the agent failed with and printed last."""
    if report.nested:
        said = "calls were made inside others" if report.nested != 1 else "call was made inside another"
        yield from _passage(f"{report.nested:,} {said}, whose answer was given instead", "muted", columns, glyphs)
    for note in sorted(report.notes, key=lambda note: not note.is_reservation):
        times = f" ({note.count:,} {glyphs.times})" if note.count > 1 else ""
        label, role = ("reservation, ", _ROLES["reserved"]) if note.is_reservation else ("", "text")
        yield from _passage(f"{glyphs.crashed} {label}{note.kind}: {note.text}{times}", role, columns, glyphs)
    if report.verdict != "diverged":
        yield from _passage(compared(report), "muted", columns, glyphs)
    agent = report.agent
    if agent.status != "raised" or agent.as_recorded is True:
        return
    if agent.traceback:
        yield from _titled("TRACEBACK", agent.traceback, columns, glyphs)
    printed = report.output.rstrip().removesuffix(agent.traceback.rstrip()).rstrip()
    if printed:
        yield from _titled("PRINTED", printed[-_OUTPUT:], columns, glyphs)


def trouble_lines(message: str, hint: str, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    """Why a replay could not be, and below it what to do, or what the agent's process printed last."""
    yield from _passage(f"{glyphs.failed} {message}", "failed", columns, glyphs)
    if hint:
        yield from _passage(hint, "muted", columns, glyphs)


def call_in(calls: Sequence[Call], finding: Finding) -> int | None:
    """The number of the step's call that shows a divergence best: its own, else the recorded one most like it."""
    numbers = {call.number for call in calls}
    wanted = [finding.call, *(near.call.number for near in finding.nearest if near.call.step == finding.step)]
    return next((number for number in wanted if number in numbers), None)


def _titled(title: str, text: str, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    yield TextLine(((title, "title"),))
    for pieces in wrap_text(text.rstrip("\n"), columns, "text", glyphs.cut, limit=_OUTPUT):
        yield TextLine(pieces)


def _passage(text: str, role: PieceRole, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    for pieces in wrap_text(text, columns, role, glyphs.cut, limit=_LONGEST):
        yield TextLine(pieces)
