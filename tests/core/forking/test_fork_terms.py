"""Who runs a fork, what it is told beside its state, and how far it may go: with real processes."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import agent_tt
from agent_tt.errors import AgentFailed, Interrupted, InvalidEntryPoint, InvalidExecutor, UsageError
from agent_tt.forking.entry.executors import EXECUTORS
from agent_tt.forking.terms import parse_duration, parse_memory, terms_from, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Project

    from agent_tt.model import Run

pytestmark = pytest.mark.warm

THINKER = """
import pathlib, time
import agent_tt

ANSWERS = ["look", "ask", "think", "book"]

@agent_tt.llm
def model(messages):
    with open("asked", "a") as file:
        file.write("x")
    return {"role": "assistant", "content": ANSWERS[(len(messages) - 1) // 2 % len(ANSWERS)],
            "usage": {"tokens_in": 60, "tokens_out": 40, "cost_usd": 0.01}}

@agent_tt.tool(effect="write")
def pay(sum): return "paid"

def main(state=None, overrides=None):
    state = state if state is not None else {"messages": [{"role": "user", "content": "go"}], "said": []}
    state.update(overrides or {})
    with agent_tt.record("thinker", state=state) as run:
        while len(state["said"]) < 6:
            with run.step("think", state):
                answer = model(state["messages"])
                state["said"].append(answer["content"])
                state["messages"] += [{"role": "assistant", "content": answer["content"]},
                                      {"role": "user", "content": "and?"}]

def plain(state=None):
    main(state)

class Agent:
    temperature = 1
    def __init__(self): self.said = []
    def run(self, state=None):
        with agent_tt.record("object", state=state) as run:
            with run.step("only", state):
                state["temperature"] = self.temperature

def stubborn(state=None):
    with agent_tt.record("stubborn", state=state) as run:
        for _ in range(50):
            try:
                with run.step("think", state):
                    model(state["messages"])
            except Exception:
                pass

def hangs(state=None):
    with agent_tt.record("hangs", state=state) as run:
        with run.step("only", state):
            while True:
                pass

def eats(state=None):
    with agent_tt.record("eats", state=state) as run:
        with run.step("only", state):
            state["size"] = len(bytearray(600_000_000))  # gone again before anybody could look

def nibbles(state=None):
    with agent_tt.record("nibbles", state=state) as run:
        kept = []
        with run.step("only", state):
            try:
                while len(kept) < 300:
                    kept.append(bytearray(10_000_000))
                    time.sleep(0.01)
            except MemoryError:
                state["size"] = -1
        pathlib.Path("after").touch()

def gobbles(state=None):
    with agent_tt.record("gobbles", state=state) as run:
        with run.step("only", state):
            kept = []
            while True:
                try:
                    kept.append(bytearray(50_000_000))
                except BaseException:
                    pass
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, project_type: type[Project]) -> tuple[Path, Path]:
    """A folder in which the thinker was recorded, which every test has to itself, and what was in it then."""
    home, kept = (tmp_path_factory.mktemp("thinker") / name for name in ("home", "kept"))
    home.mkdir()
    made = project_type(home)
    with closing(made.store):
        made.put("thinker.py", THINKER)
        made.record("-c", "import thinker; thinker.main()")
    shutil.copytree(home, kept)
    return home, kept


@pytest.fixture
def project(recorded: tuple[Path, Path], project_type: type[Project]) -> Iterator[Project]:
    home, kept = recorded
    shutil.rmtree(home)
    shutil.copytree(kept, home)
    made = project_type(home)
    with closing(made.store):
        yield made
        for handle in made.handles:
            handle.stop(grace=0)


@pytest.fixture
def thinker(project: Project) -> Run:
    return project.store.run("latest")


def asked(project: Project) -> int:
    file = project.folder / "asked"
    return len(file.read_text()) if file.exists() else 0


