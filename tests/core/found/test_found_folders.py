"""The files of a folder, and which of them open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.core.interop.sessions import SESSION, Session, words
from tests.core.interop.test_claude_code import with_an_agent
from tests.core.interop.test_openhands_v1 import EVENTS, conversation

from agent_tt.found import folders
from agent_tt.found.folders import Unread, files_in, open_all

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_files_open_one_after_another_and_the_others_say_why_not(tmp_path: Path) -> None:
    session = Session()
    session.answers("msg_1", words("Yes."), session.says("Is it?"))
    (tmp_path / "deep").mkdir()
    session.write(tmp_path / "deep", "one.jsonl")
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / ".hidden.jsonl").write_text(session.text(), encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "deep" / "one.jsonl")
    (tmp_path / "deep" / "up").symlink_to(tmp_path)
    unread: list[Unread] = []
    told: list[tuple[int, int]] = []
    opened = [source.path.name for source in open_all(tmp_path, unread, lambda done, total: told.append((done, total)))]
    assert opened == ["one.jsonl"]
    assert [(each.path.name, each.is_other) for each in unread] == [("notes.txt", True)]
    assert told == [(0, 2), (1, 2)]


def test_of_very_many_files_the_first_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text("x", encoding="utf-8")
    files, unread = files_in(tmp_path)
    assert [path.name for path in files] == ["0.txt", "1.txt", "2.txt"]
    assert [each.why for each in unread] == ["2 more files were not looked at: 3 are the most"]


def test_a_session_in_several_files_is_listed_once(tmp_path: Path) -> None:
    conversation(tmp_path / "conversation", EVENTS)
    with_an_agent(tmp_path, place="newer")
    files, unread = files_in(tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in files) == [
        f"{SESSION}.jsonl", "conversation/base_state.json",
    ]  # fmt: skip
    assert unread == []
