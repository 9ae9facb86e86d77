"""DBOS. Recorded as a workflow of steps; forked as the page on workflow management says.

https://docs.dbos.dev/python/tutorials/workflow-management: `DBOS.fork_workflow(id, start_step)` copies the outputs of
the steps before `start_step` and runs the rest. It takes no edited state: the code is what changes.
"""

import sys

import desk
from dbos import DBOS, SetWorkflowID

DBOS(
    config={
        "name": "refund",
        "system_database_url": "sqlite:///dbos.sqlite",
        "application_version": "1",
        "run_admin_server": False,
    }
)


@DBOS.step()
def read_ticket():
    return desk.read_ticket()


@DBOS.step()
def decide(amount):
    return desk.decide(amount)


@DBOS.step()
def refund(order, amount):
    desk.comes_to_the_refund()
    return desk.refund(order, amount)


@DBOS.step()
def reply(receipt):
    return desk.reply(receipt)


@DBOS.workflow()
def agent():
    ticket = read_ticket()
    if decide(ticket["amount"]) == "refund":
        return reply(refund(**ticket))
    return None


DBOS.launch()
if sys.argv[1] == "record":
    with SetWorkflowID("refund"):
        agent()
else:
    steps = DBOS.list_workflow_steps("refund")
    start = next(step["function_id"] for step in steps if step["function_name"].endswith("decide"))
    print(DBOS.fork_workflow("refund", start).get_result())
DBOS.destroy()