def run_of(project: Project, handle: agent_tt.rerunning.handle.RunHandle) -> Run:
    handle.wait()
    return project.store.run(handle.run_id)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("limits", "steps", "says"),
    [
        ({"stop_at": 3}, 3, "it was to stop after step 3"),
        ({"max_tokens": 150}, 4, "its limit of 150 tokens is reached: 200 are spent"),
        ({"max_cost": 0.01}, 3, "its limit of $0.01 is reached: $0.01 are spent"),
    ],
)
def test_a_limit_ends_the_fork_before_the_next_step_and_is_kept_with_it(
    project: Project, thinker: Run, limits: dict[str, object], steps: int, says: str
) -> None:
    before = asked(project)
    handle = project.fork(thinker, 2, terms=terms_from(**limits))
    run = run_of(project, handle)
    assert run.status == "interrupted"
    assert run.error is not None
    assert run.error.message == says
    assert run.steps == steps
    assert asked(project) - before == steps - 2
    assert terms_of(run).limits == terms_from(**limits).limits
    with pytest.raises(Interrupted, match=says.split(":", maxsplit=1)[0].replace("$", r"\$")):
        handle.result()


def test_a_stopped_fork_can_be_forked_and_its_terms_are_not_inherited(project: Project, thinker: Run) -> None:
    stopped = run_of(project, project.fork(thinker, 2, terms=terms_from(stop_at=3)))
    again = run_of(project, project.fork(stopped, 3))
    assert again.status == "succeeded"
    assert again.steps == 6
    assert terms_of(again) == terms_from()


def test_a_stopped_fork_can_be_resumed_beyond_its_limits(project: Project, thinker: Run) -> None:
    stopped = run_of(project, project.fork(thinker, 2, terms=terms_from(stop_at=3)))
    run = agent_tt.resume(stopped.id, store=project.store_path).result()
    assert (run.id, run.status, run.steps) == (stopped.id, "succeeded", 6)
    assert project.store.state(run.id, 6) == project.store.state(thinker.id, 6)


def test_an_agent_that_catches_exceptions_does_not_get_past_a_limit(project: Project, thinker: Run) -> None:
    before = asked(project)
    run = run_of(project, project.fork(thinker, 0, agent="thinker:stubborn", terms=terms_from(max_tokens=100)))
    assert (run.status, asked(project) - before) == ("interrupted", 1)


def test_an_agent_that_hangs_is_stopped_when_its_time_is_over(project: Project, thinker: Run) -> None:
    run = run_of(project, project.fork(thinker, 0, agent="thinker:hangs", terms=terms_from(time_limit=1.0)))
    assert run.status == "interrupted"
    assert run.error is not None
    assert run.error.message == "its time limit of 1 s is reached"


@pytest.mark.parametrize("entry", ["eats", "nibbles", "gobbles"])
def test_an_agent_that_holds_more_memory_than_it_may_is_stopped_whatever_it_catches(
    project: Project, thinker: Run, entry: str
) -> None:
    run = run_of(project, project.fork(thinker, 0, agent=f"thinker:{entry}", terms=terms_from(max_memory="400MB")))
    assert run.status == "interrupted"
    assert run.error is not None
    assert run.error.class_name == "agent_tt.intercepting.limits:LimitReached"
    assert run.error.message.startswith("its memory limit of 400 MB is reached: it held ")
    assert not (project.folder / "after").exists()


def test_a_memory_limit_that_no_agent_can_begin_with_says_so(project: Project, thinker: Run) -> None:
    run = run_of(project, project.fork(thinker, 0, agent="thinker:eats", terms=terms_from(max_memory="1MB")))
    assert run.status == "interrupted"
    assert run.error is not None
    assert "too small to start" in run.error.message or "before its agent took a step" in run.error.message


def test_a_fork_cannot_stop_before_it_begins(project: Project, thinker: Run) -> None:
    with pytest.raises(UsageError, match="after step 3 of thinker cannot stop at step 3"):
        project.plan(thinker, 3, terms=terms_from(stop_at=3))


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1.5s", 1.5), ("5m", 300), ("1h30m", 5400), ("20ms", 0.02)])
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "0", "five", "5 parsecs", "-3s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a duration"):
        parse_duration(text)


def test_sizes_are_read() -> None:
    assert [parse_memory(text) for text in ("512MB", "2g", "1000")] == [512_000_000, 2_000_000_000, 1000]


# ---------------------------------------------------------------- overrides


