"""Agents that go on until they are told to stop, to be held while they run; started as programs."""

from __future__ import annotations

import asyncio
import sys
import threading

import agent_tt

MOST = 100_000
STORE = sys.argv[2] if len(sys.argv) > 2 else None


@agent_tt.tool(effect="write")
def pay(amount: int) -> dict[str, int]:
    """Pay; the answer says how much."""
    return {"paid": amount}


@agent_tt.tool
async def look(page: int) -> dict[str, int]:
    """Look a page up, which takes a moment."""
    await asyncio.sleep(0.001)
    return {"page": page}


def plain(state: dict[str, object] | None = None) -> None:
    """One lane, a step for each call."""
    state = state or {"budget": 5, "paid": [], "stop": False}
    with agent_tt.record("plain", state=state, store=STORE, attach=True) as run:
        for number in range(MOST):
            with run.step("pay", state):
                state["paid"].append(pay(number + state["budget"]))
            if state["stop"]:
                break


def several(state: dict[str, object] | None = None) -> None:
    """Three tasks of one event loop, which share a state."""
    state = state or {"budget": 5, "seen": [], "stop": False}

    async def work(run: object, name: str) -> None:
        for number in range(MOST):
            with run.step(name, state):
                found = await look(number + state["budget"])
                state["seen"].append([name, found["page"] if isinstance(found, dict) else found])
            if state["stop"]:
                break

    async def everything() -> None:
        with agent_tt.record("several", state=state, store=STORE, attach=True) as run:
            await asyncio.gather(*(work(run, name) for name in ("ann", "ben", "cat")))

    asyncio.run(everything())


def hasty(state: dict[str, object] | None = None) -> None:
    """One task, which waits no longer than half a second for an answer."""
    state = state or {"budget": 5, "late": [], "stop": False}

    async def everything() -> None:
        with agent_tt.record("hasty", state=state, store=STORE, attach=True) as run:
            for number in range(MOST):
                with run.step("look", state):
                    try:
                        await asyncio.wait_for(look(number + state["budget"]), 0.5)
                    except TimeoutError:
                        state["late"].append(number)
                if state["stop"]:
                    break

    asyncio.run(everything())


def threads(state: dict[str, object] | None = None) -> None:
    """Two threads that share a state. None pays by the budget: when it reads what changed for the other is a race."""
    state = state or {"budget": 5, "paid": [], "stop": False}

    def work(run: object, name: str) -> None:
        for number in range(MOST):
            with run.step(name, state):
                state["paid"].append([name, pay(number)])
            if state["stop"]:
                break

    with agent_tt.record("threads", state=state, store=STORE, attach=True) as run:
        workers = [threading.Thread(target=work, args=(run, name)) for name in ("ann", "ben")]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


if __name__ == "__main__":
    {"plain": plain, "several": several, "hasty": hasty, "threads": threads}[sys.argv[1]]()
