"""A call as text: what was asked and what came back; of a request to a model's provider, the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import pretty, summary
from agent_tt.providers.chat import message_of
from agent_tt.providers.provider_call import provider_call, tool_line
from agent_tt_tui.cli.terminal import Cell, facts
from agent_tt_tui.cli.wording import pending_words
from agent_tt_tui.format import cost
from agent_tt_tui.viewmodel.calls.decided import not_made_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.asked_tools import AskedTool
    from agent_tt.model import Call
    from agent_tt.providers.provider_call import ProviderCall
    from agent_tt_tui.cli.terminal import Terminal

_ROLE_COLUMNS: Final = 9
"""As wide as `assistant`."""


def print_call(terminal: Terminal, call: Call, *, is_running: bool = False) -> None:
    """Write a call under a line with its kind and name.

    Args:
        terminal: where to write it.
        call: the call.
        is_running: whether the run that made it goes on.
    """
    answers = f"answers {terminal.safe(call.facts.answers)}" if call.facts.answers else None
    told = facts([f"{call.effect}s" if call.effect else None, answers], terminal.glyphs.dot)
    about = f" {terminal.glyphs.dot} {told}" if told else ""
    terminal.line(Cell(f"{call.kind} {terminal.safe(call.name)}", "strong"), Cell(about, "muted"))
    if call.damaged is not None:
        terminal.line(Cell(f"  {terminal.safe(call.damaged)}", "failed"))
    sent = provider_call(call)
    if sent is None:
        _print_value(terminal, "asked", call.args)
    else:
        _print_messages(terminal, "asked", sent.messages)
        _print_tools(terminal, sent)
    if call.status == "ok" and sent is not None and (sent.answer or call.facts.answer_error):
        _print_answer(terminal, call, sent)
    elif call.status == "ok":
        _print_value(terminal, "came back", call.result)
    again = not_made_words(call)
    if again is not None:
        terminal.line(_label(""), Cell(terminal.safe(again), "muted"))
    if call.status == "pending":
        terminal.line(_label("came back"), Cell(pending_words(call, is_running=is_running), "changed"))
    if call.error is not None:
        terminal.line(Cell(f"  {terminal.safe(call.error.short)}", "failed"))


def asked_cells(terminal: Terminal, asked: AskedTool) -> list[Cell | str]:
    """Lay out a tool that only the conversation shows as a line below its step."""
    came_back = "" if asked.answer is None else f" = {summary(asked.answer, 60)}"
    told = f"{asked.name}({summary(asked.arguments, 60)}){came_back}"
    left = terminal.columns - len(asked.seen) - 9
    return ["       ", Cell(terminal.short(told, left), "muted"), Cell(f"  {asked.seen}", "changed")]


def print_asked(terminal: Terminal, asked: AskedTool) -> None:
    """Write a tool that only the conversation shows, as a call is written.

    Args:
        terminal: where to write it.
        asked: one time that it was asked for.
    """
    terminal.line(
        Cell(f"tool {terminal.safe(asked.name)}", "strong"), Cell(f" {terminal.glyphs.dot} {asked.seen}", "changed")
    )
    _print_value(terminal, "asked", asked.arguments)
    if asked.answer is not None:
        _print_value(terminal, "came back", asked.answer)
    terminal.line(_label(""), Cell("no call of it is recorded", "muted"))


def _print_value(terminal: Terminal, label: str, value: Wire) -> None:
    text = pretty(value).split("\n")
    terminal.line(_label(label), terminal.safe(text[0]))
    for line in text[1:]:
        terminal.line(" " * 12, terminal.safe(line))


def _print_tools(terminal: Terminal, sent: ProviderCall) -> None:
    if sent.tools:
        told = ", ".join(f"{name}({takes})" for name, takes in map(tool_line, sent.tools))
        terminal.line(_label("offered"), terminal.safe(told))


def _print_answer(terminal: Terminal, call: Call, sent: ProviderCall) -> None:
    error = call.facts.answer_error
    if error:
        terminal.line(_label("came back"), Cell(terminal.safe(error), "failed"))
    else:
        _print_messages(terminal, "came back", sent.answer)
    tokens_in, tokens_out, price = call.facts.tokens_in, call.facts.tokens_out, call.facts.cost_usd
    told = facts(
        [
            sent.stopped,
            None if tokens_in is None else f"{tokens_in:,} tokens in",
            None if tokens_out is None else f"{tokens_out:,} out",
            None if price is None else cost(price),
        ],
        terminal.glyphs.dot,
    )
    if told:
        terminal.line(_label(""), Cell(terminal.safe(told), "muted"))


def _print_messages(terminal: Terminal, label: str, messages: Sequence[Wire]) -> None:
    for said in filter(None, map(message_of, messages)):
        lines = [*said.text.splitlines(), *(str(call) for call in said.calls)] or [""]
        role = Cell(f"{terminal.safe(said.role):<{_ROLE_COLUMNS}}  ", "strong")
        terminal.line(_label(label), role, terminal.safe(lines[0]))
        for line in lines[1:]:
            terminal.line(" " * (14 + _ROLE_COLUMNS), terminal.safe(line))
        label = ""


def _label(label: str) -> Cell:
    return Cell(f"  {label:<10}", "muted")
