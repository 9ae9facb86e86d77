"""`RUN@STEP` on the command line: what every command that takes a step makes of it, and every one that takes none."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import click
import pytest

import agent_tt
from agent_tt import samples
from agent_tt_tui.cli.root import COMMANDS, LazyGroup

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command, Finished

RUN = "refund-loop"
OTHER = "trip-planner"


@dataclass(frozen=True)
class Place:
    """A way in which a command is told a step.

    Attributes:
        option: The option that takes it, or the position, `STEP`.
        before: What stands before the run.
        after: What stands after the run and its step.
        answers: Whether what it writes is the same whichever way the step was named, but for what differs by time.
    """

    option: str
    before: tuple[str, ...]
    after: tuple[str, ...] = ()
    answers: bool = True

    def apart(self, run: str, step: str) -> tuple[str, ...]:
        """The command line with the step beside the run."""
        named = (step,) if self.option == "STEP" else (self.option, step)
        return (*self.before, run, *named, *self.after)

    def joined(self, run: str, step: str) -> tuple[str, ...]:
        """The command line with `RUN@STEP`."""
        return (*self.before, f"{run}@{step}", *self.after)

    def both(self, run: str, step: str, other: str) -> tuple[str, ...]:
        return self.apart(f"{run}@{step}", other)


PLACES = {
    "open": [Place("--at", ("open",))],
    "show": [Place("STEP", ("show", "--json"))],
    "context": [Place("STEP", ("context", "--json"))],
    "blame": [Place("--at", ("blame", "--json"), ("messages[0]",))],
    "note": [Place("--at", ("note", "--json"), ("a note",), answers=False)],
    "meta": [Place("--at", ("meta", "--json"), ("ticket=A-1",))],
    "rename": [Place("--at", ("rename", "--json"), ("before it went wrong",))],
    "watch": [Place("--after", ("watch", "--json", "--follow", "--break"), ("step > 0",))],
    "fork": [Place("--at", ("fork", "--json", "--dry-run"))],
    "export": [Place("--at", ("export", "--markdown"))],
    "drop": [Place("STEP", ("drop", "--json"))],
    "sweep": [Place("--at", ("sweep", "--json", "--dry-run", "--set", "budget.max_searches=1,2"))],
    "replay": [
        Place("--from", ("replay", "--json", "--dry-run")),
        Place("--at", ("replay", "--pdb")),
    ],
    "diff": [],  # it takes two of them, by position: tested below
    "again": [],  # it takes a call of one: tested in test_cli_again.py
}
"""Every command that takes a step of a recorded run."""

WHOLE_RUNS = {
    "tree": ("tree", RUN),
    "find": ("find", RUN, "refund"),
    "bisect": ("bisect", RUN, "step == 2"),
    "replays": ("replays", RUN),
    "resume": ("resume", RUN),
    "stop": ("stop", RUN),
    "answer": ("answer", RUN),
    "hold": ("hold", RUN, "--let-go"),
    "settle": ("settle", RUN, "order-7", "--did-not-happen"),
    "compare": ("compare", RUN, OTHER),
    "otel": ("otel", RUN, "--endpoint", "http://127.0.0.1:9"),
    "tag": ("tag", RUN, "new"),
    "pin": ("pin", RUN),
    "unpin": ("unpin", RUN),
    "archive": ("archive", RUN),
    "unarchive": ("unarchive", RUN),
    "delete": ("delete", RUN, "--yes"),
    "verify": ("verify", RUN),
    "redact": ("redact", RUN, "--check"),
    "originals": ("originals", RUN),
}
"""Every command that takes runs, and no step of them."""

NO_RUN = {
    *(
        "copy",
        "doctor",
        "serve",
        "du",
        "golden",
        "import",
        "mcp",
        "plugins",
        "prune",
        "runs",
        "record",
        "samples",
        "sessions",
        "sql",
        "stats",
    ),
    *("steady", "test"),
}
NEW_STEPS = {"--stop-at", "--mute"}
"""Options whose STEP is not where something begins: one of the new run, one that is undone."""

EVERY_PLACE = [pytest.param(place, id=f"{name} {place.option}") for name, all_ in PLACES.items() for place in all_]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("samples") / "runs.db"
    for name in (RUN, OTHER):
        samples.ensure(name, path)
    return path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return shutil.copy(made, tmp_path / "runs.db")


@pytest.fixture
def call(command: Command, store: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command line on a fresh copy of the store; `open` and pdb write which run and step they would open."""

    def run_app(source: object, run_id: str | None = None, step: int | None = None) -> int:
        del source
        click.echo(f"{run_id}@{step}")
        return 0

    def opened_by_pdb(source: object, run: object, **said: object) -> None:
        del source, run
        raise click.UsageError(f"pdb at {said['debug_at']}")

    launch = ModuleType("agent_tt_tui.launch")
    launch.__dict__["run_app"] = run_app
    monkeypatch.setitem(sys.modules, launch.__name__, launch)
    monkeypatch.setattr("agent_tt_tui.cli.looking.open._require_terminal", lambda: None)
    monkeypatch.setattr("agent_tt_tui.cli.running.trust.ask_for_trust", lambda *_, **__: None)
    monkeypatch.setattr("agent_tt.rerunning.replay.run_replay", opened_by_pdb)
    kept = store.with_name("kept.db")
    shutil.copy(store, kept)

    def on_a_copy(*words: str) -> Finished:
        for left in store.parent.glob("runs.db*"):
            left.unlink()
        shutil.copy(kept, store)
        return command("--store", str(store), *words)

    return on_a_copy


