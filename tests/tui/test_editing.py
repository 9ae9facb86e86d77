"""Editing states: pending edits, what the dialog makes of values, the user's own editor, and the keys."""

import os
import sys
import threading
from contextlib import contextmanager

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled
from fake_source import FakeSource, refund_loop

from agent_tt.codec.encode import encode
from agent_tt.errors import InvalidEdit, UsageError
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.model import Edit
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.dialogs.external import with_terminal
from agent_tt_tui.viewmodel.edits.editing import MOST_CHARACTERS, Editable, change_pieces, judge
from agent_tt_tui.viewmodel.edits.external_editor import edit_outside, editor_command
from agent_tt_tui.viewmodel.edits.pending import Pending
from agent_tt_tui.viewmodel.edits.subjects import of_state
from agent_tt_tui.viewmodel.values import difflines
from agent_tt_tui.viewmodel.values.difftext import compare_texts
from agent_tt_tui.widgets.dialogs.edit_form import EditArea


def test_edits_leave_the_recorded_state_alone_and_can_be_replayed_on_it():
    recorded = {"budget": {"left": 20}, "notes": "old"}
    pending = Pending.begin(1, recorded).add([Edit("set", "budget.left", 3)]).add([Edit("delete", "notes")])
    assert recorded == {"budget": {"left": 20}, "notes": "old"}
    assert pending.state == {"budget": {"left": 3}} == apply_edits(recorded, pending.edits)
    assert [edit.old for edit in pending.edits] == [20, "old"]
    assert [change.path for change in pending.changes] == ["budget.left", "notes"]


def test_undo_takes_back_what_was_done_at_once_and_the_last_undo_leaves_nothing():
    one = Pending.begin(1, {"a": 1, "b": 1}).add([Edit("set", "a", 2), Edit("set", "b", 2)])
    two = one.add([Edit("set", "a", 3)])
    assert two.undo() == one
    assert one.undo().edits == ()


def test_a_value_that_is_set_again_counts_once_and_one_set_back_counts_not_at_all():
    pending = Pending.begin(1, {"a": 1}).add([Edit("set", "a", 2)]).add([Edit("set", "a", 3)])
    assert [edit.value for edit in pending.edits] == [3]
    assert pending.add([Edit("set", "a", 1)]).edits == ()
    assert pending.add([Edit("set", "a", 3)]) is pending


def test_an_edit_that_does_not_fit_changes_nothing():
    pending = Pending.begin(1, {"a": [1]})
    with pytest.raises(InvalidEdit):
        pending.add([Edit("delete", "a[7]")])


def test_strings_are_edited_as_text_unless_an_editor_could_lose_a_part_of_them():
    assert Editable.of("two\nlines") == Editable("two\nlines", plain=True)
    for text in ("a\r\nb", "a\x0bb", "\x1b[31m", "\u202e"):
        editable = Editable.of(text)
        assert not editable.plain
        assert judge(editable.text, plain=False, recorded=text).value == text
    assert Editable.of({"a": 1}).text == '{\n  "a": 1\n}'
    assert Editable.of("x" * MOST_CHARACTERS).too_long
    assert Editable.of(list(range(MOST_CHARACTERS))).too_long


def test_a_string_that_was_recorded_as_something_else_is_edited_as_json():
    dialog = EditDialog(of_state(1, ("a",), "typed before", 20))
    assert dialog._editable == Editable('"typed before"', plain=False)
    assert dialog._original == Editable("20", plain=False)


def test_what_was_typed_is_judged_by_type_and_by_place():
    assert judge("new", plain=True, recorded="old").message == "still a str"
    assert judge("3", plain=False, recorded=20).message == "still an int"
    assert judge('"3"', plain=False, recorded=20).message == "was int, now str"
    bad = judge('{\n  "a": ,\n}', plain=False, recorded={})
    assert (bad.good, bad.message) == (False, "not JSON: line 2, column 8")


def test_the_change_shows_differing_words_apart_and_leaves_out_what_is_far_from_them():
    pieces = change_pieces("Search 1 " + "same " * 50, "Search 2 " + "same " * 50, "…")
    assert pieces[:4] == [("Search ", "muted"), ("1", "removed"), (" ", "text"), ("2", "added")]
    assert len(pieces[4][0]) < 60
    assert change_pieces("same", "same", "…") == []


