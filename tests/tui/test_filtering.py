"""The timeline narrowed as one types: parts that are questions, words beside them, what is shown around hits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.store.recordings import begin, new_store, step
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled
from tests.tui.readme_parts import DOCS
from tests.tui.waiting import until

from agent_tt import samples
from agent_tt.errors import InvalidExpression
from agent_tt.querying.expressions import parse
from agent_tt.querying.watches.step_search import Watch
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.viewmodel.debugger.folding import Fold, Narrowed, Rows, around
from agent_tt_tui.viewmodel.past.filtering import KINDS, Asked, read_asked


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    """The sample run research-team: four agents, one error, models and tools that read."""
    path = tmp_path_factory.mktemp("team") / "runs.db"
    samples.ensure("research-team", path)
    source = open_source(path)
    yield source
    source.close()


def team_app(source, number=3):
    return AgentTT(lambda: DebuggerScreen(source, source.run("research-team"), number), look=Look())


async def press(pilot, *keys):
    await pilot.press(*keys)
    return await settled(pilot)


@pytest.mark.parametrize(
    ("typed", "steps"),
    [
        ("kind:model", [1, 5, 12, 13, 14, 15]),
        ("kind:mo agent:lead", [1, 14, 15]),
        ("kind:code", [2, 6]),
        ("kind:tool", [3, 4, 7, 8, 9, 10, 11]),
        ("AGENT", None),
        ("agent:CRIT", [5, 12, 13]),
        ("lane:search_papers", [4, 10, 11]),
        ("tool:search", [3, 4]),
        ("tool:search step:4-", [4]),
        ('name:"the web"', [3]),
        ("error:", [8]),
        ("error:zzz", []),
        ("changed:claims step:-7", [7]),
        ("took>1h", []),
        ("took>=0.1ms kind:write", []),
        ("step:3-5", [3, 4, 5]),
    ],
)
def test_parts_are_the_questions_that_they_stand_for(team, typed, steps):
    asked = read_asked(typed)
    if steps is None:
        assert asked == Asked(words=typed, is_search=True)
        return
    assert asked.words == ""
    run_id = team.run("research-team").id
    assert list(Watch(team, run_id, asked.question).steps()) == steps


@pytest.mark.parametrize("kind", KINDS)
def test_every_beginning_of_a_kind_can_be_asked(kind):
    for end in range(1, len(kind) + 1):
        parse(read_asked(f"kind:{kind[:end]}").question)


@pytest.mark.parametrize(
    ("typed", "question", "words"),
    [
        ("refund policy", "", "refund policy"),
        ("tool:charge refused", "", "tool:charge refused"),
        ('kind:write "not found" in:error', '(kind == "write")', 'in:error "not found"'),
        ("kind: tool: changed: took> cost>$", "", ""),
        ("took>2 tokens<=2,000 cost=$0.05", "(ms > 2000) and (tokens <= 2000) and (cost == 0.05)", ""),
        ("took<500ms", "(ms < 500)", ""),
        ("took>90000h cost>.05", "(ms > 324000000000) and (cost > 0.05)", ""),
        ("took>1m", "(ms > 60000)", ""),
        ("http://x.example", "", "http://x.example"),
        ("state.budget", "", "state.budget"),
    ],
)
def test_words_are_looked_for_and_parts_that_are_not_whole_yet_ask_nothing(typed, question, words):
    asked = read_asked(typed)
    assert (asked.question, asked.words) == (question, words)


@pytest.mark.parametrize(
    ("typed", "at", "why"),
    [
        ("kind:zebra", "zebra", "there is no kind 'zebra'"),
        ("kind:model took>soon", "soon", "'soon' is not a duration"),
        ("cost>lots", "lots", "'lots' is no number"),
        ("cost>nan", "nan", "'nan' is no number"),
        ("tokens>1e9", "1e9", "'1e9' is no number"),
        ("step:a", "a", "steps are written"),
        ("changed:plan[]", "]", ""),
        ("?", "", "what is to hold"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(typed, at, why):
    with pytest.raises(InvalidExpression) as refused:
        read_asked(typed)
    assert refused.value.why.startswith(why)
    assert typed[refused.value.position :].startswith(at)


def test_what_the_documentation_says_can_be_typed():
    section = (DOCS / "ask.md").read_text().partition("## Narrow the timeline")[2]
    written = [
        word for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for word in re.findall("`(.*?)`", row)
    ]
    assert len(written) > 10
    for typed in written:
        assert parse(read_asked(typed).question)


@settings(max_examples=300)
@given(st.text(alphabet=st.sampled_from("kind:agentolr \"?>=<.,$0159ms[]changed\\'tokcse é\u202e\n"), max_size=40))
def test_whatever_is_typed_can_be_asked_or_is_refused_with_a_place_in_it(typed):
    try:
        asked = read_asked(typed)
    except InvalidExpression as error:
        refused = error
    else:
        if asked.begins is None and asked.question:
            parse(asked.question)
        return
    assert 0 <= refused.position <= len(typed)


@settings(max_examples=200)
@given(st.integers(0, 60), st.sets(st.integers(0, 60)), st.integers(0, 3), st.integers(0, 60), st.integers(1, 5))
def test_steps_and_those_beside_them_are_shown_once_and_all_others_are_folded(last, hits, context, cursor, pieces):
    steps, cursor = sorted(hit for hit in hits if hit <= last), min(cursor, last)
    narrowed = Narrowed(context, last)
    size = max(1, len(steps) // pieces)
    for at in range(0, len(steps), size):
        narrowed.add(steps[at : at + size])
        assert narrowed.folds == Narrowed(context, last).add(steps[: at + size]).folds
    rows = Rows(last, around(narrowed.folds, cursor))
    covered = []
    for row in range(len(rows)):
        shown = rows[row]
        covered += range(shown.first, shown.last + 1) if isinstance(shown, Fold) else [shown]
    assert covered == list(range(last + 1))
    beside = {near for hit in steps for near in range(hit - context, hit + context + 1)}
    for number in range(last + 1):
        assert narrowed.has(number) == (number in hits)
        is_folded = isinstance(rows[rows.row_of(number)], Fold)
        assert not (is_folded and (number in beside or number == cursor))
    for found in narrowed.folds:
        assert found.last > found.first
        assert not beside & set(range(found.first, found.last + 1))


def rows_of_timeline(pilot):
    return [row[:49].rstrip() for row in screen_text(pilot.app)[2:9]]


async def test_the_timeline_narrows_as_one_types_and_esc_shows_all_where_one_was(team):
    async with team_app(team).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        before = rows_of_timeline(pilot)
        screen = await press(pilot, "/", *"kind:model agent:critic")
        assert screen.panes.find_panel.hits.found.steps == [5, 12, 13]
        assert screen.time.number == 5
        assert "/ kind:model agent:critic" in screen_text(pilot.app)[1]
        assert "3 of 15" in screen_text(pilot.app)[1]
        narrowed = rows_of_timeline(pilot)
        assert any("4 hidden, 1 failed" in row for row in narrowed)
        screen = await press(pilot, "down")
        assert screen.time.number == 12
        screen = await press(pilot, "enter", "N")
        assert screen.time.number == 5
        assert "3 of 15" in screen_text(pilot.app)[1]  # it stays narrowed
        screen = await press(pilot, "escape")
        assert screen.panes.timeline.narrowed is None
        await press(pilot, ":", "3", "enter")
        assert rows_of_timeline(pilot) == before


async def test_the_timeline_is_there_while_one_types_also_where_most_of_it_is_folded(sample_store):
    app = AgentTT(lambda: DebuggerScreen(sample_store, sample_store.run("refund-loop"), 21), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        for keys in ((), ("slash",), tuple("took")):
            await pilot.press(*keys)
            await pilot.pause()
            assert "TIMELINE" in screen_text(app)[1]


async def test_more_or_fewer_steps_are_shown_beside_a_hit(team):
    async with team_app(team).run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "/", *"error:", "ctrl+up")
        screen = await settled(pilot)
        assert [(fold.first, fold.last) for fold in screen.panes.timeline.narrowed.folds] == [(0, 7), (9, 15)]
        await press(pilot, "ctrl+down", "ctrl+down")
        assert [(fold.first, fold.last) for fold in screen.panes.timeline.narrowed.folds] == [(0, 5), (11, 15)]
        await press(pilot, "escape")
        assert screen.time.number == 3


async def test_a_part_that_cannot_be_read_is_said_and_the_timeline_stays(team):
    async with team_app(team).run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "/", *"error: ")
        assert screen.panes.timeline.narrowed.steps == [8]
        await press(pilot, *"kind:q")
        rows = screen_text(pilot.app)
        at = next(index for index, row in enumerate(rows) if row.startswith(" / error:"))
        assert rows[at + 1].index("^") == rows[at].index("q")
        assert "there is no kind 'q'" in rows[at + 1]
        assert screen.panes.timeline.narrowed.steps == [8]


async def test_down_leaves_out_what_is_folded_and_right_does_not(team):
    async with team_app(team, 5).run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "/", *"agent:critic", "enter", "j", "j")
        assert screen.time.number == 11
        await press(pilot, "k", "k", "right", "right")
        assert screen.time.number == 7
        assert any(row.lstrip("▌ ").startswith("7") for row in rows_of_timeline(pilot))


async def test_a_part_without_its_value_yet_asks_nothing(team):
    async with team_app(team).run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "/", *"agent:critic tool:")
        assert screen.panes.timeline.narrowed.steps == [5, 12, 13]
        screen = await press(pilot, *["backspace"] * 18)
        assert screen.panes.timeline.narrowed is None
        screen = await press(pilot, *"kind:")
        assert screen.panes.timeline.narrowed is None
        assert not any("searching" in row for row in screen_text(pilot.app))


async def test_words_beside_a_part_are_to_stand_in_the_step(team):
    async with team_app(team).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("/", *"kind:tool owners")
        screen = pilot.app.screen
        await until(pilot, lambda: screen.panes.find_panel.hits.found.steps == [3, 8])
        await until(pilot, lambda: screen.panes.timeline.narrowed.steps == [3, 8])


async def test_steps_that_come_later_are_shown_as_nobody_asked_of_them(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for number in range(1, 5):
        step(writer, {"n": number})
    run = store.run(writer.run_id)
    async with AgentTT(lambda: DebuggerScreen(store, run, 1), look=Look()).run_test(size=(80, 24)) as pilot:
        screen = await press(pilot, "/", *"error:", "enter")
        assert len(screen.panes.timeline.narrowed.folds) == 1
        step(writer, {"n": 5})
        await until(pilot, lambda: screen.model.last == 5)
        await settled(pilot)
        assert screen.panes.timeline.line_count == 4  # steps 0, 1, those between, and 5
        assert "0 of 4" in screen_text(pilot.app)[1]
        writer.finish("succeeded")


async def test_page_keys_leave_out_what_is_folded_and_the_steps_of_the_next_rows_are_read_ahead(team):
    async with team_app(team, 5).run_test(size=(120, 40)) as pilot:
        screen = await press(pilot, "/", *"agent:critic", "enter")
        timeline = screen.panes.timeline
        shown = [
            found for found in map(timeline._rows.__getitem__, range(timeline.line_count)) if isinstance(found, int)
        ]
        at = shown.index(screen.time.number)
        assert timeline.steps_beside(1, 3) == shown[at + 1 : at + 4]
        assert timeline.steps_beside(-1, 1) == shown[at - 1 : at]
        await press(pilot, "pagedown")
        assert screen.time.number == shown[-1]
        await press(pilot, "pageup")
        assert screen.time.number == shown[0]
