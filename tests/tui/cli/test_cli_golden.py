"""`agent-tt golden` and `agent-tt test`, on the fork that mends refund-loop."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.tui.readme_parts import DOCS, code_blocks

import agent_tt
from agent_tt import samples
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.opened_run import OpenedRun
from agent_tt.golden.running import GoldenResult
from agent_tt.golden.watching import Began, Ended, Saved, Unread
from agent_tt.model import Usage
from agent_tt.model.facts import RunFacts
from agent_tt.replaying.report import LiveCall, LivePart
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm

SAMPLES = Path(__file__).parents[3] / "sample_runs"


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with refund-loop, and its fork that is handed the first state and answers."""
    path = tmp_path_factory.mktemp("mended") / "runs.db"
    samples.ensure("refund-loop", path)
    agent_tt.fork("refund-loop", 0, agent="refund_loop.py:main_v2", store=path).result()
    return path


@pytest.fixture
def project(mended: Path, tmp_path: Path) -> Path:
    """A project with the sample's code and a store of its runs."""
    shutil.copy(mended, tmp_path / "runs.db")
    for name in ("refund_loop.py", "sample_model.py"):
        shutil.copy(SAMPLES / name, tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def save(command: Command, *more: str):
    words = ("golden", "save", "refund-loop/fork-1", "--store", "runs.db", "--name", "mended", *more)
    return command(*words)


def point(project: Path, agent: str) -> Path:
    """Let the golden run the project's own code, as it would where the agent was recorded in the project."""
    path = project / "tests/agents/mended.toml"
    lines = [
        f'agent = "{agent}"' if line.startswith("agent =") else 'root = "../.."' if line.startswith("root =") else line
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_fork_that_mends_an_agent_is_kept_and_its_first_version_fails_with_the_step(command, project):
    saved = save(command)
    assert saved.code == 0
    assert "tried on refund-loop" in saved.out
    point(project, "refund_loop.py:main_v2")
    assert command("test").out == "✓  mended\n1 passed\n"
    point(project, "refund_loop.py:main")
    tested = command("test")
    assert (tested.code, "✗  mended  asks what was not recorded at step 2: support_model" in tested.out) == (1, True)
    assert "1 failed" in tested.out
    (line,) = [line for line in tested.out.splitlines() if "agent-tt compare" in line]
    compared = command(*line.split()[1:])
    assert "parted at 2" in compared.out


def test_that_a_thread_in_the_recording_is_not_redacted_is_said_where_one_is(command, project):
    assert "redacted" not in save(command).out
    with closing(open_source(project / "runs.db")) as store:
        store.set_metadata(store.run("refund-loop").id, RunFacts.langgraph_thread.entry("desk"))
    assert "The thread refund-loop is in the recording, and none of it is redacted" in save(command, "--replace").out


def test_a_rule_that_fails_is_named_with_its_step_and_difference(command, project):
    save(command, "--rule", 'kind = "state", path = "attempts", equals = 1')
    path = point(project, "refund_loop.py:main_v2")
    path.write_text(path.read_text().replace("equals = 1", "equals = 2"))
    tested = command("test", "tests/agents", "--json")
    assert (tested.code, tested.json["failed"]) == (1, 1)
    (rule,) = tested.json["goldens"][0]["rules"]
    assert (rule["verdict"], rule["step"]) == ("failed", 2)
    assert rule["differences"] == [{"path": "attempts", "old": "2", "new": "1"}]
    assert "attempts  2 → 1" in command("test").out


def test_what_could_not_be_run_is_neither_failed_nor_passed(command, project):
    save(command)
    point(project, "refund_loop.py:main_v9")
    tested = command("test", "--json")
    assert (tested.code, tested.json["unknown"], tested.json["failed"]) == (2, 1, 0)
    assert "main_v9" in tested.json["goldens"][0]["problem"]
    point(project, "refund_loop.py:main_v2")
    (project / "sample_model.py").unlink()
    tested = command("test", "--json")
    assert (tested.code, tested.json["unknown"], tested.json["failed"]) == (2, 1, 0)
    assert "could not run: ModuleNotFoundError" in tested.json["goldens"][0]["problem"]
    (project / "tests/agents/broken.toml").write_text("# agent-tt golden 1\nname = 3\n")
    assert command("golden", "list").code == 2
    assert "2 could not be run" in command("test").out
    assert command("test", "nowhere").code == 3
    assert command("test", "pyproject.toml").code == 2


def test_a_rule_that_the_run_does_not_pass_is_refused_and_nothing_is_kept(command, project):
    refused = save(command, "--rule", 'kind = "at_most", of = "steps", limit = 1')
    assert (refused.code, "took 2 steps" in refused.err) == (2, True)
    assert not (project / "tests").exists()
    assert save(command, "--dry-run").out.endswith("Nothing was kept.\n")
    assert not (project / "tests").exists()


def test_goldens_are_listed_shown_and_not_overwritten_unasked(command, project):
    saved = save(command, "--also", 'kind = "calls", tool = "search_docs", at_most = 1', "--json")
    kinds = [rule["kind"] for rule in saved.json["rules"]]
    assert (kinds[0], kinds[-1]) == ("ends", "calls")
    others = [each["verdict"] for each in saved.json["rules"][-1]["others"]]
    assert others == ["failed"]
    assert saved.json["bytes"] < 64_000
    assert save(command).code == 2
    assert save(command, "--replace").code == 0
    listed = command("golden", "list", "--json").json
    assert [(each["name"], each["problem"]) for each in listed] == [("mended", None)]
    shown = command("golden", "show", "tests/agents/mended.toml", "--json").json
    assert (shown["steps"], shown["run"]["agent"]) == (2, "refund_loop.py:main_v2")
    assert "ends well" in command("golden", "show", "tests/agents/mended.toml").out
    path = project / "tests/agents/mended.toml"
    path.write_text(path.read_text().replace("\n", '\nlive = ["search_*"]\npasses = "2 of 3"\n', 1))
    assert "with --live  search_*  (passes 2 of 3 times)" in command("golden", "show", str(path)).out


def test_the_assertions_on_a_recorded_run_that_are_shown_hold(project):
    (example,) = code_blocks(DOCS / "golden.md", "python")
    shown: dict[str, Any] = {}
    exec(example, shown)
    with closing(open_source(project / "runs.db")) as source:
        shown["test_it_looked_the_order_up_once"](lambda run: OpenedRun(source, source.run(run)))


def test_a_command_that_has_to_end_well_is_a_rule_and_its_end_is_shown(command, project):
    saved = save(command, "--rule", 'kind = "ends"', "--verify", f"{sys.executable} check.py")
    assert (saved.code, not (project / "made").exists()) == (0, True)
    (project / "check.py").write_text("import sys\nopen('made', 'w')\nsys.exit('the orders are gone')\n")
    point(project, "refund_loop.py:main_v2")
    tested = command("test")
    assert (tested.code, "check.py ends well: exit code 1" in tested.out) == (1, True)
    assert "    the orders are gone\n" in tested.out
    assert (project / "made").exists()


def test_runs_of_goldens_are_kept_in_the_store_that_is_named(command, project):
    save(command)
    point(project, "refund_loop.py:main_v2")
    tested = command("test", "--json", "--store", "elsewhere.db")
    assert tested.json["goldens"][0]["store"] == str(project / "elsewhere.db")
    assert json.dumps(tested.json).count('"verdict": "passed"') == len(tested.json["goldens"][0]["rules"])


def test_what_happens_while_goldens_are_watched_is_said_and_ctrl_c_ends_it(command, project, monkeypatch):
    save(command)
    golden = read_golden(point(project, "refund_loop.py:main_v2"))
    made = (LiveCall("llm", "support_model", 1), LiveCall("llm", "support_model", 2))
    live = LivePart(made, answered=3, saved=Usage(1000, 200, 0.004))
    broken = GoldenResult(golden, "failed", problem="it asks something new", live=live)

    def events(*_args, **_how):
        yield Saved((project / "refund_loop.py",), ("mended",))
        yield Began(golden)
        yield Ended(broken, "passed")
        yield Unread(project / "other.toml", "it is not TOML")
        raise KeyboardInterrupt

    monkeypatch.setattr("agent_tt.golden.watching.watch_goldens", events)
    watched = command("golden", "watch")
    assert (watched.code, watched.err) == (0, "")
    assert watched.out.splitlines() == [
        "refund_loop.py was saved",
        "✗  mended  broke  it asks something new",
        "  asked support_model 2×; saved 3 calls, 1,200 tokens, $0.004",
        "?  other  could not run: it is not TOML",
    ]
    told = [json.loads(line) for line in command("golden", "watch", "--json").out.splitlines()]
    assert [each["event"] for each in told] == ["saved", "began", "ended", "unread"]
    assert (told[2]["change"], told[2]["live"]["answered"]) == ("broke", 3)


def test_watching_goldens_ends_cleanly_with_ctrl_c(command, project):
    save(command)
    point(project, "refund_loop.py:main_v2")
    words = [sys.executable, "-m", "agent_tt_tui", "golden", "watch", "--json"]
    with subprocess.Popen(words, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert json.loads(process.stdout.readline())["event"] == "began"
        assert json.loads(process.stdout.readline())["outcome"] == "passed"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, rest, errors) == (0, "", "")
