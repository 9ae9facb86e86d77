"""The key tables are consistent, and the footer drops whole keys from the right."""

import re

import pytest

from agent_tt_tui.commands import display_key
from agent_tt_tui.footer import footer_entries, plan_footer
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.keymaps import COMPARE, CONTEXTS, DEBUGGER, EDIT, IN_STATE, RUNS, STATISTICS, SWEEP, TABLE, TESTS
from agent_tt_tui.look import Look


def footer_text(context, columns, glyphs=UNICODE, keymap=None, usable=frozenset()):
    row = [" "] * columns
    look = Look(glyphs=glyphs, keymap=keymap or {})
    left, right = plan_footer(footer_entries(context, look, usable.__contains__), columns)
    for column, entry in (*left, *right):
        text = f"{entry.key} {entry.word}"
        assert row[column : column + len(text)] == [" "] * len(text)
        row[column : column + len(text)] = text
    return "".join(row)


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.title)
def test_no_context_binds_a_key_twice(context):
    assert context.clashes() == []


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.title)
def test_ids_are_dotted_and_unique_and_every_command_is_explained(context):
    ids = [command.id for command in context.commands]
    assert len(set(ids)) == len(ids)
    assert all("." in command.id and command.help and command.keys for command in context.commands)
    assert all(command.pair in ids for command in context.commands if command.pair)


def test_the_footer_of_the_debugger_at_eighty_columns():
    assert footer_text(DEBUGGER, 80) == (
        " ←→ step  tab pane  e edit  f fork  c compare  / find  b blame   q back  ? help "
    )


def test_the_footer_names_first_what_is_done_with_a_selected_value():
    assert footer_text(IN_STATE, 80) == (
        " ↑↓ value  ←→ step  [ ] path  e edit  b blame  f fork  tab pane  q back  ? help "
    )
    # Help and the bindings are the debugger's: only the footer's words and order are others.
    assert [(c.id, c.keys, c.action) for c in IN_STATE.commands] == [
        (c.id, c.keys, c.action) for c in DEBUGGER.commands
    ]


@pytest.mark.parametrize("context", [COMPARE, DEBUGGER, IN_STATE, RUNS, STATISTICS, SWEEP, TABLE, TESTS])
def test_every_screen_says_how_it_is_left(context):
    assert re.search(r"q (back|quit)  \? help $", footer_text(context, 80))


def test_a_key_that_means_nothing_most_of_the_time_comes_first_while_it_can_be_used():
    assert footer_text(DEBUGGER, 40, usable={"live.stop"}).startswith(" S stop  ←→ step ")
    assert footer_text(DEBUGGER, 40, usable={"time.lane_previous"}).startswith(" ←→ step  < > lane ")
    assert footer_text(COMPARE, 40, usable={"live.stop", "live.follow"}).startswith(" S stop  F follow ")
    assert "stop" not in footer_text(COMPARE, 200)


def test_a_narrow_footer_drops_whole_keys_and_keeps_help():
    assert footer_text(DEBUGGER, 26) == " ←→ step   q back  ? help "
    assert footer_text(DEBUGGER, 17) == "  q back  ? help "
    assert footer_text(DEBUGGER, 12).strip() == "? help"


def test_pinned_keys_stand_in_order_at_the_right():
    assert footer_text(EDIT, 80).endswith("  esc drop  F1 help ")


def test_the_footer_shows_the_keys_that_the_user_has_chosen():
    assert "ctrl" not in footer_text(DEBUGGER, 80, ASCII)
    assert footer_text(DEBUGGER, 80, ASCII, {"edit.value": "ctrl+o"}).startswith(" <> step  tab pane  ^o edit")


@pytest.mark.parametrize(("key", "shown"), [("shift+left", "shift+←"), ("+", "+"), ("escape", "esc"), ("ctrl+s", "^s")])
def test_keys_are_shown_as_people_know_them(key, shown):
    assert display_key(key, UNICODE) == shown
