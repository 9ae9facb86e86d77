"""What is said of a step beside its columns: the keys of `steps.meta`, and of `extra` in it, which is `Step.extra`."""

from __future__ import annotations

from agent_tt.model.facts.fact import Fact, Facts, Flag, record
from agent_tt.model.facts.shapes import LIST, TEXT, VALUE, WHOLE

__all__ = ["StepFacts", "StepMeta"]


class StepFacts(Facts):
    """What a step's source says of it besides."""

    __slots__ = ()

    unpriced = Fact(WHOLE, "how many of its model calls have no known price")
    made_up = Fact(TEXT, "a model's answer in it was made up, by `mock` or `script`")
    without_checkpoint = Flag("no checkpoint was taken of it, as the recording was told")
    state_error = Fact(TEXT, "why it has no checkpoint: the error that reading its state raised")
    checkpoint_id = Fact(TEXT, "of a LangGraph run: the checkpoint after it")
    parent_checkpoint_id = Fact(TEXT, "of a LangGraph run: the checkpoint before it")
    source = Fact(TEXT, "of a LangGraph run: `input`, `loop`, `update` or `fork`; `task` of a task in flight")
    next = Fact(LIST, "of a LangGraph run: the nodes that run next")
    langgraph_step = Fact(WHOLE, "of a LangGraph run: the number of its superstep")
    checkpoint_ns = Fact(TEXT, "of a LangGraph run: the namespace of its checkpoints")
    branch = Fact(VALUE, "of a LangGraph run: the branch of the thread that it lies in")
    task_id = Fact(TEXT, "of a task in flight in a LangGraph run")
    attempt = Fact(VALUE, "of a task in flight in a LangGraph run: it was tried before")
    pending_writes = Fact(VALUE, "of a task in flight in a LangGraph run: what it has written")


class StepMeta(Facts):
    """The object in `steps.meta`."""

    __slots__ = ()

    calls = Fact(WHOLE, "how many calls it made; said at its end")
    repeat_of = Fact(WHOLE, "the step that this one repeats")
    decision = Fact(TEXT, "what the agent decided, in its own words")
    extra = Fact(record(StepFacts), "what its source says of it besides")
