"""What is told of the modules that are loaded: those that are new, replaced or have other names than before."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import agent_tt
from agent_tt.recording.modules import loaded_modules
from agent_tt.recording.modules.loaded_modules import changed_modules, looking_anew, looking_once

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NAME = "a_module_of_this_test"


def told(since: int) -> list[str]:
    return [name for name, _ in changed_modules(since)[1]]


def test_a_module_is_told_when_it_is_new_replaced_or_has_another_number_of_names(monkeypatch: pytest.MonkeyPatch):
    now, _ = changed_modules(0)
    assert NAME not in told(now)
    first = ModuleType(NAME)
    monkeypatch.setitem(sys.modules, NAME, first)
    assert told(now) == [NAME]
    now, _ = changed_modules(now)
    assert told(now) == []
    first.word = 1  # type: ignore[attr-defined]
    assert told(now) == [NAME]
    now, _ = changed_modules(now)
    second = ModuleType(NAME)
    second.word = 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, NAME, second)
    assert changed_modules(now)[1] == [(NAME, second)]
    now, _ = changed_modules(now)
    monkeypatch.delitem(sys.modules, NAME)
    assert told(now) == []
    assert "sys" in told(0)


def test_what_is_no_module_is_not_told_and_does_no_harm(monkeypatch: pytest.MonkeyPatch):
    now, _ = changed_modules(0)
    monkeypatch.setitem(sys.modules, NAME, None)
    monkeypatch.setitem(sys.modules, NAME + "2", object())  # cannot be referred to weakly
    assert told(now) == []
    assert NAME not in told(0)


def test_one_look_does_for_all_that_are_put_in_place_together(monkeypatch: pytest.MonkeyPatch):
    now, _ = changed_modules(0)
    with looking_once():
        assert told(now) == []
        monkeypatch.setitem(sys.modules, NAME, ModuleType(NAME))
        assert told(now) == []
        with looking_anew():
            assert told(now) == [NAME]
        assert told(now) == [NAME]
    assert told(now) == [NAME]


def test_a_block_inside_shares_the_look(monkeypatch: pytest.MonkeyPatch):
    with looking_once():
        now, _ = changed_modules(0)
        monkeypatch.setitem(sys.modules, NAME, ModuleType(NAME))
        with looking_once():
            assert told(now) == []
        assert told(now) == []
    assert told(now) == [NAME]


def test_all_modules_are_looked_at_once_when_a_recording_begins_and_once_when_it_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    looks, look = [], loaded_modules._look

    def counted() -> object:
        looks.append(1)
        return look()

    with agent_tt.record("a run before it, which imports what it needs", store=tmp_path / "runs.db"):
        pass
    monkeypatch.setattr(loaded_modules, "_look", counted)
    with agent_tt.record("it", store=tmp_path / "runs.db"):
        assert len(looks) == 1
    assert len(looks) == 2
