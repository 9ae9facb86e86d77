"""The package's public face: exactly these names, typed, and nothing loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt

ROOT = Path(__file__).parents[2]
TERMINAL = ["textual", "rich", "click", "pygments"]
LIBRARIES = ["deepdiff", "sqlite_utils", "pandas", "numpy", "pydantic"]
HEAVY = [*TERMINAL, "deepdiff", "sqlite_utils", "sqlite3", "pandas", "numpy", "pydantic", "orjson", "zstandard"]


def python(code: str) -> list[str]:
    """The words that a fresh interpreter prints."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    return result.stdout.split()


def test_the_public_names_are_exactly_these():
    assert set(agent_tt.__all__) == {
        "AgentTTError",
        "ToolDenied",
        "bisect",
        "blame",
        "compare",
        "compare_many",
        "executor",
        "diff",
        "find",
        "find_steps",
        "fork",
        "lane",
        "llm",
        "open_source",
        "patched",
        "record",
        "register",
        "replay",
        "resume",
        "send_spans",
        "sweep",
        "tool",
        "__version__",
    }
    assert len(agent_tt.__all__) == 23
    assert set(agent_tt.__all__) <= set(dir(agent_tt))


@pytest.mark.parametrize("name", agent_tt.__all__)
def test_every_public_name_is_there(name):
    assert getattr(agent_tt, name) is getattr(agent_tt, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'recorder_of_nobody'"):
        _ = agent_tt.recorder_of_nobody


def test_importing_the_package_loads_nothing_heavy():
    assert python(f"import sys, agent_tt; print(*[m for m in {[*HEAVY, 'asyncio']!r} if m in sys.modules])") == []


def test_declaring_tools_loads_no_store_and_no_terminal():
    code = (
        "import sys, agent_tt\n"
        "@agent_tt.tool(effect='read')\ndef f(x): return x\n"
        "assert f(1) == 1\n"
        f"print(*[m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert python(code) == []


def test_recording_loads_no_terminal(tmp_path):
    code = (
        "import sys, agent_tt\n"
        f"with agent_tt.record('x', state={{'a': 1}}, store={str(tmp_path / 'runs.db')!r}) as run:\n"
        "    with run.step('s'): pass\n"
        f"print(*[m for m in {[*TERMINAL, *LIBRARIES]!r} if m in sys.modules])"
    )
    assert python(code) == []


def test_recording_loads_asyncio_only_where_the_agent_does_and_sees_its_tasks_all_the_same(tmp_path):
    code = (
        "import sys, agent_tt\n"
        "@agent_tt.tool(effect='read')\ndef look(x): return x\n"
        f"with agent_tt.record('x', store={str(tmp_path / 'runs.db')!r}) as run:\n"
        "    look(1)\n"
        "    print('asyncio' in sys.modules)\n"
        "    import asyncio\n"
        "    async def one(): look(2)\n"
        "    async def both(): await asyncio.gather(one(), one())\n"
        "    asyncio.run(both())\n"
        f"source = agent_tt.open_source({str(tmp_path / 'runs.db')!r})\n"
        "found = source.run('x')\n"
        "print(*[call.lane for step in source.steps(found.id) for call in source.calls(found.id, step.number)])"
    )
    assert python(code) == ["False", "main", "main/both.0/one.0", "main/both.0/one.1"]


def test_the_interface_type_checks_as_users_call_it(tmp_path):
    pytest.importorskip("mypy", reason="mypy is a tool of the checks, not of the tests")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(ROOT / "tests/typing/api.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert result.returncode == 0, result.stdout
