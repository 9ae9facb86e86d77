"""`agent-tt context`: what each model call of a run was sent, and where each part came from."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from agent_tt.errors import StepNotFound, UsageError
from agent_tt.model import shown
from agent_tt.querying.checkpoints import find_place
from agent_tt_tui import format as fmt
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Terminal

if TYPE_CHECKING:
    from agent_tt.context.shown import CallContext, Item, RunContexts
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

_BAR = 24
_MOST_DIGITS = 10


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("step", required=False)
@click.option("--call", type=click.IntRange(min=1), help="Of a STEP with several model calls, the number of one.")
@click.option(
    "--against",
    metavar="STEP[#CALL]",
    help="Of a STEP: compare it with this model call, not with the last one in its lane.",
)
@common_options
def command(options: Options, run: str, step: str | None, *, call: int | None, against: str | None) -> None:
    """Show how large the requests of RUN's models were; with STEP (also RUN@STEP) what one of them was made of.

    Each part of a request is listed with its tokens and where its text came from: a tool's result, a file that was
    read, an earlier answer, your words, a summary. A text that several of these hold names them all. Marked are parts
    that are new since the last call in the lane (+), gone (-), or shorter or otherwise than they were (~). What a
    compaction dropped is named: words of yours that are in no part any more, and what a later answer needed.

    Tokens of a whole request are the provider's, where it counted them; those of a part are divided by length.

    \b
    agent-tt context refund-loop
    agent-tt context refund-loop 21
    agent-tt context refund-loop 21 --against 3
    --json: {run, calls: [{step, call, lane, model, tokens, counted, whole, rest, before: {step, call},
             added, removed, same, cached, shares: [{kind, tokens, cost_usd}], answer_tokens,
             answer_cost_usd, cost_usd, compaction, why_empty}]}; counted: nobody but us counted;
             whole: the recording has all of the request; rest: what was counted beside what is
             recorded; kind is one of system, tools, summary, file, command, result, user,
             model, several, unknown
    --json with STEP: that call, and items: [{number, role, kind, name, path, mark, summary, tokens,
             tokens_before, text, tiles: [{start, end, from: [{kind, step, call, name, first}]}]}],
             cuts: [{after, was, role, kind, tokens, text}], gone: [{words, item}],
             needed: [{what, was, step, call, why}]; mark is one of same, new, shortened, changed
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.context.against import against as beside
    from agent_tt.context.reading import read_contexts
    from agent_tt.shapes.contexts import context_answer, contexts_answer

    with options.source(run) as source:
        found, number = find_place(source, run, step, option="STEP")
        if number is None and call is not None:
            raise UsageError(
                "--call is of one step", hint=f"Say which: agent-tt context {shlex.quote(run)} STEP --call {call}"
            )
        if number is None and against is not None:
            raise UsageError("--against is of one step", hint="Name the step that is to be compared.")
        other = None if against is None else _place(source, found, against)
        contexts = read_contexts(source, found.id)
    if number is None:
        if options.as_json:
            write_json(contexts_answer(found, contexts))
        else:
            _print_run(options.terminal(), found, contexts)
        return
    context = _chosen(found, contexts, number, call)
    if other is not None:
        context = beside(context, _chosen(found, contexts, *other))
    if options.as_json:
        write_json(context_answer(found, context))
    else:
        _print_call(options.terminal(), found, contexts, context)


def _place(source: RunSource, run: Run, text: str) -> tuple[int, int | None]:
    """The step of `STEP#CALL`, and the number of the call where one is named."""
    step, _, call = text.partition("#")
    if call and not (call.isdecimal() and len(call) < _MOST_DIGITS):
        raise UsageError(f"{text!r} is not STEP or STEP#CALL", hint="Name a step, or one of its calls: 3, 3#2.")
    return source.step_number(run, step), int(call) if call else None


def _chosen(run: Run, contexts: RunContexts, step: int, call: int | None) -> CallContext:
    there = [context for context in contexts.calls if context.step == step]
    found = [context for context in there if call is None or context.call == call]
    if len(found) == 1 or (found and call is None):
        return found[0]
    asked = ", ".join(str(context.step) for context in contexts.calls[:20])
    hint = f"--call {there[0].call}" if there else f"steps that do: {asked}" if asked else "this run asked no model"
    raise StepNotFound(
        f"step {step} of {run.name} asked no model" if not there else f"it has no call {call}", hint=hint
    )


def _print_run(terminal: Terminal, run: Run, contexts: RunContexts) -> None:
    if not contexts.calls:
        terminal.line(Cell(f"{terminal.safe(run.name)} asked no model", "muted"))
        return
    terminal.line(
        Cell(terminal.safe(run.name), "strong"), Cell(f"  {fmt.counted(len(contexts.calls), 'model call')}", "muted")
    )
    fullest = max(context.tokens for context in contexts.calls)
    columns = (
        *(Column("step", "right"), Column("model", flexible=True), Column("tokens", "right"), Column("")),
        *(Column("added", "right"), Column("removed", "right"), Column("from cache", "right"), Column("")),
    )
    rows = [_call_cells(terminal, context, fullest) for context in contexts.calls]
    terminal.table(columns, rows)


