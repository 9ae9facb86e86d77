"""What a run did to the world is part of how it ended."""

from contextlib import closing

from tests.core.store.recordings import begin, call, new_store
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.comparing.steps.effects import EffectRow, Effects
from agent_tt.model import ErrorInfo, NewStep, StepEnd
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.ending import EndingDialog
from agent_tt_tui.viewmodel.running.effects import call_words, effect_lines


def test_each_kind_of_call_is_told_in_its_own_words():
    def words(kind, name, args):
        return call_words(EffectRow(1, 1, "main", kind, name, "write", "sent", args=args))

    assert words("tool", "charge", {"card": "4242", "n": 5}) == 'charge(card="4242", n=5)'
    assert words("http", "POST https://shop/", {"body": {"n": 5}}) == 'POST https://shop/ {"n": 5}'
    assert words("http", "DELETE https://shop/", {"body": None}) == "DELETE https://shop/"
    assert words("subprocess", "subprocess mail", {"command": ["mail", "a b"]}) == "subprocess mail 'a b'"
    assert words("subprocess", "subprocess mail", {"command": ["mail < x"], "shell": True}) == "subprocess mail < x"
    assert words("socket", "socket mail:25", {"address": "10.0.0.1:25"}) == "socket mail:25"
    assert words("tool", "odd", [1]) == "odd()"


def test_a_long_ledger_is_cut_and_says_so():
    rows = tuple(EffectRow(n, 1, "main", "tool", "charge", "write", "sent") for n in range(500))
    lines = [*effect_lines(Effects(rows, {"search": 3}), 40, "x", "...")]
    texts = ["".join(text for text, _ in (*line.lead, *line.pieces)) for line in lines]
    assert "... 300 more" in texts
    assert texts[-1] == "read         search x3"
    assert all(len(text) <= 40 for text in texts)


async def test_the_outcome_of_a_run_shows_what_went_out_and_what_was_held_back(tmp_path):
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {}, "shop")
        number = writer.open_step(NewStep("pay"))
        edited = {"answered": {"word": "run"}, "args_asked": {"amount": 30}, "policy": {"word": "ask", "source": "you"}}
        call(writer, number, {"amount": 7}, {"paid": 7}, name="charge", effect="write", meta=edited)
        denied = ErrorInfo("agent_tt.errors:ToolDenied", "it was not run")
        call(writer, number, {"to": "[b]a@b.c"}, None, name="mail", effect="write", status="denied", error=denied)
        call(writer, number, {"q": "a"}, {"docs": []})
        writer.close_step(number, StepEnd("ok"), {})
        writer.finish("succeeded")
        app = AgentTT(lambda: DebuggerScreen(store, store.run(writer.run_id)), look=Look())
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "pay" in "\n".join(screen_text(app)))
            await pilot.press("i")
            await until(pilot, lambda: "EFFECTS" in "\n".join(screen_text(app)))
            assert isinstance(app.screen, EndingDialog)
            text = "\n".join(screen_text(app))
            for shown in ('charge(amount=7) = {"paid": 7}', "asked for amount=30", "decided by a person"):
                assert shown in text
            assert 'mail(to="[b]a@b.c")' in text, "no markup"
            assert "y copy" in screen_text(app)[-1]
            await pilot.press("y")
            assert app.clipboard.startswith("shop  ")
            assert 'charge(amount=7) = {"paid": 7}' in app.clipboard
            await pilot.press("q")
            assert isinstance(app.screen, DebuggerScreen)
            assert "search ×1" in text
