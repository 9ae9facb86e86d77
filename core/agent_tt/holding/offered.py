"""Lets recordings of this process be held; loaded with `agent_tt.record`, it loads nothing before one asks for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.recording.runs.attaching import offer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def _attached() -> AbstractContextManager[None]:
    from agent_tt.holding.attaching import HOLDING

    return HOLDING.attached()


offer(_attached)
