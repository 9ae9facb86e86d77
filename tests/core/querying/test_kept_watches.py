"""Watches that are kept with a run, and the board that looks at them, over a run held in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did
from tests.core.querying.trails import Past

from agent_tt.errors import InvalidExpression, NotFound, StoreBusy, UsageError
from agent_tt.model import Note
from agent_tt.querying.watches import live_watch as watched_module
from agent_tt.querying.watches.kept_watches import (
    KeptWatch,
    change_watch,
    find_watch,
    hand_down_watches,
    keep_watch,
    kept_watches,
    remove_watch,
)
from agent_tt.querying.watches.live_watch import LiveWatch
from agent_tt.querying.watches.reasons import reasons, reasons_in_words
from agent_tt.querying.watches.watchpoints import Watchpoints, last_ended

if TYPE_CHECKING:
    from agent_tt.model import NoteKind


@dataclass
class Marked(Past):
    """A run with notes."""

    kept: dict[str, list[Note]] = field(default_factory=dict)

    def notes(self, run_id: str) -> list[Note]:
        return list(self.kept.get(run_id, ()))

    def add_note(self, run_id: str, step: int | None, kind: NoteKind, body: str) -> Note:
        note = Note(1 + sum(map(len, self.kept.values())), kind, step, body, 0)
        self.kept.setdefault(run_id, []).append(note)
        return note

    def change_note(self, note: int, body: str) -> None:
        for notes in self.kept.values():
            notes[:] = [replace(each, body=body) if each.id == note else each for each in notes]

    def delete_note(self, note: int) -> None:
        for notes in self.kept.values():
            notes[:] = [each for each in notes if each.id != note]


def marked(*numbers: int, status: str = "succeeded") -> Any:
    source = Marked()
    source.add("run", [Did(f"s{n}", state={"n": n}) for n in numbers[1:]], state={"n": numbers[0]}, status=status)
    return source


# ---------------------------------------------------------------- kept with a run


def test_what_is_kept_is_read_back_as_it_was_and_written_in_few_words() -> None:
    source = marked(0)
    first = keep_watch(source, "run", "  state.n > 1 ", name="  too \n much ", breaks=True)
    second = keep_watch(source, "run", "error", name="   ")
    assert first == KeptWatch(1, "A", "state.n > 1", "too much", breaks=True, on=True)
    assert second == KeptWatch(2, "B", "error", None, breaks=False, on=True)
    third = change_watch(source, "run", replace(second, on=False, name=" rest ", where=" name "))
    assert third == KeptWatch(2, "B", "name", "rest", breaks=False, on=False)
    assert kept_watches(source, "run") == [first, third]
    assert [each.label for each in (first, second)] == ["too much", "B"]
    assert [json.loads(note.body) for note in source.notes("run")] == [
        {"letter": "A", "where": "state.n > 1", "name": "too much", "break": True},
        {"letter": "B", "where": "name", "name": "rest", "off": True},
    ]
    assert " " not in source.notes("run")[1].body
    assert {note.kind for note in source.notes("run")} == {"watch"}
    source.add_note("run", None, "note", source.notes("run")[0].body)
    assert kept_watches(source, "run") == [first, third]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"where": "x", "letter": "Q"}, ("Q", "x", None, False, True)),
        ({"where": "x"}, ("B", "x", None, False, True)),
        ({"where": "x", "letter": "A"}, ("B", "x", None, False, True)),
        ({"where": "x", "letter": "AB"}, ("B", "x", None, False, True)),
        ({"where": "x", "letter": ""}, ("B", "x", None, False, True)),
        ({"where": "x", "letter": "b"}, ("B", "x", None, False, True)),
        ({"where": "x", "letter": 7}, ("B", "x", None, False, True)),
        ({"where": "x", "name": "n" * 60, "break": True, "off": True}, ("B", "x", "n" * 60, True, False)),
        ({"where": "x", "name": "n" * 61, "break": 1, "off": 1}, ("B", "x", None, False, True)),
        ({"where": "x", "name": "", "break": "yes", "off": False}, ("B", "x", None, False, True)),
        ({"where": "x", "name": 7}, ("B", "x", None, False, True)),
        ({"where": 7}, None),
        ({}, None),
        ([], None),
    ],
)
def test_what_a_file_says_is_read_with_care(body: Any, expected: tuple[Any, ...] | None) -> None:
    source = marked(0)
    keep_watch(source, "run", "error")
    source.add_note("run", None, "watch", json.dumps(body))
    found = kept_watches(source, "run")[1:]
    told = [(each.letter, each.where, each.name, each.breaks, each.on) for each in found]
    assert told == ([] if expected is None else [expected])


def test_all_letters_are_given_in_turn_and_then_no_more() -> None:
    source = marked(0)
    made = [keep_watch(source, "run", f"state.n > {n}") for n in range(26)]
    assert "".join(each.letter for each in made) == ascii_uppercase
    with pytest.raises(UsageError, match="26 watches are kept with this run already") as caught:
        keep_watch(source, "run", "error")
    assert caught.value.hint == "remove one first"
    source.add_note("run", None, "watch", '{"where": "x"}')
    assert len(kept_watches(source, "run")) == 26
    remove_watch(source, made[3])
    remove_watch(source, made[20])
    assert [each.letter for each in kept_watches(source, "run")][-1] == "D"


def test_a_name_is_short_and_no_others() -> None:
    source = marked(0)
    first = keep_watch(source, "run", "error", name="n" * 60)
    second = keep_watch(source, "run", "name", name="other")
    for name, why in (("n" * 61, "has at most 60 characters"), ("other", "is called 'other'"), ("B", "is called 'B'")):
        with pytest.raises(UsageError, match=why):
            change_watch(source, "run", replace(first, name=name))
        with pytest.raises(UsageError, match=why):
            keep_watch(source, "run", "error", name=name)
    assert change_watch(source, "run", replace(second, name="other")) == second
    assert change_watch(source, "run", replace(second, name="C")).name == "C"


def test_one_that_cannot_be_read_may_be_renamed_and_turned_off_but_not_on() -> None:
    source = marked(0)
    source.add_note("run", None, "watch", '{"letter": "A", "where": "state.n >", "off": true}')
    (odd,) = kept_watches(source, "run")
    assert change_watch(source, "run", replace(odd, name="odd")).name == "odd"
    for changed in (replace(odd, on=True), replace(odd, where="also >")):
        with pytest.raises(InvalidExpression):
            change_watch(source, "run", changed)
    source.change_note(odd.id, '{"letter": "A", "where": "state.n >"}')
    (odd,) = kept_watches(source, "run")
    assert change_watch(source, "run", replace(odd, name="on")).on
    assert not change_watch(source, "run", replace(odd, on=False)).on
    with pytest.raises(NotFound, match="watch gone is gone") as caught:
        change_watch(source, "run", KeptWatch(99, "Z", "error", "gone"))
    assert caught.value.hint == "Somebody removed it meanwhile."


def test_a_word_names_a_letter_then_a_name_then_an_expression() -> None:
    watches = [KeptWatch(1, "A", "error", "B"), KeptWatch(2, "B", " state.n ", "C"), KeptWatch(3, "C", "B")]
    assert [find_watch(watches, word) for word in ("A", "B", "C")] == watches
    assert find_watch([watches[0], watches[2]], "B") == watches[0]
    assert find_watch(watches[2:], "B") == watches[2]
    assert find_watch(watches, "state.n  ") == watches[1]
    assert find_watch(watches, "zzz") is None


def test_a_fork_is_handed_what_is_watched_in_its_parent() -> None:
    source = marked(0)
    kept = [keep_watch(source, "run", "error", name="bad", breaks=True), keep_watch(source, "run", "name")]
    hand_down_watches(source, "run", "fork")
    assert [replace(each, id=0) for each in kept_watches(source, "fork")] == [replace(each, id=0) for each in kept]


# ---------------------------------------------------------------- the board


def board_of(source: Any) -> Watchpoints:
    board = Watchpoints(source, "run")
    board.read()
    return board


def look(board: Watchpoints, source: Any) -> None:
    while board.look(source.run("run")):
        pass


def test_a_board_stops_where_the_nearest_breakpoint_does() -> None:
    source = marked(0, 5, 1, 5, 0, 5, 5)
    keep_watch(source, "run", "state.n == 5", breaks=True)
    keep_watch(source, "run", "state.n == 1", breaks=True)
    keep_watch(source, "run", "state.n == 5")
    off = keep_watch(source, "run", "state.n == 0", breaks=True)
    change_watch(source, "run", replace(off, on=False))
    keep_watch(source, "run", "state.n >= 0", breaks=False)
    source.add_note("run", None, "watch", '{"where": "state.n >", "break": true}')
    board = board_of(source)
    assert board.looked == -1
    look(board, source)
    assert board.looked == 6
    assert [row.watch.letter for row in board.breakpoints] == ["A", "B"]

    def letters(found: Any) -> tuple[int, str] | None:
        return None if found is None else (found[0], found[1].watch.letter)

    assert [letters(board.stop_after(n)) for n in range(7)] == [
        (1, "A"), (2, "B"), (3, "A"), (5, "A"), (5, "A"), None, None,
    ]  # fmt: skip
    assert [letters(board.stop_before(n)) for n in range(8)] == [
        None, None, (1, "A"), (2, "B"), (3, "A"), (3, "A"), (5, "A"), (5, "A"),
    ]  # fmt: skip
    assert [[row.watch.letter for row in board.at(n)] for n in range(7)] == [
        ["E"], ["A", "C", "E"], ["B", "E"], ["A", "C", "E"], ["E"], ["A", "C", "E"], ["A", "C", "E"],
    ]  # fmt: skip
    keep_watch(source, "run", "state.n == 5", name="late", breaks=True)
    board.read()
    assert [row.watch.letter for row in board.at(6)] == ["A", "C", "E", "G"]
    assert (letters(board.stop_after(2)), letters(board.stop_before(9))) == ((3, "A"), (5, "A"))  # the first of two
    assert [(row.watch.letter, row.why) for row in board.rows if row.error] == [("F", board.rows[5].why)]
    assert board.rows[0].why == ""
    assert "state.n >" not in board.rows[5].why


def test_at_a_step_the_breakpoints_that_stop_there_are_told_first() -> None:
    source = marked(0, 5, 5)
    for breaks in (False, True):
        keep_watch(source, "run", f"state.n == 5 and {str(breaks).lower()} == {str(breaks).lower()}", breaks=breaks)
    board = board_of(source)
    look(board, source)
    assert [row.watch.letter for row in board.at(1)] == ["B", "A"]
    assert [row.watch.letter for row in board.at(2)] == ["A", "B"]


def test_what_is_known_stays_while_the_same_is_asked() -> None:
    source = marked(0, 5)
    keep_watch(source, "run", "state.n == 5")
    board = board_of(source)
    look(board, source)
    known = board.rows[0].watched
    assert not board.read()
    kept = keep_watch(source, "run", "state.n == 5", breaks=True)
    assert board.read()
    assert [row.watched is known for row in board.rows] == [True, True]
    change_watch(source, "run", replace(kept, where="state.n == 0"))
    assert board.read()
    assert [row.watched is known for row in board.rows] == [True, False]
    remove_watch(source, kept)
    assert board.read()
    assert len(board.rows) == 1
    assert Watchpoints(source, "run").looked is None


def test_breakpoints_are_looked_at_first_and_no_more_once_it_is_called_off() -> None:
    source = marked(*range(200))
    keep_watch(source, "run", "state.n == 150")
    keep_watch(source, "run", "state.n == 151", breaks=True)
    off = keep_watch(source, "run", "state.n == 152")
    change_watch(source, "run", replace(off, on=False))
    board = board_of(source)
    assert board.look(source.run("run"))
    assert [row.watched.looked for row in board.rows] == [63, 63, -1]
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return board.rows[1].watched.looked > 63

    assert board.look(source.run("run"), cancelled) is False
    assert [row.watched.looked for row in board.rows] == [63, 191, -1]
    asked.clear()
    assert board.look(source.run("run"), lambda: len(asked) > 5 or bool(asked.append(1))) is False
    assert [row.watched.looked for row in board.rows] == [63, 191, -1]  # in the middle of a page
    assert board.look(source.run("run")) is True
    assert board.look(source.run("run")) is False
    assert [row.watched.looked for row in board.rows] == [199, 199, -1]


@pytest.mark.parametrize(
    ("running", "last"), [((), 4), ((4,), 3), ((3, 4), 2), ((3,), 4), ((1, 2, 3, 4), 0), ((1, 4), 3)]
)
def test_the_last_step_that_has_ended(running: tuple[int, ...], last: int) -> None:
    source = marked(0, 1, 2, 3, 4)
    source.steps_are = {number: {"status": "running"} for number in running}
    assert last_ended(source, "run") == last


# ---------------------------------------------------------------- one watched expression


def steps(watched: LiveWatch, source: Any) -> list[int]:
    while watched.look(source.run("run")):
        pass
    return [*watched.found.steps()]


def test_what_is_not_known_yet_is_said() -> None:
    source = marked(0, 5, 5, 0, status="running")
    source.steps_are = {2: {"status": "running"}}
    watched = LiveWatch(source, "run", "state.n == 5")
    assert (watched.looked, watched.settled, watched.holds_now(3), watched.is_known(0)) == (-1, -1, None, False)
    assert steps(watched, source) == [1]
    assert (watched.looked, watched.settled) == (3, 1)
    assert [watched.is_known(n) for n in range(5)] == [True, True, False, True, False]
    assert (watched.holds_now(3), watched.holds_now(2), watched.holds_now(4)) == (False, True, None)
    source.steps_are = {}
    assert steps(watched, source) == [1, 2]
    assert (watched.settled, watched.holds_now(2)) == (3, True)
    assert [*watched.stops()] == [1]


def test_a_step_that_never_ended_is_looked_at_when_the_run_is_over() -> None:
    source = marked(0, 5, 5, status="running")
    source.steps_are = {2: {"status": "running"}}
    watched = LiveWatch(source, "run", "state.n == 5")
    assert steps(watched, source) == [1]
    source.save("run", replace(source.run("run"), status="crashed"))
    assert steps(watched, source) == [1, 2]


def test_a_run_that_was_written_anew_is_looked_at_from_the_beginning() -> None:
    source = marked(0, 5, 0, 5)
    watched = LiveWatch(source, "run", "state.n == 5")
    assert steps(watched, source) == [1, 3]
    source.append("run", Did("more", state={"n": 5}))
    assert steps(watched, source) == [1, 3, 4]
    source.add("run", [Did("s", state={"n": n}) for n in (0, 5, 0, 0)], state={"n": 0})
    assert steps(watched, source) == [2]
    source.add("run", [Did("s", state={"n": 5})], state={"n": 0})
    assert (steps(watched, source), watched.looked) == ([1], 1)


def test_pages_grow_and_what_was_looked_at_is_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_module, "_FIRST_PAGE", 2)
    monkeypatch.setattr(watched_module, "_LARGEST_PAGE", 8)
    source = marked(*range(40))
    watched = LiveWatch(source, "run", "state.n >= 0")
    looked = []
    while watched.look(source.run("run")):
        looked.append(watched.looked)
    assert looked == [1, 5, 13, 21, 29, 37]
    assert (watched.looked, watched.look(source.run("run"))) == (39, False)


def test_a_file_that_is_busy_is_said_and_asked_again() -> None:
    source = marked(0, 5)
    whole = source.steps
    watched = LiveWatch(source, "run", "state.n == 5")

    def busy(*_: Any) -> Any:
        raise StoreBusy("somebody writes")

    source.steps = busy
    assert watched.look(source.run("run")) is False
    assert watched.error is not None
    assert watched.error.message == "somebody writes"
    source.steps = whole
    assert steps(watched, source) == [1]
    assert watched.error is None


def test_one_that_cannot_be_read_holds_nowhere_and_is_not_looked_at() -> None:
    source = marked(0, 5)
    watched = LiveWatch(source, "run", "state.n >")
    assert isinstance(watched.error, InvalidExpression)
    assert (watched.look(source.run("run")), watched.looked, watched.at_each) == (False, -1, False)
    assert watched.expression is None


@pytest.mark.parametrize(("seconds", "steps_done"), [(6.0, 0), (0.05, 1), (0.001, None)])
def test_one_that_takes_too_long_is_given_up_with_the_reason(seconds: float, steps_done: int | None) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += seconds
        return now[0]

    source = marked(*range(500))
    watched = LiveWatch(source, "run", "state.n >= 0", clock=clock)
    while watched.look(source.run("run")):
        pass
    if steps_done is None:
        assert (watched.error, watched.looked) == (None, 499)
        return
    assert isinstance(watched.error, InvalidExpression)
    done = watched.looked + 1
    assert watched.error.why == f"it takes too long: given up after {done:,} step{'' if done == 1 else 's'}"
    assert watched.error.message == f"'state.n >= 0': {watched.error.why}"
    assert watched.error.text == "state.n >= 0"
    assert watched.look(source.run("run")) is False


def test_a_page_that_was_called_off_is_found_again() -> None:
    source = marked(*range(10))
    watched = LiveWatch(source, "run", "state.n >= 0")
    assert watched.look(source.run("run"), lambda: True) is False
    assert (watched.looked, len(watched.found), watched.error) == (-1, 0, None)
    assert steps(watched, source) == [*range(10)]


# ---------------------------------------------------------------- why it holds


def test_the_values_that_were_asked_about_are_told_in_words() -> None:
    source = Past()
    made = [Did("one", tool="pay", args={"a b": 5, "to": ["x"]}, result={"ok": True}, state={"n": 1, "l": [7]})]
    source.add("run", made, state={})
    for where, words in (
        ("state.n == 1 and state.l[0] == 7", "state.n = 1, state.l[0] = 7"),
        ("state.n == 1 and (state.n > 0)", "state.n = 1"),
        ('tool == "pay" and args["a b"] == 5', 'tool = "pay", args["a b"] = 5'),
        ("not exists(state.zzz)", "state.zzz is missing"),
        ("step == 1", "step = 1"),
        ("len(state) == 2", 'state = {"n": 1, "l": [7]}'),
        ("state.n == 9", ""),
        ('name == "one" and step == 1 and state.n == 1 and tool == "pay" and result.ok',
         'name = "one", step = 1, state.n = 1, tool = "pay"'),
    ):  # fmt: skip
        assert reasons_in_words(reasons(source, "run", where, 1)) == words
