"""Tools that a recorded conversation shows and no recorded call stands for.

A model asked for a tool, and the agent's next request gave its result: the tool ran. Where no call of that name was
recorded between the two, it runs once more in a replay, for real, unless the guard stops what it does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.model import Call
    from agent_tt.providers.shapes import Asked, Message
    from agent_tt.recording.steps.model_turns import ModelTurn

__all__ = ["said_of_tools", "tools_shown_only"]

_ASKS: Final = ("llm", "http")
_DRAWN: Final = ("clock", "rng", "id", "env")
_NO_WORD: Final = re.compile(r"[^0-9a-z]+")
_BETWEEN_NAMES: Final = re.compile(r"[.\s/:]+")


def tools_shown_only(calls: Iterable[Call]) -> dict[str, int]:
    """The tools whose results a run's requests give, and of which it recorded no call.

    Args:
        calls: all recorded calls of the run, those inside of others too.

    Returns:
        By name the first step in which a model asked for it.
    """
    found: dict[str, int] = {}
    waiting: dict[str, tuple[Asked, int]] = {}
    since: dict[str, list[Call]] = {}
    for call in sorted(calls, key=lambda call: (call.step, call.number)):
        turn = _turn_of(call)
        if turn is None:
            for made in since.values():
                made.append(call)
            continue
        for answered in _answered(_messages_sent(turn)):
            if answered in waiting:
                asked, step = waiting.pop(answered)
                if not any(_is_call_of(asked, made) for made in since.pop(answered)):
                    found.setdefault(asked.name, step)
        if call.error is None:
            from agent_tt.recording.steps.model_turns import said_of  # only where a model was asked

            said = said_of(turn, call.result).messages
            own = set(_answered(said))  # the provider ran these itself
            for asked in (asked for message in said for asked in message.calls):
                key = asked.id or asked.name
                if key and key not in own:
                    waiting[key], since[key] = (asked, call.step), []
    return found


def _turn_of(call: Call) -> ModelTurn | None:
    """What a call sent to a model; None of one that asks none."""
    args = call.args
    if call.kind not in _ASKS or not isinstance(args, dict):
        return None
    from agent_tt.recording.steps.model_turns import asked_of  # reads providers' languages: most replays never do

    turn = asked_of(args)
    return turn if turn.call is not None or call.kind == "llm" else None


def _messages_sent(turn: ModelTurn) -> Iterable[Message]:
    if turn.call is not None:
        return turn.call.messages
    from agent_tt.providers.reading import messages_of_turn

    sent = turn.state.get("messages")
    return (message for each in (sent if isinstance(sent, list) else ()) for message in messages_of_turn(each))


def _answered(messages: Iterable[Message]) -> Sequence[str]:
    return [message.answers for message in messages if message.answers]


def _is_call_of(asked: Asked, call: Call) -> bool:
    """Whether a recorded call is that of a tool as the model knows it: by its name, or by what it was given.

    The tool `lookup` may be recorded as `my_app.tools.lookup`, `lookup.call` or `server lookup`; under any name it is
    the one where its arguments are those that the model gave.
    """
    if call.kind in _DRAWN:
        return False
    wanted = _plain(asked.name)
    names = [_plain(part) for part in _BETWEEN_NAMES.split(call.name)]
    if wanted in names or any(name and wanted.endswith(f"_{name}") for name in names):
        return True
    return isinstance(asked.arguments, dict) and bool(asked.arguments) and call.args == asked.arguments


def _plain(name: str) -> str:
    return _NO_WORD.sub("_", name.lower()).strip("_")


def said_of_tools(tools: Mapping[str, int]) -> Iterable[str]:
    """A line for each of `tools_shown_only`."""
    for name, step in tools.items():
        yield (
            f"no call of {name} is recorded, though the model was given its result (asked in step {step}):"
            " its code runs again in a replay, where nothing stops it. Record it as a tool"
        )
