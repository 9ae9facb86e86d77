"""Tools that a recorded conversation shows and no recorded call stands for.

A model asked for a tool, and the agent's next request gave its result: the tool ran. Where no call of that name was
recorded between the two, it runs once more in a replay, for real, unless the guard stops what it does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.providers.turns import messages_of_turn
from agent_tt.recording.model_turns import asked_of, said_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.model import Call
    from agent_tt.providers.shapes import Message
    from agent_tt.recording.model_turns import ModelTurn

__all__ = ["said_of_tools", "tools_shown_only"]

_ASKS: Final = ("llm", "http")
_NO_WORD: Final = re.compile(r"[^0-9a-z]+")


def tools_shown_only(calls: Iterable[Call]) -> dict[str, int]:
    """The tools whose results a run's requests give, and of which it recorded no call.

    Args:
        calls: all recorded calls of the run, those inside of others too.

    Returns:
        By name the first step in which a model asked for it.
    """
    found: dict[str, int] = {}
    waiting: dict[str, tuple[str, int]] = {}
    since: dict[str, list[str]] = {}
    for call in sorted(calls, key=lambda call: (call.step, call.number)):
        turn = _turn_of(call)
        if turn is None:
            for names in since.values():
                names.append(_plain(call.name))
            continue
        for answered in _answered(_messages_sent(turn)):
            name, step = waiting.pop(answered, ("", 0))
            made = since.pop(answered, [])
            if name and not any(_is_call_of(name, each) for each in made):
                found.setdefault(name, step)
        if call.error is None:
            said = said_of(turn, call.result).messages
            own = set(_answered(said))  # the provider ran these itself
            for asked in (asked for message in said for asked in message.calls):
                key = asked.id or asked.name
                if key not in own:
                    waiting[key], since[key] = (asked.name, call.step), []
    return found


def _turn_of(call: Call) -> ModelTurn | None:
    """What a call sent to a model; None of one that asks none."""
    args = call.args
    if call.kind not in _ASKS or not isinstance(args, dict):
        return None
    turn = asked_of(args)
    return turn if turn.call is not None or call.kind == "llm" else None


def _messages_sent(turn: ModelTurn) -> Iterable[Message]:
    if turn.call is not None:
        return turn.call.messages
    sent = turn.state.get("messages")
    return (message for each in (sent if isinstance(sent, list) else ()) for message in messages_of_turn(each))


def _answered(messages: Iterable[Message]) -> Sequence[str]:
    return [message.answers for message in messages if message.answers]


def _is_call_of(tool: str, called: str) -> bool:
    """Whether a recorded name, `my_app.tools.lookup`, is that of a tool as the model knows it, `lookup`."""
    wanted = _plain(tool)
    return bool(wanted) and (called == wanted or called.endswith(f"_{wanted}") or wanted.endswith(f"_{called}"))


def _plain(name: str) -> str:
    return _NO_WORD.sub("_", name.lower()).strip("_")


def said_of_tools(tools: Mapping[str, int]) -> Iterable[str]:
    """A line for each of `tools_shown_only`."""
    for name, step in tools.items():
        yield (
            f"the model asked for {name} in step {step} and was given its result, and no call of {name} is recorded:"
            " what the agent's code does for it is done again, unless it is stopped. Record it as a tool"
        )
