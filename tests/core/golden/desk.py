"""An agent that is changed in one way at a time, and a golden of it as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from tests.fresh_source import write_source

from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.run_rules import AtMost, Ends
from agent_tt.golden.running import run_golden
from agent_tt.golden.saving import save_golden
from agent_tt.golden.tool_rules import Never, Tools
from agent_tt.golden.value_rules import Answer, State
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.golden.golden_file import Golden
    from agent_tt.golden.running import GoldenResult

AGENT = """
import agent_tt

@agent_tt.tool(effect="read")
def find(order):
    return {"order": order, "paid": 59.9}

@agent_tt.tool(effect="read")
def rate(currency):
    return 1.5

@agent_tt.tool(effect="write")
def refund(order):
    raise AssertionError("a golden never runs a tool")

def main(state=None):
    state = state or {"order": "K-1", "paid": None, "rate": None, "answer": None}
    with agent_tt.record("desk", state=state) as run:
        with run.step("look up", state) as step:
            state["paid"] = find(state["order"])["paid"]
            state["rate"] = rate("EUR")
            step.add_usage(tokens_in=10, tokens_out=5, cost_usd=0.001)
        with run.step("answer", state) as step:
            state["answer"] = f"You have {state['paid'] * state['rate']:.2f} EUR."
    return state

if __name__ == "__main__":
    main()
"""

RULES = (
    Ends(),
    Tools(("find", "rate")),
    Never(writes=True),
    AtMost("steps", 2),
    AtMost("dollars", 0.001),
    State("paid", 1, equals="59.9"),
    Answer(contains=("89.85",)),
)


def record(folder: Path, name: str = "desk") -> Path:
    """Write the agent into a folder and record a run of it; gives the store."""
    store = folder / "runs.db"
    write(folder, name=name)
    environment = {**os.environ, "AGENT_TT_STORE": str(store)}
    subprocess.run([sys.executable, "-c", f"import {name}; {name}.main()"], cwd=folder, env=environment, check=True)
    return store


def write(folder: Path, *changes: tuple[str, str], name: str = "desk") -> None:
    """Write the agent, with changes."""
    text = AGENT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    write_source(folder / f"{name}.py", text)


def keep(folder: Path, name: str = "kept", rules=RULES) -> Golden:
    """A golden of the run in the folder's store."""
    with closing(open_store(folder / "runs.db")) as store:
        return save_golden(store, store.run("desk"), folder / "goldens", name, rules)


def tried(golden: Golden) -> GoldenResult:
    """What comes of a golden, read from its file."""
    return run_golden(read_golden(golden.path), store=golden.path.parent / "tests.db")
