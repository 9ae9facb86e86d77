"""What the page is given: the scripts of the page rebuild from it every state and call, to the last digit."""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
import subprocess
from contextlib import closing
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt import samples
from agent_tt.comparing.values.states import compare_states
from agent_tt.errors import Damaged
from agent_tt.exporting.export import Exported
from agent_tt.exporting.html import page as page_module
from agent_tt.exporting.html.data import page_data
from agent_tt.exporting.html.packing import pack
from agent_tt.exporting.html.page import Html
from agent_tt.exporting.redacted import RedactedRuns, exported
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire

REBUILD = """
const repack = (value) => value instanceof Exact ? [2, value.text]
  : value instanceof Map ? [0, ...[...value].flatMap(([key, item]) => [key, repack(item)])]
  : Array.isArray(value) ? [1, ...value.map(repack)] : value;
const { steps } = JSON.parse(require("fs").readFileSync(0, "utf8")).runs[0];
const states = new Versions((at) => [steps[at].state, steps[at].base, steps[at].ops]);
const calls = steps.flatMap((step) => step.calls ?? []);
const values = new Versions((at) => [calls[at].value, calls[at].after, calls[at].ops]);
const shuffled = steps.map((_, at) => (at * 7) % steps.length);  // as a person jumps
const rebuilt = [];
for (const at of shuffled) rebuilt[at] = repack(states.at(at));
const changes = steps.map(({ base }, at) => base === undefined ? 0
  : differences(states.at(base), states.at(at)).length);
console.log(JSON.stringify({ rebuilt, changes, calls: calls.map((_, at) => repack(values.at(at))) }));
"""


def rebuilt(data: dict[str, Wire]) -> Any:
    """What the page's scripts make of its data."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = files(page_module.__package__).joinpath("values.js").read_text() + REBUILD
    done = subprocess.run([node, "-e", script], input=json.dumps(data), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _random_value(rng: random.Random, depth: int = 0) -> Wire:
    leaves = (
        "",
        "text",
        "long " * 8,
        "ü\U0001f600",
        0,
        -7,
        2**53 + 1,
        -(2**63),
        1.0,
        -0.0,
        1e-07,
        0.1,
        True,
        False,
        None,
    )
    match rng.randrange(6 if depth < 3 else 1):
        case 1 | 2:
            keys = rng.sample(["a", "2", "1", "__proto__", "constructor", "ü", "", "$x", "b c"], rng.randrange(4))
            return {key: _random_value(rng, depth + 1) for key in keys}
        case 3 | 4:
            return [_random_value(rng, depth + 1) for _ in range(rng.randrange(5))]
        case _:
            return rng.choice(leaves)


def _mutated(rng: random.Random, value: Wire) -> Wire:
    """A value that is mostly as it was."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        match rng.randrange(5):
            case 0:
                del value[key]
            case 1:
                value[f"new {rng.randrange(9)}"] = value.pop(key)
            case 2:
                return dict(sorted(value.items(), key=lambda _: rng.random()))
            case _:
                value[key] = _mutated(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        match rng.randrange(4):
            case 0:
                del value[at]
            case 1:
                value.insert(at, _random_value(rng, 2))
            case 2:
                value.append(_random_value(rng, 2))
            case _:
                value[at] = _mutated(rng, value[at])
        return value
    if isinstance(value, str) and rng.random() < 0.8:
        return f"{value} and more than sixteen characters"
    return _random_value(rng)


def test_the_scripts_rebuild_any_states() -> None:
    rng = random.Random(7)
    states: list[Wire] = [{"start": [1, 2]}]
    for _ in range(400):
        states.append(_mutated(rng, copy.deepcopy(states[-1])))
    source = MemorySource()
    source.add("random", [Did("a", state=state) for state in states[1:]], state=states[0])
    made = rebuilt(page_data(exported(source, [(source.run("random"), None)])))
    wanted = [pack(source.state("random", number)) for number in range(len(states))]
    assert made["rebuilt"] == wanted
    for number in range(1, len(states)):
        differ = any(change.makes_a_difference for change in compare_states(states[number - 1], states[number]))
        assert bool(made["changes"][number]) == differ, number


def test_the_scripts_rebuild_the_calls_of_a_run(tmp_path: Path) -> None:
    samples.ensure("flaky-checkout", tmp_path / "runs.db")
    with closing(open_store(tmp_path / "runs.db")) as source:
        run = source.run("flaky-checkout")
        made = rebuilt(page_data(exported(source, [(run, None)])))
        calls = [call for step in source.steps(run.id) for call in source.calls(run.id, step.number)]
    asked = [dict(zip(each[1::2], each[2::2], strict=True))["asked"] for each in made["calls"]]
    assert asked == [pack(call.args) for call in calls]


def test_what_is_large_is_compressed_and_what_is_small_can_be_read(tmp_path: Path) -> None:
    source = MemorySource()
    source.add("small", [Did("a", state={"n": 1})])
    source.add("large", [Did("a", state={"text": [f"word {number}" for number in range(40_000)]})])
    for name, form in (("small", "json"), ("large", "deflate")):
        path = tmp_path / f"{name}.html"
        Html().write(exported(source, [(source.run(name), None)]), path)
        assert f'data-form="{form}"' in path.read_text(encoding="utf-8")
    assert (tmp_path / "large.html").stat().st_size < 400_000


def test_a_page_grows_with_what_changed(tmp_path: Path) -> None:
    source = MemorySource()
    text = [{"role": "user", "content": f"{number} " * 50} for number in range(300)]
    source.add("grows", [Did("a", state={"messages": text[:number]}) for number in range(1, 301)])
    data = json.dumps(page_data(exported(source, [(source.run("grows"), None)])))
    assert len(data) < 3 * len(json.dumps(text))


class Broken(RedactedRuns):
    """A source of which one state cannot be read."""

    def _shared(self, run_id: str, step: int) -> Wire:
        if step == 2:
            raise Damaged("step 2 is damaged")
        return super()._shared(run_id, step)


def test_a_state_that_is_not_there_says_why_and_is_no_base() -> None:
    source = MemorySource()
    source.add("desk", [Did("a", state={"n": 1}), Did("b", state={"n": 2}), Did("c", state={"n": 3})])
    run = page_data(Exported(Broken(source), (source.run("desk"),)))["runs"][0]
    assert run["steps"][2]["lost"] == "step 2 is damaged"
    assert run["steps"][3]["state"] == pack({"n": 3})


def test_the_page_names_its_parts_by_their_hashes_and_loads_nothing() -> None:
    text = page_module._page("{}")
    policy = re.search(r'content="(default-src[^"]*)"', text)
    assert policy is not None
    hashes = r"default-src 'none'; script-src( 'sha256-[^']*'){3}; style-src 'sha256-[^']*'; "
    assert re.fullmatch(f"{hashes}base-uri 'none'; form-action 'none'", policy[1])
    assert not re.search(r"(src|href)=|url\(|@import|import\(|fetch\(|XMLHttp|innerHTML|eval\(", text)
