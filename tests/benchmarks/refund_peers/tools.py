"""The tools that are tried: their versions, where their documentation says how to fork, and the ways that are tried.

The first way of each is what the documentation shows, without any option. Further ways are documented options that
hold back a tool that writes, or let it run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import agent_tt


@dataclass(frozen=True, slots=True)
class Way:
    """One way of forking the agent with a tool."""

    name: str
    """What is done, in a few words of Markdown."""
    argument: str = "fork"
    """What the agent's module is called with to fork."""
    recorded_by: str = "record"
    """What it is called with to record."""
    typed: str = ""
    """What is typed on its standard input."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, with what it takes to try it."""

    key: str
    """Its short name: for `--only`, and the end of the name of its module."""
    name: str
    version: str
    docs: str
    """Where its documentation says how to fork, or to replay."""
    ways: tuple[Way, ...]
    requirements: tuple[str, ...] = ()
    """What pip installs; nothing for agent-tt, which runs in the environment of this benchmark."""
    python: str | None = None
    """The Python that it needs, where it is another."""
    forks: bool = True
    """Whether it goes on from a step with real calls. One that does not only answers from its recording."""

    @property
    def module(self) -> str:
        """Its agent, in `agents`."""
        return f"with_{self.key}"


TOOLS: Final = (
    Tool(
        "agent_tt",
        "agent-tt",
        agent_tt.__version__,
        "docs/fork.md",
        (
            Way("`agent-tt fork refund --at 1 --set ticket.amount=90`"),
            Way("the same where no function is marked as a tool", "unmarked", recorded_by="record-unmarked"),
            Way("the first with `--allow refund`", "allow"),
        ),
    ),
    Tool(
        "langgraph",
        "LangGraph",
        "1.2.22",
        "https://docs.langchain.com/oss/python/langgraph/use-time-travel#fork",
        (
            Way("`update_state` on a checkpoint, then `invoke(None, fork)`"),
            Way('the same with `interrupt_before=["refund"]`', "breakpoint"),
        ),
        ("langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2"),
    ),
    Tool(
        "burr",
        "Apache Burr",
        "0.43.0",
        "https://burr.apache.org/docs/concepts/state-persistence/",
        (
            Way("`initialize_from(…, fork_from_sequence_id, override_state_values)`, then `run`"),
            Way('the same with `halt_before=["refund"]`', "halt"),
        ),
        ("apache-burr==0.43.0",),
    ),
    Tool(
        "dbos",
        "DBOS",
        "3.4.0",
        "https://docs.dbos.dev/python/tutorials/workflow-management",
        (Way("`DBOS.fork_workflow(id, start_step)`"),),
        ("dbos==3.4.0",),
    ),
    Tool(
        "ai_agent_vcr",
        "Agent VCR",
        "1.5.4",
        "https://pypi.org/project/ai-agent-vcr/1.5.4/",
        (
            Way("`player.resume(agent, ResumeConfig(from_frame, state_overrides))`"),
            Way("the same with `mode=MOCK` and `inject_mocks`", "mock"),
        ),
        ("ai-agent-vcr==1.5.4",),
    ),
    Tool(
        "clearstone",
        "Clearstone",
        "0.1.2",
        "https://pypi.org/project/clearstone-sdk/0.1.2/",
        (
            Way("`ReplayEngine(checkpoint).start_debugging_session(…)`, then `c`", typed="c\n"),
            Way('the same with `mock_config={"tool": …}`', "mock", typed="c\n"),
        ),
        ("clearstone-sdk==0.1.2",),
    ),
    Tool(
        "rewind",
        "Rewind",
        "0.17.1",
        "https://pypi.org/project/rewind-agent/0.17.1/",
        (Way('`rewind_agent.replay("latest", from_step=1)`'),),
        ("rewind-agent==0.17.1", "openai==3.54.0"),
    ),
    Tool(
        "agentstep",
        "Agent Step",
        "0.1.2",
        "https://pypi.org/project/agentstep/0.1.2/",
        (Way("`replay_branch(graph, config, node, new_values)`"),),
        ("agentstep==0.1.2",),
        python="3.13",
    ),
    Tool(
        "agent_framework",
        "Microsoft Agent Framework",
        "1.23.0",
        "https://learn.microsoft.com/en-us/agent-framework/workflows/checkpoints",
        (Way("`workflow.run(checkpoint_id=…)`"),),
        ("agent-framework-core==1.23.0",),
    ),
    Tool(
        "stepfork",
        "Stepfork",
        "0.2.1",
        "https://pypi.org/project/stepfork/0.2.1/",
        (
            Way("`ForkEngine` with an `OverrideSpec`, then a frozen `ReplaySession`"),
            Way('`ReplaySession(trace, mode="live")` over the whole trace', "live"),
            Way('the same with `allow_live_tools={"refund"}`', "allow"),
        ),
        ("stepfork==0.2.1",),
        forks=False,
    ),
    Tool(
        "agentrr",
        "agentrr",
        "0.1.0a3",
        "https://pypi.org/project/agentrr/0.1.0a3/",
        (Way("`replay(log, agent)`"), Way("the same with changed code", "edited")),
        ("agentrr==0.1.0a3",),
        forks=False,
    ),
)
"""agent-tt first, then the others."""
