"""Sessions of other programs by the command: found, listed, imported, and asked about."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.interop.sessions import SESSION, Session, about_a_port, words

if TYPE_CHECKING:
    from tests.tui.cli.conftest import Command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return about_a_port("Which port?", "8421").write(tmp_path)


def answer(command: Command, *arguments: str) -> Any:
    done = command(*arguments, "--json")
    assert done.code in (0, 1), done.err
    return json.loads(done.out)


def without_place(told: Any, *names: str) -> str:
    """What a command says, without the words that only the place of a run is said by."""
    text = json.dumps(told, sort_keys=True)
    for name in names:
        text = text.replace(name, "RUN")
    return text


@pytest.mark.parametrize(
    "arguments",
    [
        ("blame", "{}", "messages[3].content[0].text", "--at", "2"),
        ("diff", "{}@2", "{}@3"),
        ("diff", "{}@0", "{}@1"),
        ("find", "{}", "8421"),
        ("find", "{}", "--where", "len(state.messages) > 2"),
        ("bisect", "{}", "len(state.messages) > 2"),
    ],
    ids=" ".join,
)
def test_the_past_answers_the_same_of_a_file_and_of_its_import(
    command: Command, file: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    store = str(tmp_path / "runs.db")
    (imported,) = answer(command, "import", str(file), "--into", store)["runs"]
    of_file = answer(command, "--store", str(file), *(each.format(SESSION, SESSION) for each in arguments))
    run = imported["run"]
    of_import = answer(command, "--store", store, *(each.format(run, run) for each in arguments))
    assert without_place(of_import, run, SESSION, store) == without_place(of_file, run, SESSION, str(file))


def test_two_sessions_of_one_task_part_at_the_same_step_in_files_and_in_the_store(
    command: Command, tmp_path: Path
) -> None:
    other_id = SESSION.replace("1", "2")
    folder = tmp_path / "sessions"
    folder.mkdir()
    one = about_a_port("Which port?", "8421").write(folder, "one.jsonl")
    other = about_a_port("Which port?", "9000", other_id).write(folder, "other.jsonl")
    store = str(tmp_path / "runs.db")
    told = answer(command, "import", str(folder), "--into", store)
    assert [run["added"] for run in told["runs"]] == [4, 4]
    first, second = (run["run"] for run in told["runs"])
    in_files = answer(command, "compare", f"{one}:{SESSION}", f"{other}:{other_id}")
    in_store = answer(command, "--store", store, "compare", first, second)
    assert in_files["diverged_at"] == in_store["diverged_at"] == 1


def test_the_questions_of_the_page_are_answered(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text(encoding="utf-8")
    example = page.partition("## Ask a session")[2].partition("```sh\n")[2].partition("```")[0]
    lines = [shlex.split(line, comments=True)[1:] for line in example.splitlines()]
    assert [line[0] for line in lines] == ["blame", "diff", "compare"]
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    about_a_port("Which port?", "8421", "0b1c2d3e").write(tmp_path, "one.jsonl")
    about_a_port("Which port?", "9000", "1c2d3e4f").write(tmp_path, "other.jsonl")
    assert command("import", "one.jsonl").code == 0
    blamed, dropped, compared = (command(*line) for line in lines)
    assert "Read" in blamed.out
    assert "port = 8421" in blamed.out
    assert "The server listens on port 8421." in dropped.out
    assert "9000" in compared.out


def test_sessions_are_listed_where_programs_keep_them_and_not_where_the_settings_say_no(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    folder = tmp_path / "claude" / "projects" / "-desk"
    folder.mkdir(parents=True)
    session = about_a_port("Which\x1b[31m port?", "8421").write(folder, "one.jsonl")
    assert command("sessions").code == 2, "AGENT_TT_SESSIONS=off"
    monkeypatch.setenv("AGENT_TT_SESSIONS", "on")
    shown = command("sessions").out
    assert "Claude Code" in shown
    assert "\x1b" not in shown
    assert "1 session found, 1 shown" in shown
    assert "0 shown" in command("sessions", "nowhere").out
    (told,) = answer(command, "sessions", "PORT")
    assert (told["program"], told["file"], told["id"], told["folder"]) == (
        "Claude Code",
        str(session),
        SESSION,
        "/desk",
    )
    assert told["run"] is None
    (imported,) = answer(command, "import", str(session))["runs"]
    assert answer(command, "sessions")[0]["run"] == imported["run"]


def test_the_runs_of_a_folder_are_those_of_its_files(command: Command, file: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    listed = command("runs", "--store", str(tmp_path))
    assert listed.code == 0
    assert file.name in listed.out
    assert "notes.txt: " in listed.err
    (run,) = answer(command, "runs", "--store", str(tmp_path))
    assert (run["id"], run["file"]) == (SESSION, str(file))
    file.unlink()
    nothing = command("runs", "--store", str(tmp_path))
    assert nothing.code == 4
    assert "notes.txt" in nothing.err


def test_a_folder_is_imported_with_what_in_it_cannot_be(command: Command, file: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    into = ("--into", str(tmp_path.parent / f"{tmp_path.name}.db"))
    told = answer(command, "import", str(tmp_path), *into)
    assert [(run["file"], run["added"]) for run in told["runs"]] == [(str(file), 4)]
    assert [each["file"] for each in told["unread"]] == [str(tmp_path / "notes.txt")]
    assert command("import", str(tmp_path), *into).code == 0
    assert command("import", str(tmp_path), SESSION, *into).code == 2


def test_a_copy_can_be_redacted_and_its_conversations_still_share_what_they_begin_with(
    command: Command, tmp_path: Path
) -> None:
    session = Session()
    last = session.says("Write to ann@example.com.")
    for number in range(60):
        last = session.answers(f"msg_{number}", words(f"answer {number} " + "word " * 60), last)
        last = session.says(f"and then {number}?", last)
    path = tmp_path / "runs.db"
    store = ("--store", str(path))
    (copy,) = answer(command, "import", str(session.write(tmp_path)), "--into", str(path))["runs"]
    size = path.stat().st_size
    assert command(*store, "redact", copy["run"], "--profile", "personal", "--yes").code == 0
    shown = command(*store, "show", copy["run"], "100", "--json").out
    assert "ann@example.com" not in shown
    assert "answer 20" in shown
    assert command(*store, "verify").code == 0
    assert path.stat().st_size < 3 * size
    assert b"ann@example.com" not in path.read_bytes()
