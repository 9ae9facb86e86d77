"""Commands on a real store: an agent records into it, a fork of it runs, files that are no stores are refused."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.comparing import compare
from agent_tt.model import NewRun, NewStep, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm

AGENT = """
import agent_tt


@agent_tt.tool(effect="read")
def search(query):
    return {"docs": [], "query": query}


@agent_tt.tool(effect="write")
def send(text):
    with open("sent.txt", "a") as sent:
        sent.write(text)
    return "sent"


def main(state=None):
    state = state or {"limit": 3, "tried": 0, "crash": False}
    with agent_tt.record("seeker", state=state) as run:
        while state["tried"] < state["limit"]:
            with run.step("search", state):
                search(query="refunds")
                state["tried"] += 1
                if state["crash"]:
                    raise ValueError("told to crash")
        with run.step("report", state):
            try:
                state["answer"] = send(text="nothing found")
            except Exception as error:
                state["answer"] = f"not sent: {error}"


if __name__ == "__main__":
    main()
"""


@pytest.fixture
def store(tmp_path: Path, command: Command) -> Path:
    del command  # it is asked for because it sets up the folder
    (tmp_path / "seeker.py").write_text(AGENT, encoding="utf-8")
    path = tmp_path / "runs.db"
    environment = os.environ | {"AGENT_TT_STORE": str(path)}
    subprocess.run([sys.executable, "seeker.py"], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE_SECONDS)
    return path


def test_a_run_is_recorded_listed_shown_searched_and_verified(command: Command, store: Path) -> None:
    where = ("--store", str(store))
    (run,) = command("runs", *where, "--json").json
    assert (run["name"], run["status"], run["steps"]) == ("seeker", "succeeded", 4)
    assert command("show", "latest", "2", *where, "--json").json["state"]["tried"] == 2
    assert command("find", "seeker", "nothing found", *where, "--json").json["hits"][0]["step"] == 4
    assert command("verify", *where).code == 0
    assert command("diff", "seeker@1", "seeker@~1", *where, "--json").json == {
        "changes": [{"op": "change", "path": "tried", "old": 1, "new": 3}]
    }


def test_steps_of_lanes_that_changed_places_are_folded_under_all_of_their_numbers(
    command: Command, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "lanes.db", create=True)
    for name, lanes in (("one", "aab"), ("other", "aba")):
        writer = store.begin_run(NewRun(name), {"n": 0})
        for lane in lanes:
            step = writer.open_step(NewStep("take", lane=f"main/thread.{'ab'.index(lane)}"))
            writer.close_step(step, StepEnd("ok"), {"n": 1})
        writer.finish("succeeded")
    store.close()
    said = command("compare", "one", "other", "--store", str(tmp_path / "lanes.db")).out
    (folded,) = (line.split() for line in said.splitlines() if "3×" in line)
    assert [folded[0], folded[folded.index("≡") + 1]] == ["1–3", "1–3"]


def test_a_fork_runs_with_the_edited_state_and_is_compared_with_its_parent(
    command: Command, store: Path, tmp_path: Path
) -> None:
    where = ("--store", str(store))
    done = command("fork", "seeker", "--at", "1", "--set", "limit=2", *where, "--json")
    assert (done.code, done.err) == (0, "")
    assert (done.json["name"], done.json["status"], done.json["steps"]) == ("seeker/fork-1", "succeeded", 3)
    assert (tmp_path / "sent.txt").read_text() == "nothing found"  # by the original alone: forks deny it
    compared = command("compare", "seeker", "seeker/fork-1", *where, "--json").json
    assert (compared["diverged_at"], compared["only_a"]) == (3, [3])
    assert "state edited at limit" in compared["because"]
    comparison = compare("seeker", "seeker/fork-1", store=store)
    assert comparison.outcome_b.denied == {"send": 1}
    assert comparison.diverged_at == 3


def test_a_fork_shows_its_steps_as_they_come_and_allows_what_it_is_told_to(
    command: Command, store: Path, tmp_path: Path
) -> None:
    done = command("fork", "seeker", "--at", "2", "--allow", "send", "--name", "mine", "--store", str(store))
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["seeker", "3", "4", "mine", "effects"]
    assert done.out.splitlines()[-1] == "effects  went out: send ×1"
    assert (tmp_path / "sent.txt").read_text() == "nothing found" * 2


def test_a_fork_whose_agent_fails_ends_with_exit_code_5_and_is_kept(command: Command, store: Path) -> None:
    done = command("fork", "seeker", "--at", "1", "--set", "crash=true", "--store", str(store))
    assert done.code == 5
    assert "ValueError: told to crash" in done.err
    assert "Traceback" not in done.err
    assert command("runs", "--store", str(store), "--json").json[0]["status"] == "failed"


WAITING = """
import sys, time
import agent_tt

