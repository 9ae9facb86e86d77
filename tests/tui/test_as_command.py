"""The command that a dialog copies says exactly what was chosen in it: the command line is read back and compared."""

import shlex
import shutil
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled
from tests.tui.waiting import until, workers_ended

from agent_tt.addresses import Address
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.forking.editing.request_edits import model_edit, parameter_edit, system_edit
from agent_tt.forking.policy.policies import configured_policy
from agent_tt.intercepting.rules import Rule
from agent_tt.model import Edit
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.cli.comparing.compare import command as compare
from agent_tt_tui.cli.running import fork_options
from agent_tt_tui.cli.running.fork import command as fork
from agent_tt_tui.cli.running.replay import command as replay
from agent_tt_tui.cli.sweeping.sweep import command as sweep
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.viewmodel.running.as_command import compare_command, fork_command, replay_command, sweep_command
from agent_tt_tui.viewmodel.running.fork_setup import ForkSetup
from agent_tt_tui.viewmodel.runs.sweep_form import SweepDraft, axes_of_edits

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" "), max_size=12)
NAME = st.text("abc_=-*.: ü", min_size=1, max_size=8).filter(str.strip)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
KEY = st.sampled_from(["a", "b.c", "messages[3].content", '"odd = key"', "rows[0]", ""])
STEP = st.integers(1, 30)
EDIT = st.one_of(
    st.builds(Edit, st.sampled_from(["set", "insert"]), KEY, VALUE),
    st.builds(Edit, st.just("delete"), KEY),
    st.builds(lambda path, to: Edit("move", path, to=to), KEY, KEY),
    st.builds(lambda path, value, step, call: Edit("set", path, value, target="result", step=step, call=call),
              KEY, VALUE, STEP, st.none() | STEP),
    st.builds(lambda value, step: Edit("set", "", value, target="answer", step=step, call=1), VALUE, STEP),
    st.builds(lambda text, step: Edit("set", "", f"KeyError: {text}", target="error", step=step, call=1), TEXT, STEP),
    st.builds(lambda step: Edit("mute", "", target="step", step=step), STEP),
)  # fmt: skip
RULE = st.one_of(
    st.sampled_from([Rule("live"), Rule("recorded"), Rule("recorded", otherwise="ask"), Rule("ask"), Rule("deny")]),
    st.builds(lambda value: Rule("stub", value=value), VALUE),
    st.builds(lambda text: Rule("stub", error=f"OSError: {text}".strip()), TEXT),
)


def requests():
    parameters = st.dictionaries(st.sampled_from(["temperature", "reasoning.effort"]), VALUE, max_size=2)
    made = st.tuples(st.none() | NAME, st.none() | TEXT, parameters)

    def edits(said):
        model, system, given_parameters = said
        found = {} if model is None else {"model": model_edit(model)}
        found |= {} if system is None else {"system": system_edit(system)}
        return found | {f".{name}": parameter_edit(name, value) for name, value in given_parameters.items()}

    return made.map(edits)


SETUP = st.builds(
    ForkSetup,
    st.integers(0, 30),
    st.lists(EDIT, max_size=3).map(tuple),
    agent=st.none() | st.sampled_from(["shop:main", "src/-odd name.py:main"]),
    name=st.none() | TEXT.filter(bool),
    policy=st.none()
    | st.lists(st.tuples(NAME, RULE), max_size=3).map(lambda rules: configured_policy().with_all(rules)),
    effects=st.dictionaries(st.sampled_from(["search", "a=b", "-x"]), st.sampled_from(["read", "write"]), max_size=2),
    texts=st.fixed_dictionaries(
        {},
        optional={
            "stop_at": st.sampled_from(["5", "1,000"]),
            "time_limit": st.sampled_from(["90s", "1h30m"]),
            "max_tokens": st.sampled_from(["10_000", "0"]),
            "max_cost": st.sampled_from(["$0.50", "2"]),
            "max_memory": st.just("512MB"),
            "by": st.sampled_from(["restore", "replay"]),
            "accept_changes": st.just("goes live from there"),
            "as_node": st.just("plan"),
            "resume": st.sampled_from(["yes", '{"ok": true}', "-1"]),
            "reuse_answers": st.just("is answered as it was then"),
        },
    ),
    requests=requests(),
    overrides=st.dictionaries(st.just("speed"), st.just("speed=[1, 2]"), max_size=1),
    breaks=st.lists(st.sampled_from(["state.budget < 0", "error"]), max_size=2).map(tuple),
)


def said(command, text):
    """The parameters of a command line, as the command gets them."""
    words = shlex.split(text)
    return dict(command.make_context(words[1], words[2:]).params)


def by_repr(edits):
    return sorted(map(repr, edits))


