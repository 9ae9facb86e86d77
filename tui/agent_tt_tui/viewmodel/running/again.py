"""A recorded request that is sent again, in words: what is said before, and the answers as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from agent_tt.asking_again.answers import text_diff
from agent_tt.codec.text import summary
from agent_tt.comparing.values.edit_leaves import edit_changes
from agent_tt.comparing.values.words import compare_words
from agent_tt.model.shown import cost, counted, duration, tokens
from agent_tt.providers.reading import recorded_call
from agent_tt_tui.format import short_path, total_tokens
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.asking_again.answers import Answer, Answers
    from agent_tt.asking_again.plan import AgainPlan, AgainRequest
    from agent_tt.comparing.values.words import SegmentKind
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

__all__ = [
    "TITLES",
    "AnswerRow",
    "SaidRow",
    "Tone",
    "answer_lines",
    "answer_rows",
    "change_rows",
    "plan_rows",
    "question_of",
    "said_of",
    "summary_of",
    "words_of",
]

Tone: TypeAlias = Literal["text", "muted", "well", "failed", "changed", "running"]

TITLES: Final = ("", "ANSWER", "TOKENS", "COST", "TOOK", "ENDED", "SAYS")
"""The columns of the table of answers; the last takes what room there is."""


_MOST_CHANGES: Final = 6
_LONGEST_VALUE: Final = 60
_LONGEST_ERROR: Final = 10_000
_MOST_LINES: Final = 2_000
_LONGEST_SAID: Final = 500
"""Characters of an answer that its row in the table shows at most."""
_SIDES: Final[tuple[tuple[str, SegmentKind, PieceRole], ...]] = (("-", "removed", "removed"), ("+", "added", "added"))
_SIGNS: Final[dict[str, PieceRole]] = {"-": "removed_mark", "+": "added_mark"}


class SaidRow(NamedTuple):
    """One row of what is said before something is sent.

    Attributes:
        label: What it is about.
        words: What is said.
        role: How that is drawn.
    """

    label: str
    words: str
    role: PieceRole = "text"


class AnswerRow(NamedTuple):
    """One row of the table of answers.

    Attributes:
        number: Which answer; 0 of the recorded one.
        cells: What stands in its columns.
        tone: How its second cell is coloured.
    """

    number: int
    cells: tuple[str, ...]
    tone: Tone


def plan_rows(plan: AgainPlan) -> list[tuple[str, str]]:
    """What is said before anything is sent: a label and words each."""
    destination, times = plan.destination, plan.asked.times
    key = destination.key
    carried = "without a key" if key is None else f"with the key in {key.variable}"
    size = len(plan.body)
    return [
        ("sends", f"POST {destination.url}, {size:,} bytes"),
        ("times", "once" if times == 1 else str(times)),
        ("to", f"{destination.host}{' (this machine)' if destination.is_here else ''}, {carried}"),
        ("model", _model(plan)),
        ("policy", f"{plan.rule.text} ({plan.rule.where})"),
        ("expected", _expected(plan)),
        ("kept in", short_path(plan.store) if plan.store.is_absolute() else str(plan.store)),
    ]


def said_of(plan: AgainPlan, glyphs: Glyphs) -> list[SaidRow]:
    """All that is said before something is sent, with what was changed and what else is to be known."""
    rows: list[SaidRow] = []
    for label, words in plan_rows(plan):
        rows += change_rows(plan.asked, glyphs) if label == "times" else [SaidRow(label, words)]
    return [*rows, *(SaidRow("note", note, "changed_mark") for note in plan.notes)]


def change_rows(asked: AgainRequest, glyphs: Glyphs) -> list[SaidRow]:
    """Rows that tell how often the request is sent, and how it differs from the recorded one."""
    changes = [change for edit in asked.edits for change in edit_changes(edit)]
    rows = [SaidRow("times", "once" if asked.times == 1 else str(asked.times), "strong")]
    if not changes and not asked.model:
        return [*rows, SaidRow("changed", "nothing: as it was recorded", "muted")]
    for change in changes[:_MOST_CHANGES]:
        values = [summary(value, _LONGEST_VALUE) for value in (change.old, change.new)]
        words = {"add": values[1], "remove": "left out"}.get(change.op, f" {glyphs.to} ".join(values))
        rows.append(SaidRow("changed", f"{change.path or 'all of it'}  {words}", "yours"))
    if len(changes) > _MOST_CHANGES:
        rows.append(SaidRow("", f"{glyphs.cut} {len(changes) - _MOST_CHANGES:,} changes more", "muted"))
    return rows


def question_of(plan: AgainPlan) -> str:
    """The question whether it is to be sent."""
    times = plan.asked.times
    often = "" if times == 1 else f" {counted(times, 'time')}"
    return f"Send it to {plan.destination.host}{often}?"


def answer_rows(answers: Answers, glyphs: Glyphs) -> list[AnswerRow]:
    """The recorded answer and those that were asked for, as rows."""
    return [_row(answer, glyphs) for answer in (answers.recorded, *answers.answers)]


def summary_of(answers: Answers) -> list[str]:
    """What came, what matters most first."""
    came, differing = len(answers.came), len(answers.differing)
    compared = sum(answer.is_same is not None for answer in answers.came)
    parts = [f"{came} of {counted(len(answers.answers), 'answer')} came"]
    if compared:
        parts.append(f"{differing or 'none'} {'differs' if differing == 1 else 'differ'} from the recorded one")
    for status, words in (("failed", "failed"), ("stopped", "stopped"), ("not sent", "not sent")):
        count = sum(answer.status == status for answer in answers.answers)
        if count:
            parts.append(f"{count} {words}")
    if came:
        known = answers.cost_usd
        parts.append(cost(known) if known is not None else "cost not known")
    return parts


def _model(plan: AgainPlan) -> str:
    """The model that is asked, and which one was."""
    asked, before = plan.request.asked.model, recorded_call(plan.request.call.args)
    was = "" if before is None or before.model == asked else f", in place of {before.model or 'none that is named'}"
    return f"{asked or 'not named'}{was}"


def _expected(plan: AgainPlan) -> str:
    expected, times = plan.expected, plan.asked.times
    each = total_tokens(expected.tokens_in, expected.tokens_out)
    known = plan.cost_usd
    counts = "tokens not known" if each is None else f"{tokens(each)} each, as the recorded answer"
    if known is None:
        return f"{counts}; cost not known"
    return f"{counts}; {cost(known)}{' in all' if times > 1 else ''} at the list price"


def _row(answer: Answer, glyphs: Glyphs) -> AnswerRow:
    words, tone = _word(answer, glyphs)
    known = total_tokens(answer.tokens_in, answer.tokens_out)
    says = answer.error or " ".join([*answer.tools, " ".join(answer.text[:_LONGEST_SAID].split())])
    cells = (
        str(answer.number or ""),
        words,
        glyphs.span if known is None else f"{known:,}",
        glyphs.span if answer.cost_usd is None else cost(answer.cost_usd),
        glyphs.span if answer.duration_us is None else duration(answer.duration_us / 1e6),
        answer.finish_reason or glyphs.span,
        says,
    )
    return AnswerRow(answer.number, cells, tone)


def _word(answer: Answer, glyphs: Glyphs) -> tuple[str, Tone]:
    match answer.status:
        case "answered" if answer.number == 0:
            return "recorded", "text"
        case "answered" if answer.is_same is None:
            return f"{glyphs.unknown} came", "muted"
        case "answered" if answer.is_same:
            return f"{glyphs.same} the same", "well"
        case "answered":
            return f"{glyphs.differs} differs", "changed"
        case "failed":
            return f"{glyphs.failed} {'recorded, ' if answer.number == 0 else ''}failed", "failed"
        case "waiting":
            return f"{glyphs.still} waiting", "running"
        case "stopped":
            return f"{glyphs.interrupted} stopped", "muted"
    return f"{glyphs.ambient} not sent", "muted"


def words_of(answers: Answers, number: int) -> str:
    """What is said of one answer, as the title above it."""
    answer = (answers.recorded, *answers.answers)[number]
    if number == 0:
        return "as it was recorded"
    if answer.status != "answered":
        return {"waiting": "has not come yet", "not sent": "was not sent"}.get(answer.status, answer.status)
    if answer.is_same is None:
        return "the recorded one is not known"
    return "the same as the recorded one" if answer.is_same else "against the recorded one"


def answer_lines(answers: Answers, number: int, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    """One answer, whole; of one that differs the lines of the recorded one that are not in it, too."""
    answer = (answers.recorded, *answers.answers)[number]
    if answer.error:
        yield from _lines(answer.error, "failed_text", columns, glyphs)
        return
    is_other = answer.is_same is False
    lines = text_diff(answers.recorded, answer) if is_other else [f"  {line}" for line in answer.lines]
    for sign, pieces in _marked(lines[:_MOST_LINES]):
        lead: PieceRole = _SIGNS.get(sign, "text")
        for at, row in enumerate(wrap(pieces, columns - 2) if pieces else ((),)):
            yield TextLine(row, lead=((f"{sign if at == 0 else ' '} ", lead),))
    if len(lines) > _MOST_LINES:
        yield TextLine(((f"{glyphs.cut} {len(lines) - _MOST_LINES:,} lines more", "note"),))
    if not lines and answer.status == "answered":
        yield TextLine((("nothing: no words, and no tool", "note"),))


def _marked(lines: Sequence[str]) -> Iterator[tuple[str, tuple[Piece, ...]]]:
    """Lines of a difference; where one stands in the place of another, only the words that differ are marked."""
    at = 0
    while at < len(lines):
        line, following = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        if line[:1] == "-" and following[:1] == "+":
            segments = compare_words(line[2:], following[2:])
            if any(segment.kind == "same" and segment.text.strip() for segment in segments):
                for sign, kind, role in _SIDES:
                    yield (
                        sign,
                        tuple(
                            (clean(segment.text), role if segment.kind == kind else "text")
                            for segment in segments
                            if segment.kind in ("same", kind)
                        ),
                    )
                at += 2
                continue
        yield line[:1], ((clean(line[2:]), _SIGNS.get(line[:1], "text")),) if line[2:] else ()
        at += 1


def _lines(text: str, role: PieceRole, columns: int, glyphs: Glyphs) -> Iterator[TextLine]:
    for row in wrap_text(text, columns, role, glyphs.cut, limit=_LONGEST_ERROR):
        yield TextLine(row)
