"""A dropped state is in no byte of the file, its step says so, and every other state and difference is as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing, nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.redaction.test_secret_kinds import traces
from tests.core.stored_bytes import all_bytes

import agent_tt
from agent_tt.addresses import Address
from agent_tt.comparing.values.state_diff import diff_states
from agent_tt.errors import IsRunning, Refused, StepNotFound, UsageError
from agent_tt.forking.checks import check_step
from agent_tt.golden.evidence import Evidence
from agent_tt.golden.opened_run import OpenedSteps
from agent_tt.golden.value_rules import State
from agent_tt.model import NewFork, NewRun, NewStep, StepEnd
from agent_tt.model.facts import RunFacts
from agent_tt.model.runs import AgentCode
from agent_tt.protocols import NO_STATE
from agent_tt.querying.unread import unread_in
from agent_tt.querying.watches.step_search import Watch
from agent_tt.redacting.dropping import drop_checkpoints
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 9


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _record(store: Any, writer: Any, first: int, states: list[Any]) -> None:
    for number, state in enumerate(states, first):
        step = writer.open_step(NewStep(f"turn {number}"))
        writer.close_step(step, StepEnd("ok"), state)


def _drop(path: Path, name: str, *steps: int, **how: bool) -> tuple[list[int], bool]:
    with closing(open_store(path)) as store:
        run = store.run(name)
    return drop_checkpoints(path, run, steps, **how)


def _problems(path: Path) -> list[str]:
    with closing(open_store(path)) as store:
        return [problem.what for problem in store.verify()]


def _states(count: int, tag: str = "") -> list[Any]:
    """States that grow, each with a word of its own, in a list, a text and a blob."""
    made: list[Any] = []
    for number in range(count):
        word = f"word{tag}{number}xyzzy"
        before = made[-1]["messages"] if made else []
        made.append({"messages": [*before[-3:], word * 4], "now": word, "about": f"about{tag}{number}xyzzy " * 900})
    return made


def _family(path: Path, count: int = STEPS, at: int = 5) -> list[str]:
    """A run, a fork of it, and a fork of that; their ids."""
    with closing(open_store(path, create=True)) as store:
        states = _states(count + 1)
        writer = store.begin_run(NewRun("desk", code=AgentCode("desk:main")), states[0])
        _record(store, writer, 1, states[1:])
        writer.finish("succeeded")
        ids = [writer.run_id]
        for step, tag in ((at, "a"), (at + 2, "b")):
            edited = {**store.state(ids[-1], step), "edited": tag}
            new = NewRun(f"fork {tag}", code=AgentCode("desk:main"))
            fork = store.begin_fork(NewFork(ids[-1], step, state=edited, new=new))
            writer = store.adopt_run(fork, new, None)
            _record(store, writer, step + 1, _states(4, tag))
            writer.finish("succeeded")
            ids.append(fork)
    return ids


def _all_of(path: Path) -> dict[tuple[str, int], tuple[Any, bytes | None]]:
    with closing(open_store(path)) as store:
        return {
            (run.id, number): (store.state(run.id, number), store.digest(run.id, number))
            for run in store.runs()
            for number in range(store.step_count(run.id) + 1)
            if number == 0 or store.steps(run.id, number, number + 1)[0].seq is not None
        }


_VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("pqr"), _VALUES, max_size=3) | st.just(NO_STATE), min_size=4, max_size=8),
    st.data(),
)
def test_every_other_state_and_every_difference_between_others_is_as_before(
    tmp_path_factory: pytest.TempPathFactory, states: list[Any], data: st.DataObject
):
    path = tmp_path_factory.mktemp("law") / "runs.db"
    with closing(open_store(path, create=True)) as store:
        writer = store.begin_run(NewRun("law"), {"begins": True})
        _record(store, writer, 1, [*states, {"ends": True}])
        writer.finish("succeeded")
        last = len(states) + 1
        forked_at = data.draw(st.integers(1, last))
        fork = store.begin_fork(NewFork(writer.run_id, forked_at, new=NewRun("fork"), state={"edited": 1}))
        forked = store.adopt_run(fork, NewRun("fork"), None)
        _record(store, forked, forked_at + 1, states)
        forked.finish("succeeded")
        run = store.run("law")
        held = [step.number for step in store.steps(run.id) if step.seq is not None]
        begins = max(number for number in [0, *held] if number <= forked_at)
        free = [number for number in held if number not in (last, begins, forked_at)]
    before = _all_of(path)
    gone = data.draw(st.sets(st.sampled_from(free), min_size=1) if free else st.just(set()))
    if not gone:
        return
    assert drop_checkpoints(path, run, sorted(gone)) == (sorted(gone), True)
    after = _all_of(path)
    assert after == {
        place: found
        for place, found in before.items()
        if place[1] not in gone or (place[0] == fork and place[1] > forked_at)
    }
    with closing(open_store(path)) as store:
        for step in store.steps(run.id):
            assert (step.facts.state_dropped is not None) == (step.number in gone)
        places = [number for run_id, number in after if run_id == run.id]
        for a, b in pairwise(places):
            if b > 0 and a == store.base_step(run.id, b):
                old, new = store.state(run.id, a), store.state(run.id, b)
                assert bool(store.changes(run.id, b)) == bool(diff_states(old, new)), "folded into the next"
    assert _problems(path) == []


def test_the_dropped_state_is_in_no_byte_and_forks_further_on_stay_as_they_are(path: Path):
    ids = _family(path)
    before = _all_of(path)
    assert _drop(path, "desk", 2, 3, is_tried=True) == ([2, 3], False)
    assert _all_of(path) == before
    assert _drop(path, "desk", 2, 3) == ([2, 3], True)
    assert _all_of(path) == {place: found for place, found in before.items() if place[1] not in (2, 3)}
    held = all_bytes(path)
    assert traces("word5xyzzyword5xyzzy", held)
    assert not any(traces(f"about{number}xyzzy", held) for number in (2, 3))
    assert _problems(path) == []
    with closing(open_store(path)) as store:
        (said,) = RunFacts.dropped.of(store.run("desk").metadata) or ()
        assert said.steps == [2, 3]
        assert store.base_step(ids[0], 4) == 1
        assert store.state(ids[0], 3) == store.state(ids[0], 1), "that of an earlier step, as of one without any"
        inherited = store.steps(ids[2], 3, 4)[0]
        assert (inherited.inherited, inherited.facts.state_dropped) == (True, said.at)
        with pytest.raises(UsageError, match="its checkpoint was dropped"):
            check_step(store, store.run("desk"), store.steps(ids[0]), 3)
    assert _drop(path, "desk", 2, 4) == ([4], True), "what went before is left as it is"
    assert _drop(path, "fork a", 6) == ([6], True)
    assert _problems(path) == []


def test_forks_that_begin_there_are_named_and_nothing_is_dropped(path: Path):
    _family(path)
    before = _all_of(path)
    for name, steps, fork in (("desk", (4, 5), "fork a"), ("fork a", (7,), "fork b")):
        with pytest.raises(Refused) as refused:
            _drop(path, name, *steps)
        assert refused.value.runs == (fork,)
    assert _all_of(path) == before


def test_what_stays_or_is_not_there_is_refused_with_the_reason(path: Path):
    _family(path)
    for name, step, kind, why in (
        ("desk", 0, UsageError, "the input"),
        ("desk", STEPS, UsageError, "the last of its state"),
        ("fork a", 3, StepNotFound, "no step of this run's own"),
        ("desk", 77, StepNotFound, "no step of this run's own"),
    ):
        with pytest.raises(kind, match=why):
            _drop(path, name, step)
    with closing(open_store(path)) as store:
        store.set_pinned([store.run("desk").id], pinned=True)
    with pytest.raises(Refused, match="pinned"):
        _drop(path, "desk", 2)
    stops = pytest.raises(IsRunning) if not isinstance(path, Address) else nullcontext()  # others record on a server
    with agent_tt.record("open", state={}, store=path), stops:
        _drop(path, "fork a", 6)
    assert _problems(path) == []


def test_a_reader_that_has_the_file_open_never_shows_a_wrong_state(tmp_path: Path):
    path = tmp_path / "runs.db"
    ids = _family(path, 300, 280)
    with closing(open_store(path, read_only=True)) as store:
        before = {number: store.state(ids[0], number) for number in range(301)}
        _drop(path, "desk", 127, 130)
        assert [number for number in range(301) if store.state(ids[0], number) != before[number]] == [127, 130]
        assert store.state(ids[2], 283) == _states(4, "b")[0]


CHILD = """
import sys
from pathlib import Path
from agent_tt.protocols import NO_STATE
from agent_tt.querying.unread import unread_in
from agent_tt.querying.watches.step_search import Watch
from agent_tt.redacting.dropping import drop_checkpoints
from agent_tt.store import anew, dropping, open_store
from agent_tt.store.file.connection import Database

