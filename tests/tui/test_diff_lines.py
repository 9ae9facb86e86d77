"""How the diff pane says what changed."""

import base64
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt.comparing.values.states import compare_states
from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.values import difflines
from agent_tt_tui.viewmodel.values.difflines import DiffRows, diff_lines
from agent_tt_tui.viewmodel.values.difftext import CUT


def said(before, after, columns=60):
    """The rows as text: sign, indent, pieces; removed words in [-…-], added ones in {+…+}."""
    marks = {"removed": "[-{}-]", "added": "{{+{}+}}", "to": "{}->"}
    rows = []
    for line in diff_lines(compare_states(before, after), columns):
        text = "".join(marks.get(role, "{}").format(piece) for piece, role in line.pieces)
        rows.append(line.sign + " " * (line.indent - len(line.sign)) + text)
    return rows


def test_short_values_stand_on_one_row():
    assert said({"attempts": 1}, {"attempts": 2}) == ["~ attempts    [-1-]->{+2+}"]


def test_an_arrow_stands_before_the_new_value_where_both_do_not_fit_on_a_row():
    rows = said({"answer": None}, {"answer": "all is well with this order of yours"}, columns=28)
    assert rows == ["~ answer  [-null-]", "  ->all is well with this ", "     order of yours"]
    rows = said({"long_name_of_a_value": "x" * 40}, {"long_name_of_a_value": "y" * 25}, columns=28)
    assert rows == ["~ long_name_of_a_value", f'     [-"{"x" * 21}{CUT}-]', f"  ->{'y' * 23}", "     yy"]
    assert said({"a": "x" * 40}, {"a": ""}, columns=28)[-1] == '  ->{+""+}'


def test_text_is_compared_by_word_and_removed_and_added_words_stand_apart():
    rows = said({"notes": "Search 1 of 20 found nothing."}, {"notes": "Search 2 of 20 found nothing."})
    assert rows == ["~ notes", "     Search [-1-] {+2+} of 20 found nothing."]


def test_long_text_is_compared_by_line_with_its_numbers():
    before = "\n".join(f"line {n}" for n in range(1, 60))
    rows = said({"file": before}, {"file": before.replace("line 41", "row 41")})
    assert rows == ["~ file  line 41", "  41   [-line-] {+row+} 41"]


def test_a_line_put_in_is_one_row():
    rows = said({"file": "a\nb\nc"}, {"file": "a\nnew\nb\nc"})
    assert rows == ["~ file  line 2", "   2 + new"]


def test_a_message_says_who_speaks_and_an_assistants_call_what_it_calls():
    tool = {"role": "tool", "tool_call_id": "1", "content": '{"docs": []}'}
    call = {"function": {"name": "search_docs", "arguments": '{"query": "refund policy"}'}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    rows = said({"messages": []}, {"messages": [asked, tool]})
    assert rows == ['+ messages[0]->search_docs(query="refund policy")', '+ messages[1] tool {"docs": []}']


def test_messages_of_langchain_are_said_as_they_are_in_the_tree():
    call = {"name": "search_docs", "args": {"query": "refund policy"}, "id": "1"}
    asked = {"$type": "made", "class": "langchain_core.messages.ai:AIMessage", "$v": [[], {"tool_calls": [call]}]}
    answer = {"$type": "made", "class": "langchain_core.messages.tool:ToolMessage", "$v": [[], {"content": "none"}]}
    rows = said({"messages": []}, {"messages": [asked, answer]})
    assert rows == ['+ messages[0]->search_docs(query="refund policy")', "+ messages[1] tool none"]
    assert said({"a": 1, "b": answer}, {"a": 1}) == ["- b tool [-none-]"]


def test_equal_looking_values_of_other_types_say_their_types():
    assert said({"n": 1}, {"n": True}) == ["~ n           [-1-]->{+true+}"]
    row = said({"n": 1.0}, {"n": 1})[0]
    assert "1.0" in row


def test_what_was_removed_shows_what_it_was():
    assert said({"a": 1, "b": "gone"}, {"a": 1}) == ['- b [-"gone"-]']


def test_control_codes_and_markup_in_values_are_text():
    rows = said({"n": "x"}, {"n": "\x1b[31mred\x1b[0m [red]x[/red] \u202e"})
    text = "\n".join(rows)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]" in text


