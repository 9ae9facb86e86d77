"""The example of an effect that is done once, as the docs have it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.tui.readme_parts import DOCS, code_blocks

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm


def test_the_example_of_the_docs_is_done_once_however_often_it_runs(tmp_path: Path) -> None:
    (example,) = [block for block in code_blocks(DOCS / "record.md", "py") if block.startswith("# once_shop.py")]
    (tmp_path / "once_shop.py").write_text(example)
    store = {**os.environ, "AGENT_TT_STORE": str(tmp_path / "runs.db")}
    command = [sys.executable, "once_shop.py"]
    runs = [subprocess.run(command, cwd=tmp_path, env=store, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [run.stdout for run in runs] == ["charged 7\n", ""]
