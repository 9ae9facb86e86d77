"""`agent-tt diff` on real stores: what people read, what programs read, and states of other files."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import agent_tt

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

FILE = "def walk():\n    go('shop')\n    go('home')\n"


@pytest.fixture
def store(tmp_path: Path, command: Command) -> Path:
    """A run of three steps, and one of another name."""
    del command  # it is asked for because it sets up the folder
    path = tmp_path / "runs.db"
    state: dict[str, object] = {
        "budget": 100,
        "messages": [{"role": "user", "content": "Where is the old shop?"}],
        "file": FILE,
        "plan": {"now": {"where": "home", "minutes": 10, "sure": 1}},
    }
    with agent_tt.record("walker", state=state, store=path) as run:
        with run.step("walk", state):
            state["messages"].insert(0, {"role": "system", "content": "Be kind."})  # type: ignore[attr-defined]
            state["messages"][1]["content"] = "Where is the new shop?"  # type: ignore[index]
            state["file"] = FILE.replace("'shop'", "'new shop'")
            state["plan"] = {"now": {"where": "road", "minutes": 7, "sure": True}}
        with run.step("turn", state):
            state["plan"] = {"now": {"sure": True, "minutes": 7, "where": "road"}}
    with agent_tt.record("rider", state={"budget": 100.0}, store=path) as run, run.step("ride", {"budget": 90}):
        pass
    return path


def test_people_read_changes_inside_what_they_are_in_and_words_in_brackets(command: Command, store: Path) -> None:
    done = command("diff", "walker@0", "walker@1", "--store", str(store))
    assert done.code == 1
    assert done.out.splitlines() == [
        "walker@0 → walker@1",
        "+ messages[0] system Be kind.",
        "~ messages[1].content",
        "     Where is the [-old-] {+new+} shop?",
        "~ file  line 2",
        "   2       go('{+new +}shop')",
        "~ plan.now",
        '~   where       "home" → "road"',
        "~   minutes     10 → 7",
        "~   sure        1 → true",
    ]


def test_programs_read_where_an_edited_item_was(command: Command, store: Path) -> None:
    changes = command("diff", "walker", "0", "1", "--json", "--store", str(store)).json["changes"]
    assert changes[1] == {
        "op": "change",
        "path": "messages[1].content",
        "old": "Where is the old shop?",
        "new": "Where is the new shop?",
        "old_path": "messages[0].content",
    }
    patch = command("diff", "walker", "0", "1", "--format", "json-patch", "--store", str(store)).json
    assert {"op": "replace", "path": "/plan/now/sure", "value": True} in patch


@pytest.mark.parametrize("layout", [(), ("--json",), ("--format", "json-patch"), ("--format", "unified")])
def test_another_order_of_keys_is_no_difference_in_any_format(
    command: Command, store: Path, layout: tuple[str, ...]
) -> None:
    done = command("diff", "walker", "1", "2", *layout, "--store", str(store))
    assert done.code == 0
    if not layout:
        assert "equal but for the order of keys" in done.out
        assert "plan.now  the same keys in another order" in done.out
    if layout == ("--json",):
        assert [(c["op"], c["of"], c["new"]) for c in done.json["changes"]] == [
            ("reorder", "keys", ["sure", "minutes", "where"])
        ]


FORMATS = [(), ("--json",), *(("--format", name) for name in ("json-patch", "unified", "deepdiff", "delta"))]
RULES = [*("--ignore", "messages", "--ignore", "plan.now.where", "--ignore", "fil", "--ignore", "file")]


@pytest.mark.parametrize("layout", FORMATS)
def test_what_is_ignored_is_left_out_of_every_format_and_is_said(
    command: Command, store: Path, layout: tuple[str, ...]
) -> None:
    left = command("diff", "walker", "0", "1", *RULES, "--tolerance", "3", *layout, "--store", str(store))
    assert left.code == 1
    assert "sure" in left.out
    assert "minutes" not in left.out.replace("plan.now.minutes", "") or layout == ("--format", "unified")
    none = command("diff", "walker", "0", "1", *RULES, "--ignore", "plan[*].*", *layout, "--store", str(store))
    assert none.code == 1  # `.*` is a key of that name
    none = command("diff", "walker", "0", "1", *RULES, "--ignore", "plan[*][*]", *layout, "--store", str(store))
    assert none.code == 0
    if layout == ("--json",):
        assert none.json["changes"] == []
        assert {one["why"] for one in none.json["ignored"]} == {"path"}
        assert none.json["unmatched"] == ["fil"]
    else:
        told = none.err if layout else none.out
        assert "ignored: 5 differences at ignored paths" in told
        assert "nothing to ignore at fil, in neither state" in told
        assert ("equal but for what is ignored" in none.out) == (not layout)


def test_a_delta_is_applied_by_deepdiff_to_the_state_that_show_writes(
    command: Command, store: Path, tmp_path: Path
) -> None:
    from deepdiff import Delta
    from deepdiff.serialization import json_loads

    states = [command("show", "walker", step, "--json", "--store", str(store)).json["state"] for step in ("0", "1")]
    file = tmp_path / "delta.json"
    file.write_text(command("diff", "walker", "0", "1", "--format", "delta", "--store", str(store)).out)
    assert states[0] + Delta(delta_path=str(file), deserializer=json_loads, raise_errors=True) == states[1]
    said = command("diff", "walker", "0", "1", "--format", "deepdiff", "--store", str(store)).json
    assert said["type_changes"]["root['plan']['now']['sure']"]["new_type"] == "bool"


def test_the_same_rules_hold_in_code(store: Path) -> None:
    found = agent_tt.diff("walker@0", "walker@1", ignore=["messages", "file", "plan"], store=store)
    assert (found, found.differ, len(found.ignored)) == ([], False, 3)
    assert agent_tt.diff("rider@0", "rider@1", tolerance=10, store=store).differ  # 100.0 and 90
    assert not agent_tt.diff("rider@0", "rider@1", tolerance=10, ignore_type=True, store=store).differ
    assert set(agent_tt.diff("rider@0", "rider@1", store=store).to_delta()) == {"type_changes"}


@pytest.mark.parametrize("wrong", [("--tolerance", "much"), ("--ignore", "plan["), ("--ignore", ""), ("--format", "x")])
def test_rules_that_cannot_be_read_are_usage_errors(command: Command, store: Path, wrong: tuple[str, str]) -> None:
    assert command("diff", "walker", "0", "1", *wrong, "--store", str(store)).code == 2


def test_a_state_of_another_file_is_named_by_the_file(command: Command, store: Path, tmp_path: Path) -> None:
    shutil.copy(store, tmp_path / "copy.db")
    done = command("diff", "copy.db:rider@0", "rider@1", "--store", str(store), "--json")
    assert (done.code, done.json["changes"]) == (1, [{"op": "change", "path": "budget", "old": 100.0, "new": 90}])
    assert [change.new for change in agent_tt.diff(f"{tmp_path}/copy.db:rider@0", "rider@1", store=store)] == [90]
    assert command("diff", "copy.db:rider", "0", "0").code == 0  # no store is needed where none is named
    assert command("diff", "nowhere.db:rider@0", "rider@1", "--store", str(store)).code == 3


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
def test_patch_makes_the_text_of_the_one_state_that_of_the_other(command: Command, store: Path, tmp_path: Path) -> None:
    unified = command("diff", "walker", "0", "1", "--format", "unified", "--store", str(store)).out
    assert unified.startswith("--- walker@0\n+++ walker@1\n@@ ")
    assert "-    go('shop')\n".replace("    ", "      ") in unified
    from agent_tt.comparing.values.unified import state_lines
    from agent_tt.sources import open_source

    source = open_source(store)
    run = source.run("walker")
    texts = ["".join(f"{line}\n" for line in state_lines(source.state(run.id, step))) for step in (0, 1)]
    source.close()
    (tmp_path / "state.yaml").write_text(texts[0])
    subprocess.run(["patch", "-s", "state.yaml"], input=unified.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "state.yaml").read_text() == texts[1]


def test_two_runs_of_two_files_are_compared_and_a_table_takes_one_file(
    command: Command, store: Path, tmp_path: Path
) -> None:
    shutil.copy(store, tmp_path / "copy.db")
    there, where = f"{tmp_path}/copy.db:walker", ("--store", str(store))
    same = command("compare", "walker", there, *where)
    assert same.code == 0
    assert "no difference" in same.out
    assert "copy.db" in same.out
    other = command("compare", f"{tmp_path}/copy.db:rider", "walker", "--json", *where)
    assert (other.code, other.json["diverged_at"], other.json["only_b"]) == (1, 1, [2])
    refused = command("compare", "walker", there, "rider", *where)
    assert refused.code == 2
    assert "lies in another file" in refused.err


def test_two_runs_that_only_began_otherwise_say_so_and_name_the_way_to_the_rest(
    command: Command, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        state = {f"{name}_{number}": f"a value of {name}, number {number}" for number in range(30)}
        with agent_tt.record(name, state=state, store=tmp_path / "runs.db") as run, run.step("think", state):
            pass
    out = command("compare", "one", "other", "--store", str(tmp_path / "runs.db")).out
    assert "no step differs" in out
    assert "the input differs at one_0" in out
    assert "more rows: agent-tt diff" in out
