"""What a thread looks like in the store, and what is left of it after a kill and between processes."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from tests.core.interop import graphs

from agent_tt.errors import RunNotFound
from agent_tt.langgraph import Checkpointer
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import sys, uuid
from langgraph.checkpoint.base import empty_checkpoint
from agent_tt.langgraph import Checkpointer

path, count, die = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "die"
saver = Checkpointer(path)
config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
for number in range(count):
    checkpoint = {**empty_checkpoint(), "channel_values": {"items": list(range(number))}}
    config = saver.put(config, checkpoint, {"source": "loop", "step": number, "parents": {}}, {})
    saver.put_writes(config, [("items", [number])], uuid.uuid4().hex, "~__pregel_pull, node")
    print(config["configurable"]["checkpoint_id"], flush=True)
if die:
    sys.stdin.read()
"""


def test_a_thread_is_a_run_with_named_steps_tokens_and_a_state_that_can_be_read(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        graphs.react(saver)
    with closing(open_source(tmp_path / "runs.db")) as source:
        (run,) = source.runs()
        steps = source.steps(run.id)
        assert (run.name, run.status) == ("t", "succeeded")
        assert [step.name for step in steps] == ["input", "__start__", "agent", "tools", "agent"]
        assert [(step.tokens_in, step.tokens_out) for step in steps if step.name == "agent"] == [(11, 7), (20, 3)]
        assert [step.facts.next for step in steps] == [["__start__"], ["agent"], ["tools"], ["agent"], []]
        state: Any = source.state(run.id, 5)
        assert [message["$v"]["content"] for message in state["messages"]][-1] == "done"
        assert list(state) == ["messages", "__langgraph__"]
        assert source.verify() == []


def test_tokens_are_counted_where_writes_come_after_the_checkpoint_that_they_led_to(tmp_path: Path):
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    answer = AIMessage("yes", usage_metadata={"input_tokens": 11, "output_tokens": 7, "total_tokens": 18})
    with Checkpointer(tmp_path / "runs.db") as saver:
        before = saver.put(config, empty_checkpoint(), {"source": "input", "step": -1, "parents": {}}, {})
        after = {**empty_checkpoint(), "channel_values": {"messages": [answer]}}
        last = saver.put(before, after, {"source": "loop", "step": 0, "parents": {}}, {})
        saver.put_writes(before, [("messages", [answer])], "task", "~__pregel_pull, agent")
        saver.put(last, empty_checkpoint(), {"source": "loop", "step": 1, "parents": {}}, {})
    with closing(open_source(tmp_path / "runs.db")) as source:
        steps = source.steps(source.runs()[0].id)
        assert [(step.tokens_in, step.tokens_out) for step in steps] == [(None, None), (11, 7), (None, None)]
        assert source.verify() == []


def test_tokens_of_writes_that_came_before_and_after_their_checkpoint_are_added_up(tmp_path: Path):
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    said = "an answer of many words, " * 9
    first, second = (
        AIMessage(said, id=name, usage_metadata={"input_tokens": 11, "output_tokens": 7, "total_tokens": 18})
        for name in "ab"
    )
    with Checkpointer(tmp_path / "runs.db") as saver:
        before = saver.put(config, empty_checkpoint(), {"source": "input", "step": -1, "parents": {}}, {})
        saver.put_writes(before, [("messages", [first]), ("log", [first])], "one", "~__pregel_pull, agent")
        after = {**empty_checkpoint(), "channel_values": {"messages": [first]}}
        last = saver.put(before, after, {"source": "loop", "step": 0, "parents": {}}, {})
        saver.put_writes(before, [("messages", [second])], "two", "~__pregel_pull, other")
        saver.put(last, empty_checkpoint(), {"source": "loop", "step": 1, "parents": {}}, {})
    with closing(open_source(tmp_path / "runs.db")) as source:
        steps = source.steps(source.runs()[0].id)
        assert [(step.tokens_in, step.tokens_out) for step in steps] == [(None, None), (33, 21), (None, None)]
        assert source.verify() == []


def test_what_tasks_wrote_to_no_channel_of_the_state_is_kept_beside_it(tmp_path: Path):
    said = [AIMessage(f"an answer of many words, number {number} " * 9, id=str(number)) for number in range(40)]
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    with Checkpointer(tmp_path / "runs.db") as saver:
        for number, message in enumerate(said):
            metadata: Any = {"source": "loop", "step": number - 1, "parents": {}}
            config = saver.put(config, empty_checkpoint(), metadata, {"log": number})
            writes = [("log", [message]), ("branch:to:x", None), ("note", f"a note of many words {number} " * 9)]
            saver.put_writes(config, writes, f"task {number}", "~__pregel_pull, node")
        expected = saver.get_delta_channel_history(config=config, channels=["log"])
    assert [value for _, _, value in expected["log"]["writes"]] == [[message] for message in said[:-1]]
    with closing(open_source(tmp_path / "runs.db")) as source:
        (run,) = source.runs()
        state: Any = source.state(run.id, 40)
        assert list(state) == ["__langgraph__"]
        held = state["__langgraph__"]["written"]
        assert (held[0][0]["$v"]["id"], held[1][:6]) == ("38", "a note")
        assert max(len(str(step.extra)) for step in source.steps(run.id)[:-1]) < 700
        assert source.verify() == []
    with Checkpointer(tmp_path / "runs.db") as saver:
        assert saver.get_delta_channel_history(config=config, channels=["log"]) == expected
        found = list(saver.list(None))
        assert "written" not in found[0].checkpoint
        assert [one.pending_writes[0][2] for one in found if one.pending_writes] == [[one] for one in said[::-1]]
        saver.copy_thread("t", "copy")
        copied = [one.pending_writes for one in saver.list({"configurable": {"thread_id": "copy"}})]
        assert copied == [one.pending_writes for one in found]
        saver.delete_for_runs(["no run"])
        saver.prune(["t"])
        assert [one.pending_writes for one in saver.list({"configurable": {"thread_id": "t"}})] == copied[:1]


def test_branches_are_forks_and_a_thread_that_asks_is_interrupted(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        graphs.forks(saver)
    with closing(open_source(tmp_path / "runs.db")) as source:
        root, *branches = sorted(source.runs(), key=lambda run: run.name)
        assert root.name == "t"
        assert [run.name for run in branches] == [f"t/fork-{number}" for number in range(1, len(branches) + 1)]
        assert all(run.parent == root.id for run in branches)
    with Checkpointer(tmp_path / "asks.db") as saver:
        graphs.nested_interrupt(saver, resume=False)
    with closing(open_source(tmp_path / "asks.db")) as source:
        assert [run.status for run in source.runs()] == ["interrupted"]
        assert {step.agent for step in source.steps(source.runs()[0].id)} == {None, "middle", "inner"}


def test_what_tasks_wrote_is_stored_once(tmp_path: Path):
    def size(times: int) -> int:
        text = " ".join(f"{number * 7919:x}" for number in range(4000))
        path = tmp_path / f"{times}.db"
        with Checkpointer(path) as saver:
            config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
            items: list[str] = []
            for step in range(times):
                checkpoint = {**empty_checkpoint(), "channel_values": {"items": list(items)}}
                config = saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, {})
                items.append(f"{step} {text[step:]}")
                saver.put_writes(config, [("items", items[-1:])], "task", "~__pregel_pull, node")
            given = [found.pending_writes for found in saver.list(config | {"configurable": {"thread_id": "t"}})]
            assert given == [[("task", "items", [item])] for item in reversed(items)]
        return path.stat().st_size

    text_size = 4000 * 7
    assert size(40) - size(20) < 20 * text_size * 1.2


def test_what_was_put_is_there_after_a_kill(tmp_path: Path):
    path = tmp_path / "runs.db"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), "30", "die"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        put = [process.stdout.readline().strip() for _ in range(25)]
        process.kill()
        put += process.stdout.read().split()
    with Checkpointer(path) as saver:
        found = {one.config["configurable"]["checkpoint_id"]: one for one in saver.list(None)}
        assert set(put) <= set(found)
        assert all(len(found[one].pending_writes or ()) == 1 for one in put)
        last = saver.get_tuple({"configurable": {"thread_id": "t"}})
        assert last is not None
        assert last.checkpoint["channel_values"]["items"] == list(range(len(found) - 1))
    with closing(open_source(path)) as source:
        assert source.verify() == []