def editor(tmp_path, code):
    """An editor that is a Python program; it gets the file's path as `path`."""
    script = tmp_path / "editor.py"
    script.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{code}\n")
    return {"EDITOR": f"{sys.executable} {script}"}


def test_the_users_editor_changes_the_text_and_its_last_line_end_is_not_the_texts(tmp_path):
    env = editor(tmp_path, "path.write_text(path.read_text() + ' more\\n')")
    edited = edit_outside("text", ".txt", check=lambda _text: None, ask_again=lambda _why: False, env=env)
    assert edited == "text more"


def test_text_that_is_not_good_goes_back_to_the_editor_with_the_reason(tmp_path):
    env = editor(tmp_path, "path.write_text(path.read_text() + '!')")
    told = []
    edited = edit_outside(
        "a",
        ".json",
        check=lambda text: None if text == "a!!!" else f"not {text}",
        ask_again=lambda why: not told.append(why),
        env=env,
    )
    assert (edited, told) == ("a!!!", ["not a!", "not a!!"])
    given_up = edit_outside("a", ".json", check=lambda text: "bad", ask_again=lambda _why: False, env=env)
    assert given_up is None


def test_an_editor_that_is_missing_or_fails_is_an_error_and_changes_nothing(tmp_path):
    def run(env):
        return edit_outside("a", ".txt", check=lambda _text: None, ask_again=lambda _why: False, env=env)

    with pytest.raises(UsageError, match="cannot be started"):
        run({"VISUAL": str(tmp_path / "no-such-editor")})
    with pytest.raises(UsageError, match="status 3"):
        run(editor(tmp_path, "sys.exit(3)"))
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "nano"}) == ["code", "--wait"]
    assert editor_command({}) == ["vi"]
    with pytest.raises(UsageError, match=r"\$VISUAL cannot be read") as caught:
        editor_command({"VISUAL": "code '--wait"})
    assert "code --wait" in caught.value.hint


async def in_tree(pilot, path):
    """Select a value as a person does, and wait for what that asks for."""
    screen = await settled(pilot)
    tree = screen.panes.inspector.state_tree
    tree.focus()
    tree.select(path)
    tree.post_message(tree.Selected(tree, path))
    return await settled(pilot)


async def test_an_edit_that_is_kept_marks_its_row_and_the_header_and_u_takes_it_back():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_tree(pilot, ("attempts",))
        await pilot.press("e", "ctrl+l")
        assert isinstance(pilot.app.screen, EditDialog)
        await pilot.press("0", "ctrl+s")
        screen = await settled(pilot)
        rows = screen_text(pilot.app)
        assert "± 1 edit after 2" in rows[0]
        assert any("± " in row and "2 → 20" in row for row in rows)
        assert any("not run yet" in row for row in rows)
        assert screen.model.state(2)["attempts"] == 2
        await pilot.press("u")
        await settled(pilot)
        assert "edit" not in screen_text(pilot.app)[0]


async def test_text_that_is_not_json_cannot_be_kept_and_esc_drops_it():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_tree(pilot, ("attempts",))
        await pilot.press("e", "ctrl+l")
        assert any("nothing yet" in row for row in screen_text(pilot.app))
        await pilot.press("x", "ctrl+s")
        assert any("✗ not JSON: line 1, column 2" in row for row in screen_text(pilot.app))
        await pilot.press("escape")
        screen = await settled(pilot)
        assert screen.panes.inspector.selection.value == 2
        assert "edit" not in screen_text(pilot.app)[0]


async def test_esc_asks_before_it_drops_a_long_text():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_tree(pilot, ("notes",))
        await pilot.press("e", "ctrl+l", *"abcdefghijklmnopqrstuvwxyz", "escape")
        assert any("not kept yet. Drop it?" in row for row in screen_text(pilot.app))
        await pilot.press("n")
        assert pilot.app.screen.query_one(EditArea).text.endswith("xyz")
        await pilot.press("ctrl+r")
        assert pilot.app.screen.query_one(EditArea).text == "Search 2 of 20 found nothing."
        await pilot.press("escape")
        await settled(pilot)


async def test_on_a_low_screen_the_value_can_still_be_edited_and_kept():
    async with debugger(refund_loop(), step=2).run_test(size=(40, 10)) as pilot:
        await in_tree(pilot, ("attempts",))
        await pilot.press("e", "ctrl+l", "0")
        rows = screen_text(pilot.app)
        assert any("20" in row for row in rows)
        assert any("still an int" in row for row in rows)


