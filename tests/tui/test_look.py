"""Glyphs, theme and colour roles suit the terminal."""

import pytest

from agent_tt_tui.glyphs import ASCII, UNICODE, choose
from agent_tt_tui.look import Look
from agent_tt_tui.text import width
from agent_tt_tui.theme import choose_theme

UTF8 = {"LANG": "en_GB.UTF-8", "TERM": "xterm-256color"}


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_glyph_is_one_column_wide(glyphs):
    for name, value in glyphs._asdict().items():
        assert [width(glyph) for glyph in value] == [1] * len(value), name


def test_the_ascii_set_is_ascii():
    assert all("".join(value).isascii() for value in ASCII)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_kinds_of_steps_are_told_apart(glyphs):
    kinds = [glyphs.model, glyphs.reads, glyphs.writes, glyphs.http, glyphs.code, glyphs.person, glyphs.ambient]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    ("env", "expected"),
    [(UTF8, UNICODE), ({**UTF8, "TERM": "linux"}, ASCII), ({**UTF8, "LC_ALL": "C"}, ASCII), ({}, ASCII),
     ({"LANG": "ja_JP.UTF-8", "TERM": "xterm"}, ASCII)],
)  # fmt: skip
def test_glyphs_follow_the_terminal(env, expected):
    assert choose("auto", env) is expected


def test_a_set_that_is_asked_for_is_used_anywhere():
    assert choose("unicode", {"TERM": "dumb"}) is UNICODE
    assert choose("ascii", UTF8) is ASCII


@pytest.mark.parametrize(
    ("env", "theme"),
    [({"TERM": "xterm", "COLORTERM": "truecolor"}, "tt-dark"), ({"TERM": "screen-256color"}, "tt-dark"),
     ({"TERM": "xterm"}, "ansi-dark"), ({"TERM": "linux", "COLORFGBG": "0;15"}, "ansi-light")],
)  # fmt: skip
def test_terminals_of_sixteen_colours_start_with_an_ansi_theme(env, theme):
    assert choose_theme("auto", env) == theme


def test_changes_stand_in_brackets_where_nothing_can_be_struck_through():
    assert Look.choose(env={"TERM": "linux"}).bracket_changes
    assert not Look.choose(env=UTF8).bracket_changes


MARKS = (
    *("model", "reads", "writes", "http", "code", "person", "ambient"),  # what a step or a call is
    *("well", "failed", "unknown", "crashed", "interrupted"),  # how it ended
    *("differs", "same", "only_a", "only_b", "fork", "edited", "added", "changed"),  # what stands beside it
)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_marks_that_stand_in_one_list_are_told_apart(glyphs):
    """A step that crashed is not one that differs, nor one of code one that was interrupted."""
    by_glyph = {}
    for name in MARKS:
        by_glyph.setdefault(getattr(glyphs, name), []).append(name)
    assert {glyph: names for glyph, names in by_glyph.items() if len(names) > 1} == {}
