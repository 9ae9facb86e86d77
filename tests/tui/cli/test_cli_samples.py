"""What `agent-tt samples` answers to somebody who names a sample where a command belongs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_tt_tui.cli.root import run

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("arguments", "says", "offers"),
    [
        (["refund-loop"], "'refund-loop' is a sample", "agent-tt open refund-loop"),
        (["refund-lop"], "no sample 'refund-lop'", "agent-tt samples build refund-loop"),
        (["zzz"], "no sample 'zzz'", "agent-tt open NAME"),
    ],
)
def test_a_sample_in_the_place_of_a_command_is_pointed_to_what_opens_or_makes_it(
    capsys: pytest.CaptureFixture[str], arguments: Sequence[str], says: str, offers: str
) -> None:
    assert run(["samples", *arguments, "--json"]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert says in error["message"]
    assert offers in error["hint"]
