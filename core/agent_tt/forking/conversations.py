"""A fork that goes on with a conversation alone: what it asks, which tools it offers, and what it may not do."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agent_tt.codec.encode import encode
from agent_tt.codec.wire import is_envelope
from agent_tt.errors import Damaged, InvalidEdit, UsageError
from agent_tt.forking.checks import MAIN_TRACK, check_ended, envelopes
from agent_tt.forking.entry.conversation_forms import FORMS, plain_turns
from agent_tt.forking.entry.declared_tools import DeclaredTool
from agent_tt.forking.policy.boundary import Boundary
from agent_tt.forking.policy.policies import Rule, configured_policy
from agent_tt.forking.terms import PYTHON
from agent_tt.model import shown
from agent_tt.providers.chat import conversation_in
from agent_tt.providers.loose import dicts, mapping, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.reading import recorded_call
from agent_tt.providers.shapes import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.policy.boundary import Expected
    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["as_conversation", "boundary_with", "check_place", "conversation_of", "expected_with", "tools_of"]

_AGENT: Final = "agent_tt.forking.entry.conversation:go_on"

_LIVE: Final = Rule("live", source="default")
_CHARACTERS: Final = 4
"""Of a token of text, about."""

_NOTES: Final = (
    "the original program does not run: its conversation goes on, and no tool is run",
    "what was said is sent as text, tool calls and results: pictures and files as short notes, earlier thoughts not",
)


def as_conversation(source: RunSource, run: Run, request: ForkRequest) -> ForkRequest:
    """The request for a fork that goes on with a run's conversation; as it is where it does not ask for that.

    Raises:
        UsageError: no such provider or address, no key, or something is asked for that goes with a program.
    """
    if request.continue_with is None:
        return request
    provider, _, model = request.continue_with.partition(":")
    form = FORMS.get(provider)
    if form is None or not model:
        raise UsageError(
            f"{request.continue_with!r} does not name a model",
            hint=f"write {', '.join(f'{each}:MODEL' for each in FORMS)}",
        )
    terms = request.terms
    if request.agent or request.by == "replay" or request.accept_changes or terms.overrides or terms.executor != PYTHON:
        raise UsageError(
            "a conversation goes on without a program",
            hint="leave out --agent, --by, --accept-changes, --override, --executor and --script",
        )
    if any(edit.target in ("result", "error", "answer", "step") for edit in request.edits_of(source, run)):
        raise InvalidEdit("calls and steps of a conversation are not made again", hint="edit its messages: --set")
    if not os.environ.get(form.key):
        raise UsageError(
            f"{form.key} is not set, so {provider} cannot be asked", hint="set it; a server of your own takes any word"
        )
    address = (os.environ.get(form.base) or form.address).rstrip("/")
    if urlsplit(address).scheme not in ("http", "https"):
        raise UsageError(f"{form.base} is {address!r}, which is no address of a server", hint="http://… or https://…")
    tools, said = _offered(source, run)
    told = {"provider": provider, "model": model, "address": address, "tools": tools, "tools_from": said}
    policy = configured_policy() if request.policy is None else request.policy
    no_code = Rule("recorded", otherwise="deny", source="default")  # nothing can run: see `boundary_with`
    return replace(
        request,
        agent=_AGENT,
        by="restore",
        terms=replace(terms, overrides={key: encode(value) for key, value in told.items()}),
        policy=policy.with_all([("*read", no_code), ("*write", no_code)]),
    )


def tools_of(request: ForkRequest) -> tuple[DeclaredTool, ...]:
    """The tools that the model is offered, which all are recorded when they are asked for."""
    names = (text(mapping(tool).get("name")) for tool in dicts(request.terms.overrides.get("tools")))
    return tuple(DeclaredTool(name, "write", is_said=False) for name in names)


def boundary_with(request: ForkRequest, rows: Iterable[Boundary]) -> tuple[Boundary, ...]:
    """What the fork may ask: of a conversation the named model and the tools; nobody asks what the program asked.

    Raises:
        UsageError: the policy lets a tool run, which has no code here.
    """
    if request.continue_with is None:
        return tuple(rows)
    model = request.continue_with.partition(":")[2]
    tools = [row for row in rows if row.kind == "tool" and not row.is_inside]
    names = [row.name for row in tools if row.policy == "live"]
    if names:
        raise UsageError(
            f"{', '.join(names)} cannot run: no code of tools is here, only the conversation",
            hint=f"--policy {names[0]}=recorded, recorded-or-ask, ask, stub:JSON or deny",
        )
    asked = [row for row in rows if row.kind == "llm" and row.model == model and not row.is_inside]
    return (asked[0] if asked else Boundary(model, "llm", None, 0, 0, _LIVE, called=model, model=model), *tools)


def check_place(source: RunSource, run: Run, steps: Sequence[Step], number: int) -> Step | None:
    """As `check_step`: the conversation after a step is whole, whatever times its steps have.

    Raises:
        StepNotFound, UsageError, Damaged: there is no such step, it has not ended or is a sub-agent's, or is damaged.
    """
    chosen = check_ended(source, run, steps, number)
    if chosen is not None and (chosen.track != MAIN_TRACK or chosen.is_unkept):
        raise UsageError(
            f"the state after step {number} {chosen.name} is not the run's own conversation", hint="fork another step"
        )
    if number in source.damaged_steps(run.id):
        raise Damaged(f"the state after step {number} of {run.name} holds something damaged", hint="fork another step")
    return chosen


def expected_with(request: ForkRequest, expected: Expected) -> Expected:
    """What the fork may well spend: of a conversation at the list price of the model that goes on with it."""
    if request.continue_with is None:
        return expected
    tokens = Tokens(input=expected.tokens_in, output=expected.tokens_out)
    cost = cost_of(request.continue_with.partition(":")[2], tokens)
    return replace(expected, cost_usd=cost, unpriced=0)


def conversation_of(request: ForkRequest, state: Wire) -> tuple[Wire, tuple[str, ...]]:
    """The state that a conversation goes on with, and what is to be known before; of a program the state as it is.

    Its messages are plain, and what is of a class is left behind: no class of the program's is loaded.

    Raises:
        UsageError: it holds no conversation, or one that does not end with something to answer.
    """
    if request.continue_with is None:
        return state, ()
    at = conversation_in(state)
    turns = None if at is None else state if not at else mapping(state).get(str(at[0]))
    if not isinstance(turns, list):
        raise UsageError("the state holds no conversation that a model could go on with", hint="fork another step")
    turns = [plain for turn in turns for plain in (is_envelope(turn) and plain_turns(turn)) or [turn]]
    fields = {key: value for key, value in mapping(state).items() if not any(envelopes(value))}
    odd = sorted(mapping(state).keys() - fields.keys() - {*map(str, at or ())})
    provider, _, model = request.continue_with.partition(":")
    tools = [*dicts(request.terms.overrides["tools"])]
    body = FORMS[provider].body(model, FORMS[provider].written(turns), tools)
    length = len(json.dumps(body, ensure_ascii=False)) // _CHARACTERS
    cost = cost_of(model, Tokens(input=length, output=0))
    price = f"no price of {model} is known" if cost is None else f"{shown.cost(cost)} at the list price of {model}"
    notes = (
        *_NOTES,
        *((f"left behind, as only its program can read it: {', '.join(odd)}",) if odd else ()),
        f"the model is offered the tools {request.terms.overrides['tools_from']}",
        f"its first question alone has about {length:,} tokens, reckoned from its length: {price}",
    )
    return (fields | {str(at[0]): turns} if at else turns), notes


def _offered(source: RunSource, run: Run) -> tuple[list[Wire], str]:
    """The tools of the last request that offered any, else those that were called; and where they are from."""
    called: dict[str, dict[str, Wire]] = {}
    offered: list[Wire] = []
    for step in source.steps(run.id):
        for call in source.calls(run.id, step.number) if step.calls else ():
            if call.kind == "llm":
                asked = recorded_call(call.args)
                found = [tool for tool in asked.tools if not tool.is_hosted] if asked else []
                offered = [
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters or {"type": "object"},
                    }
                    for tool in found
                ] or offered
            elif call.kind == "tool":
                properties = called.setdefault(call.name, {})
                properties |= {name: {} for name in mapping(call.args)}
    if offered:
        return offered, "offered in its requests"
    made: list[Wire] = [
        {
            "name": name,
            "description": "Seen in the conversation; what it takes is guessed from its calls.",
            "parameters": {"type": "object", "properties": dict(properties)},
        }
        for name, properties in called.items()
    ]
    return made, "seen in the conversation"
