"""A fork that goes on with a conversation alone: what it asks, which tools it offers, and what it may not do."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agent_tt.codec.encode import encode
from agent_tt.errors import Damaged, InvalidEdit, ReadOnlySource, UsageError
from agent_tt.forking.checks import MAIN_TRACK, check_ended
from agent_tt.forking.entry.conversation_forms import FORMS, plain_messages
from agent_tt.forking.entry.declared_tools import DeclaredTool
from agent_tt.forking.policy.policies import Rule, configured_policy
from agent_tt.forking.terms import PYTHON
from agent_tt.providers.chat import conversation_in
from agent_tt.providers.loose import dicts, mapping, text
from agent_tt.providers.reading import recorded_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["as_conversation", "check_answered", "check_conversation", "check_place", "tools_of"]

_AGENT: Final = "agent_tt.forking.entry.conversation:go_on"

_NOTES: Final = (
    "the original program does not run: its conversation goes on, and no tool is run",
    "what was said is sent as text, tool calls and results: pictures and files as short notes, earlier thoughts not",
)


def as_conversation(source: RunSource, run: Run, request: ForkRequest) -> ForkRequest:
    """The request for a fork that goes on with a run's conversation; as it is where it does not ask for that.

    Raises:
        ReadOnlySource: the run lies in a file that is only read.
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
    if run.read_only:
        raise ReadOnlySource(
            f"{run.name} lies in {source.path}, which is only read", hint="`agent-tt import` it, and fork the copy"
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
    no_code = Rule("deny", source="default")  # tools that read run elsewhere; here there is nothing to run
    return replace(
        request,
        agent=_AGENT,
        by="restore",
        terms=replace(terms, overrides={key: encode(value) for key, value in told.items()}),
        policy=policy.with_all([("*read", no_code)]),
    )


def tools_of(request: ForkRequest) -> tuple[DeclaredTool, ...]:
    """The tools that the model is offered, which all are recorded when they are asked for."""
    names = (text(mapping(tool).get("name")) for tool in dicts(request.terms.overrides.get("tools")))
    return tuple(DeclaredTool(name, "write", is_said=False) for name in names)


def check_answered(request: ForkRequest, rows: Iterable[Boundary]) -> None:
    """Refuse to let a tool run, which has no code here.

    Raises:
        UsageError: the policy lets one.
    """
    names = [row.name for row in rows if row.kind == "tool" and row.policy == "live"]
    if names and request.continue_with is not None:
        raise UsageError(
            f"{', '.join(names)} cannot run: no code of tools is here, only the conversation",
            hint=f"--policy {names[0]}=recorded-or-ask, ask, stub:JSON or deny",
        )


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


def check_conversation(request: ForkRequest, state: Wire) -> tuple[str, ...]:
    """Refuse a state that holds no conversation which a model can go on with; give what is to be known before.

    Raises:
        UsageError: there is none, or it does not end with something to answer.
    """
    if request.continue_with is None:
        return ()
    at = conversation_in(state)
    turns = None if at is None else state if not at else mapping(state).get(str(at[0]))
    if not isinstance(turns, list):
        raise UsageError("the state holds no conversation that a model could go on with", hint="fork another step")
    plain_messages(turns)
    return (*_NOTES, f"the model is offered the tools {request.terms.overrides['tools_from']}")


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
