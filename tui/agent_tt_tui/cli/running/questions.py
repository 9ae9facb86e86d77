"""Calls that wait for a decision, on a terminal: they are shown whole, and a person says what becomes of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import click

from agent_tt.codec.parse import parse_value
from agent_tt.codec.text import pretty
from agent_tt.errors import AgentTTError, QuestionClosed
from agent_tt_tui.cli.terminal import Cell, Terminal
from agent_tt_tui.format import counted
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.forking.policy.answering import Asked
    from agent_tt.model import Edit
    from agent_tt.protocols import RunSource
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.rerunning.handle import RunHandle

__all__ = ["answer_waiting", "ask", "print_question", "refuse_unasked", "told"]

_MOST_LINES: Final = 30
"""Lines of one argument that are shown; the editor has all."""

_CHOICES: Final = "[y]es, [e]dit the arguments, [g]ive a value, [f]ail with an error, [n]o"
_FEWER_CHOICES: Final = "[y]es, [e]dit the arguments, [n]o"


def refuse_unasked() -> Asked:
    """Refuse every call that asks, and say on standard error how it could have been asked about."""

    def refuse(question: CallQuestion) -> Decision:
        why = "nobody can be asked here, without a terminal; with --hold it waits for `agent-tt answer`"
        click.echo(f"{_safe(question.name)} was refused: {why}", err=True)
        return question.refuse(why).said_by("nobody")

    return refuse


def answer_waiting(terminal: Terminal, source: RunSource, handle: RunHandle) -> None:
    """Ask the person at the terminal about every call of a fork that waits."""
    from agent_tt.forking.policy.answering import is_of_fork

    for question in source.questions():
        if is_of_fork(question, handle.run_id, handle.process):
            ask(terminal, question, source.run(question.run_id).name, handle.answer)


def ask(
    terminal: Terminal, question: CallQuestion, name: str, answer: Callable[[CallQuestion, Decision], None]
) -> None:
    """Ask the person at the terminal about one call.

    Args:
        terminal: the terminal.
        question: the call.
        name: the name of its run.
        answer: writes down what was decided.
    """
    print_question(terminal, question, name)
    decision = _decide(terminal, question)
    try:
        answer(question, decision.said_by("terminal"))
    except QuestionClosed as error:  # somebody else was faster, or the fork has ended meanwhile
        terminal.line(terminal.safe(error.message))
    else:
        terminal.line(terminal.safe(told(question, decision)))


def print_question(terminal: Terminal, question: CallQuestion, run_name: str) -> None:
    """Write what waits, with all its arguments."""
    glyphs = terminal.glyphs
    what = "writes" if question.effect == "write" else question.kind
    waits = "waits for you" if question.hold is None else f"is held, in lane {terminal.safe(question.lane)}"
    terminal.line(
        Cell(f"{glyphs.person} {terminal.safe(question.name)}", "yours"),
        Cell(f"  ({what})  {waits}", "strong"),
        Cell(f"  question {question.id}, step {question.step} of {terminal.safe(run_name)}", "muted"),
    )
    if question.trouble:
        terminal.line(Cell(f"  {glyphs.failed} {terminal.safe(question.trouble)}", "failed"))
    shown = [(key, value, "" if key in question.editable else "  (as it is)") for key, value in question.args.items()]
    if question.state is not None:
        shown.append(("the state", question.state, ""))
    wide = max((len(_safe(key)) for key, _, _ in shown), default=0)
    for key, value, mark in shown:
        lines = pretty(value).splitlines()
        for index, line in enumerate(lines[:_MOST_LINES]):
            head = _safe(key).ljust(wide) if not index else " " * wide
            terminal.line(Cell(f"  {head}  ", "muted"), terminal.safe(line), Cell("" if index else mark, "muted"))
        if len(lines) > _MOST_LINES:
            terminal.line(Cell(f"  {' ' * wide}  {glyphs.cut} {len(lines) - _MOST_LINES:,} more lines", "muted"))


def told(question: CallQuestion, decision: Decision) -> str:
    """What was decided, in words."""
    changed = f", the state with {counted(len(decision.state), 'change')}" if decision.state else ""
    return _told(question, decision) + changed


def _told(question: CallQuestion, decision: Decision) -> str:
    match decision.word:
        case "run" if decision.args:
            return f"{question.name} goes out with another {', '.join(decision.args)}"
        case "run":
            return f"{question.name} goes out"
        case "give":
            return f"{question.name} is not made: a value is given in its place"
        case "raise":
            return f"{question.name} is not made: it raises {decision.error.short if decision.error else 'an error'}"
    return f"{question.name} is refused"


def _decide(terminal: Terminal, question: CallQuestion) -> Decision:
    """Ask until there is a decision that fits.

    Raises:
        click.Abort: Ctrl-C, or the end of the input.
    """
    choices = _CHOICES if question.can_give else _FEWER_CHOICES
    choices = choices if question.editable else choices.replace("[e]dit the arguments, ", "")
    choices = choices if question.state is None else choices.replace("[n]o", "[s]tate, [n]o")
    edits: tuple[Edit, ...] = ()
    while True:
        letter = click.prompt(f"Run it? {choices}", prompt_suffix=" ").strip().lower()[:1]
        try:
            if letter == "s" and question.state is not None:
                edits = _changed_state(terminal, question)
                continue
            decision = _by_letter(letter, question)
            if decision is not None:
                return question.with_state(decision, edits)
        except AgentTTError as error:
            terminal.line(*filter(None, (terminal.safe(error.message),)))
            if error.hint:
                terminal.line(terminal.safe(error.hint))


def _by_letter(letter: str, question: CallQuestion) -> Decision | None:
    match letter:
        case "y":
            return question.run()
        case "n":
            return question.refuse(click.prompt("Why (the agent is told)", default="", show_default=False))
        case "e" if question.editable:
            return _edited(question)
        case "g" if question.can_give:
            return question.give_text(click.prompt("The value, as JSON"))
        case "f" if question.can_give:
            return question.fail(click.prompt('The error, like "TimeoutError: no answer"'))
    return None


def _edited(question: CallQuestion) -> Decision | None:
    """The call with other arguments: as JSON in the user's editor, where they have named one, else typed."""
    shown = {name: value for name, value in question.args.items() if name in question.editable}
    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        return question.run_text(click.prompt("Arguments as JSON, by name; those left out stay"))
    from agent_tt_tui.viewmodel.edits.external_editor import edit_outside

    text = edit_outside(pretty(shown), ".json", check=_trouble(question), ask_again=_ask_again, env=os.environ)
    return None if text is None else question.run_text(text)


