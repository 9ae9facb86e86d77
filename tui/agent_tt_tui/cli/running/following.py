"""A run that goes on in a process of its own, as a command tells it: each step, what waits for an answer, the end."""

from __future__ import annotations

import signal
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.shapes.answers import fork_answer
from agent_tt.shapes.records import run_shape
from agent_tt_tui.cli.effects import print_summary
from agent_tt_tui.cli.options import write_json
from agent_tt_tui.cli.running.questions import answer_waiting
from agent_tt_tui.cli.terminal import Cell, Terminal
from agent_tt_tui.cli.wording import print_hoped, run_line, step_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from agent_tt.model import Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expecting import Hoped
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt_tui.cli.options import Options

__all__ = ["follow", "let_go", "stopped_as_by_ctrl_c", "tell_end", "tell_step"]

_POLL_SECONDS: Final = 0.1


def follow(
    terminal: Terminal, source: RunSource, handle: RunHandle, tell: Callable[[bool], None], *, asks: bool
) -> None:
    """Tell what is new again and again, and once more when the agent has ended; ask about what waits.

    Args:
        terminal: where to ask.
        source: where the run is.
        handle: its process.
        tell: writes the steps that are over; told whether the agent has ended.
        asks: whether a person can be asked.
    """
    ended = False
    while not ended:
        # Asked first: a step that is written between the two questions is then still found.
        ended = handle.wait(_POLL_SECONDS) is not None
        tell(ended)
        if asks and not ended:
            answer_waiting(terminal, source, handle)


def let_go(options: Options, handle: RunHandle) -> None:
    """Let an agent run on by itself, and write which run it fills."""
    from agent_tt.sources import open_source

    handle.detach()
    with closing(open_source(handle.store)) as source:
        run = source.run(handle.run_id)
    if options.as_json:
        write_json(run_shape(run))
    else:
        terminal = options.terminal()
        terminal.line(f"{terminal.safe(run.name)}  {run.id}")
        terminal.line(f"It runs on by itself: `agent-tt stop {run.id}` ends it, `agent-tt show {run.id}` shows it.")


def tell_step(terminal: Terminal, source: RunSource, run_id: str, step: Step) -> None:
    """Write one step, with what it called."""
    step_line(terminal, step, source.calls(run_id, step.number) if step.calls else [])


class End(NamedTuple):
    """How a run ended that was told: whether it has edits that nothing came of, and what was hoped of it."""

    is_without_effect: bool
    hoped: Hoped | None


def tell_end(options: Options, handle: RunHandle, *, effects: bool) -> End:
    """Write the run as it is now that its agent has ended, on request with what it did to the world.

    Raises:
        AgentTTError: what the agent failed with.
    """
    from agent_tt.comparing.runs.without_effect import edits_without_effect
    from agent_tt.querying.expecting import hoped_of
    from agent_tt.sources import open_source

    handle.wait()
    with closing(open_source(handle.store)) as source:
        run = source.run(handle.run_id)
        unmade = edits_without_effect(run) if effects else ()
        hoped = hoped_of(source, run) if effects else None
        if options.as_json:
            write_json(fork_answer(source, run, unmade, hoped) if effects else run_shape(run))
        else:
            terminal = options.terminal()
            run_line(terminal, run)
            for each in unmade:
                where = each.edit.where or "the whole state"
                terminal.line(Cell("no effect  ", "failed"), terminal.safe(f"{where}: {each.reason}"))
            print_hoped(terminal, hoped)
            if effects:
                print_summary(options.terminal(), source, run)
    handle.result()
    return End(bool(unmade), hoped)


@contextmanager
def stopped_as_by_ctrl_c() -> Iterator[None]:
    """Let `kill` and a terminal that closes stop the agent as Ctrl-C does; the latter leaves it less time."""
    from agent_tt.supervising.keeper import TerminalLost

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise TerminalLost if number == getattr(signal, "SIGHUP", None) else KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Where one is ignored (by nohup), somebody wants it to go on.
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
