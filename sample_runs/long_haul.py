"""An agent that watches a water meter for more than a year: 10,000 hours, one step each.

Every hour it reads the meter, tells the model, and acts on what the model says: nothing, raise an alarm, or clear it.
The conversation only grows; the model is shown its newest part.

Run it: `python long_haul.py [hours]`.
"""

from __future__ import annotations

import sys
from typing import Any

import agent_tt
from sample_model import Answer, Message, say

State = dict[str, Any]

MODEL = {"model": "rules-1", "temperature": 0.0, "max_tokens": 20, "prompt_version": "watch-1"}

HOURS = 10_000
SHOWN_MESSAGES = 5
ALARM_LITRES = 90


@agent_tt.tool(effect="read")
def read_meter(hour: int) -> int:
    """Litres of water used in one hour: little at night, more by day, and a burst pipe once in a while."""
    by_day = 12 if 6 <= hour % 24 < 22 else 1
    burst = 120 if hour % 701 in range(640, 646) else 0
    return by_day * (1 + hour * 7919 % 5) + burst


@agent_tt.llm(model="rules-1")
def watch_model(messages: list[Message], *, alarm: bool) -> Answer:
    """The policy: an hour above the limit raises an alarm, the second quiet hour in a row clears it."""
    litres = [int(message["content"].split()[0]) for message in messages if message["role"] == "user"]
    if not alarm:
        return say(messages, "alarm" if litres[-1] >= ALARM_LITRES else "fine")
    return say(messages, "clear" if all(value < ALARM_LITRES for value in litres[-2:]) else "still open")


def main(state: State | None = None) -> State:
    """Watch until the last hour."""
    state = state or new_watch()
    watch, messages = state["watch"], state["messages"]
    with agent_tt.record("long-haul", state=state, model=MODEL, version="1", durability="normal") as run:
        while watch["hour"] < watch["until"]:
            with run.step("alarm" if watch["alarm"] else "watch", state) as step:
                litres = read_meter(watch["hour"])
                messages.append({"role": "user", "content": f"{litres} litres"})
                answer = watch_model(messages[-SHOWN_MESSAGES:], alarm=watch["alarm"])
                messages.append(answer["message"])
                step.decision = answer["message"]["content"]
                if step.decision == "alarm":
                    watch["alarms"] += 1
                watch["alarm"] = step.decision in {"alarm", "still open"}
                watch["hour"] += 1
    return state


def new_watch(hours: int = HOURS) -> State:
    """What the agent starts from: a watch over so many hours."""
    system = {"role": "system", "content": "You watch the water meter of a school. One word is enough."}
    return {"messages": [system], "watch": {"hour": 0, "until": hours, "alarm": False, "alarms": 0}}


if __name__ == "__main__":
    main(new_watch(int(sys.argv[1])) if len(sys.argv) > 1 else None)
