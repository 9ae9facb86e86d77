"""What the source of a step says of it besides: the keys of `Step.extra`, which is `extra` in `steps.meta`."""

from __future__ import annotations

from agent_tt.model.facts.fact import Fact, Facts, Flag
from agent_tt.model.facts.shapes import LIST, TEXT, TRUTH, VALUE, WHOLE

__all__ = ["StepFacts"]


class StepFacts(Facts):
    """What a step's source says of it besides."""

    __slots__ = ()

    unpriced = Fact(WHOLE, "how many of its model calls have no known price")
    made_up = Fact(TEXT, "a model's answer in it was made up, by `mock` or `script`")
    without_checkpoint = Flag("no checkpoint was taken of it, as the recording was told")
    state_dropped = Fact(WHOLE, "when its checkpoint was dropped, in microseconds since the epoch")
    state_error = Fact(TEXT, "why it has no checkpoint: the error that reading its state raised")
    checkpoint_id = Fact(TEXT, "of a LangGraph run: the checkpoint after it")
    parent_checkpoint_id = Fact(
        TEXT,
        "of a LangGraph run: the checkpoint before it. Where our checkpointer kept it, this, `source`, `langgraph_step`"
        " and `checkpoint_ts` are absent where they are the last checkpoint of its namespace before it, `loop`, two"
        " less than the step's number, and the step's end; null where there is none",
    )
    source = Fact(TEXT, "of a LangGraph run: `input`, `loop`, `update` or `fork`; `task` of a task in flight")
    next = Fact(LIST, "of a LangGraph run: the nodes that run next")
    langgraph_step = Fact(WHOLE, "of a LangGraph run: the number of its superstep")
    checkpoint_ns = Fact(TEXT, "of a LangGraph run: the namespace of its checkpoints")
    branch = Fact(TEXT, "of a LangGraph run: id of the run, a branch of the thread, that it first belonged to")
    task_id = Fact(TEXT, "of a task in a LangGraph run: its id")
    attempt = Fact(
        TRUTH, "of a task in a LangGraph run: it failed, or waited, in a superstep that came to its end later"
    )
    rebuilt = Fact(
        LIST, "of a LangGraph run: channels that its checkpoint does not hold, put together from what was written"
    )
    not_held = Fact(
        LIST, "of a LangGraph thread in a store of ours: delta channels of which its checkpoint holds no value"
    )
    pending_writes = Fact(LIST, "of a task in a LangGraph run whose superstep has not ended: what it has written")
    checkpoint_ts = Fact(TEXT, "of a step of LangGraph's checkpointer: the time that its checkpoint names")
    checkpoint_metadata = Fact(
        VALUE, "of such a step: the checkpoint's metadata, but for `source` and `step`; absent for no parents"
    )
    writes = Fact(
        LIST,
        "of such a step: what tasks wrote on top of its checkpoint, each `[task, path, [number, channel, value], …]`;"
        " a value that is null is left out, and the path `~__pregel_pull, node` is `[node]`",
    )

    recorded_in = Fact(
        TEXT,
        "of such a step that came while an agent was recorded: id of its run, where the calls are that it recorded",
    )

    raw_entries = Fact(
        LIST, "of a run in another program's file of messages: its entries there, as far as nothing else shows them"
    )

    @property
    def graph_checkpoint_id(self) -> str | None:
        """Of a subgraph's checkpoint that our checkpointer kept: the checkpoint of the whole graph that it ran from."""
        return self.host_checkpoint_ids.get("")

    @property
    def host_checkpoint_ids(self) -> dict[str, str]:
        """Of such a checkpoint: those that it ran from, by the namespace of each graph around it."""
        said = self.checkpoint_metadata
        parents = said.get("parents") if isinstance(said, dict) else None
        found = parents.items() if isinstance(parents, dict) else ()
        return {namespace: host for namespace, host in found if isinstance(host, str)}

    @property
    def is_edit(self) -> bool:
        """Whether no node of a graph made it: the state was edited, or copied, with LangGraph's `update_state`."""
        return self.source in ("update", "fork")
