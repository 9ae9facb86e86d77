"""`agent-tt test --recorded`: recorded runs as a suite, each run again and judged beside its recording."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from agent_tt.errors import Interrupted
from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, with_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.running.following import stopped_as_by_ctrl_c
from agent_tt_tui.cli.running.fork_options import policy_options, takes_request
from agent_tt_tui.cli.running.trust import ask_for_trust, trust_option
from agent_tt_tui.cli.terminal import Cell, Column, Role, Terminal
from agent_tt_tui.cli.wording import print_answers
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.runs.equal_answers import AnswerGroups
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.forking.request import ForkRequest
    from agent_tt.suite.choosing import Chosen
    from agent_tt.suite.judging import Verdict
    from agent_tt.suite.running import Suite, Tried

__all__ = ["recorded_options"]

_WORSE: Final = 1
_UNKNOWN: Final = 2
_OF_GOLDENS: Final = ("live", "judge")
_RULES: Final = ("allow", "policies", "effects")
_VERDICTS: Final[tuple[Verdict, ...]] = ("better", "equal", "worse", "unknown")

_OPTIONS: Final = with_options(
    click.option("--recorded", is_flag=True, help="Run recorded runs again, and say which are better, equal, worse."),
    click.option("--expect", metavar="EXPRESSION", help="With --recorded: what is to hold after the last step."),
    click.option("--fork", "forks", is_flag=True, help="With --recorded: for real, under policy, from the input."),
    click.option("--agent", metavar="ENTRY", help="With --recorded: this entry point in place of the recorded one."),
    policy_options,
    trust_option,
)


def recorded_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give `agent-tt test` the options of a suite of recorded runs, which is run in its place with `--recorded`."""

    @_OPTIONS
    @functools.wraps(command)
    def called(options: Options, *, recorded: bool, forks: bool, trust: bool, **params: Any) -> int:
        rules = [name for name in _RULES if params[name]]
        if recorded:
            for_goldens = [name for name in _OF_GOLDENS if params.pop(name)]
            if for_goldens:
                raise click.UsageError("--live and --judge are for goldens, not for recorded runs")
            if rules and not forks:
                raise click.UsageError("a replay makes no call, so there is no rule for one: add --fork")
            if params["agent"] and not params["paths"]:
                raise click.UsageError("--agent is one agent: name the runs that it is to stand in for")
            code: int = takes_request(_run)(options, forks=forks, trust=trust, **params)
            return code
        if forks or trust or rules or params["expect"] or params["agent"]:
            raise click.UsageError("--fork, --expect, --agent, --trust and rules for calls go with --recorded")
        of_goldens = {name: params[name] for name in ("paths", "timeout", *_OF_GOLDENS)}
        return command(options, **of_goldens)

    return called


def _run(
    options: Options,
    *,
    request: ForkRequest,
    paths: Sequence[Path],
    forks: bool,
    trust: bool,
    timeout: float | None,
) -> int:
    from agent_tt.suite.choosing import choose_runs
    from agent_tt.suite.running import Suite

    texts = [str(each) for each in paths]
    with options.source(*texts) as source:
        chosen = choose_runs(source, texts)
        ask_for_trust(options, source.path, chosen.runs[0], trust=trust)
        suite = Suite(
            source.path,
            source,
            chosen.runs,
            request.expect,
            request.agent,
            replace(request, step=0) if forks else None,
            timeout,
        )
        done, is_stopped = _tried(suite, show=not options.as_json)
    counts = Counter(each.verdict for each in done)
    answers = _answers(done)
    if options.as_json:
        groups: list[Wire] = [
            {"letter": each.letter, "count": each.count, "text": each.text, "failed": each.failed}
            for each in answers.groups
        ]
        write_json(
            {
                "mode": "fork" if forks else "replay",
                **{verdict: counts[verdict] for verdict in _VERDICTS},
                "left_out": {"forks": chosen.forks, "running": chosen.running},
                "stopped": is_stopped,
                "runs": [each.to_json() for each in done],
                "answers": groups,
            }
        )
    else:
        _print(options.terminal(), suite, chosen, done, answers)
    if is_stopped:
        raise Interrupted(f"it was stopped: {len(done)} of {counted(len(chosen.runs), 'run')} were run again")
    return _WORSE if counts["worse"] else _UNKNOWN if counts["unknown"] else 0


