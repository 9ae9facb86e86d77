"""Programs that are recorded from outside run as they would without us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import NotFound, UsageError
from agent_tt.launching.command import record_command

if TYPE_CHECKING:
    from conftest import Project

TOOLS = """
def look(what):
    return f"saw {what}"

def count(number):
    with open("count", "a") as file:
        print(number, file=file)
    return number
"""

CURIOUS = """
import __main__, os, pickle, subprocess, sys

def around(frame):
    return [frame.f_code.co_name, *(around(frame.f_back) if frame.f_back else [])]

class Thing:
    def __eq__(self, other):
        return type(other) is Thing

if __name__ == "__main__":
    print(sys.argv, __name__, __main__ is sys.modules["__main__"], around(sys._getframe()))
    print([os.path.realpath(entry) for entry in sys.path], sys.flags, sys.executable, os.getcwd())
    print(pickle.loads(pickle.dumps(Thing())) == Thing(), Thing.__module__, __spec__ and __spec__.name)
    print(os.environ.get("OWN_SITE"), "sitecustomize" in sys.modules, "usercustomize" in sys.modules)
    print(sys.stdin.read(), sys.stdin.isatty())
    print("to the error stream", file=sys.stderr)
"""


class TestAsBare:
    @pytest.mark.parametrize("how", ["script", "module"])
    def test_a_program_finds_everything_as_without_us(self, project: Project, how: str) -> None:
        (project.folder / "own").mkdir()
        (project.folder / "own" / "sitecustomize.py").write_text("import os; os.environ['OWN_SITE'] = 'ran'\n")
        project.write(curious=CURIOUS, pkg____init____="", pkg__tool=CURIOUS)
        arguments = {"script": ["curious.py"], "module": ["-m", "pkg.tool"]}[how]
        given = {
            "stdin": "typed",
            "environment": {"PYTHONPATH": "own" if how == "script" else "", "PYTHONHASHSEED": "5"},
        }
        bare = project.bare(*arguments, "a", "--json", "--store", "x", **given)
        recorded = project.record(*arguments, "a", "--json", "--store", "x", **given)
        assert recorded.out == bare.out
        assert (recorded.code, recorded.err) == (bare.code, bare.err) == (0, "to the error stream\n")
        (run,) = project.runs()
        assert run.name == {"script": "curious", "module": "tool"}[how]
        assert run.status == "succeeded"

    def test_an_uncaught_exception(self, project: Project) -> None:
        project.write(agent="def f():\n    raise ValueError('broken') from KeyError('k')\n\nf()\n")
        bare, recorded = project.bare("agent.py"), project.record("agent.py")
        assert (recorded.code, recorded.err) == (bare.code, bare.err)
        assert "ValueError: broken" in bare.err
        (run,) = project.runs()
        assert (run.status, run.error.short) == ("failed", "ValueError: broken")
        assert run.error.traceback == bare.err

    @pytest.mark.parametrize(
        ("code", "exit_code", "status"),
        [
            ("import sys; sys.exit(3)", 3, "failed"),
            ("raise KeyboardInterrupt", 130, "interrupted"),
            ("import os; os.kill(os.getpid(), 9)", 137, None),
        ],
    )
    def test_exit_codes_pass_through(self, project: Project, code: str, exit_code: int, status: str | None) -> None:
        project.write(tools=TOOLS, agent=code)
        recorded = project.record("agent.py")
        assert (recorded.out, recorded.told.startswith("agent-tt:")) == ("", True)
        assert recorded.code == exit_code
        if status is None:  # it recorded nothing, and was killed before its end could be seen
            assert not project.store_path.exists()
        else:
            assert [run.status for run in project.runs()] == [status]

    def test_the_store_is_told_how_a_process_ended_that_could_not_say_it(self, project: Project) -> None:
        body = "import tools, os\ntools.look(1)\n"
        project.write(tools=TOOLS, left=body + "os._exit(4)", killed=body + "os.kill(os.getpid(), 15)")
        for name, code in (("left", 4), ("killed", 143)):
            assert project.record(f"{name}.py", options=["--call", "tools.look=read"]).code == code
        left, killed = project.runs()
        assert (left.status, left.error.message) == ("crashed", "it ended with exit code 4")
        assert (killed.status, killed.error.message) == ("interrupted", "it ended with SIGTERM")
        assert [call.result for call in project.calls(killed)] == ["saw 1"]

    def test_what_is_kept_of_the_command(self, project: Project) -> None:
        project.write(agent="print(hash('a'))")
        first = project.record("-X", "utf8", "agent.py", "a b")
        (run,) = project.runs()
        assert run.metadata["command"] == ["-X", "utf8", "agent.py", "a b"]
        assert run.metadata["arguments"] == ["a b"]
        assert run.metadata["script"] == str(project.folder / "agent.py")
        assert (run.code.entry, run.code.cwd) == ("agent.py:__main__", str(project.folder))
        seed = run.metadata["PYTHONHASHSEED"]
        assert project.bare("agent.py", environment={"PYTHONHASHSEED": str(seed)}).out == first.out

    def test_signals_reach_the_program(self, project: Project) -> None:
        project.write(
            agent="import os, signal, sys\n"
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
            "signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b'heard\\n'))\n"
            "print('ready', flush=True)\nwhile True: signal.pause()\n"
        )
        process = subprocess.Popen(
            project.command("agent.py"),
            cwd=project.folder,
            env=project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGUSR1)
            assert process.stdout.readline() == "heard\n"
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 9

    def test_ctrl_c_interrupts_the_program_once(self, project: Project) -> None:
        project.write(agent="import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
        process = subprocess.Popen(
            project.command("agent.py"),
            cwd=project.folder,
            env=project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 130
        assert err.count("KeyboardInterrupt") == 1
        assert [run.status for run in project.runs()] == ["interrupted"]


class TestOtherProcesses:
    def test_a_command_that_is_no_python_but_starts_one(self, project: Project) -> None:
        project.write(tools=TOOLS, agent="import tools\ntools.look(1)\nraise SystemExit(6)")
        done = project.record("-c", f"{sys.executable} agent.py", program="sh", options=["--call", "tools.look=read"])
        (run,) = project.runs()
        assert (done.code, run.name, run.status) == (6, "agent", "failed")

    @pytest.mark.parametrize("flag", ["-I", "-S", "-E", "-sE"])
    def test_flags_that_keep_the_recording_out_are_refused(self, project: Project, flag: str) -> None:
        with pytest.raises(UsageError, match=f"started with -{flag[-1]} cannot be recorded"):
            record_command([sys.executable, flag, "-c", "1/0"], store=project.store_path)

    def test_a_program_that_is_not_there(self, project: Project) -> None:
        with pytest.raises(NotFound, match="there is no program 'no-such-program'"):
            record_command(["no-such-program"], store=project.store_path)

    def test_a_command_that_starts_no_python_says_so(self, project: Project) -> None:
        recorded = record_command(["true"], store=project.store_path)
        assert recorded.exit_code == 0
        assert "nothing was recorded: boot not loaded" in recorded.problem.message


class TestProgramsThatRecordThemselves:
    OWN = "import agent_tt, tools\nwith agent_tt.record('mine', state={'n': 1}) as run:\n    tools.look(1)\n"

    def test_what_they_record_is_the_run(self, project: Project) -> None:
        project.write(tools=TOOLS, agent=self.OWN)
        done = project.record("agent.py", options=["--call", "tools.look=read"])
        (run,) = project.runs()
        assert (run.name, run.status, len(project.calls(run))) == ("mine", "succeeded", 1)
        assert "recorded mine: 1 step" in done.told

    def test_what_they_do_besides_is_a_run_too(self, project: Project) -> None:
        project.write(tools=TOOLS, agent=self.OWN + "tools.look('besides')\n")
        done = project.record("agent.py", options=["--call", "tools.look=read", "--json"])
        shape = json.loads(done.err)
        assert (shape["exit_code"], [run["name"] for run in shape["runs"]]) == (0, ["mine", "agent"])
        assert {run.name: [call.args for call in project.calls(run)] for run in project.runs()} == {
            "mine": [{"what": 1}],
            "agent": [{"what": "besides"}],
        }


class TestCalls:
    def test_functions_named_from_outside(self, project: Project) -> None:
        project.write(
            shop____init____="",
            shop__api="class Api:\n    def call(self, q, n=1): return q * n\nclient = Api()\n"
            "def charge(order_id): return order_id\n",
            agent="from shop.api import charge, client\nTOOLS = {'c': charge}\n"
            "def own(x): return x + 1\nclass Local:\n    @classmethod\n    def make(cls, y): return y\n"
            "def main():\n    charge('1'); TOOLS['c'](order_id='1'); client.call('q'); own(1); Local.make(2)\n"
            "if __name__ == '__main__': main()\n",
        )
        options = ["shop.api.charge=write", "shop.api.client.call=llm", "__main__.own=read", "agent.Local.make=read"]
        done = project.record("agent.py", options=[part for call in options for part in ("--call", call)])
        assert (done.code, done.err) == (0, "")
        (run,) = project.runs()
        calls = project.calls(run)
        assert [(call.kind, call.name, call.effect, call.args) for call in calls] == [
            ("tool", "charge", "write", {"order_id": "1"}),
            ("tool", "charge", "write", {"order_id": "1"}),
            ("llm", "client.call", None, {"q": "q", "n": 1}),
            ("tool", "own", "read", {"x": 1}),
            ("tool", "Local.make", "read", {"y": 2}),
        ]
        assert calls[0].signature == calls[1].signature
        assert all(call.meta["file"] == "agent.py" for call in calls)

    @pytest.mark.parametrize(
        ("call", "code", "words"),
        [
            ("toools.look=read", 3, "toools.look: there is no module 'toools'"),
            ("agent.nothing=read", 3, "agent.nothing: agent has no 'nothing'"),
            ("tools.look=send", 2, "is not PATH=read, PATH=write or PATH=llm"),
        ],
    )
    def test_a_path_that_leads_nowhere_is_an_error_before_the_program_starts(
        self, project: Project, call: str, code: int, words: str
    ) -> None:
        project.write(tools=TOOLS, agent="open('ran', 'w')")
        done = project.record("agent.py", options=["--call", call])
        assert (done.code, words in done.told) == (code, True), done
        assert not (project.folder / "ran").exists()

    def test_what_keeps_an_original_and_what_is_no_function_is_told_by_the_launcher(self, project: Project) -> None:
        tools = TOOLS + "TABLE = {'look': look}\nLIMIT = 3\n"
        project.write(tools=tools, agent="import tools\nopen('ran', 'w').close()")
        done = project.record("-W", "error", "agent.py", options=["--call", "tools.look=read"])
        assert (done.code, done.err) == (0, "")
        assert "tools.look matched no call: nothing is recorded of it" in done.told
        project.write(tools=tools, agent="import tools\ntools.TABLE['look'](1)")
        done = project.record("agent.py", options=["--call", "tools.look=read"])
        assert [call.name for call in project.calls(project.runs()[-1])] == ["look"], "the table held it before"
        (project.folder / "ran").unlink()
        project.write(tools=tools, agent="import tools\nopen('ran', 'w').close()")
        done = project.record("agent.py", options=["--call", "tools.LIMIT=read"])
        assert (done.code, "tools.LIMIT is a int, which cannot be called" in done.told) == (2, True)
        assert not (project.folder / "ran").exists()

    def test_near_names_are_offered(self, project: Project) -> None:
        project.write(tools=TOOLS, agent="")
        done = project.record("agent.py", options=["--call", "tools.loook=read", "--json"])
        assert json.loads(done.err)["error"] == {
            "kind": "not_found",
            "message": "tools.loook: tools has no 'loook'",
            "hint": "Did you mean tools.look?",
        }

    def test_paths_of_the_project_and_those_that_were_never_loaded(self, project: Project) -> None:
        project.write(tools=TOOLS, other=TOOLS, agent="import tools\ntools.look(1)")
        (project.folder / "pyproject.toml").write_text(
            '[tool.agent-tt]\ncalls = { "tools.look" = "read", "other.look" = "write" }\n'
        )
        done = project.record("agent.py")
        assert len(project.calls(project.runs()[0])) == 1
        assert "other.look matched no call: nothing is recorded of it" in done.told


def test_a_program_is_replayed_as_it_was_started(project: Project) -> None:
    source = "import sys\nfrom tools import look\nprint([look(word) for word in set('abcd')], sys.argv)\n"
    project.write(tools=TOOLS, app____init____="", app__main=source)
    done = project.record("-m", "app.main", "x", options=["--call", "tools.look=read"])
    assert len(project.calls(project.runs()[0])) == 4
    project.write(tools=TOOLS.replace("saw", "now sees"))
    replayed = json.loads(project.agent_tt("replay", "latest", "--json").out)
    assert (replayed["faithful"], replayed["served"]) == (True, 4)
    assert replayed["output"].partition("]")[0] == done.out.partition("]")[0]
    project.write(tools=TOOLS.replace("look", "peek"))
    gone = project.agent_tt("replay", "latest")
    assert gone.code == 2
    assert "tools.look: tools has no 'look'" in gone.told


def test_a_killed_program_leaves_a_crashed_run_with_everything_it_did(project: Project) -> None:
    project.write(
        tools=TOOLS,
        agent="import tools\nfor number in range(10_000):\n    tools.count(number)\n    print(number, flush=True)\n",
    )
    process = subprocess.Popen(
        project.command("agent.py", options=["--call", "tools.count=write"]),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        for _ in range(20):
            process.stdout.readline()
        os.killpg(process.pid, signal.SIGKILL)  # the launcher too: nobody is left to say how it ended
        process.communicate(timeout=PATIENCE_SECONDS)
    (run,) = project.runs()
    assert run.status == "crashed"
    calls = project.calls(run)
    done = (project.folder / "count").read_text().split()
    assert [call.args["number"] for call in calls] == list(range(len(calls)))
    assert [call.status for call in calls[:-1]] == ["ok"] * (len(calls) - 1)
    assert len(done) in (len(calls), len(calls) - 1)
    assert project.store.verify(run.id) == []
