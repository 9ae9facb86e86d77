"""`agent-tt settle`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import agent_tt

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command


def test_what_is_said_of_a_call_is_the_answer_of_the_next_one(command: Command, tmp_path: Path) -> None:
    store = tmp_path / "once.db"

    @agent_tt.tool(effect="write", once="order-{order}")
    def charge(order: str) -> object:
        raise TimeoutError(order)

    with pytest.raises(TimeoutError), agent_tt.record("shop", store=store) as run:
        charge("7")
    at = ("--store", str(store), "settle", "shop", "order-7")
    assert "say whether it happened" in command(*at).err
    assert "no call of" in command(*at[:-1], "order-8", "--did-not-happen").err
    said = json.loads(command(*at, "--happened", '{"charged": 3}', "--json").out)
    assert said == {"run": run.id, "tool": "charge", "key": "order-7", "happened": True}
    with agent_tt.record("shop", store=store):
        assert charge("7") == {"charged": 3}
    assert "it is done" in command(*at[:3], run.id, "order-7", "--did-not-happen").err
