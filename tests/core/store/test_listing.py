"""Listing steps: any page of a long run, each step whole and not to be changed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from tests.core.store.recordings import chat, fork, new_store, step

from agent_tt.codec.tlv import tlv
from agent_tt.history.ops import apply
from agent_tt.model import Step

if TYPE_CHECKING:
    from pathlib import Path


def test_a_listed_step_is_whole_and_frozen(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 3)
    for found in store.steps(run_id):
        assert type(found) is Step
        assert dataclasses.replace(found) == found
        with pytest.raises(dataclasses.FrozenInstanceError):
            found.name = "other"  # type: ignore[misc]
    store.close()


def test_a_page_is_a_slice_of_the_whole_list(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 30)
    fork_id, writer = fork(store, run_id, 12, store.state(run_id, 12))
    for _ in range(5):
        step(writer, {"n": 1})
    writer.finish("succeeded")
    for listed in (run_id, fork_id):
        everything = store.steps(listed)
        assert [found.number for found in everything] == list(range(1, len(everything) + 1))
        for start, stop in ((1, 5), (10, 15), (12, 13), (13, 99), (5, 5)):
            assert store.steps(listed, start, stop) == everything[start - 1 : stop - 1]
    store.close()


def test_the_changes_of_every_step_lead_from_its_base_to_it(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 8)
    fork_id, writer = fork(store, run_id, 5, {**store.state(run_id, 5), "edited": True})  # type: ignore[dict-item]
    step(writer, {"n": 1})
    step(writer, {"n": 2})
    writer.finish("succeeded")
    for listed, last in ((run_id, 8), (fork_id, 7)):
        for number in range(1, last + 1):
            base = store.base_step(listed, number)
            assert base is not None
            before = store.state(listed, base)
            assert tlv(apply(before, store.changes(listed, number))) == tlv(store.state(listed, number))
    store.close()
