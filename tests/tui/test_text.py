"""Text from agents is safe to draw and takes the columns it is given."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt_tui.row import Row
from agent_tt_tui.text import call_name, clean, cut, fit, show, width

anything = st.text(alphabet=st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("in\u200bvisible", "in\\u200bvisible"),
        ("\U000e0041tag", "\\U000e0041tag"),
        ("lone \ud800", "lone \\ud800"),
        ("hid\u3164den\uffa0", "hid\\u3164den\\uffa0"),
        ("\U0001f44d\U0001f3fd", "\U0001f44d"),
        ("می\u200cخواهم", "میخواهم"),
        ("[red]markup[/] stays text", "[red]markup[/] stays text"),
        ("שלום 世界", "שלום 世界"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_shown(text, shown):
    assert clean(text) == shown


@given(anything)
def test_clean_text_holds_no_control_or_format_character_that_moves_or_hides(text):
    cleaned = clean(text)
    assert not [c for c in cleaned if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    cleaned.encode("utf-8")


@given(anything, st.integers(min_value=0, max_value=40))
def test_fitted_text_takes_exactly_its_columns(text, columns):
    assert width(fit(clean(text), columns, "…")) == columns


@given(anything, st.integers(min_value=1, max_value=40))
def test_text_that_fits_is_not_cut_and_text_that_does_not_says_so(text, columns):
    safe = clean(text)
    result = cut(safe, columns, "…")
    assert result == safe if width(safe) <= columns else result.endswith("…")


def test_a_wide_character_is_never_cut_in_half():
    assert cut("世界世界", 4, "…") == "世…"
    assert fit("世界世界", 4, "…") == "世… "


def test_a_row_is_not_cut_for_blanks_that_do_not_fit():
    assert Row("…").add("words ").add("  ").strip(5).text == "words"
    assert Row("…").add("words ").upto_row(Row("…").add("more  "), 4).strip(12).text == "words more  "
    assert Row("…").add("words and").strip(6).text == "words…"


def test_no_separator_is_left_before_the_end_of_a_row_that_is_cut():
    assert Row("…").add("lead").add(" · ").add("critic").strip(8).text == "lead …  "
    assert Row("…").add("lead · web · critic").strip(12).text == "lead · web …"
    assert Row("…").add("12").add(" → ").add("a long value").strip(6).text == "12 …  "
    assert Row("…").add("12").add(" → ").add("a long value").strip(8).text == "12 → a …"
    assert Row("…").add("lead").add(" · ").add("web").strip(10).text == "lead · web"


def test_combining_marks_stay_with_their_letter():
    assert cut("e\u0301e\u0301e\u0301", 2, "…") == "e\u0301…"


def test_showing_a_megabyte_reads_only_what_fits(monkeypatch):
    measured = []
    monkeypatch.setattr("agent_tt_tui.text.clean", lambda text: measured.append(len(text)) or clean(text))
    assert show("\x1b" * 1_000_000, 10, "…") == "\\x1b\\x1b\\…"
    assert max(measured) < 100
    assert cut("世" * 1_000_000, 5, "…") == "世世…"


@given(anything, st.integers(min_value=1, max_value=30))
def test_shown_text_never_exceeds_its_columns(text, columns):
    assert width(show(text * 20, columns, "…")) <= columns


@pytest.mark.parametrize(
    ("name", "columns", "shown"),
    [
        ("search_docs", 20, "search_docs"),
        ("POST https://api.openai.com/v1/responses", 40, "POST api.openai.com/v1/responses"),
        ("POST https://api.openai.com/v1/responses", 22, "POST …com/v1/responses"),
        ("a\x1b[2Jb", 20, clean("a\x1b[2Jb")),
    ],
)
def test_of_an_address_that_is_called_its_end_is_shown(name, columns, shown):
    assert call_name(name, columns, "…") == shown
    assert width(shown) <= columns
