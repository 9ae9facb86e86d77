"""A setting that the app keeps: all else in the user's file stays as it was, or nothing is written."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from agent_tt.config import read_user
from agent_tt.config_writing import keep_names
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_OTHERS = """# mine
theme = "nord"  # quiet

[keys]
"time.next" = "n"
columns = "no setting of ours"
"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        _OTHERS,
        'columns = ["name"]\n' + _OTHERS,
        'columns = [\n  "name",  # ]\n  "took",\n]\ntheme = "nord"\n',
        "[keys]\n",
    ],
)
def test_the_setting_is_kept_and_taken_out_again_and_all_else_stays(tmp_path: Path, text: str) -> None:
    file = tmp_path / "of its own" / "config.toml"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    others = {key: value for key, value in tomllib.loads(text).items() if key != "columns"}
    keep_names(file, "columns", ["name", "cost"])
    assert read_user(file).columns == ("name", "cost") if "keys" not in text else True
    assert tomllib.loads(file.read_text()) == {**others, "columns": ["name", "cost"]}
    assert all(line in file.read_text() for line in text.splitlines() if line.startswith(("#", "theme", '"', "[k")))
    keep_names(file, "columns", None)
    assert tomllib.loads(file.read_text()) == others
    assert [each.name for each in file.parent.iterdir()] == ["config.toml"]


def test_a_file_that_is_not_there_is_made_and_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "agent-tt.toml", tmp_path / "config" / "config.toml"
    link.parent.mkdir()
    link.symlink_to(real)
    keep_names(link, "columns", ["name"])
    assert link.is_symlink()
    assert read_user(real).columns == ("name",)
    keep_names(tmp_path / "new" / "config.toml", "columns", None)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["columns = [", '"columns" = ["name"]\n', "columns.x = 1\n"])
def test_what_cannot_be_changed_for_sure_is_left_and_said(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        keep_names(file, "columns", ["name"])
    assert file.read_text() == text
    assert refused.value.hint