def test_overrides_reach_the_agent_and_are_kept(project: Project, thinker: Run) -> None:
    handle = project.fork(thinker, 6, terms=terms_from(overrides=['mood="calm"']))
    run = run_of(project, handle)
    assert terms_of(run).overrides == {"mood": "calm"}
    run = run_of(project, project.fork(thinker, 5, terms=terms_from(overrides={"mood": "calm"})))
    assert project.store.state(run.id, 6)["mood"] == "calm"


def test_a_replay_hands_the_agent_its_overrides_again(project: Project, thinker: Run) -> None:
    run = run_of(project, project.fork(thinker, 5, terms=terms_from(overrides={"mood": "calm"})))
    report = agent_tt.replay(run.id, store=project.store.path)
    assert (report.verdict, report.divergences) == ("as_recorded", ())


def test_overrides_become_attributes_of_an_object(project: Project, thinker: Run) -> None:
    fork = project.fork(thinker, 0, agent="thinker:Agent.run", terms=terms_from(overrides={"temperature": 0}))
    assert project.store.state(run_of(project, fork).id, 1)["temperature"] == 0
    fork = project.fork(thinker, 0, agent="thinker:Agent.run", terms=terms_from(overrides={"heat": 0}))
    run = run_of(project, fork)
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.message == "thinker:Agent.run cannot be told heat: Agent has no such attribute"
    assert run.error.traceback == ""


def test_an_agent_that_takes_no_overrides_is_refused_before_it_runs(project: Project, thinker: Run) -> None:
    with pytest.raises(InvalidEntryPoint, match=r"thinker.py:\d+ plain takes no overrides"):
        project.plan(thinker, 0, agent="thinker:plain", terms=terms_from(overrides={"mood": "calm"}))


# ---------------------------------------------------------------- made-up models


def test_mock_asks_no_model_and_says_so_everywhere(project: Project, thinker: Run) -> None:
    before = asked(project)
    run = run_of(project, project.fork(thinker, 2, terms=terms_from(executor="mock")))
    assert run.status == "succeeded"
    assert asked(project) == before
    assert "mock" in run.tags
    assert project.store.steps(run.id)[2].cost_usd is None
    assert terms_of(run).is_mock
    own = project.store.steps(run.id)[2:]
    assert [step.extra.get("made_up") for step in own] == ["mock"] * 4
    assert [call.meta.get("made_up") for step in own for call in project.store.calls(run.id, step.number)] == [
        "mock"
    ] * 4
    assert project.store.state(run.id, 6) == project.store.state(thinker.id, 6)


def test_mock_varies_with_its_seed_and_is_the_same_for_one(project: Project, thinker: Run) -> None:
    def said(seed: int) -> tuple[str, ...]:
        run = run_of(project, project.fork(thinker, 0, terms=terms_from(executor="mock", seed=seed)))
        return tuple(project.store.state(run.id, 6)["said"])

    first = said(1)
    assert first == said(1)
    assert set(first) <= {"look", "ask", "think", "book"}
    assert len({first, said(2), said(3)}) > 1


def test_a_script_answers_in_order_and_by_match(project: Project, thinker: Run, tmp_path: object) -> None:
    before = asked(project)
    script = [{"match": "never asked", "answer": "no"}, "one", {"answer": "two"}, "three", "four"]
    run = run_of(project, project.fork(thinker, 2, terms=terms_from(script=script)))
    assert project.store.state(run.id, 6)["said"][2:] == ["one", "two", "three", "four"]
    assert asked(project) == before
    assert project.store.steps(run.id)[3].extra["made_up"] == "script"


def test_a_script_that_is_used_up_fails_the_run_with_one_clear_line(project: Project, thinker: Run) -> None:
    run = run_of(project, project.fork(thinker, 2, terms=terms_from(script=["one", {"error": "TimeoutError: slow"}])))
    assert run.error is not None
    assert run.error.short == "TimeoutError: slow"
    run = run_of(project, project.fork(thinker, 2, terms=terms_from(script=["one"])))
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.message == "the script has no answer left for model: 1 were given"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not JSON"),
        ("{}", "not a list"),
        ("[]", "not a list"),
        ('[{"match": "a"}]', r"\[0\] has to have an answer"),
    ],
)
def test_what_is_no_script_is_refused(project: Project, content: str, says: str) -> None:
    file = project.put("script.json", content)
    with pytest.raises(UsageError, match=says):
        terms_from(script=file)


