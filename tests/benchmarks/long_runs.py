"""Runs that are long or many, for benchmarks of the screens: 100,000 steps over a state of 1 MB, or 100,000 runs."""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from agent_tt.model import AgentCode, CallEnd, ErrorInfo, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import RunStatus, StepStatus

WORDS: Final = [
    "refund",
    "order",
    "customer",
    "invoice",
    "shipping",
    "delay",
    "policy",
    "search",
    "result",
    "account",
    "ticket",
    "status",
    "pending",
    "total",
]
_STEPS: Final = (("search", "tool"), ("ask", "llm"), ("read", "tool"), ("check", "other"))
_CRITIC_EVERY: Final = 10
_ERROR_EVERY: Final = 97
_ERRORS: Final = (
    ErrorInfo("builtins:TimeoutError", "no answer within 30 s"),
    ErrorInfo("builtins:ValueError", "the refund is larger than the order"),
)
_FORK_EVERY: Final = 50
_SHOWN_MESSAGES: Final = 60
_STATUSES: Final[tuple[RunStatus, ...]] = ("succeeded", "succeeded", "succeeded", "failed", "stopped")


def long_run(path: Path, steps: int, *, documents: int = 100) -> None:
    """Write a run `long`, whose state is a conversation, counters and documents of 10 kB; a step changes a little.

    Of its two agents the critic takes every tenth step, and every 97th step fails.
    """
    drawn = random.Random(1)

    def text(words: int) -> str:
        return " ".join(drawn.choices(WORDS, k=words))

    state: dict[str, Any] = {
        "goal": text(12),
        "messages": [],
        "plan": {"open": 0, "current": {"name": text(3), "tries": 0}},
        "documents": [
            {"id": f"doc-{number}", "title": text(5), "body": text(1_370), "seen": 0} for number in range(documents)
        ],
        "totals": dict.fromkeys(WORDS, 0),
    }
    with closing(open_store(path, create=True, durability="normal")) as store:
        writer = store.begin_run(NewRun("long", code=AgentCode("desk.py:main", "1")), state)
        for number in range(1, steps + 1):
            name, kind = _STEPS[number % len(_STEPS)]
            step = writer.open_step(NewStep(name, agent="desk" if number % _CRITIC_EVERY else "critic"))
            asked, said = text(6), text(14)
            if kind != "other":
                new = NewCall(kind, name, {"query": asked}, f"{number:032x}", "read", "main", number)  # type: ignore[arg-type]
                writer.end_call(step, writer.begin_call(step, new), CallEnd("ok", said))
            # What changes is made anew, so that the store sees at once that the rest did not.
            messages = [*state["messages"], {"role": ("user", "assistant")[number % 2], "content": said}]
            state = {
                **state,
                "messages": messages[-_SHOWN_MESSAGES // 2 :] if len(messages) > _SHOWN_MESSAGES else messages,
                "plan": {"open": number, "current": {"name": state["plan"]["current"]["name"], "tries": number % 7}},
                "totals": {**state["totals"], drawn.choice(WORDS): number},
            }
            if number % 5 == 0:
                found = list(state["documents"])
                found[number % documents] = {**found[number % documents], "seen": number}
                state["documents"] = found
            error = None if number % _ERROR_EVERY else _ERRORS[number % len(_ERRORS)]
            ended: StepStatus = "error" if error else "ok"
            writer.close_step(step, StepEnd(ended, error, number % 900 + 100, 30), state)
        writer.finish("succeeded")


def many_runs(path: Path, runs: int) -> None:
    """Write so many runs of one step, of some names, agents and endings; every 50th is a fork of the one before."""
    drawn = random.Random(2)
    before = "", ""
    with closing(open_store(path, create=True, durability="normal")) as store:
        for number in range(runs):
            name = f"{WORDS[number % len(WORDS)]}-{drawn.choice(WORDS)}"
            new = NewRun(name, code=AgentCode(f"{name.partition('-')[0]}.py:main", "1"))
            if number % _FORK_EVERY == _FORK_EVERY - 1:
                new = replace(new, name=f"{before[1]}/fork-1")
                fork = store.begin_fork(NewFork(before[0], 1, {"n": -number}, new))
                writer = store.adopt_run(fork, new, {"n": -number})
            else:
                writer = store.begin_run(new, {"n": 0}, beats=False)
            before = writer.run_id, new.name
            step = writer.open_step(NewStep("ask"))
            writer.close_step(step, StepEnd("ok", tokens_in=number % 900, tokens_out=30), {"n": number})
            writer.finish(drawn.choice(_STATUSES))
