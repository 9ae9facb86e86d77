"""What is taken out of recorded runs is in no byte of the file, and what stays is sound, replays, and is said."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.core.redaction.personal_kinds import PERSONAL
from tests.core.redaction.secret_kinds import TEXTS
from tests.core.redaction.test_personal_data import VALUES
from tests.core.redaction.test_secret_kinds import PLACES, traces
from tests.core.seams.loopback import Loopback
from tests.core.stored_bytes import all_bytes, contents

import agent_tt
from agent_tt.addresses import Address
from agent_tt.cache_files import cache_path
from agent_tt.errors import IsRunning, Refused
from agent_tt.model import NewFork, NewRun, NewStep, StepEnd
from agent_tt.model.facts import RunFacts
from agent_tt.model.runs import AgentCode
from agent_tt.querying.to_redact import in_run
from agent_tt.redacting.taking_out import take_out
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.replaying.block import served
from agent_tt.store import ingest_filter, open_store
from agent_tt.store.file.connection import Database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.store.redacting import Redaction

ANN, BOB, PHONE = "ann.lee@mail.example.com", "bob@example.org", "+49 170 1234567"
PERSONAL_RULES = Rules(profile="personal")


@pytest.fixture(autouse=True)
def _no_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    GIVEN.forget()
    yield
    OWN.use(Rules())
    GIVEN.forget()


def _take_out(path: Path, *names: str, rules: Rules = PERSONAL_RULES, **how: bool) -> Redaction:
    with closing(open_store(path)) as store:
        runs = [store.run(name) for name in names] or list(store.runs(archived=True))
    return take_out(path, runs, rules, is_all=not names, **how)


def _problems(path: Path) -> list[str]:
    with closing(open_store(path)) as store:
        return [problem.what for problem in store.verify()]


@agent_tt.tool(effect="read")
def look_up_in_crm(key: object, **options: object) -> object:
    """A tool that gives what it was given."""
    return {"found": key, **options}


@agent_tt.tool(effect="read")
def spell_out(text: str) -> Iterator[str]:
    """A tool whose answer comes in pieces."""
    for at in range(0, len(text), 5):
        yield text[at : at + 5]


def _plant(path: Path, texts: list[str]) -> None:
    """Record every text in every place that a value has, and by every way into the file."""

    @agent_tt.tool(effect="write", name=f"pay for {texts[0]}")
    def fails(key: str) -> None:
        error = ValueError(key)
        error.add_note(key)
        raise error

    state: dict[str, Any] = {"places": [], "by key": {}}
    with agent_tt.record(
        f"run {texts[0]}", state=state, store=path, user_id=texts[1], tags=texts[:3], metadata={"all": texts}
    ) as run:
        for text in texts:
            run.note(text)
            with run.step(f"step {text}", agent=text) as step, agent_tt.lane(text):
                step.decision = text
                look_up_in_crm(text, args=json.dumps({"of": text}), raw=text.encode())
                state["places"] += [place(text) for place in PLACES.values()]
                state["by key"][text] = text
                with pytest.raises(ValueError):  # noqa: PT011  what it says is what is planted
                    fails(text)
        list(spell_out("; ".join(texts)))
        print("printed:", *texts)


def test_no_kind_is_left_in_any_page_by_any_way_into_the_file(path: Path, monkeypatch: pytest.MonkeyPatch):
    texts = {**PERSONAL, **{kind: held for kind, (held, _) in TEXTS.items()}}
    if isinstance(path, Address):  # every way into it, of some kinds: what is found of each is the same
        texts = dict([*texts.items()][::5])
    with monkeypatch.context() as unfiltered:  # what an older version without these rules would have recorded
        for name in ("redact", "given"):
            unfiltered.setattr(f"agent_tt.redaction.values.{name}", lambda value, _name="": value)
        unfiltered.setattr("agent_tt.redaction.texts.redact_text", lambda text: text)
        _plant(path, list(texts.values()))
    planted = {**VALUES, **{kind: secret for kind, (_, secret) in TEXTS.items()}}
    planted = {kind: value for kind, value in planted.items() if kind in texts}
    found = all_bytes(path)
    assert [kind for kind, value in planted.items() if "raw" not in traces(value, found)] == []
    tried = _take_out(path, is_tried=True)
    assert [kind for kind, value in planted.items() if "raw" not in traces(value, all_bytes(path))] == [], "only tried"
    done = _take_out(path)
    assert (done.changed, done.is_clean) == (tried.changed, True)
    found = all_bytes(path)
    assert {value: traces(value, found) for value in planted.values() if traces(value, found)} == {}
    assert _problems(path) == []
    again = _take_out(path)
    assert again.changed.total() == 0, "there is nothing more"
    with closing(open_store(path)) as store:
        assert [*in_run(store, store.runs()[0])] == [], "marks are nothing that would go"
    with closing(open_store(path)) as store:
        (said,) = RunFacts.redacted.of(store.runs()[0].metadata) or ()
        assert (said.profile, said.unsure) == ("personal", None)


# ---------------------------------------------------------------- forks, and what is shared


def _steps(store: Any, writer: Any, first: int, count: int, state: dict[str, Any]) -> None:
    for number in range(first, first + count):
        step = writer.open_step(NewStep(f"turn {number}"))
        state["messages"].append({"role": "user", "content": f"{number} " * 150 + (ANN if number % 7 == 0 else "none")})
        state["n"] = number
        writer.close_step(step, StepEnd("ok"), state)


def _family(path: Path) -> list[str]:
    """A long run with keyframes, blobs and a dictionary, a fork of it, and a fork of that; their ids."""
    with closing(open_store(path, create=True)) as store:
        code = AgentCode("agents.desk:main")
        state: dict[str, Any] = {"messages": [], "n": 0, "about": f"of {ANN} " + "x" * 20_000}
        writer = store.begin_run(NewRun("desk", code=code), state)
        _steps(store, writer, 1, 150, state)
        writer.finish("succeeded")
        ids = [writer.run_id]
        for step in (100, 103):
            edited = {**store.state(ids[-1], step), "to": f"{BOB} {PHONE}"}
            fork = store.begin_fork(NewFork(ids[-1], step, state=edited, new=NewRun(f"fork at {step}", code=code)))
            writer = store.adopt_run(fork, NewRun("", code=code), None)
            _steps(store, writer, step + 1, 5, edited)
            writer.finish("succeeded")
            ids.append(fork)
        return ids


def test_a_run_goes_with_its_forks_and_all_of_their_states_are_what_redaction_makes_of_them(path: Path):
    ids = _family(path)
    with closing(open_store(path)) as store:
        before = {(run, step): store.state(run, step) for run in ids for step in (0, 7, 50, 104, 105)}
        before |= {(ids[0], 150): store.state(ids[0], 150)}
        blamed = store.last_write(ids[0], 150, ("n",))
    assert [name for name, _ in contents(path) if name == "dicts.data"]
    done = _take_out(path, ids[1])
    assert list(done.runs) == ids
    found = all_bytes(path)
    assert [value for value in (ANN, BOB, PHONE) if traces(value, found)] == []
    assert _problems(path) == []
    OWN.use(PERSONAL_RULES)
    with closing(open_store(path)) as store:
        assert {place: store.state(*place) for place in before} == {
            place: ingest_filter.admit(state) for place, state in before.items()
        }
        assert store.last_write(ids[0], 150, ("n",)) == blamed


def test_a_value_that_runs_of_others_share_is_refused_with_their_names_and_all_takes_it_out(path: Path):
    shared = {"letter": f"Dear {ANN}, " + "words " * 5_000, "harmless": "plain " * 5_000}
    for name in ("one", "two", "three"):
        with agent_tt.record(name, state={**shared} if name != "three" else {"n": 1}, store=path):
            pass
    before = all_bytes(path)
    with pytest.raises(Refused) as refused:
        _take_out(path, "one")
    assert refused.value.runs == ("two",)
    assert traces(ANN, before)
    assert _problems(path) == []
    assert list(_take_out(path, "one", "two").runs.values()) == ["one", "two"]
    assert not traces(ANN, all_bytes(path))
    assert _problems(path) == []


def test_a_run_of_the_same_agent_whose_rows_use_the_dictionary_stays_as_it_is(path: Path):
    _family(path)
    with closing(open_store(path)) as store:
        state: dict[str, Any] = {"messages": [], "n": 0}
        writer = store.begin_run(NewRun("another", code=AgentCode("agents.desk:main")), state)
        for number in range(1, 20):
            step = writer.open_step(NewStep("turn"))
            state["messages"].append(f"{number} said nothing of anybody")
            writer.close_step(step, StepEnd("ok"), state)
        writer.finish("succeeded")
        kept = [store.state(writer.run_id, step) for step in range(20)]
    _take_out(path, "desk")
    assert _problems(path) == []
    with closing(open_store(path)) as store:
        assert [store.state(writer.run_id, step) for step in range(20)] == kept
        assert "redacted" not in store.run("another").metadata
    assert not traces(ANN, all_bytes(path))


# ---------------------------------------------------------------- replays


def _work(url: str) -> list[Any]:
    found = look_up_in_crm(ANN, phone=PHONE)
    with httpx.Client() as client:
        told = client.post(f"{url}/echo?to={ANN.replace('@', '%40')}", json={"of": found, "boss": BOB}).json()
        with client.stream("GET", f"{url}/person") as answer:
            pieces = b"".join(answer.iter_bytes())
    spelt = "".join(spell_out(f"write to {BOB}, please"))
    return [len(str(told)), json.loads(pieces)["n"], len(spelt), len(str(look_up_in_crm(spelt)))]


def test_a_replay_of_a_run_without_its_personal_data_is_as_recorded(path: Path):
    server = Loopback()
    server.bodies["/person"] = [
        (
            200,
            {"Content-Type": "application/json"},
            json.dumps({"mail": ANN, "card": 4111111111111111, "n": 3}).encode(),
        )
    ]
    server.bodies["/echo"] = [(200, {"Content-Type": "application/json"}, json.dumps({"of": BOB}).encode())]
    try:
        with agent_tt.record("desk", store=path) as run, run.step("all"):
            first = _work(server.url)
    finally:
        server.stop()
    done = _take_out(path, "desk")
    assert done.unsure == 0
    assert not any(traces(value, all_bytes(path)) for value in (ANN, BOB, PHONE, "4111111111111111"))
    with served("desk", store=path, observe=True) as replay:
        assert _work(server.url) == first
    assert not replay.findings
    with served("desk", store=path, observe=True) as replay:
        look_up_in_crm(BOB, phone=PHONE)
    assert replay.findings[0].kind == "changed request", "another customer is another question"


# ---------------------------------------------------------------- what is in the way


def test_a_run_that_is_recorded_and_a_spill_file_are_in_the_way(tmp_path: Path):
    path = tmp_path / "runs.db"
    with agent_tt.record("done", state={"to": ANN}, store=path):
        pass
    with agent_tt.record("live", state={}, store=path), pytest.raises(IsRunning):
        _take_out(path, "done")
    spill = tmp_path / "runs.db.spill-abc-0"
    spill.write_text("what nobody can read")
    with pytest.raises(Refused, match="not taken in"):
        _take_out(path, "done")
    spill.unlink()
    assert _take_out(path, "done").is_clean


def test_while_somebody_reads_the_file_is_said_not_to_be_clean_until_it_is_said_again(tmp_path: Path):
    path = tmp_path / "runs.db"
    with agent_tt.record("done", state={"to": ANN}, store=path):
        pass
    with closing(Database(path, read_only=True)) as reader:
        reader._connection.execute("BEGIN")
        reader.query("SELECT * FROM runs")
        assert not _take_out(path, "done").is_clean
    assert ["again" in what for what in _problems(path)] == [True]
    assert _take_out(path, "done").is_clean
    assert _problems(path) == []
    assert not traces(ANN, all_bytes(path))


def test_the_index_of_searches_goes_too(tmp_path: Path):
    path = tmp_path / "runs.db"
    with agent_tt.record("done", state={"to": ANN}, store=path):
        pass
    index = cache_path(path)
    index.parent.mkdir(parents=True, mode=0o700)
    index.write_bytes(ANN.encode())
    _take_out(path, "done", is_tried=True)
    assert index.exists()
    _take_out(path, "done")
    assert not index.exists()


CHILD = """
import sys
from agent_tt.redacting import taking_out
from agent_tt.redaction.rules import Rules
from agent_tt.store import anew, open_store, redacting
from agent_tt.store.file.connection import Database