# ---------------------------------------------------------------- executors

CREW = """
import agent_tt

@agent_tt.executor("crew")
async def run_crew(input, state, config, overrides):
    with agent_tt.record("crew", state=state) as run:
        async with run.step("kickoff", state):
            state["told"] = [input["said"], config["fork_step"], config["parent"], overrides]

@agent_tt.executor("quiet")
def run_quietly(input, state, config, overrides):
    return {"ended": len(state["said"])}

@agent_tt.executor("narrow")
def narrow(input): pass

@agent_tt.executor("broken")
def broken(input, state, config, overrides): raise ValueError("the crew is ill")
"""


@pytest.fixture
def crew(project: Project, thinker: Run) -> Run:
    project.put("crew.py", CREW)
    project.put("thinker.py", "import crew\n" + THINKER)
    return thinker


def test_an_async_executor_gets_everything_and_records_the_run(project: Project, crew: Run) -> None:
    run = run_of(project, project.fork(crew, 2, terms=terms_from(executor="crew", overrides={"a": [1]})))
    assert run.error is None
    assert run.status == "succeeded"
    assert project.store.state(run.id, 3)["told"] == [[], 2, "thinker", {"a": [1]}]
    assert terms_of(run).executor == "crew"


@pytest.mark.parametrize("executor", ["crew", "quiet"])
def test_a_replay_of_a_fork_runs_its_executor_again(project: Project, crew: Run, executor: str) -> None:
    run = run_of(project, project.fork(crew, 2, terms=terms_from(executor=executor, overrides={"a": [1]})))
    report = agent_tt.replay(run.id, store=project.store.path)
    assert (report.divergences, [note.kind for note in report.reservations]) == ((), ["nothing recorded"])


def test_an_executor_that_records_nothing_is_one_step(project: Project, crew: Run) -> None:
    run = run_of(project, project.fork(crew, 2, terms=terms_from(executor="quiet")))
    assert run.status == "succeeded"
    assert [step.name for step in project.store.steps(run.id)[2:]] == ["quiet"]
    assert project.store.state(run.id, 3) == {"ended": 2}


