"""`agent-tt find`: search everything a run recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.errors import UsageError
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json

if TYPE_CHECKING:
    from agent_tt.querying.find import Hit
    from agent_tt_tui.cli.terminal import Terminal


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("text", required=False)
@click.option("--where", metavar="EXPRESSION", help="List the steps at which this holds, instead of a text.")
@common_options
def command(options: Options, run: str, text: str | None, *, where: str | None) -> int:
    """Search RUN for TEXT: names, messages, arguments, results, errors, state.

    A text is found in the step that brought it. Upper and lower case are told apart only if TEXT has upper case. Exit
    code 1 when there is none.

    \b
    agent-tt find flaky-checkout refused
    agent-tt find flaky-checkout --where 'tool == "charge_card" and args.amount > 100'
    --json: {hits: [{step, where, path, excerpt, start, length, call}]};
            with --where {steps: [3, 4, 9], spans: [[3, 4], [9, 9]]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.querying.find import find

    if where is not None and text is None:
        return _find_steps(options, run, where)
    if text is None or where is not None:
        raise UsageError("name a text, or a question with --where", hint="agent-tt find RUN --where 'error'")
    with options.source(run) as source:
        hits = find(source, source.run(run).id, text)
        if options.as_json:
            from agent_tt_tui.cli.shapes import hit_shape

            shapes = [hit_shape(hit) for hit in hits]
            write_json({"hits": list(shapes)})
            return 0 if shapes else 1
        terminal = options.terminal()
        count = 0
        for hit in hits:
            count += 1
            _print_hit(terminal, hit)
    if not count:
        terminal.line(f"Nothing in {terminal.safe(run)} holds {terminal.safe(text)!r}.")
    return 0 if count else 1


def _find_steps(options: Options, run: str, where: str) -> int:
    from agent_tt.querying.watching import Watch

    with options.source(run) as source:
        found = source.run(run)
        watch = Watch(source, found.id, where)
        if options.as_json:
            spans = list(watch.spans())
            steps = [step for span in spans for step in range(span.first, span.last + 1)]
            write_json({"steps": list(steps), "spans": [[span.first, span.last] for span in spans]})
            return 0 if steps else 1
        from agent_tt_tui.cli.wording import step_line

        terminal = options.terminal()
        count = 0
        for number in watch.steps():
            count += 1
            if not number:
                terminal.line(f"{number:>5}   input")
            for step in source.steps(found.id, number, number + 1) if number else ():
                step_line(terminal, step, source.calls(found.id, number) if step.calls else [])
    if not count:
        terminal.line(f"Nowhere in {terminal.safe(run)}: {terminal.safe(where)}")
    return 0 if count else 1


def _print_hit(terminal: Terminal, hit: Hit) -> None:
    """Write a hit as soon as it is found: columns of a table would have to wait for the last one."""
    from agent_tt_tui.cli.terminal import Cell
    from agent_tt_tui.text import fit, width

    cut = terminal.glyphs.cut
    where = " ".join(part for part in (hit.where, hit.path) if part)
    before, found, after = (
        terminal.safe(text)
        for text in (
            hit.excerpt[: hit.start],
            hit.excerpt[hit.start : hit.start + hit.length],
            hit.excerpt[hit.start + hit.length :],
        )
    )
    left = terminal.columns - 35
    found = terminal.short(found, left)
    after = terminal.short(after, max(0, left - width(before) - width(found)))
    if width(before) + width(found) > left:
        before = ""
    place = Cell(fit(terminal.safe(where), 26, cut), "muted")
    terminal.line(f"{hit.step:>5}  ", place, "  ", before, Cell(found, "yours"), after)
