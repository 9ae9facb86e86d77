"""`blame`, `bisect`, `find --where` and `show --oddities`: what they say to people and to programs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"


@pytest.fixture
def asked(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, with the sample runs in its store."""
    shutil.copy(SAMPLES, tmp_path / "runs.db")
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    return command


def test_blame_leads_from_the_wrong_answer_to_what_caused_it(asked):
    done = asked("blame", "flaky-checkout", "answer", "--json")
    assert done.code == 0
    assert [(link["kind"], link["step"], link["call"]) for link in done.json["trail"][:5]] == [
        ("value", 10, None),
        ("answer", 10, 1),
        ("error", 9, 2),
        ("argument", 9, 2),
        ("result", 6, 2),
    ]
    assert done.json["trail"][4]["name"] == "price_order"
    assert [write["step"] for write in done.json["writes"]] == [10, 0]
    told = asked("blame", "flaky-checkout", "answer")
    assert told.code == 0
    assert "tool error    charge_card" in told.out
    assert "the same words: bank refused the payment" in told.out
    assert "also at 8 charge_card, 7 charge_card" in told.out
    assert "╰ ends: the input says it" in told.out
    assert "ALL WRITES  2 writes" in told.out
    assert all(len(line) <= 80 for line in told.out.splitlines())


def test_blame_at_a_step_and_of_nothing(asked):
    done = asked("blame", "flaky-checkout", "payment.amount", "--at", "@error", "--json")
    assert (done.json["step"], done.json["value"]) == (7, 13684)
    nowhere = asked("blame", "flaky-checkout", "payment.amuont", "--json").error
    assert (nowhere["kind"], nowhere["hint"]) == ("path_not_found", "Did you mean payment.amount?")
    assert asked("blame", "flaky-checkout", "refusals", "--json").error["hint"] == "Did you mean payment.refusals?"
    limited = asked("blame", "refund-loop", "attempts", "--limit", "3", "--json").json
    assert (len(limited["writes"]), limited["more"]) == (3, True)


def test_live_bisecting_claims_no_more_than_it_tried(asked, monkeypatch):
    from agent_tt.bisecting import live
    from agent_tt.bisecting.recorded import Bisection, Probe

    probes = (Probe(9, "0", "flaky-checkout/fork-1", holds=False, known=False),)
    found = Bisection("0", "error", None, 9, 9, probes=probes)
    monkeypatch.setattr(live, "bisect_live", lambda *_, **__: found)
    done = asked("bisect", "flaky-checkout", "error", "--live", "--trust")
    assert done.out == "A fork after step 9 does not go that way, so none before it was tried: error\n"
    assert done.code == 1


def test_bisect_names_the_first_step_and_says_when_it_is_not_the_only_one(asked):
    done = asked("bisect", "flaky-checkout", "state.payment.amount > 1500")
    assert (done.code, done.out) == (0, "state.payment.amount > 1500  first holds after 6  price order\n")
    again = asked("bisect", "flaky-checkout", "error", "--json")
    assert again.json["first"] == 7
    assert again.json["spans"] == [[7, 9]]
    assert again.json["monotone"] is False
    assert "holds at 7 to 9" in asked("bisect", "flaky-checkout", "error").out
    nowhere = asked("bisect", "flaky-checkout", "state.payment.amount < 0", "--json")
    assert (nowhere.code, nowhere.json["first"]) == (1, None)
    assert asked("bisect", "flaky-checkout", "step >= 0", "--json").json["first"] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("flaky-checkout",),
        ("flaky-checkout", "error", "--replay"),
        ("flaky-checkout", "error", "--set", "answer=1"),
        ("flaky-checkout", "error", "--allow", "charge_card"),
        ("flaky-checkout", "error", "--max-cost", "1"),
        ("flaky-checkout", "error", "--live", "--input", "answer=1"),
        ("flaky-checkout", "eror"),
    ],
)
def test_bisect_refuses_what_makes_no_sense(asked, arguments):
    assert asked("bisect", *arguments).code == 2


def test_a_version_that_cannot_be_run_is_skipped_by_git_bisect(asked):
    # The shipped runs name their code relative to where samples lie; in this store it cannot be found.
    done = asked("bisect", "refund-loop", "--replay", "--trust", "--json")
    assert (done.code, done.json["outcome"]) == (125, "cannot be run")


AGENT = """
import agent_tt

@agent_tt.tool(effect="read")
def look(word):
    return len(word)

def main(state=None):
    with agent_tt.record("worker", state={"n": 0}) as run, run.step("look"):
        run.state = {"n": look("WORD")}

if __name__ == "__main__":
    main()
"""


