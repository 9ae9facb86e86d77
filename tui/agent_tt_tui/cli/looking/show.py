"""`agent-tt show`: a run with its steps, or one step with its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from agent_tt.context.causes import MOST_STEPS
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.querying.checkpoints import find_place
from agent_tt.querying.ranges import find_range
from agent_tt.shapes.answers import calls_of, effects_answer, oddities_answer, run_answer, step_answer, steps_answer
from agent_tt.shapes.effects import unrecorded_tools
from agent_tt.shapes.records import held_runs
from agent_tt_tui import format as shown
from agent_tt_tui.cli.changes import print_states
from agent_tt_tui.cli.effects import print_effects
from agent_tt_tui.cli.looking.calls import asked_cells, print_asked, print_call
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Terminal, facts
from agent_tt_tui.cli.wording import print_hoped, run_line, step_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.context.causes import Causes
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.oddities import Oddity

_KIND_COLUMNS: Final = 11
_SHOWN_STEPS: Final = 3
_LABEL: Final = 8
_MOST_ODD: Final = 20_000
"""Steps from which on a run is not searched for oddities unasked."""


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("step", required=False)
@click.option("--effects", is_flag=True, help="Show what RUN did to the world, and what it was kept from.")
@click.option("--oddities", "only_odd", is_flag=True, help="Show what is odd: loops, retries, outliers, errors.")
@click.option("--pending", is_flag=True, help="Of a STEP: apply what was written and no checkpoint has taken in.")
@click.option("--links", is_flag=True, help="Of a STEP: look what fed it also in a run of more than 1,000 steps.")
@common_options
def command(
    options: Options, run: str, step: str | None, *, effects: bool, only_odd: bool, pending: bool, links: bool
) -> None:
    """Show RUN with all its steps, or one STEP (also RUN@STEP) with what it did and its state.

    STEP may be a range, A..B (also RUN@A..B): what these steps alone took and cost, what they wrote, and what
    they changed in the state. Both ends belong to it; either may be left out.

    Of a step is also said which steps fed it, and which it fed: those of which the recording says so (by the ids of
    tool calls, or because a call was made inside of another), and after ~ those that are inferred, as a request has
    text of theirs. A number with ? is one of several steps that brought the same text.

    \b
    --json: {run: {…as in runs}, steps: [{step, id, name, agent, status, started,
             duration_ms, calls, error, …}], notes: [{id, step, text, created}],
             labels: [{step, name, metadata}], unrecorded: [{step, call, name, args,
             result}], expect: {expression, came, why} of a fork with --expect},
             a call being {kind, name, effect, lane, args, result, error, duration_ms, …};
             unrecorded has the tools that model call `call` asked for
             and that only the conversation shows; result is null where it does not
    --json with STEP: that step, `state`, `unrecorded` of the step, and links: {from, to}, each
             {recorded: [step], inferred: [step], perhaps: [step], joins: [{step, call, fed,
             fed_call, kind, recorded, one_of}]}; null where it was not looked for; kind is one
             of asked, shown, result, inside, started, nested, given, text, alike, argument
    --json with A..B: {run, first, last, base, steps, errors, tokens_in, tokens_out, uncounted,
             cost_usd, unpriced_calls, took_ms, changes as in diff, and effects, held_back, reads,
             models, summary as below}; base is the step whose state was before them, uncounted
             of how many model calls no tokens were told
    --json --effects: {run, effects: [{step, call, where, lane, kind, name, effect,
             happened, because, args, asked, result, error, file, line, inside}],
             held_back: [...], reads, models, summary, unrecorded}; happened is one of
             sent, sent edited, failed, unknown, waiting, denied, refused, stubbed,
             recorded; where is null in the run, else before, beside or after its
             recording, or the name of another run that its process recorded;
             unrecorded names tools that ran and that nothing records
    --json --oddities: {oddities: [{kind, what, steps}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    if effects and only_odd:
        raise UsageError("--effects and --oddities are two questions", hint="ask one after the other")
    if pending and (effects or only_odd):
        raise UsageError("--pending is about the state after a step", hint="ask one after the other")
    if links and (effects or only_odd):
        raise UsageError("--links is about one step", hint="ask one after the other")
    with options.source(run) as source:
        if (chosen := find_range(source, run, step)) is not None:
            if effects or only_odd or pending or links:
                raise UsageError("a range of steps is shown with no further option", hint="leave the option out")
            _show_range(options, source, *chosen)
            return
        found, number = find_place(source, run, step, option="STEP")
        if number is not None and (effects or only_odd):
            what = "effects" if effects else "oddities"
            raise UsageError(f"{what} are those of a whole run", hint="leave out the step")
        if effects:
            _show_effects(options, source, found)
        elif only_odd:
            _show_oddities(options, source, found)
        elif number is None:
            if pending:
                raise UsageError("--pending is about the state after a step", hint="name the step")
            if links:
                raise UsageError("--links is about one step", hint="name the step")
            _show_run(options, source, found)
        else:
            _show_step(options, source, found, number, pending=pending, links=links)


def _show_effects(options: Options, source: RunSource, run: Run) -> None:
    from agent_tt.forking.outside.ledger import effects_of

    if options.as_json:
        write_json(effects_answer(source, run))
        return
    terminal = options.terminal()
    run_line(terminal, run)
    print_effects(terminal, run, effects_of(source, run), unrecorded_tools(source, run))


def _show_run(options: Options, source: RunSource, run: Run) -> None:
    from agent_tt.comparing.steps.asked_tools import read_asked_tools
    from agent_tt.querying.expecting import hoped_of
    from agent_tt.replaying.tape.repeats import place_of, repeated

    if options.as_json:
        write_json(run_answer(source, run))
        return

    steps = source.steps(run.id)
    terminal = options.terminal()
    run_line(terminal, run, is_held=run.id in held_runs(source, [run]))
    print_hoped(terminal, hoped_of(source, run))
    _print_marks(terminal, source, run)
    columns = (
        Column("", "right"),
        Column(""),
        Column("", flexible=True),
        Column("", flexible=True),
        Column("", "right"),
        Column(""),
    )
    # A step whose strongest call is a model's says what was decided; its calls would bring whole conversations.
    whole = {step.number for step in steps if step.kind != "llm" or step.status != "ok"}
    calls = {step.number: calls_of(source, run, step) if step.number in whole else [] for step in steps}
    gone = repeated(run, (call for part in calls.values() for call in part))
    _print_odd(terminal, source, run, {step.number: calls[step.number] for step in steps if step.kind != "llm"})
    shown = [(step, [call for call in calls[step.number] if place_of(call) not in gone]) for step in steps]
    asked = read_asked_tools(source, run).by_step()
    below = [[asked_cells(terminal, each) for each in asked.get(step.number, ())] for step, _ in shown]
    terminal.table(columns, [step_cells(step, calls, terminal.glyphs) for step, calls in shown], below)
    _print_in_flight(terminal, run, shown)


def _print_in_flight(terminal: Terminal, run: Run, shown: Iterable[tuple[Step, list[Call]]]) -> None:
    """Write each call that has no answer, whole: after a crash it is what may have happened, or not."""
    for step, calls in shown:
        for call in calls:
            if call.status == "pending":
                terminal.line()
                terminal.line(Cell("IN FLIGHT  ", "muted"), Cell(f"step {step.number}, call {call.number}", "changed"))
                print_call(terminal, call, is_running=run.status == "running")


def _show_oddities(options: Options, source: RunSource, run: Run) -> None:
    from agent_tt.querying.oddities import find_oddities
    from agent_tt.querying.unread import unread_in

    if options.as_json:
        write_json(oddities_answer(source, run))
        return
    from textwrap import wrap

    oddities, unread = find_oddities(source, run), unread_in(source, run)

    terminal = options.terminal()
    run_line(terminal, run)
    places = [_places(oddity) for oddity in oddities]
    column = max(map(len, places), default=0)
    indent = _KIND_COLUMNS + column + 4
    for oddity, place in zip(oddities, places, strict=True):
        first, *more = wrap(terminal.safe(oddity.what), max(30, terminal.columns - indent)) or [""]
        kind = Cell(f"{oddity.kind:<{_KIND_COLUMNS}}  ", "changed")
        terminal.line(kind, Cell(f"{place:<{column}}", "strong"), f"  {first}")
        for line in more:
            terminal.line(" " * indent, line)
    if not oddities:
        terminal.line("Nothing is odd about what could be looked at." if unread else "Nothing is odd about it.")
    if unread:
        terminal.line(Cell(terminal.safe(f"not looked at: {'; '.join(unread)}"), "muted"))


def _places(oddity: Oddity) -> str:
    """`1 to 20`, or the first of the steps."""
    first, last = oddity.steps[0], oddity.steps[-1]
    if oddity.kind == "first error":  # the step before it only led there
        return str(last)
    in_a_row = last - first + 1 == len(oddity.steps) > 2
    more = ", …" if len(oddity.steps) > _SHOWN_STEPS else ""
    return f"{first} to {last}" if in_a_row else ", ".join(map(str, oddity.steps[:_SHOWN_STEPS])) + more


def _print_odd(terminal: Terminal, source: RunSource, run: Run, calls: Mapping[int, list[Call]]) -> None:
    """Say in one line what is odd, and how to be told more."""
    from agent_tt.querying.oddities import find_oddities

    if run.steps > _MOST_ODD or run.status == "running":
        return
    odd = find_oddities(source, run, known=calls)
    if odd:
        text = terminal.short(", ".join(f"{each.kind} {_places(each)}" for each in odd), terminal.columns - 32)
        terminal.line(Cell("  odd   ", "muted"), Cell(text, "changed"), Cell("  --oddities says more", "muted"))


def _print_marks(terminal: Terminal, source: RunSource, run: Run) -> None:
    """What people wrote down about a run and its checkpoints, a line each."""
    labels = source.labels(run.id).values()
    lines = [("", f"#{tag}") for tag in run.tags]
    lines += [(f"@{label.step}", label.name) for label in labels if label.name is not None]
    lines += [("" if n.step is None else f"@{n.step}", n.body) for n in source.notes(run.id) if n.kind == "note"]
    for where, text in lines:
        shown = terminal.short(text, terminal.columns - 9)
        terminal.line(Cell(f"  {where:<6}" if where else "  ", "muted"), Cell(shown, "yours"))


def _show_range(options: Options, source: RunSource, run: Run, first: int, last: int) -> None:
    from agent_tt.querying.ranges import range_changes, read_range, why_no_changes
    from agent_tt_tui.viewmodel.past.ranges import range_facts

    if options.as_json:
        write_json(steps_answer(source, run, first, last))
        return
    found = read_range(source, run, first, last)
    changes = range_changes(source, run, found)
    terminal = options.terminal()
    run_line(terminal, run)
    named = f"steps {first}{terminal.glyphs.span}{last}" if first < last else f"step {first}"
    known = facts(range_facts(found, terminal.glyphs), terminal.glyphs.dot)
    terminal.line(Cell(named, "strong"), Cell(f"  {known}", "muted"))
    terminal.line()
    terminal.line(Cell("EFFECTS", "strong"))
    print_effects(terminal, run, found.effects)
    terminal.line()
    terminal.line(Cell("CHANGES", "strong"))
    if changes is None:
        terminal.line(Cell(why_no_changes(source, run, found), "muted"))
    else:
        print_states(terminal, changes, (str(found.base), str(last)), source.state(run.id, last))


def _show_step(options: Options, source: RunSource, run: Run, number: int, *, pending: bool, links: bool) -> None:
    from agent_tt.comparing.steps.asked_tools import read_asked_tools

    causes, why_not = _causes_of(source, run, asked_for=links)
    if options.as_json:
        write_json(step_answer(source, run, number, pending=pending, causes=causes))
        return
    step = next(iter(source.steps(run.id, number, number + 1)), None) if number else None
    calls = [] if step is None else calls_of(source, run, step)
    state = source.pending_state(run.id, number) if pending else source.state(run.id, number)
    asked = read_asked_tools(source, run).by_step().get(number, ())
    from agent_tt.codec.text import pretty
    from agent_tt_tui.viewmodel.debugger.marked_steps import remarks

    terminal = options.terminal()
    run_line(terminal, run)
    if step is None:
        terminal.line(Cell("0", "strong"), "  input")
    else:
        _print_step(terminal, step, calls, is_running=run.status == "running")
        for each in asked:
            terminal.line()
            print_asked(terminal, each)
    terminal.line()
    _print_causes(terminal, number, causes, why_not)
    terminal.line()
    terminal.line(Cell("STATE", "strong"))
    odd = [] if step is None else remarks(step)
    for remark in odd:
        terminal.line(Cell("note  ", "muted"), remark)
    for line in pretty(state).split("\n"):
        terminal.line(terminal.safe(line))


def _causes_of(source: RunSource, run: Run, *, asked_for: bool) -> tuple[Causes | None, str]:
    """What fed each step, or why that is not known: what is wrong elsewhere in the run says nothing of this step."""
    from agent_tt.context.causes import Causes
    from agent_tt.context.reading import read_contexts

    if run.steps > MOST_STEPS and not asked_for:
        return None, f"not looked for in a run of {run.steps:,} steps; --links does"
    try:
        return Causes(read_contexts(source, run.id)), ""
    except AgentTTError as error:
        return None, f"not all of the run can be read: {error.message}"


def _print_causes(terminal: Terminal, number: int, causes: Causes | None, why_not: str) -> None:
    """Say which steps fed a step, and which it fed."""
    from agent_tt_tui.viewmodel.debugger.causes import fed_words

    if causes is None:
        terminal.line(Cell("fed by  ", "muted"), terminal.glyphs.span, Cell(f"  {terminal.safe(why_not)}", "muted"))
        return
    from textwrap import wrap

    found, glyphs = causes.of(number), terminal.glyphs
    for label, fed, arrow in (("fed by", found.sources, glyphs.fed_by), ("fed", found.fed, glyphs.feeds)):
        words = fed_words(fed, (arrow, f"{arrow}~"), glyphs.span)
        for row, text in enumerate(wrap(words, max(30, terminal.columns - _LABEL), drop_whitespace=True)):
            terminal.line(Cell(f"{'' if row else label:<{_LABEL}}", "muted"), text)


def _print_step(terminal: Terminal, step: Step, calls: Iterable[Call], *, is_running: bool) -> None:

    dot = terminal.glyphs.dot
    duration = None if step.duration_us is None else shown.duration(step.duration_us / 1e6)
    tokens = sum(count for count in (step.tokens_in, step.tokens_out) if count)
    known = (step.agent, step.status, duration, shown.tokens(tokens) if tokens else None, step.decision)
    terminal.line(
        Cell(f"{step.number}  {terminal.safe(step.name)}", "strong"),
        "  ",
        Cell(terminal.safe(facts(known, dot)), "muted"),
    )
    if step.damaged is not None:
        terminal.line(Cell(terminal.safe(step.damaged), "failed"))
    if step.error is not None:
        for line in (step.error.short, *step.error.message.splitlines()[1:]):
            terminal.line(Cell(terminal.safe(line), "failed"))
    for call in calls:
        terminal.line()
        print_call(terminal, call, is_running=is_running)
