"""What would be sent, where to, under which policy and at what cost: all that is said before anything is."""

from __future__ import annotations

import os
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import Address
from agent_tt.asking_again.answers import MOST_TIMES
from agent_tt.asking_again.hosts import destination_of
from agent_tt.asking_again.proxies import proxy_of
from agent_tt.asking_again.recorded_request import find_request, recorded_request
from agent_tt.errors import UsageError
from agent_tt.forking.editing.edits import with_old_values
from agent_tt.forking.policy.policies import configured_policy
from agent_tt.providers.prices import cost_of
from agent_tt.providers.reading import recorded_answer
from agent_tt.providers.shapes import Tokens
from agent_tt.recording.runs.kept_patterns import rules_of
from agent_tt.store.file.locate import own_store_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_tt.asking_again.hosts import Destination
    from agent_tt.asking_again.recorded_request import RecordedRequest
    from agent_tt.intercepting.rules import Rule
    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource

__all__ = ["SECONDS", "AgainPlan", "AgainRequest", "Expected", "plan_again"]

SECONDS: Final = 600.0
"""How long an answer, or its next piece, is waited for: as long as the SDKs wait."""

_ORGANIZATION: Final = (
    ("openai-organization", "OPENAI_ORG_ID"),
    ("openai-project", "OPENAI_PROJECT_ID"),
)
"""Headers that OpenAI's SDK makes of the user's variables; who pays stands in them."""


@dataclass(frozen=True, slots=True)
class AgainRequest:
    """What is to be asked again.

    Attributes:
        step: the step of the recorded call.
        call: its number in there; None for the only request to a model.
        times: how often.
        edits: changes of the request's body.
        model: another model; None for the same.
        key: the variable that holds the key, "" for none; None for the one that belongs to the server.
        seconds: how long each answer is waited for.
    """

    step: int
    call: int | None = None
    times: int = 1
    edits: tuple[Edit, ...] = ()
    model: str | None = None
    key: str | None = None
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Expected:
    """What one answer may well take, as the recorded one did; None where that is not known.

    Attributes:
        tokens_in, tokens_out: what was counted of the recorded one.
        cost_usd: what that is at the list price of the model that is asked.
    """

    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class AgainPlan:
    """What is sent, and all that is said before it is.

    Attributes:
        store: where the answers are kept.
        run: the run that the call was recorded in.
        request: the request that is sent.
        asked: what was asked for.
        destination: where it goes.
        headers: those that are sent, but for the key.
        body: the body, as it goes out.
        expected: what one answer may take.
        rule: the rule of the policy that lets it go out.
        notes: what else is to be known before.
    """

    store: Path
    run: Run
    request: RecordedRequest
    asked: AgainRequest
    destination: Destination
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    expected: Expected
    rule: Rule
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the run with the answers is called."""
        call = self.request.call
        return f"{self.run.name}/again-{call.step}.{call.number}"

    @property
    def cost_usd(self) -> float | None:
        """The expected cost of all answers, in US dollars; None if it is not known."""
        each = self.expected.cost_usd
        return None if each is None else each * self.asked.times


def plan_again(
    source: RunSource, run: Run, asked: AgainRequest, environment: Mapping[str, str] = os.environ
) -> AgainPlan:
    """Work out what would be sent, or say why nothing can be. Nothing is sent, and nothing is written.

    Args:
        source: where the run is.
        run: the run.
        asked: what is to be asked again.
        environment: the user's variables.

    Raises:
        UsageError: the request was not recorded whole, the policy does not let it out, there is no key for its server,
            or an edit does not fit.
        StepNotFound: there is no such step.
        Damaged: what was recorded is damaged.
    """
    if not 1 <= asked.times <= MOST_TIMES:
        raise UsageError(f"a model is asked again 1 to {MOST_TIMES} times, not {asked.times}")
    if asked.seconds <= 0:
        raise UsageError("an answer is waited for some seconds", hint=f"{SECONDS:.0f} without a word")
    rules_of(run.metadata).check_libraries("the run")
    call = find_request(source, run.id, asked.step, asked.call)
    recorded = recorded_request(call)
    request = recorded.edited(asked.edits, asked.model)
    asked = replace(asked, call=call.number, edits=with_old_values(recorded.body, asked.edits))
    body = request.to_bytes()
    destination = destination_of(request.asked.api, request.url, environment, key=asked.key, carried=request.carried)
    rule = _rule(request, destination)
    return AgainPlan(
        store=_store_for(source, run),
        run=run,
        request=request,
        asked=asked,
        destination=destination,
        headers=_headers(request, environment),
        body=body,
        expected=_expected(recorded, request),
        rule=rule,
        notes=tuple(_notes(request, destination)),
    )


def _rule(request: RecordedRequest, destination: Destination) -> Rule:
    """The rule that lets it out.

    Raises:
        UsageError: it says something else.
    """
    policy, model = configured_policy(), request.asked.model or None
    names = request.call.name, f"POST {destination.url.partition('?')[0]}"  # as recorded, and as it goes out
    rules = [policy.decide("llm", name, None, model=model) for name in names]
    for rule in rules:
        if rule.word not in ("live", "ask"):
            raise UsageError(
                f"the policy of {rule.where} is {rule.text} for {model or names[1]}, so it is not asked",
                hint="change that rule first",
            )
    return next((rule for rule in rules if rule.word == "ask"), rules[-1])


def _headers(request: RecordedRequest, environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    headers = dict(request.headers)
    headers["content-type"] = "application/json"
    if request.asked.api.startswith("openai"):
        headers |= {name: environment[variable] for name, variable in _ORGANIZATION if environment.get(variable)}
    return tuple(headers.items())


def _expected(recorded: RecordedRequest, request: RecordedRequest) -> Expected:
    """What the recorded answer took, at the price of what is asked now."""
    answer, facts = recorded_answer(recorded.asked, recorded.call.result), recorded.call.facts
    tokens = answer.tokens
    known_in = facts.tokens_in if tokens.input is None else tokens.input
    known_out = facts.tokens_out if tokens.output is None else tokens.output
    if request.asked.model == recorded.asked.model:
        cost = facts.cost_usd if answer.cost_usd is None else answer.cost_usd
    else:
        cost = cost_of(request.asked.model, Tokens(input=known_in, output=known_out))
    return Expected(known_in, known_out, cost)


def _notes(request: RecordedRequest, destination: Destination) -> list[str]:
    hosted = [tool.name for tool in request.asked.tools if tool.is_hosted]
    notes = []
    if hosted:
        notes.append(f"the provider runs tools itself while it answers: {', '.join(hosted)}")
    if request.asked.follows or request.asked.kept_in:
        notes.append("it goes on from what the provider keeps, which may be gone or have changed")
    if destination.base:
        notes.append(f"{destination.base} names another server than the recorded one")
    if destination.is_readable_on_the_way:
        notes.append("it is sent unencrypted")
    if (proxy := proxy_of(destination, os.environ)) is not None:
        notes.append(f"it goes by the proxy {proxy.host}:{proxy.port}, which {proxy.variable} names")
    return notes


def _store_for(source: RunSource, run: Run) -> Path:
    """Where the answers are kept: in the run's own store, else in the user's."""
    path = source.path
    if source.capabilities.records and not run.read_only and (isinstance(path, Address) or os.access(path, os.W_OK)):
        return path
    return own_store_path(path)
