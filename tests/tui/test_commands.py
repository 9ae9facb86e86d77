"""The key tables are consistent, and the footer drops whole keys from the right."""

import pytest

from agent_tt_tui.commands import display_key
from agent_tt_tui.footer import footer_entries, plan_footer
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.keymaps import COMPARE, CONTEXTS, DEBUGGER, EDIT


def footer_text(context, columns, glyphs=UNICODE, keymap=None, usable=frozenset()):
    row = [" "] * columns
    left, right = plan_footer(footer_entries(context, glyphs, keymap or {}, usable.__contains__), columns)
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
        " ←→ step  [ ] path  e edit  f fork  c compare  / find  b blame           ? help "
    )


def test_a_key_that_means_nothing_most_of_the_time_comes_first_while_it_can_be_used():
    assert footer_text(DEBUGGER, 40, usable={"live.stop"}).startswith(" S stop  ←→ step ")
    assert footer_text(DEBUGGER, 40, usable={"time.lane_previous"}).startswith(" ←→ step  < > lane ")
    assert footer_text(COMPARE, 40, usable={"live.stop", "live.follow"}).startswith(" S stop  F follow ")
    assert "stop" not in footer_text(COMPARE, 200)


def test_a_narrow_footer_drops_whole_keys_and_keeps_help():
    assert footer_text(DEBUGGER, 26) == " ←→ step           ? help "
    assert footer_text(DEBUGGER, 12).strip() == "? help"


def test_pinned_keys_stand_in_order_at_the_right():
    assert footer_text(EDIT, 80).endswith("  esc drop  F1 help ")


def test_the_footer_shows_the_keys_that_the_user_has_chosen():
    assert "ctrl" not in footer_text(DEBUGGER, 80, ASCII)
    assert footer_text(DEBUGGER, 80, ASCII, {"edit.value": "ctrl+o"}).startswith(" <> step  [ ] path  ^o edit")


@pytest.mark.parametrize(("key", "shown"), [("shift+left", "shift+←"), ("+", "+"), ("escape", "esc"), ("ctrl+s", "^s")])
def test_keys_are_shown_as_people_know_them(key, shown):
    assert display_key(key, UNICODE) == shown
