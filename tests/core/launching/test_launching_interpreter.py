from __future__ import annotations

from pathlib import Path

import pytest

from agent_tt.launching.interpreter import is_python, python_command


@pytest.mark.parametrize(
    ("line", "flags", "kind", "target", "arguments"),
    [
        ("agent.py", "", "script", "agent.py", ()),
        ("-u agent.py -S --fast", "u", "script", "agent.py", ("-S", "--fast")),
        ("-m pkg.tool -I", "", "module", "pkg.tool", ("-I",)),
        ("-mpkg.tool x", "", "module", "pkg.tool", ("x",)),
        ("-c pass -E", "", "code", "pass", ("-E",)),
        ("-W error -X utf8 -Xdev agent.py", "", "script", "agent.py", ()),
        ("-OOIB agent.py", "OIB", "script", "agent.py", ()),
        ("-Bm tool", "B", "module", "tool", ()),
        ("-uWerror agent.py", "u", "script", "agent.py", ()),
        ("--check-hash-based-pycs never agent.py", "", "script", "agent.py", ()),
        ("- a b", "", "stdin", "", ("a", "b")),
        ("", "", "stdin", "", ()),
    ],
)
def test_command_lines_are_read_as_python_reads_them(line, flags, kind, target, arguments):
    command = python_command(line.split())
    assert command.flags == frozenset(flags)
    assert (command.kind, command.target, command.arguments) == (kind, target, arguments)


@pytest.mark.parametrize("name", ["python", "python3", "/usr/bin/python3.11", "python3.13t", "PyPy3", "python.exe"])
def test_interpreters_are_known_by_name(name):
    assert is_python(name)


@pytest.mark.parametrize("name", ["uv", "poetry", "python-config", "my_agent.py", "ipython"])
def test_other_programs_are_none(name):
    assert not is_python(name)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("src/agent.py", "agent"),
        ("app/__main__.py", "app"),
        ("-m a.b", "b"),
        ("-m a.__main__", "a"),
        ("-c 1", "python -c"),
    ],
)
def test_runs_are_named_after_what_runs(line, name):
    assert python_command(line.split()).name == name


def test_where_modules_are_searched_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert python_command(["sub/agent.py"]).folder() == tmp_path.resolve() / "sub"
    assert python_command(["-m", "agent"]).folder() == Path.cwd()
    assert python_command(["-P", "agent.py"]).folder() is None
