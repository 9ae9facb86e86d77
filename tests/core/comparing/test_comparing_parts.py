"""The parts of a comparison by themselves: what is said of calls, ends, ledgers and texts."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

from agent_tt.comparing.runs.call_changes import call_changes
from agent_tt.comparing.runs.comparison import Comparison, compare_runs
from agent_tt.comparing.runs.edits import edit_words
from agent_tt.comparing.sequences.tokens import common_ends, common_length, split_words
from agent_tt.comparing.steps.outcome import final_state, last_words
from agent_tt.comparing.steps.unrecorded_effects import effects_outside
from agent_tt.comparing.values.states import compare_states
from agent_tt.comparing.values.unified import unified_diff
from agent_tt.errors import StepNotFound
from agent_tt.model import Call, Edit, ErrorInfo, Note, Run

# ---------------------------------------------------------------- texts

TEXTS = st.text(st.sampled_from("ab "), max_size=12)


@given(TEXTS, TEXTS)
def test_the_common_length_is_that_of_the_longest_common_beginning(a: str, b: str) -> None:
    length = common_length(a, b)
    assert a[:length] == b[:length]
    assert length == min(len(a), len(b)) or a[length] != b[length]


@given(TEXTS, TEXTS)
def test_common_ends_are_common_and_begin_and_end_between_words(old: str, new: str) -> None:
    start, end_old, end_new = common_ends(old, new)
    assert old[:start] == new[:start]
    assert old[end_old:] == new[end_new:]
    assert 0 <= start <= len(old)
    # Nothing more could be cut off: no blanks begin behind the one edge, or end before the other, in what is common.
    length = common_length(old, new)
    assert not any(old[at].isspace() and not old[at - 1].isspace() for at in range(start + 1, length))
    tail = common_length(old[start:][::-1], new[start:][::-1])
    assert not any(old[at - 1].isspace() and not old[at].isspace() for at in range(len(old) - tail + 1, end_old))
    for text, at in ((old, start), (old, end_old)):
        edges = {0, len(text)}
        for word in split_words(text):
            edges.add(max(edges - {len(text)}, default=0) + len(word))
        assert at in edges


@pytest.mark.parametrize(
    ("old", "new", "spans"),
    [
        ([], ["a"], "@@ -0,0 +1,1 @@"),
        (["a"], [], "@@ -1,1 +0,0 @@"),
        (["a"], ["b"], "@@ -1,1 +1,1 @@"),
    ],
)
def test_a_hunk_without_lines_on_one_side_is_named_by_the_line_before_it(
    old: list[str], new: list[str], spans: str
) -> None:
    assert list(unified_diff(old, new, "old", "new"))[2] == spans


# ---------------------------------------------------------------- calls


def asked(name: str, kind: str = "tool", **facts: Any) -> Call:
    return Call(1, 1, kind, name, **{"status": "ok", "args": {}, "result": None, **facts})


def changes(a: list[Call], b: list[Call]) -> list[tuple[str, str, Any, Any]]:
    return [(change.op, change.path, change.old, change.new) for change in call_changes(a, b)]


def test_two_calls_of_other_names_are_named_by_both_and_their_name_is_a_change() -> None:
    assert changes([asked("look")], [asked("book")]) == [("change", "look / book name", "look", "book")]


def test_calls_that_act_are_set_beside_each_other_and_so_are_models_whatever_lies_between() -> None:
    model = asked("m", "llm", result={"content": "a"})
    other = asked("m", "llm", result={"content": "b"})
    assert changes([asked("look"), model], [other, asked("look")]) == [("change", "m result.content", "a", "b")]
    assert changes([asked("time", "clock", result=1)], [asked("time", "clock", result=2)]) == []


def test_how_a_call_ended_is_a_change_by_its_status_or_its_error() -> None:
    failed = asked("look", error=ErrorInfo("builtins:ValueError", "no"), status="ok")
    assert changes([asked("look")], [failed]) == [("change", "look ended", "ok", "ValueError: no")]


# ---------------------------------------------------------------- reasons


def compared(a: list[Did], b: list[Did], **rest: Any) -> Comparison:
    source = MemorySource()
    return compare_runs(source, source.add("a", a), source, source.add("b", b, **rest))


def test_where_a_step_failed_otherwise_both_errors_are_the_reason() -> None:
    first, second = ErrorInfo("builtins:ValueError", "one"), ErrorInfo("builtins:KeyError", "two")

    def reason(a: ErrorInfo | None, b: ErrorInfo | None) -> tuple[str, Any, Any]:
        done = [[Did(name="work", error=error, status="error" if error else "ok")] for error in (a, b)]
        because = compared(*done).reasons[0]
        return because.text, because.old, because.new

    assert reason(first, second) == ("ValueError: one in A; KeyError: two in B", "ValueError: one", "KeyError: two")
    assert reason(None, second) == ("KeyError: two in B", None, "KeyError: two")
    assert reason(first, None) == ("ValueError: one in A", "ValueError: one", None)


def test_where_a_step_ended_otherwise_without_an_error_that_is_the_reason() -> None:
    because = compared([Did(name="work")], [Did(name="work", status="interrupted")]).reasons[0]
    assert because.text == "the step ended ok in A, interrupted in B"
    assert (because.kind, because.old, because.new) == ("result", "ok", "interrupted")


# ---------------------------------------------------------------- ends


def test_the_last_state_is_that_after_the_last_step() -> None:
    source = MemorySource()
    run = source.add("a", [Did(name="one", state={"n": 1}), Did(name="two", state={"n": 2})], state={"n": 0})
    assert final_state(source, run.id) == source.state(run.id, 2) == {"n": 2}


def test_a_last_state_that_cannot_be_read_is_none() -> None:
    def lost(*_: object) -> object:
        raise StepNotFound("it is not there")

    assert final_state(SimpleNamespace(state=lost, steps=lambda *_: [], step_count=lambda _run: 3), "a") is None


@pytest.mark.parametrize("state", [None, [], "text", {"answer": ""}, {"answer": 1}, {"other": "x"}])
def test_without_an_answer_nothing_is_said_to_be_the_last_words(state: Any) -> None:
    assert last_words(state) is None


def test_words_of_an_edit_count_what_was_added_or_taken_away() -> None:
    long = "word " * 60
    assert edit_words(Edit("set", "goal", long, old="one")).endswith("edited, +59 words")
    assert edit_words(Edit("set", "goal", long, old=long + "x")).endswith("edited, -1 word")


# ---------------------------------------------------------------- opaque values, ids in lists


def test_an_item_is_known_by_its_id_wherever_it_went() -> None:
    def ops(old: Any, new: Any) -> list[tuple[str, str]]:
        return [(change.op, change.path) for change in compare_states(old, new)]

    old = [{"id": 1, "text": "one of a kind"}, {"id": 2, "text": "something else"}, {"id": 3, "text": "the third"}]
    new = [old[1], {"id": 1, "text": "nothing like it"}, old[2]]
    found = ops(old, new)
    assert ("change", "[1].text") in found
    assert {op for op, _ in found} == {"change", "move"}
    empty = [{"id": "", "a": 1}, {"id": "", "b": 2}]
    assert {op for op, _ in ops(empty, [{"id": "", "c": 3}])} >= {"remove"}


# ---------------------------------------------------------------- what happened outside the recording


class Ledger:
    """A source with one fork and notes of what it did outside its recording."""

    def __init__(self, *notes: Any, others: dict[str, list[Call]] | None = None) -> None:
        self._notes = [
            *(
                Note(number, "effect", None, body if isinstance(body, str) else json.dumps(body), 0)
                for number, body in enumerate(notes)
            ),
            Note(99, "note", None, '{"name": "no effect"}', 0),
        ]
        self._others = others or {}

    def notes(self, run_id: str) -> list[Note]:
        assert run_id == "fork"
        return self._notes

    def run(self, run_id: str) -> Run:
        if run_id not in self._others:
            raise StepNotFound("it was deleted")
        return Run(run_id, f"name of {run_id}", "succeeded", 0)

    def steps(self, run_id: str) -> list[Any]:
        return [SimpleNamespace(calls=len(self._others[run_id]), number=1), SimpleNamespace(calls=0, number=2)]

    def calls(self, run_id: str, number: int) -> list[Call]:
        assert number == 1
        return self._others[run_id]


FORK = Run("fork", "f", "succeeded", 0, fork_step=0)


def outside(*notes: Any, **rest: Any) -> Any:
    return effects_outside(Ledger(*notes, **rest), FORK)


def test_what_was_sent_or_held_back_outside_the_recording_is_a_row_with_all_that_is_known() -> None:
    (row,) = outside(
        {
            "kind": "http",
            "name": "POST https://a",
            "effect": "write",
            "happened": "denied",
            "because": "deny",
            "file": "a.py",
            "line": 3,
            "when": "before",
            "odd": 1,
        }
    ).rows
    assert (row.step, row.call, row.lane, row.kind, row.name, row.effect) == (
        0,
        0,
        "",
        "http",
        "POST https://a",
        "write",
    )
    assert (row.happened, row.because, row.where) == ("denied", "deny", "before")
    assert row.site == {"file": "a.py", "line": 3}
    (plain,) = outside({"kind": "socket", "effect": "write"}).rows
    assert (plain.kind, plain.name, plain.happened, plain.because, plain.where) == ("socket", "", "sent", "", "after")
    assert plain.site == {}


def test_what_only_read_or_asked_a_model_is_counted_and_what_was_denied_is_a_row_whatever_it_was() -> None:
    look = {"kind": "tool", "name": "look", "effect": "read"}
    ask = {"kind": "llm", "name": "m"}
    found = outside(look, look, ask, {**look, "happened": "denied"}, {**ask, "happened": "denied"})
    assert (found.reads, found.models) == ({"look": 2}, {"m": 1})
    assert [(row.name, row.effect, row.happened) for row in found.rows] == [
        ("look", "read", "denied"),
        ("m", None, "denied"),
    ]


@pytest.mark.parametrize("note", ["{", "[1]", "pay", {"kind": "unheard of", "name": "pay"}, {"name": "pay"}])
def test_what_cannot_be_read_counts_as_something_that_was_written(note: Any) -> None:
    (row,) = outside(note).rows
    assert (row.kind, row.effect, row.happened) == ("tool", "write", "sent")
    assert row.name == (note if isinstance(note, str) else "pay")


def test_what_a_second_recording_did_belongs_to_the_fork_under_its_name() -> None:
    pay = Call(1, 1, "tool", "pay", "ok", effect="write")
    look = Call(1, 2, "tool", "look", "ok", effect="read")
    ask = Call(1, 3, "llm", "m", "ok")
    found = outside(
        {"run": "r2"},
        {"run": "gone"},
        {"kind": "tool", "name": "look", "effect": "read"},
        others={"r2": [pay, look, ask]},
    )
    assert [(row.name, row.where) for row in found.rows] == [("pay", "name of r2")]
    assert found.reads == {"look": 2}
    assert sum(found.models.values()) == 1


def test_a_run_that_is_no_fork_has_no_such_ledger() -> None:
    assert not effects_outside(Ledger({"name": "pay"}), Run("fork", "f", "succeeded", 0)).rows
