"""What the sample agents share: chat messages in the usual shape, and what a model call costs.

The model of every sample is a rule-based policy: a plain function that reads what it is handed and decides. It asks for
tools and answers in the shape that chat APIs use, so that a recording looks like one of a language model, but it needs
no network and no key, and the same input always gives the same answer.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

Message = dict[str, Any]
"""One chat message: `role`, `content`, and `tool_calls` or `tool_call_id`."""

Answer = dict[str, Any]
"""What a policy returns: `{"message": Message, "usage": {"tokens_in", "tokens_out", "cost_usd"}}`."""

CHARACTERS_PER_TOKEN = 4
DOLLARS_PER_TOKEN_IN = 0.5e-6
DOLLARS_PER_TOKEN_OUT = 1.5e-6


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


def _tokens(value: object) -> int:
    return len(json.dumps(value, default=str)) // CHARACTERS_PER_TOKEN
