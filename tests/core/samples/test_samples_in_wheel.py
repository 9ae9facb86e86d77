"""The wheel carries the sample agents and their runs, and they work from there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from agent_tt import samples

ROOT = Path(__file__).resolve().parents[3]
BUILD = """
import sys
from hatchling.build import build_sdist, build_wheel
print({"wheel": build_wheel, "sdist": build_sdist}[sys.argv[1]](sys.argv[2]))
"""
ENSURE = """
import sys
from pathlib import Path
import agent_tt
from agent_tt import samples
store = Path(sys.argv[1])
run_id = samples.ensure("refund-loop", store)
forked = agent_tt.fork(run_id, 1, store=store, agent="refund_loop.py:main_v2").result()
print(agent_tt.__file__, samples.folder(), forked.status, forked.steps, sep="\\n")
"""


def distribution(kind: str, target: Path) -> Path:
    pytest.importorskip("hatchling", reason="building needs hatchling")
    command = [sys.executable, "-c", BUILD, kind, str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return distribution("wheel", tmp_path_factory.mktemp("wheel"))


def test_wheel_holds_agents_and_their_runs(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = {name.removeprefix("agent_tt/_samples/") for name in archive.namelist() if "/_samples/" in name}
        runs = archive.read("agent_tt/_samples/runs.db")
    assert inside >= {"runs.db", "README.md", "sample_model.py", *(sample.file for sample in samples.names())}
    assert not any("__pycache__" in name for name in inside)
    assert runs == (samples.folder() / samples.SHIPPED_RUNS).read_bytes()


def test_wheel_holds_the_parts_of_the_page_that_runs_are_exported_as(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = {name.rpartition("/")[2] for name in archive.namelist() if "/exporting/html/" in name}
    assert inside >= {"page.html", "page.css", "page.js", "tree.js", "values.js"}


def test_samples_can_be_opened_and_forked_from_an_unpacked_wheel(wheel, tmp_path):
    home = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(home)
    done = subprocess.run(
        [sys.executable, "-c", ENSURE, str(tmp_path / "runs.db")],
        env=os.environ | {"PYTHONPATH": str(home)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    package, folder, status, steps = done.stdout.splitlines()
    assert Path(package).is_relative_to(home)
    assert folder == str(home / "agent_tt" / "_samples")
    assert (status, steps) == ("succeeded", "2")


def test_source_distribution_holds_agents_and_their_runs(tmp_path):
    with tarfile.open(distribution("sdist", tmp_path)) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside >= {
        "sample_runs/runs.db",
        "sample_runs/build.py",
        *(f"sample_runs/{s.file}" for s in samples.names()),
    }
