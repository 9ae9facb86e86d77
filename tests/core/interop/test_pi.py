"""Branches and compactions of pi's sessions; its turns are tested with other files of messages."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.core.conformance.reading import check_source

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

HEAD: dict[str, Any] = {
    "type": "session",
    "version": 3,
    "id": "pi-1",
    "cwd": "/desk",
    "timestamp": "2026-03-02T10:00:00Z",
}


def entry(name: str, parent: str | None, kind: str = "message", **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": name, "parentId": parent, "timestamp": "2026-03-02T10:00:01Z", **more}


def user(name: str, parent: str | None, words: str) -> dict[str, Any]:
    return entry(name, parent, message={"role": "user", "content": words})


def model(name: str, parent: str | None, words: str) -> dict[str, Any]:
    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}
    said = {"role": "assistant", "model": "m", "stopReason": "stop", "content": [{"type": "text", "text": words}]}
    return entry(name, parent, message=said | {"usage": usage})


def write(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEAD, *lines)))
    return path


def contents(state: Any) -> list[Any]:
    return [
        turn["content"] if isinstance(turn["content"], str) else turn["content"][0]["text"]
        for turn in state["messages"]
    ]


def test_where_a_person_went_back_the_other_way_is_a_fork(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        user("a", None, "Which port?"), model("b", "a", "8080."), user("c", "b", "Sure?"), model("d", "c", "Yes."),
        entry("e", "b", "branch_summary", fromId="d", summary="It was sure."),
        user("f", "e", "And the host?"), model("g", "f", "Mine."),
        entry("h", "g", "session_info") | {"name": "Ports"},
    )  # fmt: skip
    with closing(open_source(path)) as source:
        runs = {run.id: run for run in source.runs()}
        assert {name: (run.parent, run.fork_step, run.steps) for name, run in runs.items()} == {
            "pi-1": (None, None, 3), "pi-1@e": ("pi-1", 1, 3),
        }  # fmt: skip
        assert contents(source.state("pi-1", 3)) == ["Which port?", "8080.", "Sure?", "Yes."]
        assert contents(source.state("pi-1@e", 3)) == ["Which port?", "8080.", "It was sure.", "And the host?", "Mine."]
        assert runs["pi-1"].facts.title == "Ports"
        check_source(source)


def test_a_compaction_keeps_what_stands_behind_the_entry_that_it_names(tmp_path: Path) -> None:
    told = [user("a", None, "Which port?"), model("b", "a", "8080."), user("c", "b", "Sure?"), model("d", "c", "Yes.")]
    cut = entry("e", "d", "compaction", summary="A port was asked for.", firstKeptEntryId="c", tokensBefore=9)
    with closing(open_source(write(tmp_path, *told, cut, user("f", "e", "Go on.")))) as source:
        assert [step.name for step in source.steps("pi-1")] == ["answer", "user", "answer", "compaction", "user"]
        assert contents(source.state("pi-1", 4)) == ["A port was asked for.", "Sure?", "Yes."]
        check_source(source)
    for number, line in enumerate((*told, cut), 1):
        line.pop("id")
        line.pop("parentId")
        if line is cut:
            line["firstKeptEntryIndex"] = 3
            assert number == 5
    with closing(open_source(write(tmp_path, *told, cut))) as source:
        assert contents(source.state("pi-1", 4)) == ["A port was asked for.", "Sure?", "Yes."]
