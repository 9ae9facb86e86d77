"""What the sample agents share: chat messages in the usual shape, what a model call costs, and how long things take.

The model of every sample is a rule-based policy: a plain function that reads what it is handed and decides. It asks for
tools and answers in the shape that chat APIs use, so that a recording looks like one of a language model, but it needs
no network and no key, and the same input always gives the same answer.

Nobody waits for it, nor for a tool. How long real ones would take is said all the same: `simulated_time.py` lets that
time pass on a clock of its own, by which the shipped runs were recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from inspect import iscoroutinefunction
from typing import Any, TypeVar, cast

Message = dict[str, Any]
"""One chat message: `role`, `content`, and `tool_calls` or `tool_call_id`."""

Answer = dict[str, Any]
"""What a policy returns: `{"message": Message, "usage": {"tokens_in", "tokens_out", "cost_usd"}}`."""

CHARACTERS_PER_TOKEN = 4
DOLLARS_PER_TOKEN_IN = 0.5e-6
DOLLARS_PER_TOKEN_OUT = 1.5e-6
SECONDS_AT_LEAST = 0.6
SECONDS_PER_TOKEN_IN = 0.7e-3
SECONDS_PER_TOKEN_OUT = 45e-3
SECONDS_PER_PASS = 0.25
"""What one pass of an event loop stands for where no time passes: who takes longer than others comes after them."""

Policy = TypeVar("Policy", bound=Callable[..., Any])


class Waits:
    """How an agent waits for what takes between so many seconds: not at all."""

    def wait(self, least: float, most: float) -> None:
        """Wait as a plain function does."""

    async def wait_beside(self, least: float, most: float) -> None:
        """Wait while the others run, as often as they would meanwhile."""
        import asyncio

        for _ in range(1 + round((least + most) / 2 / SECONDS_PER_PASS)):
            await asyncio.sleep(0)


WAITS = Waits()
"""How the agents of this process wait."""


def takes(least: float, most: float | None = None) -> None:
    """Say, in a tool, that it takes so many seconds, or between so many."""
    WAITS.wait(least, least if most is None else most)


async def takes_beside(least: float, most: float | None = None) -> None:
    """Say the same in a coroutine."""
    await WAITS.wait_beside(least, least if most is None else most)


def hosted(policy: Policy) -> Policy:
    """Let a policy take as long as a hosted model: by the tokens that it has read, and above all by those it writes."""

    @wraps(policy)
    def answer(*args: Any, **kwargs: Any) -> Answer:
        answered: Answer = policy(*args, **kwargs)
        takes(*_seconds(answered))
        return answered

    @wraps(policy)
    async def answer_beside(*args: Any, **kwargs: Any) -> Answer:
        answered: Answer = await policy(*args, **kwargs)
        await takes_beside(*_seconds(answered))
        return answered

    return cast("Policy", answer_beside if iscoroutinefunction(policy) else answer)


def say(prompt: object, text: str) -> Answer:
    """The answer of a model that has read `prompt` and says `text`."""
    return _answer(prompt, {"role": "assistant", "content": text})


def ask_for(prompt: object, tool: str, thought: str = "", /, **arguments: object) -> Answer:
    """The answer of a model that has read `prompt` and wants `tool` to be called."""
    request = {"name": tool, "arguments": json.dumps(arguments, default=str)}
    call_id = blake2b(json.dumps([prompt, request], default=str).encode(), digest_size=4).hexdigest()
    call = {"id": f"call_{call_id}", "type": "function", "function": request}
    return _answer(prompt, {"role": "assistant", "content": thought, "tool_calls": [call]})


def requested(answer: Answer) -> tuple[str, dict[str, Any]] | None:
    """The tool that an answer asks for and its arguments, None where it only says something."""
    calls = answer["message"].get("tool_calls")
    if not calls:
        return None
    function = calls[0]["function"]
    return function["name"], json.loads(function["arguments"])


def tool_message(answer: Answer, result: object) -> Message:
    """The message that gives a tool's result back to the model that asked for it in `answer`."""
    call = answer["message"]["tool_calls"][0]
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result, default=str)}


def used_tokens(answer: Answer) -> int:
    """Tokens read and written for one answer."""
    usage = answer["usage"]
    return int(usage["tokens_in"] + usage["tokens_out"])


def _answer(prompt: object, message: Message) -> Answer:
    tokens_in = _tokens(prompt)
    tokens_out = _tokens(message)
    cost = tokens_in * DOLLARS_PER_TOKEN_IN + tokens_out * DOLLARS_PER_TOKEN_OUT
    return {
        "message": message,
        "usage": {"tokens_in": tokens_in, "tokens_out": tokens_out, "cost_usd": round(cost, 8)},
    }


def _seconds(answer: Answer) -> tuple[float, float]:
    usage = answer["usage"]
    usual = usage["tokens_in"] * SECONDS_PER_TOKEN_IN + usage["tokens_out"] * SECONDS_PER_TOKEN_OUT
    return SECONDS_AT_LEAST + 0.92 * usual, SECONDS_AT_LEAST + 1.08 * usual


def _tokens(value: object) -> int:
    return len(json.dumps(value, default=str)) // CHARACTERS_PER_TOKEN
