"""`agent-tt bisect`: the first step after which something holds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import AgentFailed, AgentTTError, InvalidEntryPoint, UsageError
from agent_tt.model.shown import step_ranges
from agent_tt.replaying.report import VERDICT_WORDS
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.running.following import stopped_as_by_ctrl_c
from agent_tt_tui.cli.running.fork_options import edit_options, policy_options, takes_request, terms_options
from agent_tt_tui.cli.running.trust import ask_for_trust, trust_option
from agent_tt_tui.cli.terminal import Cell, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.bisecting.recorded import Bisection, Probe
    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport

_SKIP: Final = 125
"""What `git bisect run` takes for "this version cannot be tested"."""

_ABORT: Final = 128
"""What ends `git bisect run`: with every version the trouble would be the same."""

_CANNOT_LOAD: Final = ("SyntaxError", "IndentationError", "TabError", "ImportError", "ModuleNotFoundError")


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("expression", required=False)
@click.option("--live", is_flag=True, help="Fork RUN at a few steps: the first whose fork makes EXPRESSION true.")
@edit_options
@click.option("--agent", metavar="MODULE:CALLABLE", help="With --live: the entry point that each fork runs.")
@policy_options
@terms_options
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="With --live: how many forks may be run now.")
@click.option("--replay", is_flag=True, help="Test the code as it is now: for `git bisect run`.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="With --replay: how long at most.")
@trust_option
@common_options
@takes_request
def command(
    options: Options,
    run: str,
    expression: str | None,
    *,
    live: bool,
    request: ForkRequest,
    most: int | None,
    replay: bool,
    timeout: float | None,
    trust: bool,
) -> int:
    """Find the first step of RUN after which EXPRESSION holds.

    Over recorded states at once. With --live each probe is a fork that really runs, after a step that halves what is
    left; asked is whether EXPRESSION comes true after one of its own steps. Forks that were asked the same before are
    found again, also after Ctrl-C or --most. Exit code 1 when it holds nowhere.

    With --replay RUN is replayed with the agent's code as it is now. Exit code 0 when it goes as recorded, 1 when it
    does not, 125 when this version cannot be loaded, 128 when no version could be tested (there is no such run, say):
    what `git bisect run` expects, to find the version of the code that began to differ.

    \b
    agent-tt bisect flaky-checkout 'state.payment.amount > 1500'
    agent-tt bisect refund-loop 'state.answer' --live --agent refund_loop.py:main_v2
    git bisect start BAD GOOD && git bisect run agent-tt bisect RUN --replay --trust
    --json: {run, expression, first, last_without, monotone, spans: [[first, last]],
             unknown: [step], probes: [{step, run, name, holds, known}], stopped};
            with --replay {outcome, exit_code, why}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    if replay:
        if expression is not None or live:
            raise UsageError("--replay asks whether the run goes as recorded, and nothing else")
        return _replay(options, run, timeout, trust=trust)
    if expression is None:
        raise UsageError("there is nothing to ask", hint="agent-tt bisect RUN 'state.budget < 0'")
    if request.step is not None:
        raise UsageError("the input is before every probe", hint="change the state with --set")
    if not live and (most or _is_about_forks(request)):
        raise UsageError("edits, --agent, limits and what is allowed are for forks", hint="add --live")
    with options.source(run) as source:
        found = source.run(run)
        if live:
            from agent_tt.bisecting.live import bisect_live

            ask_for_trust(options, source.path, found, trust=trust)
            show: Callable[[Probe], None] = partial(_print_probe, options.terminal())
            with stopped_as_by_ctrl_c():
                bisection = bisect_live(
                    source,
                    found,
                    expression,
                    request,
                    most=most,
                    probed=(lambda _: None) if options.as_json else show,
                )
        else:
            from agent_tt.bisecting.recorded import bisect_recorded

            bisection = bisect_recorded(source, found, expression)
        if options.as_json:
            from agent_tt.querying.unread import unread_in

            unread = unread_in(source, found) if bisection.first is None and not bisection.probes else ()
            write_json({**bisection.to_json(), **({"unread": [*unread]} if unread else {})})
        else:
            _print(options.terminal(), source, found, bisection)
    return 0 if bisection.first is not None else 1


def _is_about_forks(request: ForkRequest) -> bool:
    """Whether the command line says anything of forks; what is configured does not count."""
    policy = request.policy
    is_typed = policy is not None and any(rule.source == "you" for _, rule in policy.said())
    is_typed = is_typed or bool(request.allow or request.effects)
    return bool(request.edits or request.agent or request.terms.to_mapping() or is_typed)


