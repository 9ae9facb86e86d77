"""How calls, and steps that failed without one, are laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model import Call, ErrorInfo, Run
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.callview import CallContext, call_lines, error_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt_tui.viewmodel.pieces import TextLine


def text_of(lines: Iterable[TextLine]) -> list[str]:
    return ["".join(text for text, _ in line.pieces).strip() for line in lines]


def test_a_question_that_waits_says_so_and_not_that_its_outcome_is_unknown() -> None:
    run = Run("t", "t", "interrupted", started_us=0)
    question = Call(step=1, number=1, kind="human", name="interrupt", status="pending", args="send it?")
    shown = text_of(call_lines(question, CallContext(run, None, [question]), 60, UNICODE))
    assert "▲ no answer yet" in shown
    assert not any("unknown" in line for line in shown)


def test_an_error_is_shown_with_all_of_its_message_and_its_traceback_folded() -> None:
    error = ErrorInfo("builtins:ValueError", "first\nsecond", "Traceback:\n  line")
    folded = text_of(error_lines(error, 40, UNICODE))
    assert folded == ["✗ ValueError: first", "second", f"{UNICODE.folded} traceback"]
    assert text_of(error_lines(error, 40, UNICODE, {"traceback"}))[3:] == ["Traceback:", "line"]