def main(state=None):
    with agent_tt.record("waiter", state=state or {}) as run:
        with run.step("begun"): pass
        if state is not None:
            with run.step("waiting"): time.sleep(600)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_fork_whose_command_is_told_to_end_is_stopped_with_it(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "waiter.py").write_text(WAITING, encoding="utf-8")
    environment = os.environ | {"AGENT_TT_STORE": str(tmp_path / "runs.db")}
    subprocess.run([sys.executable, "waiter.py"], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE_SECONDS)
    arguments = [sys.executable, "-m", "agent_tt_tui", "fork", "waiter", "--at", "0"]
    number = getattr(signal, name)
    with subprocess.Popen(
        arguments,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # the tests themselves may run under `nohup`
    ) as fork:
        assert fork.stdout is not None
        assert any("begun" in line for line in fork.stdout)
        fork.send_signal(number)
        assert fork.wait(timeout=PATIENCE_SECONDS) == 130
    run = command("runs", "--store", environment["AGENT_TT_STORE"], "--json").json[0]
    assert (run["name"], run["status"]) == ("waiter/fork-1", "interrupted")


def test_a_dry_run_says_what_would_run_and_runs_nothing(command: Command, store: Path) -> None:
    where = ("--store", str(store))
    done = command("fork", "seeker", "--at", "1", "--set", "limit=2", "--dry-run", *where, "--json")
    assert done.json["function"] == "main"
    edit = {"op": "set", "path": "limit", "value": 2, "old": 3, "to": None}
    assert done.json["edits"] == [{**edit, "target": "state", "step": None, "call": None}]
    assert done.json["by"] == "restore"
    assert {row["name"]: row["policy"] for row in done.json["boundary"]} == {"send": "deny", "search": "live"}
    assert "Nothing was run." in command("fork", "seeker", "--at", "1", "--dry-run", *where).out
    assert len(command("runs", *where, "--json").json) == 1


def test_policies_come_from_options_and_files_and_the_plan_says_from_where(
    command: Command, store: Path, tmp_path: Path
) -> None:
    where = ("--at", "1", "--store", str(store), "--dry-run")
    table = '[tool.agent-tt.policy]\nsend = "live"\n"sear*" = { stub = { docs = ["a"] } }\n'
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    shown = [line.split() for line in command("fork", "seeker", *where).out.splitlines()]
    assert ["send", "(writes)", "1", "1", "live", "pyproject.toml"] in shown
    assert ["search", "(tool)", "3", "2", 'stub:{"docs":', '["a"]}', "pyproject.toml"] in shown
    said = ("--policy", "send=error:TimeoutError: late", "--policy", "*read=recorded-or-ask", "--json")
    rows = {row["name"]: row for row in command("fork", "seeker", *where, *said).json["boundary"]}
    assert (rows["send"]["policy"], rows["send"]["rule"]) == ("stub", "error:TimeoutError: late")
    assert (rows["search"]["policy"], rows["search"]["source"]) == ("recorded", "you")
    refused = command("fork", "seeker", *where, "--policy", "send=life")
    assert (refused.code, "'life' is not a policy" in refused.err) == (2, True)
    (tmp_path / "pyproject.toml").write_text(table.replace("live", "alive"), encoding="utf-8")
    refused = command("fork", "seeker", *where)
    assert (refused.code, f"{tmp_path / 'pyproject.toml'}: policy.send" in refused.err) == (2, True)


def test_every_option_that_changes_something_is_one_edit(command: Command, store: Path) -> None:
    where = ("--store", str(store), "--dry-run", "--json")
    changes = ("--set", "limit=2", "--insert", "tried=1", "--by", "replay", "--at", "1")
    assert command("fork", "seeker", *changes, *where).code == 2  # `tried` is not a list
    done = command(
        *("fork", "seeker", "--at", "2", "--mute", "2", "--delete", "crash", "--move", "tried=attempts"),
        *("--system", "Be brief.", "--model", "other", "--param", "temperature=0", *where),
    )
    assert [(edit["target"], edit["op"]) for edit in done.json["edits"]] == [
        *[("step", "mute"), ("state", "set"), ("state", "delete"), ("state", "move")],
        *[("system", "set"), ("model", "set"), ("parameter", "set")],
    ]
    done = command("fork", "seeker", "--result", '2.docs=["found"]', *where)
    assert (done.json["by"], done.json["step"]) == ("replay", 1)
    assert done.json["edits"][0] == {
        "op": "set",
        "path": "docs",
        "value": ["found"],
        "old": [],
        "to": None,
        "target": "result",
        "step": 2,
        "call": 1,
    }
    shown = command("fork", "seeker", "--error", "2=TimeoutError: late", "--store", str(store), "--dry-run").out
    assert "by replay: main() runs from its beginning" in shown
    assert "answered  1 call from the recording" in shown
    assert "error of call 1 in step 2" in shown


