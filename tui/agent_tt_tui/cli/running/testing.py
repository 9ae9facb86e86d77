"""`agent-tt test`: run the agents of goldens as they are now, with the recorded answers, and judge what comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import AgentTTError, NotFound
from agent_tt.golden.header import FOLDER
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.running.golden_text import result_line, tell_result
from agent_tt_tui.cli.running.recorded import recorded_options

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.golden.running import GoldenResult, Outcome

_FAILED: Final = 1
_UNKNOWN: Final = 2


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give an agent up after this long.")
@click.option("--live", is_flag=True, help="Make the calls for real that a golden names, where the policy lets them.")
@click.option("--judge", is_flag=True, help="Ask the models that rules name what they make of an answer.")
@common_options
@recorded_options
def command(options: Options, paths: tuple[Path, ...], timeout: float | None, *, live: bool, judge: bool) -> int:
    """Run the goldens in PATHS, else in tests/agents: each agent as it is now, offline, with the recorded answers.

    A request that has no recording is never answered: there the golden fails. It runs the code and the commands that
    the goldens name, as any test does. The runs that come are kept in tests.db beside the project's store, or in
    --store. Without --judge a rule that asks a model is not judged, which is said, and the others decide.

    Exit code 0 when all passed, 1 when one failed, else 2 when one could not be run or judged.

    With --recorded what is named are recorded runs: by name, name with *, or a question about the last step, else all.
    Each is replayed with the code as it is now, or forked from its input with --fork, and said to be better, equal or
    worse than it was. Forks among them are left out. Exit code 1 when one is worse, else 2 when of one that is unknown.

    \b
    agent-tt test tests/agents
    agent-tt test --recorded 'refund-*' --expect 'attempts <= 1'
    agent-tt test --recorded --fork --agent refund_loop.py:main_v2
    --json: {passed, failed, unknown, goldens: [{name, file, outcome, first, remarks, new_request, problem,
            rules, tries, live, store, kept, now, compare}]}
    --json --recorded: {mode, better, equal, worse, unknown, left_out: {forks, running}, stopped,
            runs: [{run, name, verdict, because, new_run, then, now, difference, compare}],
            answers: [{letter, count, text, failed}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.golden.golden_file import find_goldens, read_golden
    from agent_tt.golden.running import run_golden
    from agent_tt.rerunning.warm.pool import warm_agents

    found = list(dict.fromkeys(path for each in paths or (FOLDER,) for path in find_goldens(each)))
    if not found:
        raise NotFound(
            f"there are no goldens in {', '.join(map(str, paths or (FOLDER,)))}",
            hint="`agent-tt golden save RUN` makes one.",
        )
    store = options.store_path() if options.store is not None else None
    terminal = options.terminal()
    counts: dict[Outcome, int] = {"passed": 0, "failed": 0, "unknown": 0}
    results: list[GoldenResult] = []
    unread: list[tuple[Path, str]] = []
    with warm_agents() as warm:
        for path in found:
            try:
                golden = read_golden(path)
            except AgentTTError as error:
                unread.append((path, error.message))
                counts["unknown"] += 1
                if not options.as_json:
                    result_line(terminal, "unknown", path.stem, f"could not run: {error.message}")
                continue
            result = run_golden(
                golden, store=store, timeout=timeout, live="named" if live else "nothing", asks_judges=judge, warm=warm
            )
            results.append(result)
            counts[result.outcome] += 1
            if not options.as_json:
                tell_result(terminal, result)
    if options.as_json:
        problems: list[Wire] = [
            {"name": path.stem, "file": str(path), "outcome": "unknown", "first": said, "problem": said}
            for path, said in unread
        ]
        shapes: list[Wire] = [result.to_json() for result in results]
        write_json(
            {
                "passed": counts["passed"],
                "failed": counts["failed"],
                "unknown": counts["unknown"],
                "goldens": [*shapes, *problems],
            }
        )
    else:
        words: dict[Outcome, str] = {"passed": "passed", "failed": "failed", "unknown": "could not be run or judged"}
        terminal.line(", ".join(f"{number} {words[outcome]}" for outcome, number in counts.items() if number))
    return _FAILED if counts["failed"] else _UNKNOWN if counts["unknown"] else 0
