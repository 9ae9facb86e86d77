"""How a run ended, in words."""

from dataclasses import replace

from tests.tui.fake_source import refund_loop

from agent_tt.model import ErrorInfo
from agent_tt_tui.viewmodel.running.ending import ending_lines

TRACEBACK = 'Traceback (most recent call last):\n  File "agent.py", line 3, in main\nValueError: no\n'


def shown(output, *, traceback=TRACEBACK):
    run = replace(refund_loop().runs()[0], status="failed", error=ErrorInfo("builtins:ValueError", "no", traceback))
    return ["".join(text for text, _ in line.pieces) for line in ending_lines("", run, "failed", output, 80, "…")]


def test_a_traceback_that_was_printed_too_is_shown_once():
    rows = shown(f"looking it up\n{TRACEBACK}")
    assert rows.count("Traceback (most recent call last):") == 1
    assert rows[-3:] == ["", "PRINTED", "looking it up"]


def test_a_run_that_printed_its_traceback_alone_has_nothing_else_to_show():
    assert "PRINTED" not in shown(TRACEBACK)


def test_what_was_printed_stays_whole_where_another_error_came_out_of_it():
    other = "Traceback (most recent call last):\nKeyError: 'a'"
    assert shown(other)[-2:] == other.splitlines()
