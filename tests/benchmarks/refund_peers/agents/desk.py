"""What every agent of this benchmark does: read a ticket, decide by a rule, pay the refund, reply.

Standard library only, for each agent runs with another tool in an environment of its own.
"""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path

ORDER = "A-17"
AMOUNT = 120
"""What the ticket asks back, and what is paid while the run is recorded."""
EDITED = 90
"""What the state is edited to for the fork, which begins after the ticket was read: the agent decides again."""


def read_ticket() -> dict[str, object]:
    """The ticket: a tool that reads."""
    return {"order": ORDER, "amount": AMOUNT}


def decide(amount: int) -> str:
    """The agent's model: a rule."""
    return "refund" if amount <= 150 else "refuse"


def refund(order: str, amount: int) -> str:
    """Pay: the tool that writes. The bank listens on the loopback interface."""
    body = json.dumps({"order": order, "amount": amount}).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["BANK"], body), timeout=30) as answer:
        return str(json.load(answer)["receipt"])


def reply(receipt: object) -> str:
    """The agent's last word."""
    _mark("replied")
    return f"Your refund: {receipt}"


def comes_to_the_refund() -> None:
    """Leave a mark where the agent is about to call the tool, so that "held back" is not "never asked"."""
    _mark("asked")


def said(words: object) -> None:
    """Print what the tool answered in place of a receipt, for whoever reads the results."""
    print("said:", " ".join(str(words).split()))


def _mark(what: str) -> None:
    with Path(os.environ["MARKS"]).open("a") as marks:
        marks.write(f"{what}\n")
