"""agent-tt. Recorded as docs/record.md "In your own code" says, forked as docs/fork.md says."""

import json
import subprocess
import sys

import desk

import agent_tt


@agent_tt.tool(effect="write")
def refund(order, amount):
    return desk.refund(order, amount)


def main(state=None, pay=refund):
    state = state or {"ticket": None, "decision": None, "refund": None, "reply": None}
    with agent_tt.record("refund", state=state) as run:
        if state["ticket"] is None:
            with run.step("read_ticket", state):
                state["ticket"] = desk.read_ticket()
        if state["decision"] is None:
            with run.step("decide", state):
                state["decision"] = desk.decide(state["ticket"]["amount"])
        if state["decision"] == "refund" and state["refund"] is None:
            with run.step("refund", state):
                desk.comes_to_the_refund()
                try:
                    state["refund"] = pay(**state["ticket"])
                except agent_tt.ToolDenied:
                    state["refund"] = "not paid"
        with run.step("reply", state):
            state["reply"] = desk.reply(state["refund"])


def unmarked(state=None):
    """The same agent where nothing says which of its functions is a tool."""
    main(state, pay=desk.refund)


def fork(*options):
    edit = f"ticket.amount={desk.EDITED}"
    command = [sys.executable, "-m", "agent_tt_tui", "fork", "refund", "--at", "1", "--set", edit, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    for held in json.loads(done.stdout)["held_back"]:
        desk.said(held["error"])
    return done.returncode


WAYS = {"fork": (), "unmarked": ("--agent", "with_agent_tt:unmarked"), "allow": ("--allow", "refund")}
AGENTS = {"record": main, "record-unmarked": unmarked}

if __name__ == "__main__":
    if sys.argv[1] in AGENTS:
        AGENTS[sys.argv[1]]()
    else:
        sys.exit(fork(*WAYS[sys.argv[1]]))
