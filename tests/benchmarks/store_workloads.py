"""States of agents, step after step, which `bench_store` keeps in several ways."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Wrap = Callable[[dict[str, Any]], Any]
    Workload = Callable[[Wrap], Iterator[Any]]

WORDS: Final = re.findall(
    r"\w+",
    "refund policy order customer shipping delay agent tool search result document answer question invoice account "
    "reset password update status pending approved denied manager escalate ticket number date amount total payment",
)


def growing_chat(steps: int) -> Workload:
    """Two messages of about 1.5 KB a step, and 20 scalars."""

    def states(wrap: Wrap) -> Iterator[Any]:
        drawn = random.Random(7)
        state = wrap({"messages": [], **{f"scalar_{n}": n for n in range(20)}})
        yield state
        for step in range(1, steps + 1):
            for role in ("user", "assistant"):
                text = " ".join(drawn.choice(WORDS) for _ in range(210))
                state["messages"].append({"role": role, "content": text, "id": f"{drawn.getrandbits(64):016x}"})
            for n in range(20):
                state[f"scalar_{n}"] = step * (n + 1)
            yield state

    return states


def nested_keys(steps: int) -> Workload:
    """5,000 values in 50 groups of 20 objects, of which 5 change a step."""

    def states(wrap: Wrap) -> Iterator[Any]:
        drawn = random.Random(5)

        def item(group: int, number: int) -> dict[str, Any]:
            name, score = f"name {group} {number}", drawn.random()
            return {"value": number, "name": name, "done": False, "score": score, "tag": drawn.choice(WORDS)}

        state = wrap({f"group_{g}": {f"item_{n}": item(g, n) for n in range(20)} for g in range(50)})
        yield state
        for _ in range(steps):
            for _ in range(5):
                group, number = drawn.randrange(50), drawn.randrange(20)
                state[f"group_{group}"][f"item_{number}"]["value"] = drawn.randrange(10**6)
            yield state

    return states


def documents(steps: int) -> Workload:
    """2 MB of documents, all replaced every 50 steps."""

    def states(wrap: Wrap) -> Iterator[Any]:
        drawn = random.Random(3)

        def found(step: int) -> list[dict[str, Any]]:
            return [
                {"id": step * 1000 + n, "text": " ".join(drawn.choice(WORDS) for _ in range(1400))} for n in range(200)
            ]

        state = wrap({"documents": found(0), "turn": 0, "notes": []})
        yield state
        for step in range(1, steps + 1):
            if step % 50 == 0:
                state["documents"] = found(step)
            state["turn"] = step
            state["notes"].append(f"note {step}")
            yield state

    return states


def recorded_chats(folder: Path) -> Workload | None:
    """The conversations of recorded runs, message by message, one after another; None where there are none."""
    chats: list[list[Any]] = []
    for path in sorted(folder.glob("*.json")):
        read = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(read, dict):
            chats += [run["messages"] for run in read.get("simulations", [])]
        elif read and "traj" in read[0]:
            chats += [run["traj"] for run in read]
        else:
            chats.append(read)
    if not chats:
        return None

    def states(wrap: Wrap) -> Iterator[Any]:
        state = wrap({"messages": [], "chat": -1})
        yield state
        for number, messages in enumerate(chats):
            state["messages"], state["chat"] = [], number
            for message in messages:
                state["messages"].append(json.loads(json.dumps(message)))
                yield state

    return states