def _tried(suite: Suite, *, show: bool) -> tuple[list[Tried], bool]:
    """What came of the runs, as far as Ctrl-C lets it come, and whether that ended it."""
    done: list[Tried] = []
    with counter("running again", show=show) as report:
        try:
            with stopped_as_by_ctrl_c():
                report(0, len(suite.runs))
                for each in suite.results():
                    done.append(each)
                    report(len(done), len(suite.runs))
        except KeyboardInterrupt:
            return done, True
    return done, False


def _answers(done: Sequence[Tried]) -> AnswerGroups[str]:
    from agent_tt.comparing.runs.equal_answers import group_answers, why_not

    ended = {each.run.id: each.now.outcome for each in done if each.now is not None}
    said = {run_id: out.last_words for run_id, out in ended.items() if out.status == "succeeded"}
    wrong = [
        out.error.short if out.error is not None else why_not(None, out.status)
        for out in ended.values()
        if out.status != "succeeded"
    ]
    return group_answers(said, wrong)


def _print(terminal: Terminal, suite: Suite, chosen: Chosen, done: Sequence[Tried], answers: AnswerGroups[str]) -> None:
    glyphs = terminal.glyphs
    looks: dict[Verdict, tuple[str, Role]] = {
        "better": (glyphs.well, "well"),
        "equal": (glyphs.same, "muted"),
        "worse": (glyphs.failed, "failed"),
        "unknown": (glyphs.unknown, "changed"),
    }
    columns = (
        Column("RUN", flexible=True),
        Column(""),
        Column("STATUS"),
        Column("STEPS", "right"),
        Column("TOKENS", "right"),
        Column("COST", "right"),
    )
    rows, below = [], []
    for each in done:
        glyph, role = looks[each.verdict]
        rows.append(
            [
                Cell(terminal.safe(each.run.name), "strong"),
                Cell(f"{glyph} {each.verdict}", role),
                *_figures(each, glyphs.to),
            ]
        )
        lines = [f"  {each.judged.because}"]
        if each.verdict != "equal" and each.compare_command:
            lines.append(f"  {each.compare_command}")
        below.append([[Cell(terminal.safe(line), "muted")] for line in lines])
    terminal.table(columns, rows, below)
    print_answers(terminal, "answers now", answers.groups, answers.different, answers.succeeded)
    counts = Counter(each.verdict for each in done)
    said = [f"{counts[verdict]} {verdict}" for verdict in _VERDICTS if counts[verdict]]
    left = [(chosen.forks, "fork"), (chosen.running, "running run")]
    said += [f"{counted(count, what)} left out" for count, what in left if count]
    how = "replayed offline" if suite.fork is None else "forked, for real"
    terminal.line(f"{', '.join(said) or 'none was run'}; {how}")


def _figures(each: Tried, to: str) -> list[Cell]:
    """Status, steps, tokens and cost, then and now."""
    then, now = each.then.outcome, None if each.now is None else each.now.outcome

    def change(read: Callable[[Outcome], str]) -> Cell:
        before = read(then)
        after = "" if now is None else read(now)
        return Cell(before if now is None or before == after else f"{before or '?'} {to} {after or '?'}")

    return [
        change(lambda out: out.status),
        change(lambda out: shown.count(out.steps)),
        change(lambda out: "" if out.tokens is None else shown.count(out.tokens)),
        change(lambda out: "" if out.cost_usd is None else shown.cost(out.cost_usd, out.unpriced)),
    ]