def test_processes_write_one_thread_at_once(tmp_path: Path):
    path = tmp_path / "runs.db"
    command = [sys.executable, "-c", WRITER, str(path), "12", "end"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    put = [process.communicate()[0].split() for process in started]
    assert [process.returncode for process in started] == [0, 0]
    with Checkpointer(path) as saver:
        found = {one.config["configurable"]["checkpoint_id"]: one for one in saver.list(None)}
        assert sorted(found) == sorted(put[0] + put[1])
        for chain in put:
            values = [found[one].checkpoint["channel_values"]["items"] for one in chain]
            assert values == [list(range(number)) for number in range(12)]
    with closing(open_source(path)) as source:
        assert source.verify() == []


@pytest.mark.parametrize("seed", range(6))
def test_savers_of_one_file_take_turns_in_any_order(seed: int, tmp_path: Path):
    draw, expected, path = random.Random(seed), InMemorySaver(), tmp_path / "runs.db"
    with Checkpointer(path) as one, Checkpointer(path) as other:
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for step in range(40):
            saver, first = draw.choice([one, other]), {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
            how = draw.choice(["put", "put", "put", "put_writes", "put_writes", "nothing", "read", "branch", "other"])
            if how == "put_writes" and "checkpoint_id" in config["configurable"]:
                task = draw.choice(["task a", f"task {step}"])
                for each in (saver, expected):
                    each.put_writes(config, [("items", [step])], task)
            elif how == "nothing":
                saver.delete_for_runs(["no such run"])
                if "checkpoint_id" in config["configurable"]:
                    saver.put_writes(config, [], "task")
            elif how == "read":
                saver.get_tuple(first)
            elif how == "other":
                saver.put({"configurable": {"thread_id": "u"}}, empty_checkpoint(), {"source": "input"}, {})
            else:
                chosen = config
                if how == "branch":
                    chosen = draw.choice([found.config for found in expected.list(first)] or [config])
                checkpoint: Any = {**empty_checkpoint(), "channel_values": {"items": list(range(step))}}
                metadata: Any = {"source": "loop", "step": step, "parents": {}}
                versions: Any = {"items": step}
                checkpoint["channel_versions"] = versions
                config = expected.put(chosen, checkpoint, metadata, versions)
                saver.put(chosen, checkpoint, metadata, versions)
        found = [list(saver.list({"configurable": {"thread_id": "t"}})) for saver in (expected, one, other)]
        assert _plain(found[0]) == _plain(found[1]) == _plain(found[2])
    with closing(open_source(path)) as source:
        assert source.verify() == []


@pytest.mark.parametrize(
    "stamp",
    [
        *("2026-01-02T03:04:05.000001+00:00", "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.6+02:00"),
        *("2026-01-02T03:04", "1969-12-31T23:59:59+00:00", "0001-01-01T00:00:00+00:00"),
        *("9999-12-31T23:59:59.999999+00:00", "noon", "", None),
    ],
)
def test_what_a_checkpoint_says_of_itself_comes_back_however_odd(stamp: str | None, tmp_path: Path):
    said = [{}, {"source": "loop"}, {"source": "input", "step": -1}, {"source": "loop", "step": 0}, {"step": 1}]
    odd = [{"source": "loop", "step": True}, {"source": "loop", "step": 2.0}, {"source": "loop", "step": 3, "x": None}]
    thread: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    with Checkpointer(tmp_path / "runs.db") as saver:
        configs = [thread]
        for metadata in said + odd:
            checkpoint: Any = {**empty_checkpoint(), "ts": stamp}
            if stamp is None:
                del checkpoint["ts"]
            configs.append(saver.put(configs[-1], checkpoint, metadata, {}))  # type: ignore[arg-type]  # as users may
    with Checkpointer(tmp_path / "runs.db") as saver:
        saver.copy_thread("t", "copy")
        for name in ("t", "copy"):
            found = list(saver.list({"configurable": {"thread_id": name}}))[::-1]
            assert [one.checkpoint.get("ts") for one in found] == [stamp] * len(found)
            assert [repr(sorted(one.metadata.items())) for one in found] == [
                repr(sorted(each.items())) for each in said + odd
            ]
            ids = [config["configurable"].get("checkpoint_id") for config in configs]
            assert [one.config["configurable"]["checkpoint_id"] for one in found] == ids[1:]
            assert [(one.parent_config or thread)["configurable"].get("checkpoint_id") for one in found] == ids[:-1]


def _plain(found: list[Any]) -> list[Any]:
    return [
        (one.config, one.checkpoint, one.metadata, one.parent_config, sorted(one.pending_writes or (), key=str))
        for one in found
    ]


def test_a_write_that_comes_before_its_checkpoint_waits_for_it(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        checkpoint = empty_checkpoint()
        named: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}}
        saver.put_writes(named, [("a", 1)], "task")
        assert saver.get_tuple(named) is None
        saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {"source": "input"}, {})
        found = saver.get_tuple(named)
        assert found is not None
        assert found.pending_writes == [("task", "a", 1)]


