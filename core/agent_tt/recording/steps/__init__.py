"""Steps: the parts of a run, and the states after them.

| module | what it does |
|---|---|
| `recorded_step` | one step, and what is told about it |
| `model_steps`, `model_turns` | steps of a run whose agent names none: one for each model call |
| `agent_names` | whose steps they are, in runs of several agents |
| `conversations`, `kept_turns` | which of those belong to one conversation, and what the provider keeps of it |
| `checkpointing` | which steps get a checkpoint |
| `state_histories` | which state object each state history follows |
| `snapshot`, `in_place` | what is kept of a state object; changing one in place |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from agent_tt.recording.steps.recorded_step import RecordedStep

__all__ = ["RecordedStep"]

__getattr__ = lazily(__name__, {"RecordedStep": "agent_tt.recording.steps.recorded_step"})
