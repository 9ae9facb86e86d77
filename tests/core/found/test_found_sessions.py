"""Finding sessions where programs keep them: from the beginnings and ends of files that may hold anything."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.interop.test_databases import add_messages, add_session, opencode
from tests.core.interop.test_opencode import MESSAGES
from tests.core.interop.test_openhands_v1 import EVENTS, conversation

from agent_tt.found.measures import measure
from agent_tt.found.places import PLACES, folders_of
from agent_tt.found.sessions import Found, Scan, any_place, find_sessions
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(path: Path, *entries: Any, at: int = 1_700_000_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    os.utime(path, (at, at))
    return path


def found(scan: Scan | None = None, **environ: str) -> list[Found]:
    return [*find_sessions(scan or Scan(), environ)]


def claude(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "sessionId": "s-1", "cwd": "/desk", "message": {"role": "user", "content": words}, **more}


SESSIONS = {
    "Claude Code": (".claude/projects/-desk/a.jsonl", [claude("fix it", isMeta=True), claude("Fix the tests.")]),
    "Codex": (
        ".codex/sessions/2026/03/02/rollout-1.jsonl",
        [
            {"type": "session_meta", "payload": {"id": "s-1", "cwd": "/desk"}},
            {
                "type": "response_item",
                "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<env>"}]},
            },
            {"type": "event_msg", "payload": {"type": "user_message", "message": "Fix the tests."}},
        ],
    ),
    "Gemini CLI": (
        ".gemini/tmp/x/chats/session-1.jsonl",
        [
            {"sessionId": "s-1", "directory": "/desk"},
            {"id": "m", "type": "user", "content": [{"text": "Fix the tests."}]},
        ],
    ),
    "OpenCode": (
        ".local/share/opencode/storage/session/p/ses_1.json",
        [{"id": "s-1", "title": "Fix the tests.", "directory": "/desk"}],
    ),
    "pi": (
        ".pi/agent/sessions/--desk--/1.jsonl",
        [
            {"type": "session", "id": "s-1", "cwd": "/desk"},
            {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Fix the tests."}]}},
        ],
    ),
}
"""By program the path of a session, and its first entries."""


@pytest.mark.parametrize("program", SESSIONS)
def test_each_program_s_session_tells_its_id_its_folder_and_its_first_words(home: Path, program: str) -> None:
    path, entries = SESSIONS[program]
    assert not any_place({})
    file = write(home / path, *entries)
    assert any_place({})
    (session,) = found()
    assert (session.program, session.path, session.size) == (program, file, file.stat().st_size)
    assert (session.id, session.title, session.folder) == ("s-1", "Fix the tests.", "/desk")
    assert session.modified_us == 1_700_000_000_000_000
    assert session.is_in("/desk")
    assert not session.is_in("/des")


def test_a_conversation_of_openhands_is_a_folder(home: Path) -> None:
    write(home / ".openhands/conversations/c0ffee/events/event-00000-a.json", {"kind": "MessageEvent"})
    (session,) = found()
    assert (session.program, session.path.name, session.id, session.size) == ("OpenHands", "c0ffee", "c0ffee", None)


def test_variables_name_other_folders(home: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/projects/-x/a.jsonl", claude("Here."))
    assert found() == []
    (session,) = found(CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere"))
    assert session.title == "Here."
    codex = next(place for place in PLACES if place.program == "Codex")
    assert folders_of(codex, {}) == [home / ".codex"]
    assert all(place.source for place in PLACES)


def test_the_newest_comes_first_and_a_title_at_the_end_counts(home: Path) -> None:
    folder = home / ".claude/projects/-desk"
    title = {"type": "custom-title", "customTitle": "Dates", "sessionId": "s-1"}
    filler = [claude("word " * 2_000) for _ in range(20)]
    write(folder / "old.jsonl", claude("Old."), *filler, title, at=1_600_000_000)
    write(folder / "new.jsonl", claude("New."))
    assert [session.title for session in found()] == ["New.", "Dates"]


def test_a_command_of_claude_code_is_shown_as_it_was_given(home: Path) -> None:
    said = "<command-message>go</command-message>\n<command-name>/go</command-name>\n<command-args>now</command-args>"
    write(home / ".claude/projects/-desk/a.jsonl", claude("Caveat: not you"), claude(said))
    assert [session.title for session in found()] == ["/go now"]


def test_links_are_not_followed_and_what_cannot_be_read_is_counted(home: Path) -> None:
    projects = home / ".claude/projects"
    real = write(projects / "-desk/a.jsonl", claude("Here."))
    (projects / "loop").symlink_to(projects)
    (projects / "-desk/link.jsonl").symlink_to(real)
    os.mkfifo(projects / "-desk/pipe.jsonl")
    (projects / "-desk/broken.jsonl").write_bytes(b'\xff\xfe{"type"\n[1]\n\x00')
    scan = Scan()
    assert sorted(session.path.name for session in found(scan)) == ["a.jsonl", "broken.jsonl"]
    assert scan.total == 2
    if os.geteuid():
        real.chmod(0)
        assert len(found(scan)) == 2
        assert [path for path, _ in scan.unread] == [real]


def test_nothing_is_read_before_it_is_asked_for(home: Path) -> None:
    for number in range(300):
        write(home / f".claude/projects/-desk/{number}.jsonl", claude(f"{number}"), at=1_700_000_000 + number)
    scan = Scan()
    sessions = find_sessions(scan, {})
    assert next(sessions).title == "299"
    assert scan.total == 300
    (home / ".claude/projects/-desk/298.jsonl").unlink()
    assert next(sessions).title is None
    assert len(scan.unread) == 1


def test_sessions_in_a_database_of_opencode_are_listed_one_by_one(home: Path) -> None:
    place = home / ".local" / "share" / "opencode"
    place.mkdir(parents=True)
    with closing(opencode(place / "opencode.db")) as rows, rows:
        add_session(rows, "ses_1", title="Fix the tests.")
        add_session(rows, "ses_2", "ses_1", title="a sub-agent")
        add_messages(rows, "ses_1", MESSAGES)
    (each,) = found()
    assert (each.program, each.id, each.title, each.folder, each.run) == (
        "OpenCode", "ses_1", "Fix the tests.", "/desk", "ses_1",
    )  # fmt: skip
    known = measure(each)
    assert known is not None
    with closing(open_source(each.path)) as source:
        assert (known.steps, known.cost_usd) == (source.run("ses_1").steps, source.run("ses_1").cost_usd)


def test_a_database_that_is_another_is_counted_as_unread(home: Path) -> None:
    write(home / ".local" / "share" / "opencode" / "opencode.db", {"a": 1})
    scan = Scan()
    assert [each.path.name for each in found(scan)] == ["opencode.db"]
    assert len(scan.unread) == 1


def test_the_files_of_sub_agents_are_no_sessions(home: Path) -> None:
    write(home / ".claude" / "projects" / "-desk" / "s-1.jsonl", claude("Fix the tests."))
    write(home / ".claude" / "projects" / "-desk" / "agent-a1.jsonl", claude("Look.", isSidechain=True))
    assert [each.path.name for each in found()] == ["s-1.jsonl"]


def test_a_setting_of_codex_is_no_title(home: Path) -> None:
    write(
        home / ".codex" / "sessions" / "2026" / "03" / "02" / "rollout-1.jsonl",
        {"type": "session_meta", "payload": {"id": "s-1", "cwd": "/desk"}},
        {"type": "turn_context", "payload": {"model": "gpt-5", "summary": "auto"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Fix the tests."}},
    )
    assert [each.title for each in found()] == ["Fix the tests."]


def test_a_folder_of_openhands_says_its_first_words(home: Path) -> None:
    folder = conversation(home / ".openhands" / "conversations" / "c", EVENTS)
    (each,) = found()
    assert (each.path, each.title, each.folder) == (folder, "Which port?", "/desk")
    known = measure(each)
    assert known is not None
    assert (known.steps, known.errors) == (5, 1)
