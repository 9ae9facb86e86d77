"""What can be chosen for a fork, below its dialog: settings as typed, policies as chosen."""

import pytest

from agent_tt.errors import AgentTTError
from agent_tt_tui.viewmodel.running.fork_policy import next_word, or_else, with_stub
from agent_tt_tui.viewmodel.running.fork_setup import SETTINGS, ForkSetup

BY_ID = {setting.id: setting for setting in SETTINGS}


def typed(setup, **texts):
    for name, text in texts.items():
        setup = setup.typed(BY_ID[name], text)
    return setup


def test_everything_that_the_command_can_be_told_comes_out_in_the_plan(sample_store):
    setup = typed(
        ForkSetup(3),
        model="gpt-x",
        parameter="temperature=0",
        system="Be brief.",
        stop_at="9",
        time_limit="5m",
        max_tokens="1,000",
        max_cost="$0.50",
        max_memory="2GB",
        by="replay",
        accept_changes="yes",
        executor="mock",
        seed="7",
    )
    plan = setup.plan(sample_store, sample_store.run("trip-planner"))
    limits = plan.terms.limits
    assert (limits.stop_at, limits.seconds, limits.tokens, limits.cost_usd, limits.memory) == (9, 300, 1000, 0.5, 2e9)
    assert [(edit.target, edit.path, edit.value) for edit in plan.edits] == [
        ("model", "", "gpt-x"),
        ("parameter", "temperature", 0),
        ("system", "", "Be brief."),
    ]
    assert (plan.by, plan.accepts_changes, plan.terms.executor, plan.terms.seed) == ("replay", True, "mock", 7)


def test_of_a_list_the_same_name_counts_once_and_nothing_behind_the_name_takes_it_back():
    setup = typed(ForkSetup(0), parameter="top_p=1", override="tone=1")
    setup = typed(setup, parameter="top_p=0", override='style="x"')
    assert setup.text(BY_ID["parameter"]) == "top_p=0"
    assert setup.text(BY_ID["override"]) == 'tone=1, style="x"'
    setup = typed(setup, parameter="top_p=", override="tone=")
    assert (setup.text(BY_ID["parameter"]), setup.text(BY_ID["override"])) == ("", 'style="x"')
    assert setup.cleared(BY_ID["override"]).overrides == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stop_at", "0"),
        ("max_tokens", "many"),
        ("max_cost", "nan"),
        ("time_limit", "soon"),
        ("max_memory", "big"),
        ("seed", "1"),
        ("override", "no equals"),
        ("input", "a=no json"),
        ("script", "/no/such/file"),
    ],
)
def test_what_makes_no_sense_is_refused_as_it_is_typed(name, text):
    with pytest.raises(AgentTTError):
        typed(ForkSetup(0), **{name: text})


def test_a_changed_input_begins_the_fork_at_the_input_unless_a_later_step_is_edited(sample_store):
    run = sample_store.run("trip-planner")
    key = next(iter(sample_store.state(run.id, 0)))
    setup = typed(ForkSetup(3), input=f'{key}="other"')
    plan = setup.plan(sample_store, run)
    assert (plan.step, [edit.path for edit in plan.edits]) == (0, [key])


def test_policies_go_from_word_to_word_and_stop_at_the_ends(sample_store):
    plan = ForkSetup(3).plan(sample_store, sample_store.run("trip-planner"))
    row = plan.writers[0]
    end, said = next_word(plan, row, 1)
    assert end is plan
    assert "last" in said
    asked, _ = next_word(plan, row, -1)
    assert asked.writers[0].policy == "ask"
    back, _ = next_word(asked, asked.writers[0], 1)
    assert (back.writers[0].policy, back.writers[0].rule.source) == ("deny", "default")
    raising = with_stub(plan, row, None, "TimeoutError: no answer")
    assert raising.writers[0].rule.text == "error:TimeoutError: no answer"
    recorded = or_else(plan, row)
    assert recorded.writers[0].rule.text == "recorded-or-ask"
    assert or_else(recorded, recorded.writers[0]).writers[0].rule.text == "recorded-or-deny"