def test_an_unknown_executor_is_one_line_that_lists_the_known(project: Project, crew: Run) -> None:
    with pytest.raises(InvalidExecutor) as error:
        project.plan(crew, 2, terms=terms_from(executor="crwe"))
    message = error.value.message
    assert message.startswith("there is no executor crwe: known are ")
    assert {"broken", "crew", "mock", "python", "quiet"} <= set(message.rpartition("are ")[2].split(", "))
    assert error.value.hint.startswith("did you mean crew?")
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("narrow", "the executor narrow takes (input)"),
        ("thinker:ANSWERS", "the executor thinker:ANSWERS is a list, not a function"),
    ],
)
def test_an_executor_that_cannot_be_used_is_one_clear_line(project: Project, crew: Run, name: str, says: str) -> None:
    run = run_of(project, project.fork(crew, 2, terms=terms_from(executor=name)))
    assert run.status == "failed"
    assert run.error is not None
    assert says in run.error.message
    assert "\n" not in run.error.message
    assert run.error.traceback == ""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module:run", "there is no module no_such_module"),
        ("crew:nothing", "crew has no nothing"),
        ("json.nothing:run", "there is no module json.nothing"),
        ("only_here", "there is no executor only_here"),
    ],
)
def test_an_executor_that_the_forks_process_would_not_find_is_refused_before_anything_runs(
    project: Project, crew: Run, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    monkeypatch.setattr(EXECUTORS, "_added", {"only_here": lambda *_: None})
    before = len(project.store.runs())
    with pytest.raises(InvalidExecutor, match=says):
        project.fork(crew, 2, terms=terms_from(executor=name))
    assert len(project.store.runs()) == before


def test_an_executor_that_fails_says_why(project: Project, crew: Run) -> None:
    handle = project.fork(crew, 2, terms=terms_from(executor="broken"))
    with pytest.raises(AgentFailed, match="ValueError: the crew is ill"):
        handle.result()


def test_nothing_of_an_entry_point_is_loaded_unless_it_is_asked_for(
    project: Project, crew: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = project.folder / "site"
    project.put("site/plug.py", "open(__file__ + '.loaded', 'w').close()\ndef run(i, s, c, o): return {'by': 'plug'}\n")
    project.put("site/plug-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: plug\nVersion: 1\n")
    entries = "[agent_tt.executors]\nplugged = plug:run\ngone = plug_gone:run\n"
    project.put("site/plug-1.dist-info/entry_points.txt", entries)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    with pytest.raises(InvalidExecutor, match="plugged"):
        project.plan(crew, 2, terms=terms_from(executor="pluged"))
    run = run_of(project, project.fork(crew, 2, terms=terms_from(executor="gone")))
    assert run.error is not None
    assert "the executor gone (plug_gone:run) cannot be imported: ModuleNotFoundError" in run.error.message
    assert not (site / "plug.py.loaded").exists()
    run = run_of(project, project.fork(crew, 2, terms=terms_from(executor="plugged")))
    assert project.store.state(run.id, 3) == {"by": "plug"}
    assert (site / "plug.py.loaded").exists()


def test_names_that_come_with_agent_tt_cannot_be_registered() -> None:
    for name in ("mock", "python", "", "a:b"):
        with pytest.raises(UsageError, match="cannot be called"):
            agent_tt.executor(name)


def test_the_command_takes_terms_and_shows_them(
    project: Project, thinker: Run, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    from agent_tt_tui.cli.root import run as main

    script = project.put("answers.json", json.dumps(["one", "two", "three", "four"]))
    words = ["fork", thinker.id, "--at", "2", "--store", str(project.store_path)]
    assert main([*words, "--script", str(script), "--stop-at", "5", "--time-limit", "5m", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "models are not asked, 4 answers are given in a script" in shown
    assert "after step 5, 5 m" in shown
    assert main([*words, "--script", str(script), "--stop-at", "5", "--json"]) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == "interrupted"
    assert "it was to stop after step 5" in json.loads(err)["error"]["message"]
    assert main([*words, "--executor", "nobody"]) == 2
    err = capsys.readouterr().err
    assert "there is no executor nobody: known are mock, python" in err
    assert "Traceback" not in err


def test_mock_answers_an_agent_that_is_re_entered(project: Project, thinker: Run) -> None:
    before = asked(project)
    handle = project.fork(thinker, 3, by="replay", terms=terms_from(script=["one", "two", "three"], stop_at=5))
    run = run_of(project, handle)
    assert run.status == "interrupted", run.error
    assert run.error is not None
    assert run.error.message == "it was to stop after step 5"
    assert project.store.state(run.id, 5)["said"][2:] == ["think", "one", "two"]
    assert [step.extra.get("made_up") for step in project.store.steps(run.id)] == [None] * 3 + ["script"] * 2
    assert asked(project) == before


def test_the_input_of_a_run_is_edited_and_the_fork_begins_there(
    project: Project, thinker: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    from agent_tt_tui.cli.root import run as main

    words = ["fork", thinker.id, "--store", str(project.store_path), "--json"]
    assert main([*words, "--input", 'said=["a", "b", "c", "d", "e"]', "--executor", "mock"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["fork_step"], made["steps"]) == (0, 1)
    assert main([*words, "--at", "2", "--input", "said=[]"]) == 2
    assert "a fork after step 2 does not read it" in json.loads(capsys.readouterr().err)["error"]["message"]


def test_what_a_mock_answered_is_said_on_screen(
    project: Project, thinker: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    from agent_tt_tui.cli.root import run as main

    run = run_of(project, project.fork(thinker, 2, terms=terms_from(executor="mock")))
    where = ["--store", str(project.store_path)]
    assert main(["show", run.id, *where]) == 0
    assert capsys.readouterr().out.count("mock: think") == 4
    assert main(["show", run.id, "4", *where]) == 0
    assert "answers made up, no model was asked" in capsys.readouterr().out
    assert main(["show", run.id, "--json", *where]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step.get("made_up") for step in steps] == [None, None, "mock", "mock", "mock", "mock"]