def test_a_fork_whose_code_has_changed_on_the_way_ends_with_1_and_the_choices(command: Command, store: Path) -> None:
    script = store.parent / "seeker.py"
    script.write_text(AGENT.replace('query="refunds"', 'query="returns"'), encoding="utf-8")
    done = command("fork", "seeker", "--at", "2", "--set", "limit=2", "--by", "replay", "--store", str(store), "--json")
    assert (done.code, done.json["status"], done.json["way_back_in"]) == (1, "failed", "replay")
    said = done.json["error"]["message"]
    assert said.startswith("cannot re-enter at step 2: step 1 no longer asks what was recorded (query:")
    assert said.endswith("Choose: fork at step 0, or --accept-changes to go live from step 1")
    accepted = ("--by", "replay", "--accept-changes", "--store", str(store), "--json")
    done = command("fork", "seeker", "--at", "2", "--set", "limit=2", *accepted)
    assert (done.code, done.json["status"], done.json["fork_step"]) == (0, "succeeded", 0)


def test_a_fork_shows_its_edits_what_is_odd_about_them_and_which_tools_were_denied(
    command: Command, store: Path
) -> None:
    edits = ("--set", "limit=2", "--set", "limits=9", "--allow", "nosuch")
    planned = command("fork", "seeker", "--at", "1", *edits, "--dry-run", "--store", str(store)).out
    done = command("fork", "seeker", "--at", "1", *edits, "--store", str(store)).out
    for out in (planned, done):
        assert "limit  3 → 2" in out
        assert "limits is a new key of the state: did you mean limit?" in out
        assert "nosuch is allowed, but nothing by that name is known of seeker" in out
    assert "denied: send(" in done
    assert done.splitlines()[-1] == "effects  held back: send ×1"


def test_an_edit_that_does_not_fit_is_refused_before_anything_runs(command: Command, store: Path) -> None:
    done = command(
        "fork", "seeker", "--at", "1", "--set", "limits=2", "--set", "a.b=1", "--store", str(store), "--json"
    )
    assert (done.code, done.error["kind"]) == (2, "invalid_edit")
    assert len(command("runs", "--store", str(store), "--json").json) == 1


def newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '999' WHERE key = 'format'")
    connection.commit()
    connection.close()


def test_files_that_cannot_be_used_are_told_apart(command: Command, store: Path, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("some text")
    newer(store)
    expected = {
        store: (4, "newer_format"),
        text: (4, "not_a_store"),
        tmp_path: (4, "not_a_store"),
        tmp_path / "none.db": (3, "store_not_found"),
    }
    for path, (code, kind) in expected.items():
        programs = command("runs", "--store", str(path), "--json")
        assert (programs.code, programs.error["kind"]) == (code, kind)
        people = command("runs", "--store", str(path))
        assert 1 <= len(people.err.splitlines()) <= 2
        assert programs.error["hint"]
    assert not (tmp_path / "none.db").exists()


def test_without_any_store_nothing_is_made_and_a_first_thing_to_do_is_named(command: Command, tmp_path: Path) -> None:
    done = command("runs")
    assert done.code == 3
    assert "agent-tt open refund-loop" in done.err
    assert list(tmp_path.rglob("*.db")) == []


@pytest.mark.cold
def test_commands_load_no_recorder_and_no_event_loop(store: Path) -> None:
    """The agents that they start do, in processes of their own."""
    commands = [
        ["runs"],
        ["show", "seeker"],
        ["record", "--", sys.executable, "-c", "pass"],
        ["replay", "seeker"],
        ["fork", "seeker", "--at", "1", "--set", "limit=2"],
        ["compare", "seeker", "latest"],
    ]
    heavy = [
        "asyncio",
        "agent_tt.recording.runs.recorder",
        "agent_tt.recording.lanes.hooks",
        "agent_tt.replaying.engine",
    ]
    script = (
        "import sys; from agent_tt_tui.cli.root import run\n"
        f"for command in {commands!r}:\n"
        f"    code = run(['--store', {str(store)!r}, *command])\n"
        f"    print('::', command[0], code, *[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )
    told = [line for line in result.stderr.splitlines() if line.startswith("::")]
    assert told == [f":: {command[0]} {0 if command[0] != 'compare' else 1}" for command in commands], result.stderr