def test_every_command_is_in_one_of_the_tables() -> None:
    """A new command says whether it takes a step, and is then tested with the others."""
    assert sorted([*PLACES, *WHOLE_RUNS, *NO_RUN]) == sorted(COMMANDS)


def test_every_option_that_takes_a_step_is_in_the_table() -> None:
    group, context = LazyGroup("agent-tt"), click.Context(click.Command("agent-tt"))
    found: dict[str, set[str]] = {}
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            spelled = "STEP" if isinstance(parameter, click.Argument) else parameter.opts[0]
            shown = parameter.name if isinstance(parameter, click.Argument) else parameter.metavar
            if (shown or "").upper() == "STEP" and spelled not in NEW_STEPS:
                found.setdefault(name, set()).add(spelled)
    assert found == {name: {place.option for place in places} for name, places in PLACES.items() if places}


@pytest.mark.parametrize("place", EVERY_PLACE)
@pytest.mark.parametrize("step", ["2", "~1", "@error"])
def test_a_step_is_the_same_beside_its_run_and_within_its_name(place: Place, step: str, call: Command) -> None:
    apart, joined = call(*place.apart(RUN, step)), call(*place.joined(RUN, step))
    assert joined.code == apart.code
    assert "no run" not in joined.err
    if place.answers:
        assert (joined.out, joined.err) == (apart.out, apart.err)
    else:
        assert [note["step"] for note in joined.json["notes"]] == [note["step"] for note in apart.json["notes"]]
    assert joined.out != call(*place.joined(RUN, "1")).out or "pdb" in joined.err


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_two_different_steps_are_refused_and_one_named_twice_is_not(place: Place, call: Command) -> None:
    refused = call(*place.both(RUN, "3", "4"))
    assert refused.code == 2
    assert "names step 3" in refused.err
    assert "step 4" in refused.err
    assert place.option in refused.err
    twice, once = call(*place.both(RUN, "3", "3")), call(*place.joined(RUN, "3"))
    assert twice.code == once.code
    assert "pdb" in once.err or twice.code in (0, 1)


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_a_step_that_is_not_there_is_not_found(place: Place, call: Command) -> None:
    missing = call(*place.joined(RUN, "999"))
    assert missing.code == 3
    assert "there is no step 999: the run has 21" in missing.err
    unknown = call(*place.joined("nobody", "3"))
    assert unknown.code == 3
    assert "no run 'nobody'" in unknown.err


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_a_name_that_holds_an_at_sign_is_a_name(place: Place, store: Path, call: Command) -> None:
    with agent_tt.record("ops@acme", store=store.with_name("kept.db"), state={"messages": ["a"]}) as run:
        for _ in range(3):
            with run.step("think"):
                pass
    apart, joined = call(*place.apart("ops@acme", "2")), call(*place.joined("ops@acme", "2"))
    assert joined.code == apart.code
    assert "no run" not in joined.err
    assert not place.answers or joined.out == apart.out


@pytest.mark.parametrize("words", WHOLE_RUNS.values(), ids=WHOLE_RUNS)
def test_a_command_without_steps_says_that_it_takes_whole_runs(words: tuple[str, ...], call: Command) -> None:
    named, run, *rest = words
    refused = call(named, f"{run}@3", *rest)
    assert refused.code == 3
    assert f"{run}@3 names a step of {run}, and a whole run is meant here" in refused.err


@pytest.mark.parametrize(
    "words",
    [("1", "3"), (f"{RUN}@1", f"{RUN}@3"), (f"{RUN}@1", "3"), (f"{RUN}@1", "~18")],
    ids=["RUN STEP STEP", "RUN@STEP RUN@STEP", "RUN@STEP STEP", "RUN@STEP ~STEP"],
)
def test_diff_takes_its_two_steps_in_every_spelling(words: tuple[str, str], call: Command) -> None:
    line = (RUN, *words) if words[0] == "1" else words
    found = call("diff", *line)
    assert found.code == 1
    assert found.out.splitlines()[0] == f"{RUN}@1 → {RUN}@3"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((f"{RUN}@1", "2", "3"), f"{RUN}@1 names a step, and 2 and 3 are two more"),
        ((RUN, "2"), f"{RUN} names no step"),
        ((RUN, f"{RUN}@2"), f"'{RUN}' is not RUN@STEP"),
    ],
)
def test_diff_says_what_is_one_step_too_many_or_too_few(words: tuple[str, ...], said: str, call: Command) -> None:
    refused = call("diff", *words)
    assert refused.code == 2
    assert said in refused.err


def test_a_replay_says_that_it_does_not_begin_at_a_step(call: Command) -> None:
    refused = call("replay", f"{RUN}@3")
    assert refused.code == 2
    assert f"a replay begins where {RUN} began, and {RUN}@3 names step 3" in refused.err
    assert f"agent-tt fork {RUN}@3" in refused.err


def test_a_fork_of_another_input_does_not_begin_at_another_step(call: Command) -> None:
    refused = call("fork", f"{RUN}@3", "--input", "budget.max_searches=1", "--dry-run")
    assert refused.code == 2
    assert "--input names step 0" in refused.err
    begun = call("fork", f"{RUN}@0", "--input", "budget.max_searches=1", "--dry-run", "--json")
    assert begun.json["step"] == 0


def test_a_step_of_a_watch_that_follows_nothing_is_refused(call: Command) -> None:
    for words in ((f"{RUN}@3",), (RUN, "--after", "3")):
        refused = call("watch", *words, "step == 3")
        assert refused.code == 2
        assert "nothing is followed" in refused.err
