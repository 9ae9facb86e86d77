"""Where code is while it is recorded."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING

import agent_tt
from agent_tt.recording.scope import here
from agent_tt.recording.store_work import store_at_work

if TYPE_CHECKING:
    from fake_store import FakeStore


def test_a_write_is_in_no_scope_and_leaves_the_context_alone(store: FakeStore) -> None:
    # Finalizers write too, and may run in the middle of a `ContextVar.set`: one more in there crashes CPython 3.11.
    with agent_tt.record("agent"):
        before = dict(contextvars.copy_context().items())
        assert here() is not None
        with store_at_work():
            assert here() is None
            assert dict(contextvars.copy_context().items()) == before
        assert here() is not None