def _changed_state(terminal: Terminal, question: CallQuestion) -> tuple[Edit, ...]:
    """What is to be changed of the state: in the user's editor, where they have named one, else one PATH=VALUE."""
    from agent_tt.forking.editing.assignments import parse_assignment
    from agent_tt.forking.editing.between import edits_between
    from agent_tt.forking.editing.edits import with_old_values

    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        edits = with_old_values(question.state, [parse_assignment(click.prompt("PATH=VALUE, the value as JSON"))])
    else:
        from agent_tt_tui.viewmodel.edits.external_editor import edit_outside

        text = edit_outside(pretty(question.state), ".json", check=_unreadable, ask_again=_ask_again, env=os.environ)
        edits = () if text is None else edits_between(question.state, parse_value(text))
    for edit in edits:
        terminal.line(Cell("  before it goes on: ", "muted"), terminal.safe(f"{edit.path or 'the state'} is changed"))
    return edits


def _unreadable(text: str) -> str | None:
    try:
        parse_value(text)
    except AgentTTError as error:
        return error.message
    return None


def _trouble(question: CallQuestion) -> Callable[[str], str | None]:
    def check(text: str) -> str | None:
        try:
            question.run_text(text)
        except AgentTTError as error:
            return error.message
        return None

    return check


def _ask_again(trouble: str) -> bool:
    click.echo(_safe(trouble))
    return click.confirm("Edit it again?", default=True)


def _safe(text: str) -> str:

    return clean(text)