def test_pruning_keeps_what_delta_channels_are_rebuilt_from(tmp_path: Path):
    def filled(saver: Any) -> Any:
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for step in range(4):
            values = {"log": ["seed"]} if step == 1 else {}
            metadata = {"source": "loop", "step": step, "parents": {}, "counters_since_delta_snapshot": {"log": (1, 1)}}
            config = saver.put(config, {**empty_checkpoint(), "channel_values": values}, metadata, {})
            saver.put_writes(config, [("log", step)], f"task {step}")
        return saver.get_delta_channel_history(config=config, channels=["log", "other"])

    with Checkpointer(tmp_path / "runs.db") as saver:
        before = filled(saver)
        assert before == filled(InMemorySaver()) | {"log": before["log"]}
        assert before["log"]["seed"] == ["seed"]
        assert [value for _, _, value in before["log"]["writes"]] == [1, 2]
        saver.prune(["t"])
        assert len(list(saver.list(None))) == 3
        latest: Any = {"configurable": {"thread_id": "t"}}
        assert saver.get_delta_channel_history(config=latest, channels=["log", "other"]) == before
        with pytest.raises(ValueError, match="keep_latest"):
            saver.prune(["t"], strategy="all")


def test_of_a_thread_that_another_process_prunes_a_reader_says_it_once_and_reads_what_is_left(tmp_path: Path):
    path = tmp_path / "runs.db"
    with Checkpointer(path) as saver:
        graphs.chain("one", "two").compile(checkpointer=saver).invoke({"log": ["in"], "topic": "x"}, graphs.thread())
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        cursor = source.cursor(run.id, 1)
        code = "import sys; from agent_tt.langgraph import Checkpointer; Checkpointer(sys.argv[1]).prune(['t'])"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        with pytest.raises(RunNotFound, match="deleted meanwhile"):
            source.steps(run.id)
        (left,) = source.runs()
        assert (left.id, left.steps) == (run.id, 1)
        assert len(source.steps(run.id)) == 1
        state: Any = source.state(run.id, 1)
        assert state["log"] == ["in", "one", "two"]
        with pytest.raises(RunNotFound, match="deleted meanwhile"):  # it stands in the run as it was
            cursor.seek(2)