async def test_del_removes_the_selected_value_and_leaving_asks():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_tree(pilot, ("notes",))
        await pilot.press("delete")
        await settled(pilot)
        assert "± 1 edit" in screen_text(pilot.app)[0]
        await pilot.press("q")
        assert any("Leave, and drop what was edited?" in row for row in screen_text(pilot.app))


async def test_the_path_and_the_folds_stay_while_scrubbing_and_come_back_where_they_are_missing():
    async with debugger(refund_loop(), step=3).run_test(size=(80, 24)) as pilot:
        screen = await in_tree(pilot, ("messages", 2, "content"))
        tree = screen.panes.inspector.state_tree
        assert tree.row.path == ("messages", 2, "content")
        await pilot.press("left")
        await settled(pilot)
        assert tree.row.path == ("messages",)
        assert tree.selected == ("messages", 2, "content")
        assert any("not there after 2" in row for row in screen_text(pilot.app))
        await pilot.press("right")
        await settled(pilot)
        assert tree.row.path == ("messages", 2, "content")
        assert any("written at 3" in row for row in screen_text(pilot.app))


async def test_h_and_l_fold_unfold_and_walk_the_tree():
    async with debugger(FakeSource([{"a": {"b": {"c": 1}}, "d": 1}])).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        screen.panes.inspector.state_tree.focus()
        tree = screen.panes.inspector.state_tree
        await pilot.press("l", "l", "l", "l")
        assert tree.row.path == ("a", "b", "c")
        await pilot.press("h")
        assert tree.row.path == ("a", "b")
        await pilot.press("h", "h", "enter")
        assert (tree.row.path, tree.line_count) == (("a",), 2)


async def test_y_and_a_key_copy_path_value_or_key():
    state = encode({"plan": {"odd key": (1, 2)}})
    async with debugger(FakeSource([state])).run_test(size=(80, 24)) as pilot:
        await in_tree(pilot, ("plan", "odd key", "$v", 1))
        for key, copied in (("p", 'plan["odd key"][1]'), ("v", "2"), ("k", "1")):
            await pilot.press("y", key)
            assert pilot.app.clipboard == copied


async def test_all_tabs_show_the_step_at_every_size_and_a_hostile_state_stays_text():
    hostile = {"[red]x[/]": "\x1b[31m[bold]", "messages": [{"role": "\x1b]0;t\x07", "content": "\x9b2J \u202e"}]}
    async with debugger(FakeSource([hostile])).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for size in ((40, 10), (72, 24), (140, 40)):
            await pilot.resize_terminal(*size)
            for key in "1234":
                await pilot.press(key)
                await settled(pilot)
                assert not set("".join(screen_text(pilot.app))) & set("\x1b\x07\x9b\u202e")


@pytest.mark.skipif(os.name == "nt", reason="the tests of the terminal need one")
async def test_e_says_so_where_the_terminal_cannot_be_handed_over():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("E")
        assert screen_text(pilot.app)[-1] == " this terminal cannot be handed to another program"


def test_the_app_has_its_terminal_again_when_what_had_it_fails():
    class Suspended:
        is_back = False

        @contextmanager
        def suspend(self):
            yield  # as Textual: what follows is not done where the block raises
            self.is_back = True

    def fails() -> str:
        raise UsageError("the editor is not there")

    app = Suspended()
    with pytest.raises(UsageError, match="is not there"):
        with_terminal(app, fails)  # type: ignore[arg-type]
    assert app.is_back
    assert with_terminal(app, lambda: "text") == "text"  # type: ignore[arg-type]


async def test_long_texts_of_edits_are_not_compared_on_the_loop_of_the_screen(monkeypatch):
    threads, compared = [], []

    def compare(old, new):
        threads.append(threading.current_thread())
        compared.append((old, new))
        return compare_texts(old, new)

    monkeypatch.setattr(difflines, "compare_texts", compare)
    app = debugger(refund_loop(), 2)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        long = " ".join(f"word{number}" for number in range(20_000))
        screen.editing.edit([Edit("insert", "story", long)])
        screen.editing.edit([Edit("set", "story", f"{long} and an end")])
        await settled(pilot)
        text = "\n".join(screen_text(app))
        assert "being compared" not in text
        await pilot.resize_terminal(100, 40)
        await settled(pilot)
    assert threading.main_thread() not in threads
    assert len({*compared}) == len(compared) >= 1, "what was found out once is kept"
