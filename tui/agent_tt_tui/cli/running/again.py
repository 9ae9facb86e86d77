"""`agent-tt again`: ask a model once more what a recorded call asked, without running the agent."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import AgentFailed, Interrupted, NotFound, UsageError
from agent_tt.forking.editing.forms import read_edit
from agent_tt.querying.checkpoints import find_place
from agent_tt_tui.cli.changes import changes_of, print_changes
from agent_tt_tui.cli.options import Options, common_options, complete_runs, gathering, write_json
from agent_tt_tui.cli.running.following import stopped_as_by_ctrl_c
from agent_tt_tui.cli.terminal import Cell, Column, Terminal

if TYPE_CHECKING:
    from agent_tt.asking_again.answers import Answers
    from agent_tt.asking_again.plan import AgainPlan
    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.cli.terminal import Role

_NO: Final = 1
_POLL_SECONDS: Final = 0.1
_SECONDS: Final = 600.0

_FORMS: Final = (
    ("set", "PATH=VALUE", "Change the request's body first; VALUE is JSON."),
    ("insert", "PATH=VALUE", "Insert into a list of the body, before that position."),
    ("delete", "PATH", "Remove a key or an item of the body: messages[3]."),
    ("move", "PATH=PATH", "Move a value of the body."),
)
_LABEL: Final = 10
_RIGHT: Final = ("", "TOKENS", "COST", "TOOK")
_SIGNS: Final[dict[str, Role]] = {"-": "failed", "+": "well", " ": "muted"}


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("place", required=False, metavar="[STEP[.CALL]]")
@click.option("--times", type=click.IntRange(min=1), default=1, metavar="N", help="How often; else once.")
@gathering("edits", _FORMS, read_edit)
@click.option("--model", metavar="NAME", help="Ask another model.")
@click.option("--key", metavar="VARIABLE", help="The variable that holds the key for the server; '' for no key.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=_SECONDS,
    metavar="SECONDS",
    help="Wait that long for each answer; else 600.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def command(
    options: Options,
    run: str,
    place: str | None,
    *,
    times: int,
    edits: list[Edit] | None = None,
    model: str | None,
    key: str | None,
    timeout: float,
    dry_run: bool,
    yes: bool,
) -> int:
    """Send the request of a recorded model call again, and show the answers beside the recorded one.

    The agent does not run. STEP.CALL is the call; STEP is enough where it asked one model. The request goes out as it
    was recorded, with what you --set, to the provider, which charges for it: what is sent, where to, with which key and
    at what cost is said first, and you are asked. What was redacted is not sent: set it, or leave it out.

    The key comes from OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY and the like, as the provider's SDK takes it,
    and goes only to that provider, to the server that OPENAI_BASE_URL and the like name, or to this machine; for
    any other server name the variable with --key. It stops at the first answer that does not come.

    The answers are kept as a run of their own, tagged `again`: with that RUN alone this command shows them once more.

    Exit code 5 when an answer did not come, 1 when you say no, 130 when it was stopped.

    \b
    agent-tt again trip-planner 2 --times 5
    agent-tt again trip-planner 2.1 --set temperature=0 --set 'messages[0].content="Be brief."' --yes
    agent-tt again trip-planner/again-2.1
    --json: {run, status, of: {run, step, call}, times, edits, model, cost_usd,
            recorded: {number, status, same, text, tools, model, finish_reason, tokens_in,
            tokens_out, cost_usd, duration_ms, error}, answers: [{…as recorded, diff: [line]}]};
            needs --yes; with --dry-run {run, step, call, times, url, base, key, model, edits, body,
            expected, policy, source, place, notes, store}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.asking_again.plan import AgainRequest, plan_again
    from agent_tt.shapes.again import again_shape

    with options.source(run) as source:
        found, at, number = _find(source, run, place)
        if at is None:
            _show(options, source, found)
            return 0
        asked = AgainRequest(at, number, times, tuple(edits or ()), model, key, timeout)
        plan = plan_again(source, found, asked)
        if not dry_run and not _may_send(options, plan, yes=yes):
            options.terminal().line("Nothing was sent.")
            return _NO
        if not dry_run:
            return _send(options, source, plan)
    if options.as_json:
        write_json(again_shape(plan))
    else:
        _print_plan(options.terminal(), plan)
        options.terminal().line(Cell("Nothing was sent.", "muted"))
    return 0


