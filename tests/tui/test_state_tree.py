"""The rows of the state tree, without a terminal."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tt.codec.encode import encode
from agent_tt.codec.paths import get
from agent_tt.comparing.values.states import compare_states
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.viewmodel.values.parts import parts_of
from agent_tt_tui.viewmodel.values.tree import Changes, Folds, Tree
from agent_tt_tui.viewmodel.values.values import key_text, type_text, value_pieces

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
python_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.dictionaries(st.integers(0, 9), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(st.integers(0, 9), max_size=3)
    ),
    max_leaves=25,
)
states = st.dictionaries(st.text(max_size=3), python_values, max_size=4).map(encode)


def naive_rows(node, path=(), depth=0):
    """Every value below a node, all unfolded, in order."""
    parts = parts_of(node)
    for index in range(len(parts) if parts is not None else 0):
        child, value = path + parts.steps(index), parts.value(index)
        yield child, depth, value
        yield from naive_rows(value, child, depth + 1)


def visible(rows, unfolded):
    """Of all rows, those whose parents are all unfolded."""
    shown = {()}
    for path, depth, value in rows:
        above = max((p for p in shown if len(p) < len(path) and path[: len(p)] == p), key=len)
        if above in unfolded or above == ():
            if parents_between(rows, above, path):
                continue
            shown.add(path)
            yield path, depth, value


def parents_between(rows, above, path):
    return any(len(above) < len(p) < len(path) and path[: len(p)] == p for p, _, _ in rows)


@settings(max_examples=80, deadline=None)
@given(states, st.data())
def test_rows_of_the_tree_are_those_of_a_naive_flatten(state, data):
    everything = list(naive_rows(state))
    paths = [path for path, _, _ in everything]
    unfolded = set(data.draw(st.lists(st.sampled_from(paths), unique=True))) if paths else set()
    tree = Tree(state, Changes(), Folds(open=set(unfolded)))
    rows = [tree.row(index) for index in range(len(tree))]
    assert [(row.path, row.depth, row.value) for row in rows] == list(visible(everything, unfolded))
    for index, row in enumerate(rows):
        assert tree.find(row.path) == (index, True)
        assert get(state, row.path) == row.value


@settings(max_examples=80, deadline=None)
@given(states, states)
def test_every_change_is_marked_where_it_is_and_counted_on_all_values_above_it(old, new):
    differences = compare_states(old, new)
    changes = Changes(differences)
    tree = Tree(new, changes, Folds(open={path for path, _, _ in naive_rows(new)}))
    for row in (tree.row(index) for index in range(len(tree))):
        if row.kind != "value":
            continue
        inside = [c for c in differences if len(c.where) > len(row.path) and c.where[: len(row.path)] == row.path]
        assert sum(row.inside.values()) == len(inside)
        if inside or row.change is not None:
            assert row.mark
        if row.change is not None and row.change.op == "add":
            assert row.mark == "+"


def test_a_path_inside_a_folded_or_missing_value_is_found_at_the_nearest_row_above():
    tree = Tree({"a": {"b": {"c": 1}}, "d": 2}, Changes(), Folds(open={("a",)}))
    assert tree.find(("a", "b", "c")) == (1, False)
    assert tree.find(("a", "x")) == (0, False)
    assert tree.find(("x",)) == (-1, False)


def test_unchanged_neighbours_of_a_change_fold_only_when_rows_are_short():
    old, new = {"items": [0, 1, 2, 3, 4, 5]}, {"items": [0, 1, 2, 3, 4, 9]}
    changes, folds = Changes(compare_states(old, new)), Folds(open={("items",)})
    rows = [row for tree in [Tree(new, changes, folds, fold_from=4)] for row in map(tree.row, range(len(tree)))]
    assert [key_text(row, UNICODE) for row in rows] == ["items", "0–4", "5"]
    assert value_pieces(rows[1], 40, UNICODE) == [("5 unchanged", "note")]
    assert len(Tree(new, changes, folds, fold_from=7)) == 7
    assert len(Tree(new, changes, Folds({("items",)}, {("items",)}), fold_from=4)) == 7
    kept = Tree(new, changes, folds, fold_from=4, keep=("items", 2))
    assert kept.row(kept.find(("items", 2))[0]).path == ("items", 2)


def test_what_was_removed_stands_below_what_is_left():
    old, new = {"plan": {"a": 1, "b": 2}}, {"plan": {"a": 1}}
    tree = Tree(new, Changes(compare_states(old, new)), Folds(open={("plan",)}))
    rows = [tree.row(index) for index in range(len(tree))]
    assert [(row.kind, row.key, row.mark) for row in rows[1:]] == [("value", "a", ""), ("removed", "b", "-")]
    assert value_pieces(rows[-1], 20, UNICODE) == [("2", "removed")]
    assert value_pieces(rows[0], 20, UNICODE) == [("−1", "removed_mark")]


def test_of_a_hundred_thousand_parts_only_those_that_are_shown_are_looked_at():
    class Watched(list):
        looked_at = 0

        def __getitem__(self, index):
            self.looked_at += 1
            return super().__getitem__(index)

        def __iter__(self):
            self.looked_at += len(self)
            return super().__iter__()

    docs = Watched({"id": n, "text": "x" * 50} for n in range(100_000))
    state = {"docs": docs, "one line": "y" * 1_000_000}
    tree = Tree(state, Changes(), Folds(open={("docs",), ("docs", 70_000)}), fold_from=20)
    assert len(tree) == 100_004
    assert tree.row(70_003).path == ("docs", 70_000, "text")
    assert tree.find(("docs", 99_999)) == (100_002, True)
    shown = value_pieces(tree.row(100_003), 60, UNICODE)
    assert docs.looked_at < 20
    assert sum(cell_len(text) for text, _ in shown) <= 60
    assert shown[-1] == ("  977 KB", "muted")


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize(
    "hostile", ["\x1b[31mred\x1b[0m", "[red]markup[/]", "a\r\nb", "\u202eabc", "e\u0301 😀 漢字", "\x9b2J", "שלום עולם"]
)
def test_nothing_that_an_agent_wrote_reaches_the_screen_unescaped(hostile, glyphs):
    old, new = {hostile: [hostile, 1]}, {hostile: [hostile + " x", {hostile: hostile}]}
    tree = Tree(new, Changes(compare_states(old, new)), Folds(open={path for path, _, _ in naive_rows(new)}))
    for index in range(len(tree)):
        row = tree.row(index)
        texts = [key_text(row, glyphs), type_text(row.value), *(t for t, _ in value_pieces(row, 40, glyphs))]
        for text in texts:
            assert not set(text) & set("\x1b\x9b\r\n\u202e")


def test_typed_values_show_as_what_they_are_and_damage_says_why():
    from decimal import Decimal

    state = encode({"price": Decimal("1.50"), "window": (1, 2), "names": {1: "a"}})
    state["gone"] = {"$type": "damaged", "why": "blob missing", "$v": None}
    tree = Tree(state, Changes(), Folds(open={("names",)}))
    rows = {row.key: row for row in map(tree.row, range(len(tree)))}
    assert value_pieces(rows["price"], 40, UNICODE)[0] == ('Decimal("1.50")', "text")
    assert value_pieces(rows["window"], 40, UNICODE)[0] == ("(1, 2)", "muted")
    assert value_pieces(rows["gone"], 40, UNICODE)[0] == ("✗ blob missing", "failed_text")
    assert rows["1"].path == ("names", "$v", 0, 1)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (1, 2, [("1", "removed"), (" → ", "muted"), ("2", "added")]),
        (1, 1.0, [("1", "removed"), (" → ", "muted"), ("1.0", "added")]),
        ("a b", "a c", [("a ", "text"), ("c", "added")]),
        ("a b", "a", [("a", "text"), (" b", "removed")]),
    ],
)
def test_a_changed_value_shows_old_and_new_and_a_text_its_new_words(old, new, shown):
    tree = Tree({"x": new}, Changes(compare_states({"x": old}, {"x": new})), Folds())
    assert [piece for piece in value_pieces(tree.row(0), 40, UNICODE) if piece[0]] == shown


@pytest.mark.parametrize(
    ("columns", "shown"),
    [(25, '"an-old… → "another-value"'), (11, '→ "another-v…')],
)
def test_of_a_change_that_does_not_fit_the_new_value_has_the_room(columns, shown):
    old, new = {"x": "an-old-value-of-it"}, {"x": "another-value"}
    tree = Tree(new, Changes(compare_states(old, new)), Folds())
    assert "".join(text for text, _ in value_pieces(tree.row(0), columns, UNICODE)) == shown


def test_messages_are_named_by_role_and_tool_calls_by_what_they_ask():
    call = {"id": "c", "function": {"name": "search", "arguments": json.dumps({"query": "refund"})}}
    state = {"messages": [{"role": "user", "content": "Hi there"}, {"role": "assistant", "tool_calls": [call]}]}
    tree = Tree(state, Changes(), Folds(open={("messages",)}))
    assert [key_text(tree.row(n), UNICODE) for n in (1, 2)] == ["0 user", "1 assistant"]
    assert value_pieces(tree.row(2), 60, UNICODE) == [("→ ", "muted"), ('search(query="refund")', "muted")]


ASKED = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query": "refund"}'}}
CHAT = [{"role": "system", "content": "You answer."}, {"role": "user", "content": "Where is my refund? " * 9}]


def said_of(state, columns, **options):
    """What the first row of a state says, as one text; the caller cuts what is longer than the columns."""
    pieces = value_pieces(Tree(state, Changes(), Folds()).row(0), columns, UNICODE, **options)
    return "".join(text for text, _ in pieces)


@pytest.mark.parametrize(
    ("state", "columns", "shown"),
    [
        ({"messages": CHAT}, 33, "2, last user: Where is my refund…"),
        ({"messages": CHAT[1:]}, 33, "1, user: Where is my refund? Whe…"),
        ({"messages": CHAT * 600}, 33, "1,200, last user: Where is my re…"),
        ({"messages": [*CHAT, {"role": "assistant", "tool_calls": [ASKED]}]}, 33, "3, last assistant: → search(quer…"),
        ({"messages": [*CHAT, {"role": "assistant", "content": ""}]}, 33, "3, last assistant"),
        ({"messages": CHAT}, 20, "2, last user"),
        ({"messages": CHAT}, 8, "[+2]"),
        ({"messages": CHAT[:1]}, 50, '[{"role": "system", "content": "You answer."}]'),
        ({"tool_calls": [ASKED]}, 33, '→ search(query="refund")'),
        ({"tool_calls": [ASKED, ASKED]}, 33, '2 calls → search(query="refund")…'),
        ({"tool_calls": [ASKED, {"id": 2}]}, 33, '[{"id": "call_1", +2}, +1]'),
        ({"tool_calls": [ASKED] * 9}, 33, '[{"id": "call_1", +2}, +8]'),
    ],
)
def test_a_folded_list_of_messages_says_how_many_and_how_the_last_begins(state, columns, shown):
    assert said_of(state, columns) == shown


def test_where_the_type_stands_beside_it_a_list_is_not_counted_again():
    assert said_of({"messages": CHAT}, 33, typed=True) == "last user: Where is my refund? W…"
    assert said_of({"tool_calls": [ASKED] * 2}, 33, typed=True).startswith("→ search(")


def test_no_message_but_the_last_is_looked_at_for_a_row():
    class Unread(list):
        def __iter__(self):
            yield from self[:3]
            raise AssertionError("read beyond what a row has room for")

    assert said_of({"messages": Unread(CHAT * 50_000)}, 33) == "100,000, last user: Where is my …"