def _call_cells(terminal: Terminal, context: CallContext, fullest: int) -> list[Cell]:
    from agent_tt.context.words import cut_words
    from agent_tt_tui.viewmodel.context.facts import tokens_words

    bar = terminal.glyphs.busy * (round(_BAR * context.tokens / fullest) if fullest else 0)
    unknown = terminal.glyphs.interrupted
    return [
        Cell(str(context.step)),
        Cell(context.model, "strong"),
        Cell(tokens_words(context, terminal.glyphs)),
        Cell(bar, "muted"),
        Cell(f"+{context.added:,}" if context.added else ""),
        Cell(f"-{context.removed:,}" if context.removed else "", "changed"),
        Cell(unknown if context.cached is None else f"{context.cached:,}", "muted"),
        Cell(context.why_empty or cut_words(context), "changed"),
    ]


def _print_call(terminal: Terminal, run: Run, contexts: RunContexts, context: CallContext) -> None:
    from agent_tt.context.shown import KINDS
    from agent_tt_tui.viewmodel.context.facts import tokens_words

    head = f"  model call {contexts.numbers[context.place] + 1} of {len(contexts.calls)}, step {context.step}"
    terminal.line(Cell(terminal.safe(run.name), "strong"), head, Cell(f"  {terminal.safe(context.model)}", "muted"))
    if not context.items:
        terminal.line(Cell(context.why_empty, "changed"))
        return
    word = "against" if context.is_chosen else "since"
    since = (
        "" if context.before is None else f"  +{context.added:,} -{context.removed:,} {word} step {context.before[0]}"
    )
    cached = "" if context.cached is None else f"  {context.cached:,} from cache"
    cost = "" if context.cost_usd is None else f"  {shown.cost(context.cost_usd)}"
    terminal.line(Cell(f"{tokens_words(context, terminal.glyphs)} tokens", "strong"), f"{since}{cached}{cost}")
    if not context.is_whole:
        terminal.line(Cell("what is recorded may not be all that the model was shown", "muted"))
    terminal.line()
    terminal.line(Cell("WHAT IT IS MADE OF", "muted"))
    columns = (Column(""), Column("", "right"), Column("", "right"), Column("", "right"), Column(""))
    terminal.table(
        columns,
        [
            [
                Cell("not recorded" if share.kind == "unknown" and context.rest == share.tokens else KINDS[share.kind]),
                Cell(f"{share.tokens:,}", "strong"),
                Cell(fmt.percent(share.tokens / context.tokens) if context.tokens else "", "muted"),
                Cell("" if share.cost_usd is None else shown.cost(share.cost_usd), "muted"),
                Cell(terminal.glyphs.busy * round(_BAR * share.tokens / max(context.tokens, 1)), "muted"),
            ]
            for share in context.shares
        ],
    )
    terminal.line()
    terminal.line(Cell(f"FROM TOP TO BOTTOM  {fmt.counted(len(context.items), 'item')}", "muted"))
    columns = (Column(""), Column(""), Column("", flexible=True), Column("", flexible=True), Column("", "right"))
    terminal.table(columns, list(_item_rows(terminal, context)))
    _print_dropped(terminal, context)


def _item_rows(terminal: Terminal, context: CallContext) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for number in range(-1, len(context.items)):
        if number >= 0:
            rows.append(_item_cells(terminal, context.items[number]))
        for cut in context.cuts:
            if cut.after == number:
                cells = _item_cells(terminal, cut.item)
                rows.append([Cell("-", "failed"), *(Cell(cell.text, "muted") for cell in cells[1:4])])
                rows[-1].append(Cell(f"-{cut.item.tokens:,}", "failed"))
    return rows


def _item_cells(terminal: Terminal, item: Item) -> list[Cell]:
    from agent_tt.context.words import came_from, item_words
    from agent_tt_tui.viewmodel.context.listing import role_of

    glyphs = terminal.glyphs
    mark = {"new": glyphs.added, "shortened": glyphs.changed, "changed": glyphs.changed}.get(item.mark, "")
    before = "" if item.tokens_before is None else f"{item.tokens_before:,} {glyphs.to} "
    return [
        Cell(mark, "well" if item.mark == "new" else "changed"),
        Cell(role_of(item), "muted"),
        Cell(item_words(item)),
        Cell(came_from(item) or "not known", "muted"),
        Cell(f"{before}{item.tokens:,}"),
    ]


def _print_dropped(terminal: Terminal, context: CallContext) -> None:
    """Print the items that were cut, and the words and facts that are in the request no more."""
    from agent_tt.context.words import cut_words

    cut = cut_words(context)
    if cut or context.gone or context.needed:
        terminal.line()
    if cut:
        terminal.line(Cell("" if context.is_chosen else "CUT  ", "muted"), Cell(cut, "changed"))
    for gone in context.gone:
        words = terminal.short(gone.words, terminal.columns - 40)
        terminal.line(Cell(" ! ", "changed"), f"your words that are gone: {words}")
    for needed in context.needed:
        what = terminal.short(needed.what, max(terminal.columns - 60, 20))
        terminal.line(Cell(" ! ", "changed"), f"step {needed.step} needed {what}: {terminal.safe(needed.why)}")
