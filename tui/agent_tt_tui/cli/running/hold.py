"""`agent-tt hold`: let a running agent wait before its next calls, as long as the command is there."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import AgentTTError, UsageError
from agent_tt.shapes.records import question_shape
from agent_tt_tui.cli.marks import writable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.running.questions import ask, print_question
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.model import Hold, Run
    from agent_tt.protocols import Store
    from agent_tt.questions import CallQuestion

_LOOK_SECONDS: Final = 0.1


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.option("--when", default="", metavar="EXPRESSION", help="Hold only calls before which this holds.")
@click.option("--once", is_flag=True, help="Let go after the first call was decided.")
@click.option("--let-go", "lets_go", is_flag=True, help="Hold nothing: let go of RUN, whoever holds it.")
@common_options
def command(options: Options, run: str, *, when: str, once: bool, lets_go: bool) -> None:
    """Let the agent of RUN wait before its next call, and decide about each call that waits.

    It has to be recorded with --attach, or record(…, attach=True), and goes on running meanwhile: only its next call,
    in each of its lanes, waits. On a terminal the command asks about each; else `agent-tt answer` decides. Arguments
    and state can be changed and a result given; that is recorded, and a replay does it again. The agent's own
    deadlines stand still. Ctrl-C lets go; and where the command is killed the agent goes on, too.

    EXPRESSION is asked of the state as it is, and of the call that waits; see `agent-tt watch --help`.

    \b
    agent-tt hold my-agent
    agent-tt hold my-agent --when 'tool == "charge" and args.amount > 100'
    agent-tt hold my-agent --let-go
    --json: an object a line: {event, run, hold}, event being held, let go or over, or, of
            --let-go where nobody held it, not held; and {event: "call", …as in `answer`}
            of each call that waits
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.holding.conditions import condition

    if when:
        condition(when)
    with options.source(run) as source:
        store, found = writable(source), source.run(run)
        if lets_go:
            _let_go(options, store, found)
            return
        if found.status == "running" and not found.facts.attached:
            raise UsageError(
                f"{found.name} cannot be held: it was not recorded to be",
                hint="record it with agent-tt record --attach, or agent_tt.record(..., attach=True)",
            )
        hold = store.hold_run(found.id, when=when, by="command")
        _Holder(options, store, found, hold).stay(once=once)


def _let_go(options: Options, store: Store, run: Run) -> None:
    ended = store.let_go(run.id)
    if options.as_json:
        write_json({"event": "let go" if ended else "not held", "run": run.id, "hold": None}, one_line=True)
        return
    terminal = options.terminal()
    terminal.line(terminal.safe(f"{run.name} is let go" if ended else f"nobody holds {run.name}"))


class _Holder:
    """The hold of this command, while it is there."""

    def __init__(self, options: Options, store: Store, run: Run, hold: Hold) -> None:
        self._options, self._store, self._run, self._hold = options, store, run, hold
        self._asks = options.can_ask
        self._seen: set[int] = set()

    def stay(self, *, once: bool) -> None:
        """Tell what waits, and ask about it, until the run is over or let go."""
        when = f" where {self._hold.when}" if self._hold.when else ""
        self._say("held", f"{self._run.name} waits before its next call{when}: ctrl+c lets it go")
        try:
            why = self._watch(once=once)
        except (KeyboardInterrupt, click.Abort):
            why = "let go"
        finally:
            with suppress(AgentTTError):  # the run may be gone, and its holds with it
                self._store.let_go(self._run.id, self._hold.id)
        self._say(why, f"{self._run.name} {'is over' if why == 'over' else 'is let go'}")

    def _watch(self, *, once: bool) -> str:
        while self._is_running():
            if not any(hold.id == self._hold.id for hold in self._store.holds(self._run.id)):
                # A run that has ended since the look above has no hold either.
                return "let go" if self._is_running() else "over"
            waiting = [each for each in self._store.questions(self._run.id) if each.hold == self._hold.id]
            if once and self._seen and not waiting:
                return "let go"
            for question in waiting:
                if question.id not in self._seen:
                    self._seen.add(question.id)
                    self._tell(question)
            time.sleep(_LOOK_SECONDS)
        return "over"

    def _is_running(self) -> bool:
        return self._store.run(self._run.id).status == "running"

    def _tell(self, question: CallQuestion) -> None:
        if self._options.as_json:
            write_json({"event": "call", **question_shape(question, self._run.name)}, one_line=True)
            return
        terminal = self._options.terminal()
        if not self._asks:
            print_question(terminal, question, self._run.name)
            return
        waiting = self._store.questions(self._run.id)
        others = sorted({each.lane for each in waiting if each.hold is not None} - {question.lane})
        if others:
            terminal.line(terminal.safe(f"{counted(len(others), 'other lane')} held: {', '.join(others)}"))
        ask(terminal, question, self._run.name, lambda asked, decision: self._store.answer_question(asked.id, decision))

    def _say(self, event: str, words: str) -> None:
        if self._options.as_json:
            write_json({"event": event, "run": self._run.id, "hold": self._hold.id}, one_line=True)
            return
        terminal = self._options.terminal()
        terminal.line(terminal.safe(words))