def _print_probe(terminal: Terminal, probe: Probe) -> None:

    word = Cell("holds", "failed") if probe.holds else Cell("does not hold", "well")
    known = "  (ran before)" if probe.known else ""
    terminal.line(f"{probe.step:>5}  ", word, terminal.safe(f"  {probe.name}{known}"))


def _print(terminal: Terminal, source: RunSource, run: Run, found: Bisection) -> None:
    from agent_tt.querying.unread import unread_in

    asked = terminal.short(found.expression, terminal.columns - 30)
    if found.stopped:
        low = -1 if found.last_without is None else found.last_without
        high = f"step {found.first} at the latest" if found.first is not None else "it is not known whether at all"
        terminal.line(f"{asked}  after step {low} it does not hold yet; {high}" if low >= 0 else f"{asked}  {high}")
        terminal.line(Cell(f"{found.stopped}: run this again to go on from here", "muted"))
        return
    if found.first is None and found.probes:
        # Bisecting takes it that what a fork does after a step, one after a later step does too.
        last = found.probes[0].step
        terminal.line(f"A fork after step {last} does not go that way, so none before it was tried: {asked}")
        return
    if found.first is None:
        unread = unread_in(source, run)
        terminal.line(f"In {terminal.safe(run.name)} nowhere{' that is known' if unread else ''}: {asked}")
        if unread:
            terminal.line(Cell(terminal.safe(f"not looked at: {'; '.join(unread)}"), "muted"))
        return
    step = next(iter(source.steps(run.id, found.first, found.first + 1)), None) if found.first else None
    name = "the input" if step is None else f"{found.first}  {terminal.safe(step.name)}"
    what = "forks go that way from" if found.probes else "first holds after"
    terminal.line(f"{asked}  {what} ", Cell(name, "strong"))
    if found.doubtful:
        steps = f"step{'s' * (len(found.doubtful) > 1)} {', '.join(step_ranges(found.doubtful, ' to '))}"
        terminal.line(Cell("note  ", "muted"), f"whether it holds after {steps} already is not known")
    if not found.is_monotone:
        spans = ", ".join(
            str(span.first) if span.first == span.last else f"{span.first} to {span.last}" for span in found.spans[:8]
        )
        more = f" and {len(found.spans) - 8} more" if len(found.spans) > 8 else ""
        terminal.line(Cell("note  ", "muted"), f"it does not go on holding: it holds at {spans}{more}")


def _replay(options: Options, run: str, timeout: float | None, *, trust: bool) -> int:
    """Test the code as it is now. `git bisect` takes every other exit code below 128 for "bad", so none is given."""
    from agent_tt.rerunning.replay import run_replay

    try:
        with options.source(run) as source:
            found = source.run(run)
            ask_for_trust(options, source.path, found, trust=trust)
            code, word, why = _judged(run_replay(source, found, timeout=timeout))
    except (AgentFailed, InvalidEntryPoint) as error:
        code, word, why = _SKIP, "cannot be run", error.message
    except AgentTTError as error:
        code, word, why = _ABORT, "cannot be tested", error.message
    if options.as_json:
        write_json({"outcome": word, "exit_code": code, "why": why})
    else:
        terminal = options.terminal()
        terminal.line(terminal.safe(f"{run}  {word}" + (f": {why}" if why else "")))
    return code


def _judged(report: ReplayReport) -> tuple[int, str, str]:
    """What a replay says about the version of the code: exit code, outcome, and why."""
    if report.verdict != "diverged":
        why = "; ".join(f"{note.kind}: {note.text}" for note in report.reservations)
        return 0, VERDICT_WORDS[report.verdict], why
    end = report.agent
    found = report.failure or next(iter(report.divergences), None)
    asked = report.served or any(finding.kind != "missing call" for finding in report.divergences)
    if end.failed_otherwise and not asked and _is_unloaded(end.error, end.traceback):
        return _SKIP, "cannot be run", end.error
    if found is not None and (asked or not end.failed_otherwise):
        file, line = found.site.get("file"), found.site.get("line")
        place = ", ".join(each for each in (found.place, f"{file}:{line}" if file else "") if each)
        return 1, "differs", f"{found.message} ({place})" if place else found.message
    return 1, "differs", end.error or "the agent ended otherwise than it did then"


def _is_unloaded(error: str, traceback: str) -> bool:
    """Whether an agent failed while its code was loaded: outside of every function."""
    if error.partition(":")[0] in _CANNOT_LOAD:
        return True
    frames = [line for line in traceback.splitlines() if line.lstrip().startswith('File "')]
    return bool(frames) and frames[-1].endswith("in <module>")
