"""What a replay found, in words: the verdict, the rows of the list, and all that is known of one divergence."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from tests.tui.replay_reports import changed, finding, near, report

from agent_tt.model import Call
from agent_tt.replaying.divergence import ChangedPart, DivergenceKind
from agent_tt.replaying.findings.notes import Note
from agent_tt.replaying.report import AgentEnd
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.running.replayed import (
    call_in,
    divergence_lines,
    divergence_pieces,
    remark_lines,
    trouble_lines,
    verdict,
)

HOSTILE = "\x1b[31mred\x1b[0m \u202egnirts\u2066 [bold]markup[/] \x07"


def rows(found, columns=60, glyphs=UNICODE):
    return [
        "".join(text for text, _ in (*line.lead, *line.pieces)) for line in divergence_lines(found, columns, glyphs)
    ]


def row(found, glyphs=UNICODE):
    return "".join(text for text, _ in divergence_pieces(found, glyphs))


def test_a_faithful_replay_says_how_many_calls_were_served_and_that_nothing_was_reached():
    said = verdict(report())
    assert said.role == "well"
    assert said.text == "as recorded: 41 calls served, 0 requests made"
    assert said.detail == "the agent ended, as it did then"


def test_a_halted_replay_counts_what_was_served_until_then():
    said = verdict(report(finding()))
    assert said.role == "failed"
    assert said.text == "diverged in 1 place: 40 of 41 calls served, 0 requests made"
    assert said.detail == "the agent was halted there"


def test_an_agent_that_failed_otherwise_than_it_did_is_not_called_faithful():
    end = AgentEnd("raised", "KeyError: 'x'", "Traceback …\nKeyError: 'x'", as_recorded=False)
    said = verdict(report(agent=end))
    assert said.role == "failed"
    assert said.text.startswith("diverged: failed otherwise: ")
    assert said.detail == "the agent raised KeyError: 'x', which it did not then"
    remarks = [
        text for line in remark_lines(report(agent=end, output="halfway\n"), 60, UNICODE) for text, _ in line.pieces
    ]
    assert remarks == ["TRACEBACK", "Traceback …", "KeyError: 'x'", "PRINTED", "halfway"]


def test_what_the_agent_printed_is_left_out_where_it_ended_as_it_did_then():
    assert [line.pieces for line in remark_lines(report(output="done\n"), 60, UNICODE)] == [
        (("its last state and its output not compared", "muted"),)
    ]


def test_reservations_have_a_word_and_a_colour_of_their_own_and_come_first():
    notes = (Note("edited", "x"), Note("unreliable", "y", 2), Note("not covered", "grpc may reach the world"))
    said = verdict(report(notes=notes))
    assert (said.role, said.glyph(UNICODE)) == ("changed_mark", "!")
    assert said.text == "as recorded, with reservations: 41 calls served"  # grpc may have made requests
    lines = [line.pieces[0] for line in remark_lines(report(notes=notes), 60, UNICODE)]
    assert lines[:3] == [
        ("! reservation, unreliable: y (2 ×)", "changed_mark"),
        ("! reservation, not covered: grpc may reach the world", "changed_mark"),
        ("! edited: x", "text"),
    ]


def test_an_agent_that_failed_before_its_first_call_is_not_told_by_the_calls_it_did_not_make():
    end = AgentEnd("raised", "KeyError: 'x'", "Traceback …", as_recorded=False)
    made = replace(report(observed=True, agent=end), served=2, drawn=2)
    assert verdict(made).text == "diverged: the agent failed before its first call"
    assert verdict(replace(made, served=3)).text.startswith("diverged: failed otherwise: 3 of 41")


def test_a_note_that_was_made_often_is_counted():
    lines = list(remark_lines(report(notes=(Note("order relaxed", "lane main/ask.1", 3),)), 60, UNICODE))
    assert lines[0].pieces[0][0] == "! reservation, order relaxed: lane main/ask.1 (3 ×)"


def test_the_row_of_a_divergence_names_step_kind_call_and_path():
    assert row(finding()) == "    3 ≠ changed request    search_docs › query"
    assert row(finding(changes=())).endswith("search_docs")


def test_of_a_long_address_the_end_is_shown_so_that_the_path_is_seen():
    shown = row(
        finding(name="POST https://api.example.com/v1/chat/completions", changes=(changed("body.messages[0]"),))
    )
    assert shown.endswith("com/v1/chat/completions › body.messages[0]")
    assert width(shown) <= 78


def test_an_effect_outside_every_step_is_named_by_what_happened():
    found = finding("unrecorded effect", None, name="", call=None, call_kind=None, changes=(), message="socket.connect")
    assert row(found) == "      ≠ unrecorded effect  socket.connect"
    assert rows(found)[1].startswith("outside any step · lane main · from agent.py:57")


@pytest.mark.parametrize("kind", get_args(DivergenceKind))
def test_every_kind_is_drawn_whole_with_its_place(kind):
    shown = rows(finding(kind, hint="record the run again"))
    assert kind in row(finding(kind))
    assert shown[:4] == [
        "search_docs is asked something else than was recorded",
        "~ query  refund policy window",
        "step 3 · call 1 · tool search_docs · lane main",
        "from agent.py:57",
    ]
    assert shown[-1] == "record the run again"


def test_where_a_long_text_changed_is_said_by_its_character():
    changed_text = changed("body.messages[0].content", ("same", "a" * 5000), ("removed", "b"), ("added", "c"))
    assert "~ body.messages[0].content  from character 5,001" in rows(finding(changes=(changed_text,)))


def test_words_carry_their_roles_so_that_no_colour_is_needed():
    line = next(line for line in divergence_lines(finding(), 60, UNICODE) if line.lead)
    assert [piece for piece in line.pieces if piece[1] in ("removed", "added")] == [
        ("policy", "removed"),
        ("window", "added"),
    ]


def test_nearest_recorded_calls_are_listed_but_not_the_call_itself():
    shown = rows(finding(nearest=(near(3, 0.8), near(5, 0.4), near(9, 0.3))))
    assert shown[shown.index("NEAREST RECORDED") + 1 :] == [
        "  step 5 call 1 search_docs  40% alike  ≠ query",
        "  step 9 call 1 search_docs  30% alike  ≠ query",
    ]


@pytest.mark.parametrize(("likeness", "said"), [(1.0, "99%"), (0.9987, "99%"), (0.004, "1%"), (0.0, "0%")])
def test_a_question_that_differs_is_never_called_wholly_alike(likeness, said):
    assert f"  {said} alike  ≠ query" in rows(finding(nearest=(near(5, likeness),)))[-1]


def test_a_change_without_words_shows_its_values():
    shown = rows(finding(changes=(ChangedPart("limit", None, None), ChangedPart("deep", [], {}))))
    assert any(row.startswith("~ deep") and "→" in row for row in shown)


def test_a_text_that_changed_everywhere_is_not_shown_without_end():
    words = [(kind, f"{kind} {n} ") for n in range(5_000) for kind in ("same", "removed", "added")]
    shown = rows(finding(changes=(changed("query", *words),)))
    assert len(shown) < 200
    assert any(line.strip().endswith("14,800 more stretches") for line in shown)


def test_many_changes_are_counted_and_not_listed_without_end():
    shown = rows(finding(changes=tuple(changed(f"items[{n}]", ("removed", "a"), ("added", "b")) for n in range(400))))
    assert len(shown) < 40
    assert any("380 more changes" in row for row in shown)
    assert row(finding(changes=finding().changes * 3)).endswith("query +2")


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("columns", [1, 20, 46, 88])
def test_hostile_text_is_made_safe_and_no_row_is_too_wide(glyphs, columns):
    found = finding(
        message=HOSTILE,
        name=HOSTILE,
        lane=HOSTILE,
        hint=HOSTILE,
        site={"file": HOSTILE, "line": 1},
        changes=(changed(HOSTILE, ("same", HOSTILE), ("removed", HOSTILE * 500), ("added", "\n\t")),),
        nearest=(near(4, name=HOSTILE),),
    )
    for line in divergence_lines(found, columns, glyphs):
        text = "".join(part for part, _ in (*line.lead, *line.pieces))
        assert not {"\x1b", "\u202e", "\u2066", "\x07", "\n", "\t"} & set(text)
        if columns > 1:
            assert width(text.rstrip()) <= columns
    for part, _ in (*divergence_pieces(found, glyphs), *next(trouble_lines(HOSTILE, HOSTILE, 200, glyphs)).pieces):
        assert "\x1b" not in part
        assert "\u202e" not in part


def test_in_ascii_nothing_of_the_programs_own_is_beyond_it():
    found = finding(changes=(changed("query", ("same", "…a long way off "), ("removed", "x")),), nearest=(near(4),))
    assert all(text.isascii() for text in (*rows(found, glyphs=ASCII), row(found, ASCII)))


def test_the_call_to_show_is_its_own_else_the_nearest_of_the_step():
    calls = [Call(3, number, "tool", "search_docs", "ok") for number in (1, 2)]
    assert call_in(calls, finding(call=2)) == 2
    assert call_in(calls, finding(call=None, nearest=(near(9), near(3)))) == 1
    assert call_in(calls, finding(call=None)) is None
    assert call_in([], finding(call=2)) is None
