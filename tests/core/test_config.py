"""Settings: where they come from and which is stronger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_tt import config
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "deep"
    folder.mkdir(parents=True)
    return folder


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_without_files_nothing_is_said_and_nothing_is_made(project: Path, tmp_path: Path) -> None:
    assert config.load(project, {}, tmp_path / "none.toml") == config.Config()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "project"]


def test_environment_is_stronger_than_project_and_project_than_user(project: Path, tmp_path: Path) -> None:
    user = write(tmp_path / "user.toml", 'theme = "nord"\nglyphs = "ascii"\nkeys = { "a.b" = "x", "c.d" = "y" }\n')
    write(
        project.parent / "pyproject.toml", '[tool.agent-tt]\ntheme = "dracula"\nstore = "runs.db"\nkeys."a.b" = "z"\n'
    )
    found = config.load(project, {"AGENT_TT_THEME": "tt-light"}, user)
    assert (found.theme, found.glyphs) == ("tt-light", "ascii")
    assert found.store == project.parent / "runs.db"
    assert found.keys == {"a.b": "z", "c.d": "y"}
    assert config.load(project, {}, user).theme == "dracula"


def test_functions_to_record_are_named_in_a_table(project: Path, tmp_path: Path) -> None:
    user = write(tmp_path / "user.toml", 'calls = { "a.f" = "read", "a.g" = "llm" }')
    write(project.parent / "pyproject.toml", '[tool.agent-tt.calls]\n"a.f" = "write"\n')
    assert config.load(project, {}, user).calls == {"a.f": "write", "a.g": "llm"}


def test_headers_that_count_are_those_of_user_and_project(project: Path, tmp_path: Path) -> None:
    user = write(tmp_path / "user.toml", 'headers = ["x-user", "x-tenant"]')
    write(project.parent / "pyproject.toml", '[tool.agent-tt]\nheaders = ["x-tenant", "x-team"]\n')
    assert config.load(project, {}, user).headers == ("x-user", "x-tenant", "x-team")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('them = "nord"', "has no key 'them'"),
        ('glyphs = "braille"', "glyphs cannot be 'braille'"),
        ("theme = 3", "theme must be a string"),
        ("keys = 3", "keys must be a table"),
        ('calls = { "a.b" = "send" }', "calls must be a table of read, write, llm"),
        ('effects = { "search_*" = "send" }', "effects: search_* cannot be 'send'"),
        ('effects = "read"', "effects must be a table of read or write by name"),
        ('headers = "x-tenant"', "headers must be a list of names"),
        ("theme =", "is not valid TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_file_and_what_to_do(
    tmp_path: Path, project: Path, text: str, message: str
) -> None:
    user = write(tmp_path / "user.toml", text)
    with pytest.raises(UsageError) as refused:
        config.load(project, {}, user)
    assert message in refused.value.message
    assert str(user) in refused.value.message
    assert refused.value.hint


def test_an_unknown_key_is_answered_with_the_one_that_was_meant(tmp_path: Path, project: Path) -> None:
    with pytest.raises(UsageError) as refused:
        config.load(project, {}, write(tmp_path / "user.toml", 'glyph = "ascii"'))
    assert refused.value.hint == "Did you mean glyphs?"


def test_the_index_of_searches_is_turned_off_by_file_or_environment(project: Path, tmp_path: Path) -> None:
    none = tmp_path / "none.toml"
    assert config.load(project, {}, none).search_index is None
    write(project.parent / "pyproject.toml", "[tool.agent-tt]\nsearch_index = false\n")
    assert config.load(project, {}, none).search_index is False
    assert config.load(project, {"AGENT_TT_SEARCH_INDEX": "on"}, none).search_index is True
    with pytest.raises(UsageError, match="cannot be 'perhaps'"):
        config.load(project, {"AGENT_TT_SEARCH_INDEX": "perhaps"}, none)
    write(project.parent / "pyproject.toml", '[tool.agent-tt]\nsearch_index = "no"\n')
    with pytest.raises(UsageError, match="must be true or false"):
        config.load(project, {}, none)


def test_what_is_said_of_retention_is_joined_and_checked(project: Path, tmp_path: Path) -> None:
    user = write(tmp_path / "user.toml", 'retention = { test = "2d", success = "3d" }')
    write(project.parent / "pyproject.toml", '[tool.agent-tt.retention]\nsuccess = "14d"\nkeep_last = 50\n')
    assert config.load(project, {}, user).retention == {"test": "2d", "success": "14d", "keep_last": 50}
    for table in ("retention = 7", 'retention = { tests = "2d" }', "retention = { keep_last = 0 }"):
        with pytest.raises(UsageError, match=r"user\.toml: retention"):
            config.load(project, {}, write(tmp_path / "user.toml", table))


def test_what_is_said_of_tools_is_joined_and_the_environment_is_the_strongest(project: Path, tmp_path: Path) -> None:
    user = write(tmp_path / "user.toml", 'effects = { "find_*" = "read", lookup = "read" }')
    write(project.parent / "pyproject.toml", '[tool.agent-tt.effects]\nlookup = "write"\n"search_*" = "read"\n')
    found = config.load(project, {"AGENT_TT_EFFECTS": '{"search_*": "write"}'}, user)
    assert found.effects == {"find_*": "read", "lookup": "write", "search_*": "write"}
    for text, why in (("no", "AGENT_TT_EFFECTS is not valid JSON"), ('{"a": "send"}', "AGENT_TT_EFFECTS: a cannot be")):
        with pytest.raises(UsageError, match=why):
            config.load(project, {"AGENT_TT_EFFECTS": text}, user)


def test_a_name_is_stronger_than_a_pattern_and_a_longer_pattern_than_a_shorter_one() -> None:
    said: dict[str, config.ToolEffect] = {
        "*": "write",
        "find_*": "read",
        "find_[a-c]*": "write",
        "find_b": "read",
    }
    asked = ("charge", "find_x", "find_a", "find_b")
    assert [config.effect_of_tool(said, name) for name in asked] == ["write", "read", "write", "read"]
    assert config.effect_of_tool({"search_*": "read"}, "charge") is None