def test_versions_of_the_code_are_told_apart_as_git_bisect_wants_it(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    agent = tmp_path / "worker.py"
    agent.write_text(AGENT)
    assert command("record", "--", sys.executable, "worker.py").code == 0
    agent.write_text(AGENT.replace("WORD", "other words"))
    told = command("bisect", "worker", "--replay")
    assert told.code == 1
    assert told.out.startswith("worker  differs: look is asked something else than was recorded: word (step 1, call 1")
    agent.write_text(AGENT + "def (:")
    assert command("bisect", "worker", "--replay").code == 125
    # With every version this would be the same, so that git is told to stop.
    nobody = command("bisect", "nobody", "--replay", "--json").json
    assert (nobody["exit_code"], nobody["outcome"]) == (128, "cannot be tested")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_finds_the_version_that_began_to_differ_and_skips_those_that_cannot_be_loaded(
    command, tmp_path, monkeypatch
):
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    names = {f"GIT_{who}_{what}": "somebody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for name, text in {**names, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}.items():
        monkeypatch.setenv(name, text)
    repository = tmp_path / "repository"
    repository.mkdir()
    monkeypatch.chdir(repository)

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    git("init", "-q")
    versions = [AGENT + f"# version {n}\n" for n in range(1, 9)]
    versions[3] = "import no_such_module_at_all\n" + versions[3]  # the middle: what git tries first
    versions[5:] = [text.replace("WORD", "other words") for text in versions[5:]]
    for number, text in enumerate(versions, start=1):
        (repository / "worker.py").write_text(text)
        git("add", "worker.py")
        git("commit", "-q", "-m", f"version {number}")
        if number == 1:
            assert command("record", "--", sys.executable, "worker.py").code == 0
    git("bisect", "start", "HEAD", "HEAD~7")
    told = git("bisect", "run", sys.executable, "-m", "agent_tt_tui", "bisect", "worker", "--replay", "--trust")
    assert "is the first bad commit" in told
    assert "version 6" in told.partition("is the first bad commit")[2]
    assert "cannot be run: ModuleNotFoundError" in told
    assert "git bisect skip" in git("bisect", "log")


def test_find_where_lists_steps(asked):
    done = asked("find", "flaky-checkout", "--where", 'tool == "charge_card" and args.amount > 100', "--json")
    assert done.json == {"steps": [7, 8, 9], "spans": [[7, 9]]}
    told = asked("find", "flaky-checkout", "--where", "step == 0 or error")
    assert told.code == 0
    assert len(told.out.splitlines()) == 4
    assert asked("find", "flaky-checkout", "--where", "step > 99").code == 1
    assert asked("find", "flaky-checkout").code == 2
    assert asked("find", "flaky-checkout", "words", "--where", "error").code == 2


def test_what_cannot_be_asked_is_shown_with_a_caret(asked):
    done = asked("find", "flaky-checkout", "--where", "state.a == 3 and eror")
    assert done.code == 2
    lines = done.err.splitlines()
    assert lines[1].index("eror") == lines[2].index("^")
    assert "Did you mean error" in lines[3]
    hostile = asked("find", "flaky-checkout", "--where", "\x1b[31m == 1", "--json").error
    assert hostile["kind"] == "invalid_expression"


def test_oddities_are_shown(asked):
    told = asked("show", "refund-loop", "--oddities")
    assert "1 to 20" in told.out
    words = " ".join(told.out.split())  # long ones take several lines, and nothing is cut
    assert "search_docs was asked 20 times with the same, and the same came back each time" in words
    assert "step 21 (search_docs) failed, after step 20 (search_docs): TimeoutError: gave up after 20" in words
    assert "  odd   first error 21, repeated 1 to 20  --oddities says more\n" in asked("show", "refund-loop").out
    assert "  odd  " not in asked("show", "trip-planner").out
    done = asked("show", "refund-loop", "--oddities", "--json").json["oddities"]
    assert done[1]["kind"] == "repeated"
    assert done[1]["steps"] == list(range(1, 21))
    assert asked("show", "trip-planner", "--oddities", "--json").json == {"oddities": []}
    assert "Nothing is odd" in asked("show", "trip-planner", "--oddities").out


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("state.budget < 0", []),
        ('tool == "charge_card" and args.amount > 100', [7, 8, 9]),
        ("tokens > 500", [6, 7, 8, 9, 10]),
        ('changed("messages[-1]")', list(range(1, 11))),
        ("error", [7, 8, 9]),
    ],
)
def test_a_question_is_the_same_in_find_and_bisect(asked, question, steps):
    assert asked("find", "flaky-checkout", "--where", question, "--json").json["steps"] == steps
    assert asked("bisect", "flaky-checkout", question, "--json").json["first"] == (steps[0] if steps else None)