@pytest.mark.parametrize("ask", ["get_tuple", "list", "list all", "history", "invoke", "update"])
@pytest.mark.parametrize(("taken", "left"), [("prune(['t'])", 1), ("delete_thread('t')", 0)])
def test_a_checkpointer_that_is_open_reads_and_writes_what_another_process_left_of_a_thread(
    tmp_path: Path, taken: str, left: int, ask: str
):
    path = tmp_path / "runs.db"
    with Checkpointer(path) as saver:
        graph = graphs.chain("one", "two").compile(checkpointer=saver)
        given: Any = {"log": ["in"], "topic": "x"}
        config = graphs.thread()
        graph.invoke(given, config)
        assert len(list(saver.list(None))) == 4
        code = f"import sys; from agent_tt.langgraph import Checkpointer; Checkpointer(sys.argv[1]).{taken}"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        before = ["in", "one", "two"] if left else []
        if ask == "get_tuple":
            assert (saver.get_tuple(config) is not None) == bool(left)
        elif ask.startswith("list"):
            assert len(list(saver.list(None if ask == "list all" else config))) == left
        elif ask == "history":
            assert [each.values["log"] for each in graph.get_state_history(config)] == [before] * left
        elif ask == "invoke":
            assert graph.invoke(given, config)["log"] == [*before, "in", "one", "two"]
        else:
            graph.update_state(config, {"log": ["by hand"]}, as_node="one")
            assert graph.get_state(config).values["log"] == [*before, "by hand"]
    with closing(open_source(path)) as source:
        assert not source.verify()


def test_without_langgraph_the_error_names_the_extra():
    code = "import sys; sys.modules['langgraph'] = None; import agent_tt; import agent_tt.langgraph"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "pip install 'agent-tt[langgraph]'" in ended.stderr
