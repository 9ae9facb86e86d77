"""Each promise of `docs/promises.md` names a command and a test that are there."""

from __future__ import annotations

import re

import pytest
from tests.tui.readme_parts import ROOT

from agent_tt_tui.cli.root import COMMANDS

TEXT = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| [^|]+ \| `([a-z]+)` \| `(tests/[^:|]+)::(test_\w+)` \|$", TEXT, re.MULTILINE)


def test_every_row_of_the_promises_can_be_read():
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    assert len(ROWS) == len(rows) - 2 > 0


@pytest.mark.parametrize(("command", "file", "test"), ROWS)
def test_a_promise_names_a_command_and_a_test_that_are_there(command, file, test):
    assert command in COMMANDS
    assert re.search(rf"^(?:async )?def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
