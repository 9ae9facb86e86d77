"""The agent of a fork that goes on with a conversation alone, where the program that held it is not at hand.

A model is asked, the tools that it asks for are called, and so on until it asks for none. There is no code of these
tools here, so each call is what the fork's policy makes of it: answered as recorded, by a stub or a person, or refused.
What was said before is sent as text, calls and results; what the model answers in the fork is sent back as it came.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from http.client import HTTPException
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import ToolDenied
from agent_tt.forking.entry.conversation_forms import FORMS
from agent_tt.frameworks.tool_calls import ToolCall, call_tool
from agent_tt.providers.chat import conversation_in
from agent_tt.providers.reading import read_answer, recognise
from agent_tt.recording.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from http.client import HTTPMessage
    from typing import IO

    from agent_tt.providers.shapes import Asked, ModelAnswer

__all__ = ["go_on"]

_SECONDS: Final = 600


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key is for the address that was named."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow nothing."""
        del req, fp, code, msg, headers, newurl


def go_on(state: Any = None, overrides: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Go on with the conversation in a state until the model asks for no tool.

    Args:
        state: what the run's state is; its conversation is added to.
        overrides: `provider`, `model` and `address`, and `tools`, a list of `{name, description, parameters}`.

    Raises:
        RuntimeError: the model cannot be asked, or its answer is an error, or says nothing.
    """
    form, model = FORMS[overrides["provider"]], overrides["model"]
    at = conversation_in(state)
    turns = state[at[0]] if at else state
    sent = form.written(turns)
    with record(f"{overrides['provider']}:{model}", state=state) as run:
        is_over = False
        while not is_over:
            with run.step("turn", state):
                body = form.body(model, sent, overrides["tools"])
                answer = _asked(overrides["address"] + form.path(model), form.headers(_key(form.key)), body)
                calls = [call for message in answer.messages for call in message.calls if not call.is_hosted]
                added = [*answer.turns, *form.results([(call, _result(call)) for call in calls])]
                sent["turns"] += added
                turns += added
                is_over = not calls


def _key(variable: str) -> str:
    return os.environ.get(variable, "")


def _asked(url: str, headers: dict[str, str], body: dict[str, Any]) -> ModelAnswer:
    request = urllib.request.Request(  # noqa: S310  the address was looked at when the fork was planned
        url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers}, method="POST"
    )
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=_SECONDS) as response:
            status, kind, given = response.status, response.headers.get("Content-Type", ""), response.read()
    except urllib.error.HTTPError as refused:
        with refused:
            status, kind, given = refused.code, refused.headers.get("Content-Type", ""), refused.read()
    except (OSError, HTTPException) as error:
        raise RuntimeError(f"{url} could not be asked: {error or type(error).__name__}") from None
    call = recognise("POST", url, {}, json.dumps(body))
    if call is None:
        raise RuntimeError(f"{url} is no address of a model")
    answer = read_answer(call, status, {"content-type": kind}, given)
    if answer.error or not answer.turns:
        raise RuntimeError(f"{call.model} gave no answer: {answer.error or 'it said nothing'}")
    return answer


def _result(call: Asked) -> str:
    """What the model is told that a call came back with."""
    if not isinstance(call.arguments, dict):
        return "Error: the arguments are not a JSON object"
    try:
        result = call_tool(ToolCall(call.name, call.arguments, answers=call.id or None), lambda _: _no_code(call.name))
    except Exception as error:  # noqa: BLE001  whatever a tool raises is told to the model
        return f"Error: {error.message if isinstance(error, ToolDenied) else f'{type(error).__name__}: {error}'}"
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def _no_code(name: str) -> object:
    raise ToolDenied(f"{name} was not run: its code is not here", tool=name)
