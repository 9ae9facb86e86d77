"""A checkpointer for LangGraph: `graph.compile(checkpointer=Checkpointer("runs.db"))` keeps its threads in our store.

It needs the package `langgraph-checkpoint`, which comes with LangGraph and with the extra `langgraph`. Nothing else of
agent-tt imports it.

| module | does |
|---|---|
| `saver` | LangGraph's interface |
| `asynchronous` | its asynchronous half: each method in a worker thread |
| `threads` | the threads of a store, one at a time, and the checkpoints of all in order |
| `thread` | writing to one: adding checkpoints, and taking them away |
| `known_thread` | what is known of one: where its checkpoints lie, and what is kept with each |
| `thread_runs` | its runs: the first one, and a branch for each way that parted from it |
| `task_writes` | what tasks wrote on top of its checkpoints |
| `outcomes` | how it stands, and a step for each task that stopped |
| `reading` | reading them one after another |
| `stops` | tasks that a question or an error ended, each with a step |
| `messages` | messages that are looked at, and made, many together |
| `memory` | what is remembered as long as there is room |
| `values` | values as LangGraph's serializer writes them, as wire values and back |
| `taking_in` | copying a thread of a LangGraph database into a store, for a fork of it |
| `past` | the thread that a fork goes on with: read from a run, kept in memory from there on |
| `message_ids` | the ids of a fork's messages, recorded for its replay |
| `forked` | going on with a graph from a checkpoint, in the process of a fork |
| `thread_reading` | the checkpoints of a thread of a LangGraph database, as they are kept here |
| `importing` | copying threads of a LangGraph database |

How a thread lies in a store, and how it is read without LangGraph, is in `agent_tt.interop.threads`.

**What lies where.** A thread is a run whose id is made of the thread's, so that two processes that begin it at once
meet. A checkpoint is a step with the state after it; the step's facts hold its id, its parent's, its metadata, and
what tasks wrote on top of it. A checkpoint that does not go on from the last one of a run begins a branch: a fork of
that run, as the reader of LangGraph's own files shows it. A task that a question or an error ended has a step too,
without a checkpoint. Each namespace of a subgraph has a state history of its own, in the run of the checkpoint that it
ran from.

**Stored once.** A state history holds changes, so a message is stored where it first appeared. What a task wrote is
kept whole until the next checkpoint is there; then only where it lies in that state, and what differs. A state has
the graph's channels by name; LangGraph's own ones, the versions of all and the rest of a checkpoint are under
`__langgraph__`.

**The same values.** A value is written by LangGraph's serializer, unpacked to a wire value (nothing that it names is
imported), and packed again: where the bytes are the same, the wire value is kept, else the bytes. What comes back
goes through the serializer. Nothing is redacted: a graph goes on from what is kept.

**Crashes, threads, processes.** `put` and `put_writes` return when what they were given is durable. All that is asked
for at the same time of one thread is one transaction, which begins with what others have written since: LangGraph saves
what tasks wrote in the background, so that the checkpoint that came of it is there before that is committed. What
several threads or processes write to one thread lies in the order in which they came.
Writes that come before their checkpoint wait in the facts of the run. A thread is `running` while its latest
checkpoint has a node to run, and the process that wrote it is there; a question to a person or an error makes it
`interrupted` or `failed`.

**Taking away.** `prune` and `delete_for_runs` write what is left anew and take the old runs away, in one transaction:
checkpoints are changes to those before, so none can be taken from the middle.
"""

from __future__ import annotations

try:
    import langgraph.checkpoint.base  # noqa: F401  looked for, so that what is missing is said in words
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "agent_tt.langgraph needs LangGraph, which is not installed: pip install 'agent-tt[langgraph]'",
        name=missing.name,
    ) from missing

from agent_tt.langgraph.saver import Checkpointer

__all__ = ["Checkpointer"]
