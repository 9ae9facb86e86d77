"""`agent-tt answer`: decide about calls that wait, of a running fork or of an agent that is held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.errors import QuestionNotFound, UsageError
from agent_tt.shapes.records import question_shape
from agent_tt_tui.cli.marks import writable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.running.questions import print_question, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Edit
    from agent_tt.protocols import RunSource
    from agent_tt.questions import CallQuestion, Decision


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@click.option("--question", "number", type=int, metavar="ID", help="Which one, where several wait.")
@click.option("--run", "as_it_is", is_flag=True, help="Make the call as it is.")
@click.option("--args", metavar="JSON", help='Make it with these arguments, by name: {"amount": 5}; others stay.')
@click.option("--give", metavar="JSON", help="Do not make it: the agent gets this value.")
@click.option("--error", metavar="ERROR", help='Do not make it: it raises this, "TimeoutError: no answer".')
@click.option("--refuse", is_flag=True, help="Do not make it: the agent sees that it was denied.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="Of an agent that is held: change its state first; VALUE is JSON. Alone it goes with --run.",
)
@click.option(
    "--retype",
    "retypings",
    multiple=True,
    metavar="PATH=VALUE",
    help="The same as --set, as plain JSON whatever type of value is there.",
)
@click.option("--why", metavar="TEXT", help="With --refuse: what the agent is told.")
@common_options
def command(
    options: Options,
    run: str | None,
    *,
    number: int | None,
    as_it_is: bool,
    args: str | None,
    give: str | None,
    error: str | None,
    refuse: bool,
    assignments: tuple[str, ...],
    retypings: tuple[str, ...],
    why: str | None,
) -> None:
    """Decide about a call of RUN that waits; without a decision, list what waits.

    A call waits because its fork's policy is ask, or because somebody holds its agent (`agent-tt hold`).

    Without RUN everything that waits in the store is meant. Exit code 3 when nothing waits, 2 when it was answered
    meanwhile, or its process is gone.

    \b
    agent-tt answer
    agent-tt answer refund-loop/fork-1 --run
    agent-tt answer refund-loop/fork-1 --args '{"amount": 5}'
    agent-tt answer refund-loop/fork-1 --refuse --why "not on a Sunday"
    agent-tt answer my-agent --set budget=3 --run
    --json: [{question, run, name, step, call, lane, kind, tool, effect, args, editable, can_give, asked, trouble,
            hold, state, can_edit_state}]; of an answer that one, with {…, answer: {word, edited, why}}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    chosen = [as_it_is, args is not None, give is not None, error is not None, refuse]
    if sum(chosen) > 1:
        raise UsageError("--run, --args, --give, --error and --refuse exclude each other")
    if why is not None and not refuse:
        raise UsageError("--why goes with --refuse")
    as_it_is = as_it_is or (bool(assignments or retypings) and not any(chosen))
    chosen.append(as_it_is)
    with options.source(*([run] if run else [])) as source:
        waiting = source.questions(source.run(run).id if run else None)
        if not any(chosen):
            _list(options, source, [each for each in waiting if number in (None, each.id)])
            return
        question = _chosen(waiting, number, run)
        if args is not None:
            decision = question.run_text(args)
        elif give is not None:
            decision = question.give_text(give)
        elif error is not None:
            decision = question.fail(error)
        else:
            decision = question.refuse(why or "") if refuse else question.run()
        decision = _with_state(question, decision, assignments, retypings).said_by("command")
        writable(source).answer_question(question.id, decision)
        _tell(options, source, question, decision)


def _with_state(
    question: CallQuestion, decision: Decision, assignments: Sequence[str], retypings: Sequence[str]
) -> Decision:
    from agent_tt.forking.editing.assignments import parse_assignment, parse_retyping
    from agent_tt.forking.editing.edits import with_old_values

    edits: list[Edit] = [*map(parse_assignment, assignments), *map(parse_retyping, retypings)]
    if question.state is not None:
        edits = [*with_old_values(question.state, edits)]
    return question.with_state(decision, edits)


def _chosen(waiting: Sequence[CallQuestion], number: int | None, run: str | None) -> CallQuestion:
    """The question that is meant.

    Raises:
        QuestionNotFound: it does not wait.
        UsageError: several do.
    """
    found = [each for each in waiting if number in (None, each.id)]
    if not found:
        what = f"question {number} does not wait" if number is not None else "nothing waits"
        raise QuestionNotFound(f"{what}{f' in {run}' if run else ''}", hint="`agent-tt answer` lists what waits.")
    if len(found) > 1:
        listed = ", ".join(f"{each.id} ({each.name})" for each in found)
        raise UsageError(f"{len(found)} calls wait: {listed}", hint="say which with --question ID")
    return found[0]


def _list(options: Options, source: RunSource, waiting: Sequence[CallQuestion]) -> None:
    names = {each.run_id: source.run(each.run_id).name for each in waiting}
    if options.as_json:
        write_json([question_shape(each, names[each.run_id]) for each in waiting])
        return

    terminal = options.terminal()
    if not waiting:
        terminal.line("nothing waits for an answer")
    for index, question in enumerate(waiting):
        if index:
            terminal.line()
        print_question(terminal, question, names[question.run_id])


def _tell(options: Options, source: RunSource, question: CallQuestion, decision: Decision) -> None:
    name = source.run(question.run_id).name
    if options.as_json:
        write_json({**question_shape(question, name), "answer": decision.to_facts()})
        return

    terminal = options.terminal()
    terminal.line(terminal.safe(f"{name} step {question.step}: {told(question, decision)}"))
