"""pytest collects goldens: what passes, fails and cannot be run; updating them; on several workers; the fixture."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.core.golden.desk import RULES, keep, record, write

from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.outside_rules import Judged
from agent_tt.golden.run_rules import AtMost, Ends


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\ntestpaths = ['goldens', 'checks']\n")
    (tmp_path / "checks").mkdir()
    record(tmp_path)
    return tmp_path


def run_pytest(project: Path, *more: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a project, with our plugin and no other that happens to be installed."""
    words = [sys.executable, "-m", "pytest", "-p", "agent_tt.pytest_plugin", "-p", "no:cacheprovider", *more]
    environment = {name: value for name, value in os.environ.items() if name != "AGENT_TT_STORE"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    return subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_goldens_pass_fail_and_error_on_two_workers_without_the_store_they_were_recorded_in(project):
    for name in ("one", "two"):
        keep(project, name)
    strict = keep(project, "strict", [AtMost("steps", 2)])
    strict.path.write_text(strict.path.read_text().replace("limit = 2", "limit = 1"))
    keep(project, "damaged").recording_path.write_bytes(b"nothing")
    (project / "runs.db").unlink()
    done = run_pytest(project, "-p", "xdist", "-n", "2", "--junitxml", "out.xml")
    assert done.returncode == 1, done.stdout
    cases = ET.parse(project / "out.xml").getroot().iter("testcase")
    found = {case.get("name"): list(case) for case in cases}
    assert {name: [child.tag for child in children] for name, children in found.items()} == {
        "one": [],
        "two": [],
        "strict": ["failure"],
        "damaged": ["error"],
    }
    said = found["strict"][0].text
    assert said.count("at most 1 step: took 2 steps (step 2)") == 1
    assert "agent-tt compare " in said
    assert "Traceback" not in said
    assert "is damaged" in found["damaged"][0].text


WARM = """
from contextlib import ExitStack
from tests.warm_processes import warm_processes

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        stack = ExitStack()
        stack.enter_context(warm_processes())
        config.add_cleanup(stack.close)
"""


def test_fifty_goldens_pass_on_two_workers_with_and_without_the_store_they_were_recorded_in(tmp_path):
    (tmp_path / "conftest.py").write_text(WARM)
    for folder in (tmp_path / "with", tmp_path / "without"):
        folder.mkdir()
        record(folder)
        packed = keep(folder, "number-0")
        for number in range(1, 25):
            copy = packed.path.read_text().replace('name = "number-0"', f'name = "number-{number}"')
            (packed.path.parent / f"number-{number}.toml").write_text(copy)
    (tmp_path / "without" / "runs.db").unlink()
    done = run_pytest(tmp_path, "-p", "xdist", "-n", "2", PYTHONPATH=str(Path(__file__).parents[3]))
    assert (done.returncode, "50 passed" in done.stdout) == (0, True), done.stdout


def test_what_was_not_judged_is_said_of_what_passed_and_stands_in_junit(project):
    asks = Judged("Is it polite?", "http://127.0.0.1:1/chat/completions", "m")
    keep(project, "kept", [Ends(), asks])
    done = run_pytest(project, "-W", "error", "--junitxml", "out.xml")
    assert done.returncode == 0, done.stdout
    assert "goldens/kept.toml::kept: not judged: m says yes: Is it polite?" in done.stdout
    (said,) = ET.parse(project / "out.xml").getroot().iter("property")
    assert said.get("value") == "not judged: m says yes: Is it polite?"
    assert run_pytest(project, "--golden-judge").returncode == 1


def test_an_update_is_shown_and_written_only_where_that_is_asked_for(project):
    golden = keep(project, "kept", RULES)
    write(project, ("EUR.", "EUR!"), ("cost_usd=0.001", "cost_usd=0.002"))
    before = golden.path.read_text()
    assert run_pytest(project, "--golden-write").returncode == 4
    shown = run_pytest(project, "--golden-update")
    assert (shown.returncode, golden.path.read_text()) == (1, before)
    assert "at most $0.001 → at most $0.002" in shown.stdout
    written = run_pytest(project, "--golden-update", "--golden-write", "-rs")
    assert (written.returncode, "1 skipped" in written.stdout) == (0, True)
    assert AtMost("dollars", 0.002) in [kept.rule for kept in read_golden(golden.path).rules]
    assert "1 passed" in run_pytest(project).stdout


def test_a_recorded_run_is_opened_for_assertions(project):
    (project / "checks" / "test_desk.py").write_text(
        """
import pytest

def test_desk(recorded_run):
    run = recorded_run("desk", store="runs.db")
    assert (run.status, len(run.steps), [step.name for step in run.steps]) == ("succeeded", 2, ["look up", "answer"])
    assert (run.steps[0].state["paid"], run.steps[1].state["paid"]) == (None, 59.9)
    assert run.steps[-1].state["answer"] == run.answer == "You have 89.85 EUR."
    (found,) = run.calls("find")
    assert (found.step, found.args, found.result["paid"]) == (1, {"order": "K-1"}, 59.9)
    run.assert_tool_called("find", order="K-1", times=1)
    run.assert_tool_called("refund", times=0)
    with pytest.raises(AssertionError, match="refund was called 0 times; desk called find .step 1., rate .step 1."):
        run.assert_tool_called("refund")
    with pytest.raises(AssertionError, match="K-2"):
        run.assert_tool_called("find", order="K-2")
    with pytest.raises(IndexError, match="no step 3: it took 2"):
        run.steps[3]
"""
    )
    done = run_pytest(project)
    assert "1 passed" in done.stdout, done.stdout


def test_the_plugin_loads_nothing_of_ours_before_it_is_needed():
    code = "import sys, agent_tt.pytest_plugin; print([name for name in sys.modules if name.startswith('agent_tt.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(eval(done.stdout)) <= {"agent_tt._lazy", "agent_tt._version", "agent_tt.pytest_plugin"}