def told(what, function):
    def call(*given, **named):
        print(what, flush=True)
        return function(*given, **named)
    return call

anew.write_anew = told("track", anew.write_anew)
redacting.sweep_rows = told("sweep", redacting.sweep_rows)
Database.purge = told("purge", Database.purge)
Database.checkpoint = told("checkpoint", Database.checkpoint)
from pathlib import Path
path = Path(sys.argv[1])
store = open_store(path)
runs = list(store.runs())
store.close()
print("begins", flush=True)
taking_out.take_out(path, runs, Rules(profile="personal"), is_all=True)
"""


def test_a_kill_at_any_moment_leaves_the_runs_as_before_or_as_after(tmp_path: Path):
    made = tmp_path / "made" / "runs.db"
    made.parent.mkdir()
    _family(made)
    before, outcomes = _digests(made), []
    for moment in ("begins", "track", "sweep", "purge", "checkpoint"):
        path = tmp_path / moment / "runs.db"
        path.parent.mkdir()
        path.write_bytes(made.read_bytes())
        with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            while (line := child.stdout.readline().strip()) and line != moment:
                pass
            child.send_signal(signal.SIGKILL)
        is_before = _digests(path) == before
        outcomes.append(is_before)
        left = [what for what in _problems(path) if "may still hold" not in what]
        assert left == []
        if not is_before:
            with closing(open_store(path)) as store:
                assert all("redacted" in run.metadata for run in store.runs())
        assert _take_out(path).is_clean
        assert not any(traces(value, all_bytes(path)) for value in (ANN, BOB, PHONE))
        assert _problems(path) == []
    assert outcomes[0] is True
    assert outcomes[-1] is False


def _digests(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as rows:
        return rows.execute("SELECT id, digest, chain FROM deltas ORDER BY id").fetchall()


@pytest.mark.parametrize("asked", [1, 40])
def test_a_store_that_was_open_and_read_shows_nothing_of_what_was_taken_out_meanwhile(
    tmp_path: Path, asked: int
) -> None:
    path = tmp_path / "runs.db"
    state: dict[str, Any] = {"messages": [f"ask {ANN}"], "n": 0}
    with closing(open_store(path, create=True)) as store:
        writer = store.begin_run(NewRun("r"), state)
        for step in range(1, 41):
            state["messages"].append(f"{step} " + "words " * 200)
            state["n"] = step
            writer.close_step(writer.open_step(NewStep("s")), StepEnd("ok"), state)
        writer.finish("succeeded")
        run_id = writer.run_id
    with closing(open_store(path, read_only=True)) as reader:
        for step in (3, asked, 39):
            assert ANN in str(reader.state(run_id, step))
        assert ANN in str(reader.value(run_id, 39, ("messages", 0)))
        _take_out(path)
        assert ANN not in str(reader.state(run_id, asked))
        assert ANN not in str(reader.states(run_id, asked, 39))
        assert ANN not in str(reader.value(run_id, 40, ("messages", 0)))
        assert reader.value(run_id, 40, ("n",)) == 40