def _find(source: RunSource, run: str, place: str | None) -> tuple[Run, int | None, int | None]:
    """Find the run, and the step and the call where they were named: apart, or as `RUN@STEP.CALL`.

    Raises:
        UsageError: two different places were named.
        RunNotFound, StepNotFound: there is no such run or step.
    """
    step, number = (None, None) if place is None else _call_of(place)
    try:
        return *find_place(source, run, step, option="STEP"), number
    except NotFound:
        joined, named = _call_of(run)
        if "@" not in run or named is None:
            raise
        found, at = find_place(source, joined, step, option="STEP")
    if number not in (None, named):
        raise UsageError(f"{run} names call {named}, and STEP names call {number}", hint="Name one call.")
    return found, at, named


def _call_of(place: str) -> tuple[str, int | None]:
    """Take the number of a call off `STEP.CALL`."""
    head, dot, number = place.rpartition(".")
    return (head, int(number)) if dot and head and number.isascii() and number.isdigit() else (place, None)


def _may_send(options: Options, plan: AgainPlan, *, yes: bool) -> bool:
    """Whether it may go out: the person said so, on the command line or now.

    Raises:
        UsageError: nobody can be asked, or the policy wants that somebody is.
    """
    from agent_tt_tui.viewmodel.running.again import question_of

    if yes and plan.rule.word != "ask":
        return True
    if plan.rule.word == "ask" and not options.can_ask:
        raise UsageError(
            f"the policy of {plan.rule.where} is ask for {plan.request.asked.model}, and nobody can be asked here",
            hint="send it in a terminal",
        )
    return options.agreed("sending", question_of(plan), lambda terminal: _print_plan(terminal, plan))


def _print_plan(terminal: Terminal, plan: AgainPlan) -> None:
    from agent_tt_tui.viewmodel.running.again import plan_rows

    for label, words in (*plan_rows(plan), *(("note", note) for note in plan.notes)):
        terminal.line(Cell(label.ljust(_LABEL), "muted"), terminal.safe(words))  # whole: it says where a key goes
    print_changes(terminal, changes_of(plan.asked.edits))


def _send(options: Options, source: RunSource, plan: AgainPlan) -> int:
    """Send it, wait for the answers, and show them."""
    from agent_tt.asking_again.launch import start_again
    from agent_tt.sources import open_source
    from agent_tt.supervising.keeper import TerminalLost
    from agent_tt_tui.cli.progress import counter

    with (
        stopped_as_by_ctrl_c(),
        start_again(plan) as handle,
        closing(open_source(handle.store)) as kept,
        counter(f"asking {options.terminal().safe(plan.request.asked.model)}", show=not options.as_json) as report,
    ):
        try:
            while handle.wait(_POLL_SECONDS) is None:
                report(sum(step.status != "running" for step in kept.steps(handle.run_id)), plan.asked.times)
        except TerminalLost:
            raise
        except KeyboardInterrupt:  # what has come is shown
            handle.stop()
    with closing(open_source(handle.store)) as kept:
        run = kept.run(handle.run_id)
        _show(options, kept, run, source)
    if run.status == "interrupted":
        return Interrupted.exit_code
    return AgentFailed.exit_code if run.status in ("failed", "crashed") else 0


def _show(options: Options, source: RunSource, run: Run, original: RunSource | None = None) -> None:
    """Show the answers of a run that asked again."""
    from agent_tt.asking_again.answers import answers_of
    from agent_tt.shapes.again import answers_shape

    answers = answers_of(source, run, original)
    if options.as_json:
        write_json(answers_shape(answers))
    else:
        _print(options.terminal(), answers)


def _print(terminal: Terminal, answers: Answers) -> None:
    from agent_tt.asking_again.answers import text_diff
    from agent_tt_tui.viewmodel.running.again import TITLES, answer_rows, summary_of

    asked = answers.asked
    terminal.line(Cell(terminal.safe(answers.run.name), "strong"), f"  {terminal.safe(asked.model or '')}".rstrip())
    print_changes(terminal, changes_of(asked.edits))
    columns = [Column(title, "right" if title in _RIGHT else "left", title == TITLES[-1]) for title in TITLES]
    rows = []
    for row in answer_rows(answers, terminal.glyphs):
        cells = [Cell(terminal.safe(text)) for text in row.cells]
        cells[1] = Cell(cells[1].text, row.tone)
        rows.append(cells)
    terminal.table(columns, rows)
    for answer in answers.differing:
        terminal.line()
        terminal.line(Cell(f"recorded {terminal.glyphs.differs} answer {answer.number}", "changed"))
        for line in text_diff(answers.recorded, answer):
            terminal.line(Cell(terminal.safe(line), _SIGNS[line[:1]]))
    terminal.line()
    terminal.line(Cell(", ".join(summary_of(answers)), "muted"))