def told(what, function):
    def call(*given, **named):
        print(what, flush=True)
        return function(*given, **named)
    return call

anew.write_anew = told("track", anew.write_anew)
dropping.sweep_rows = told("sweep", dropping.sweep_rows)
Database.purge = told("purge", Database.purge)
Database.checkpoint = told("checkpoint", Database.checkpoint)
path = Path(sys.argv[1])
store = open_store(path)
run = store.run("desk")
store.close()
print("begins", flush=True)
drop_checkpoints(path, run, [2, 3])
"""


def test_a_kill_at_any_moment_leaves_the_states_as_before_or_without_the_dropped(tmp_path: Path):
    made = tmp_path / "made" / "runs.db"
    made.parent.mkdir()
    _family(made)
    before, outcomes = _all_of(made), []
    without = {place: found for place, found in before.items() if place[1] not in (2, 3)}
    for moment in ("begins", "track", "sweep", "purge", "checkpoint"):
        path = tmp_path / moment / "runs.db"
        path.parent.mkdir()
        path.write_bytes(made.read_bytes())
        with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            while (line := child.stdout.readline().strip()) and line != moment:
                pass
            child.send_signal(signal.SIGKILL)
        found = _all_of(path)
        assert found in (before, without)
        outcomes.append(found == before)
        assert [what for what in _problems(path) if "may still hold" not in what] == []
        assert _drop(path, "desk", 2, 3)[1] is True, "said again, it is done, or overwrites what is left"
        assert (_all_of(path), _problems(path)) == (without, [])
    assert outcomes[0] is True
    assert outcomes[-1] is False


def test_a_rule_about_a_state_that_is_not_kept_is_unknown_and_a_test_cannot_read_it(tmp_path: Path):
    path = tmp_path / "runs.db"
    _family(path)
    _drop(path, "desk", 3)
    with closing(open_store(path)) as store:
        run = store.run("desk")
        for step, verdict in ((2, "passed"), (3, "unknown")):
            rule = State("now", step=step, equals='"word2xyzzy"')
            assert rule.judge(Evidence(store, run)).verdict == verdict
        steps = OpenedSteps(store, run)
        assert steps[2].state["now"] == "word2xyzzy"
        with pytest.raises(StepNotFound, match="no checkpoint is kept of step 3"):
            assert steps[3].state


def test_what_is_asked_of_a_state_that_is_not_kept_holds_nowhere_and_is_said_not_to_be_known(tmp_path: Path):
    path = tmp_path / "runs.db"
    with closing(open_store(path, create=True)) as store:
        writer = store.begin_run(NewRun("counted"), {"n": 0})
        _record(store, writer, 1, [{"n": number} for number in range(1, 6)])
        writer.finish("succeeded")
    _drop(path, "counted", 3)
    with closing(open_store(path)) as store:
        run = store.run("counted")
        asked = Watch(store, run.id, "state.n >= 2")
        assert list(asked.steps()) == [2, 4, 5]
        assert (asked.facts_at(3), list(Watch(store, run.id, "step >= 3").steps())) == (None, [3, 4, 5])
        assert unread_in(store, run) == ("of step 3 no checkpoint is kept",)
