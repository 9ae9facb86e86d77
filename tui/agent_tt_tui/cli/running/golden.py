"""`agent-tt golden`: keeping recorded runs as tests, and looking at those that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from agent_tt.errors import UsageError
from agent_tt.golden.header import FOLDER
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.running.golden_text import mark, result_line, tell_result
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.format import counted, short_path

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.golden.golden_file import Golden
    from agent_tt.golden.rule import Judgement, Rule
    from agent_tt.model import Run


@click.group()
def command() -> None:
    """Keep recorded runs as tests (goldens), list and show those that are kept, and watch them.

    \b
    agent-tt golden save refund-loop/fork-1 --name answers-in-two-steps
    agent-tt test tests/agents
    agent-tt golden watch
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped


@command.command()
@click.argument("run", shell_complete=complete_runs)
@click.option("--name", metavar="NAME", help="The golden's name; else that of the run.")
@click.option("--rule", "rules", multiple=True, metavar="TOML", help="A rule, in place of those that are proposed.")
@click.option("--also", multiple=True, metavar="TOML", help="A rule, beside those that are proposed.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A command that ends well after the run, as a rule.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=FOLDER,
    metavar="FOLDER",
    help="Where it is kept.",
)
@click.option("--agent", metavar="FILE:NAME", help="Test this entry point, in place of the recorded one.")
@click.option("--replace", "replaces", is_flag=True, help="Replace the golden of that name.")
@click.option("--dry-run", is_flag=True, help="Show the rules and how other runs do on them, and keep nothing.")
@common_options
def save(
    options: Options,
    run: str,
    name: str | None,
    rules: tuple[str, ...],
    also: tuple[str, ...],
    verify: tuple[str, ...],
    out: Path,
    agent: str | None,
    *,
    replaces: bool,
    dry_run: bool,
) -> int:
    """Keep RUN as a test: a text file with its rules, and the recording that it needs beside it.

    Without --rule the rules are proposed from the run. Each is tried on the agent's other runs, so that a rule that
    fails none of them is seen. The text file is yours to change. A rule that RUN itself does not pass is refused; what
    asks a command or a model is judged where the golden is run, and not before.

    \b
    --rule 'kind = "at_most", of = "steps", limit = 8'
    --verify 'pytest -q'
    --json: {file, recording, bytes, rules: [{kind, sentence, verdict, said, step, differences,
            shown, others: [{run, name, verdict, said}]}]}
    """  # noqa: D301
    from agent_tt.golden.evidence import Evidence
    from agent_tt.golden.kinds import rule_from_text
    from agent_tt.golden.outside_rules import Verify
    from agent_tt.golden.proposing import propose, siblings_of_agent, try_rules
    from agent_tt.golden.saving import save_golden, unredacted_in

    with options.source(run) as source:
        found = source.run(run)
        evidence = Evidence(source, found)
        chosen = [rule_from_text(text) for text in rules] or propose(evidence)
        chosen += [rule_from_text(text) for text in also]
        chosen += [Verify.read({"command": text}) for text in verify]
        judged = [rule.judge(evidence) for rule in chosen]
        for rule, own in zip(chosen, judged, strict=True):
            if own.verdict != "passed" and not rule.reaches_out:
                raise UsageError(
                    f"{found.name} does not pass “{rule.sentence}”: {own.said}",
                    hint="Change the rule, or leave it out.",
                )
        others = siblings_of_agent(source, found)
        tried = try_rules(source, chosen, others)
        golden, thread = None, None
        if not dry_run:
            thread = unredacted_in(source, found)
            name = name or found.name.replace("/", "-")
            golden = save_golden(source, found, out, name, chosen, agent=agent, replaces=replaces)
    if options.as_json:
        write_json(_saved_shape(golden, chosen, judged, others, tried))
        return 0
    terminal = options.terminal()
    for row, rule in enumerate(chosen):
        marks: list[Cell | str] = [mark(terminal, each.verdict) for each in tried[row]]
        sign = mark(terminal, judged[row].verdict)
        terminal.line(sign, "  ", terminal.safe(rule.sentence), "  " if marks else "", *marks)
    if others:
        terminal.line(Cell(f"tried on {terminal.safe(', '.join(each.name for each in others))}", "muted"))
    if golden is None:
        terminal.line(Cell("Nothing was kept.", "muted"))
        return 0
    terminal.line(f"{terminal.safe(str(golden.path))} and {terminal.safe(golden.recording)}")
    if thread is not None:
        said = f"The thread {terminal.safe(thread)} is in the recording, and none of it is redacted: look at it first."
        terminal.line(Cell(said, "changed"))
    terminal.line(Cell(f"agent-tt test {terminal.safe(str(golden.path))}", "strong"))
    return 0


def _saved_shape(
    golden: Golden | None, rules: list[Rule], judged: list[Judgement], others: list[Run], tried: list[list[Judgement]]
) -> dict[str, Wire]:
    shapes: list[Wire] = []
    for rule, own, row in zip(rules, judged, tried, strict=True):
        theirs: list[Wire] = [
            {"run": run.id, "name": run.name, "verdict": each.verdict, "said": each.said}
            for run, each in zip(others, row, strict=True)
        ]
        shapes.append({"kind": rule.kind, "sentence": rule.sentence, **own.to_json(), "others": theirs})
    return {
        "file": None if golden is None else str(golden.path),
        "recording": None if golden is None else str(golden.recording_path),
        "bytes": None if golden is None else golden.recording_path.stat().st_size,
        "rules": shapes,
    }