def test_a_megabyte_on_one_line_is_shown_by_its_beginning():
    rows = said({"n": "start"}, {"n": "word " * 200_000})
    assert sum(map(len, rows)) < 20_000


def test_of_very_many_changes_the_first_are_shown_and_the_rest_counted():
    rows = said({str(n): 0 for n in range(2000)}, {str(n): 1 for n in range(2000)})
    assert rows[-1] == "  1,500 more changes"


def test_very_many_new_items_are_counted_after_the_first():
    rows = said({"l": []}, {"l": list(range(500))})
    assert rows[29:] == ["+ l[29] 29", "+ 470 more, up to l[499]"]


def test_items_that_moved_and_lists_in_another_order_say_so():
    assert said([1, 2, 3, 4, 5], [2, 3, 4, 5, 1]) == ["~ [0]->[4]  moved"]
    assert said({"l": list("abcdef")}, {"l": list("fedcba")}) == ["~ l  the same items in another order: 5 4 3 2 1 0"]
    assert said({"plan": ["go", "home"]}, {"way": ["go", "home"]}) == ["~ plan->way  another key, the same value"]


def test_arrays_that_show_alike_say_how_many_of_their_elements_differ():
    def array(*numbers):
        data = base64.b64encode(struct.pack(f"<{len(numbers)}d", *numbers)).decode()
        return {"$type": "ndarray", "dtype": "<f8", "shape": [len(numbers)], "$v": data}

    assert said({"a": array(1, 2, 3)}, {"a": array(1, 5, 6)}) == ["~ a  <ndarray 3 float64>  2 of 3 elements differ"]


def test_a_message_that_became_another_shows_both_as_they_read():
    asked, said_back = (
        {"role": "user", "content": "where is it"},
        {"role": "assistant", "content": "here", "model": "m"},
    )
    rows = said({"m": [asked]}, {"m": [said_back, {"role": "tool", "content": "x"}]})
    assert rows[:3] == ["~ m[0]", "     user [-where is it-]", "     assistant {+here+}"]


def test_changes_inside_one_value_stand_below_its_path():
    before, after = {"a": {"b": {"one": 1, "two": 2}}}, {"a": {"b": {"one": 3, "two": 4}}}
    lines = DiffRows(compare_states(before, after), nested=True).lay_out(60)
    assert ["".join(text for text, _ in line.pieces).split()[0] for line in lines] == ["a.b", "one", "two"]
    assert [line.indent for line in lines] == [2, 4, 4]


def test_a_long_text_is_compared_once_for_all_widths(monkeypatch):
    old = " ".join(f"word{n}" for n in range(20_000))
    rows = DiffRows(compare_states({"t": old}, {"t": old.replace("word19990", "other")}))
    first = rows.lay_out(80)
    monkeypatch.setattr(difflines, "compare_texts", None)  # must not be called again
    assert any("other" in text for line in first for text, _ in line.pieces)
    assert len(rows.lay_out(30)) > len(first)


def test_a_text_in_a_new_value_is_read_whole_in_as_many_rows_as_it_takes():
    said = "A heat pump needs a flow temperature of at most 55 degrees"
    lines = diff_lines(compare_states({}, {"claim": {"text": said, "pages": [7] * 40}}), 40)
    assert ["".join(text for text, _ in line.pieces) for line in lines] == [
        "claim",
        'text  "A heat pump needs a flow ',
        "temperature of at most 55 ",
        'degrees"',
        "pages [7, 7, 7, 7, 7, 7, 7, 7, 7, …",
    ]
    assert [line.indent for line in lines] == [2, 5, 11, 11, 5]


texts = st.text(st.sampled_from("ab \n漢é👍"), max_size=40)
values = (
    st.none() | st.integers(-5, 5) | texts | st.lists(texts, max_size=3) | st.dictionaries(texts, texts, max_size=3)
)


@settings(max_examples=80)
@given(
    st.dictionaries(st.sampled_from("abc"), values),
    st.dictionaries(st.sampled_from("abc"), values),
    st.integers(20, 90),
)
def test_wrapped_rows_fit_the_pane(before, after, columns):
    for line in diff_lines(compare_states(before, after), columns):
        if not line.sign and line.indent == 5 and not any(role == "muted" for _, role in line.pieces):
            assert line.indent + sum(width(text) for text, _ in line.pieces) <= columns + 1