@pytest.fixture(scope="module")
def source(sample_runs_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("said") / "runs.db"
    shutil.copy(sample_runs_file, path)
    with closing(open_store(path)) as store:
        yield store


@given(setup=SETUP)
def test_a_fork_reads_back_as_it_was_chosen_or_is_refused_by_name(source, setup):
    run = source.run("refund-loop")
    with suppress(AgentTTError):
        request = setup.request()
        try:
            text = fork_command(source, run, setup)
        except UsageError as error:
            assert "command" in error.message  # noqa: PT017 - what cannot be said is a good end
            return
        params = said(fork, text)
        assert source.run(params.pop("run")).id == run.id
        read = fork_options._request(params)
        policy = request.policy or configured_policy()
        assert (read.policy or configured_policy()).rules == policy.rules
        assert by_repr(read.edits) == by_repr(request.edits)
        for name in ("agent", "name", "by", "accept_changes", "effects", "terms", "continue_with"):
            assert getattr(read, name) == getattr(request, name), name
        assert int(read.step) == request.step


def test_common_forks_can_be_said(source):
    run = source.run("refund-loop")
    setup = ForkSetup(
        1,
        (Edit("set", "budget.max_searches", 3), Edit("set", "messages[0].content", "Search once.\nThen stop.")),
        agent="refund_loop.py:main_v2",
        policy=configured_policy().with_rule("pay", Rule("stub", value={"paid": True})),
        texts={"max_cost": "$0.50"},
    )
    assert fork_command(source, run, setup).startswith(
        "agent-tt fork refund-loop --at 1 --set budget.max_searches=3 --set "
        "'messages[0].content=\"Search once.\\nThen stop.\"' --agent refund_loop.py:main_v2 "
        "--policy 'pay=stub:{\"paid\": true}' --max-cost 0.50 --store "
    )


def test_what_does_not_print_is_not_copied(source):
    run = source.run("refund-loop")
    escape = ForkSetup(1, requests={"system": system_edit("be \x1b[31m kind")})
    with pytest.raises(UsageError, match="do not print"):
        fork_command(source, run, escape)
    in_json = fork_command(source, run, ForkSetup(1, (Edit("set", "notes", "\x1b]0;title\x07"),)))
    assert "\x1b" not in in_json
    assert "\\u001b" in in_json


@given(st.booleans(), st.sampled_from(["", "src/moved.py:main"]), st.lists(TEXT, max_size=3))
def test_a_replay_reads_back_as_it_was_chosen(source, observe, agent, arguments):
    run = source.run("refund-loop")
    text = replay_command(source, run, observe=observe, agent=agent, arguments=arguments)
    params = said(replay, text)
    assert (params["run"], params["observe"], params["agent"] or "") == ("refund-loop", observe, agent)
    assert list(params["arguments"]) == arguments


def test_a_comparison_names_both_runs(source):
    a, b = source.run("refund-loop"), source.run("trip-planner")
    text = compare_command(source, a, source, b)
    assert shlex.split(text)[:4] == ["agent-tt", "compare", "refund-loop", "trip-planner"]
    assert said(compare, text)


class Elsewhere:
    """The same runs, on a server."""

    def __init__(self, source, url):
        self.path = Address.of(url)
        self.run = source.run


@pytest.mark.parametrize("url", ["postgresql://u:secret@h/db", "http://127.0.0.1:8000", "postgresql://u@h/db?sslkey=k"])
def test_what_leads_to_a_store_on_a_server_only_with_a_secret_is_not_said(source, monkeypatch, url):
    monkeypatch.delenv("AGENT_TT_STORE", raising=False)
    elsewhere = Elsewhere(source, url)
    a, b = source.run("refund-loop"), source.run("trip-planner")
    for said_so in (
        lambda: replay_command(elsewhere, a, observe=False, agent="", arguments=[]),
        lambda: fork_command(elsewhere, a, ForkSetup(1)),
        lambda: compare_command(source, a, elsewhere, b),
    ):
        with pytest.raises(UsageError, match="on a server, which cannot be said in a command"):
            said_so()


def test_a_store_on_a_server_is_named_where_that_leads_there(source, monkeypatch):
    a, b = source.run("refund-loop"), source.run("trip-planner")
    open_to_all = Elsewhere(source, "postgresql://u@h:5432/db")
    assert shlex.split(compare_command(open_to_all, a, open_to_all, b))[-2:] == ["--store", "postgresql://u@h:5432/db"]
    monkeypatch.setenv("AGENT_TT_STORE", "postgresql://u:secret@h/db")
    text = replay_command(Elsewhere(source, "postgresql://u:secret@h/db"), a, observe=False, agent="", arguments=[])
    assert "secret" not in text
    assert said(replay, text)["store"].url == "postgresql://u:secret@h/db"


def test_a_sweep_reads_back_as_it_was_drafted(source):
    run = source.run("refund-loop")
    edits = [Edit("set", "budget.max_searches", 3), Edit("mute", "", target="step", step=2)]
    draft = SweepDraft(
        1,
        fixed=axes_of_edits(edits),
        lines=("budget.tokens_left=1,2", "model a,b"),
        samples=2,
        jobs=3,
        outcomes=("answer",),
        max_cost=0.5,
        allow=("pay",),
    )
    params = said(sweep, sweep_command(source, run, draft))
    definition = draft.definition()
    assert by_repr(params["axes"]) == by_repr(definition.axes)
    assert (params["samples"], params["jobs"], params["budget"]) == (2, 3, 0.5)
    assert (params["outcomes"], params["allow"], params["step"]) == (("answer",), ("pay",), "1")


async def test_y_copies_the_command_and_shows_it(source):
    run = source.run("refund-loop")
    app = AgentTT(lambda: DebuggerScreen(source, run, 1), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, ForkDialog) and app.screen.plan is not None)
        await workers_ended(app)
        await pilot.press("y")
        assert app.clipboard.startswith("agent-tt fork refund-loop --at 1 --store ")
        assert screen_text(app)[-1].startswith(" copied: agent-tt fork refund-loop --at 1")