@command.command(name="list")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@common_options
def list_(options: Options, paths: tuple[Path, ...]) -> int:
    """List the goldens in PATHS, else in tests/agents. One that cannot be read is listed with the reason: exit code 2.

    \b
    --json: [{name, file, rules, of, run, problem}]
    """  # noqa: D301
    from agent_tt.golden.golden_file import find_goldens
    from agent_tt.golden.listing import golden_heads

    found = [each for path in paths or (FOLDER,) for each in find_goldens(path)]
    shapes: list[Wire] = []
    rows: list[tuple[Cell, ...]] = []
    is_well = True
    for head in golden_heads(found):
        shapes.append(head)
        name, file, problem = str(head["name"]), str(head["file"]), head["problem"]
        if problem is None:
            rows.append((Cell(name, "strong"), Cell(f"{head['rules']}/{head['of']}"), Cell(file, "muted")))
        else:
            is_well = False
            rows.append((Cell(name, "failed"), Cell(""), Cell(str(problem), "failed")))
    if options.as_json:
        write_json(shapes)
    elif rows:
        options.terminal().table((Column("golden"), Column("rules", "right"), Column("file", flexible=True)), rows)
    else:
        options.terminal().line(Cell("There are no goldens here: `agent-tt golden save RUN` makes one.", "muted"))
    return 0 if is_well else UsageError.exit_code


@command.command()
@click.argument("path", type=click.Path(path_type=Path))
@common_options
def show(options: Options, path: Path) -> int:
    """Show a golden: what is run, and its rules. Its recording is opened, so that a damaged one is told.

    \b
    --json: {name, file, about, live, passes: [wanted, of], run, recording, steps, rules: [{kind, sentence, on}]}
    """  # noqa: D301
    from agent_tt.golden.golden_file import read_golden
    from agent_tt.golden.recording_file import open_recording

    golden = read_golden(path)
    with open_recording(golden) as recording:
        run = recording.run(golden.run_id)
    if options.as_json:
        write_json(
            {
                "name": golden.name,
                "file": str(path),
                "about": golden.about,
                "live": list(golden.live),
                "passes": list(golden.passes),
                "run": cast("Wire", dict(golden.program)),
                "recording": str(golden.recording_path),
                "steps": run.steps,
                "rules": [
                    {"kind": kept.rule.kind, "sentence": kept.rule.sentence, "on": kept.is_on} for kept in golden.rules
                ],
            }
        )
        return 0
    terminal = options.terminal()
    kept_of = f"kept of {terminal.safe(run.name)}, {counted(run.steps, 'step')}"
    terminal.line(Cell(terminal.safe(golden.name), "strong"), "  ", Cell(kept_of, "muted"))
    if golden.about:
        terminal.line(terminal.safe(golden.about))
    for key, value in golden.program.items():
        said = " ".join(value) if isinstance(value, list) else str(value)
        terminal.line(Cell(f"{key}  ", "muted"), terminal.safe(said))
    if golden.live:
        often = "" if golden.passes == (1, 1) else f"  (passes {golden.passes[0]} of {golden.passes[1]} times)"
        terminal.line(Cell("with --live  ", "muted"), terminal.safe(", ".join(golden.live)), often)
    for kept in golden.rules:
        terminal.line(Cell("on   " if kept.is_on else "off  ", "muted"), terminal.safe(kept.rule.sentence))
    return 0


@command.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--live", is_flag=True, help="Make calls for real that nothing recorded answers.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give an agent up after this long.")
@common_options
def watch(options: Options, paths: tuple[Path, ...], timeout: float | None, *, live: bool) -> int:
    """Run the goldens in PATHS, else in tests/agents, and again whenever a file that they run is saved.

    Nothing goes out unless --live is given. With it, calls that nothing recorded answers are made for real, and only
    these; what they were answered is given again the next times. Ctrl-C ends it.

    \b
    --json: a line for each event: {event: "saved", files, goldens}, {event: "began", name, file},
            {event: "ended", change, …as of `test`}, {event: "unread", file, problem}
    """  # noqa: D301
    from threading import Event

    from agent_tt.golden.watching import Began, Ended, Saved, watch_goldens
    from agent_tt_tui.viewmodel.golden.watched import asked_and_saved

    terminal, stop = options.terminal(), Event()
    store = options.store_path() if options.store is not None else None
    try:
        for event in watch_goldens(paths or (FOLDER,), stop, live=live, store=store, timeout=timeout):
            if options.as_json:
                write_json(event.to_json(), one_line=True)
            elif isinstance(event, Ended):
                tell_result(terminal, event.result, event.change)
                if event.result.live is not None:
                    said = asked_and_saved([event.result.live], terminal.glyphs.times)
                    terminal.line("  ", Cell(terminal.safe(said), "muted"))
            elif isinstance(event, Saved):
                files = ", ".join(short_path(file) for file in event.files)
                terminal.line(Cell(f"{terminal.safe(files)} was saved", "muted"))
            elif not isinstance(event, Began):
                result_line(terminal, "unknown", event.path.stem, f"could not run: {event.problem}")
    except KeyboardInterrupt:
        stop.set()
    return 0
