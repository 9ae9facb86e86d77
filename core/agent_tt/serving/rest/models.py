"""What answers hold, for the description of the interface. The shapes themselves are those of `agent_tt.shapes`.

Answers are not made by these models: a test holds each answer to its model. States, arguments and results are wire
values: JSON as it was recorded, with `{"$type": …, "$v": …}` for what JSON cannot say.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from agent_tt.model.kinds import RunStatus
from agent_tt.model.replays import ReplayMode, ReplayVerdict

Value: TypeAlias = Any
"""A wire value."""

Object: TypeAlias = dict[str, Any]


class Flaw(BaseModel):
    """One thing that is wrong with a request."""

    where: str
    what: str


class FailureText(BaseModel):
    """What was wrong, and what to do."""

    kind: str = Field(description="a stable word: run_not_found, usage, no_token, …")
    message: str
    hint: str
    nearest: list[str] = Field(default=[], description="names that look like what was asked for")
    flaws: list[Flaw] = Field(default=[], description="what is wrong with each part of the request")


class Failure(BaseModel):
    """An error; every one has this shape."""

    error: FailureText


class Health(BaseModel):
    """The server is there."""

    status: Literal["ok"]


class StoreAnswer(BaseModel):
    """What is served, and what may be done with it."""

    store: str
    version: int = Field(description="differs after anyone changed the store")
    agent_tt: str
    read_only: bool
    may_fork: bool
    may_write: list[str] = Field(description="tools that may write in forks")
    may_ask: list[str] = Field(description="tools whose calls wait for an answer in forks")
    capabilities: dict[str, bool]


class ErrorText(BaseModel):
    """An exception as it was recorded."""

    model_config = ConfigDict(populate_by_name=True)
    class_: str = Field(alias="class")
    message: str
    traceback: str


class RunAnswer(BaseModel):
    """A run, as in `agent-tt runs --json`."""

    id: str
    name: str
    status: RunStatus
    steps: int
    parent: str | None
    fork_step: int | None
    agent: str | None
    started: str | None
    ended: str | None
    tags: list[str]
    version: str | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    cost_complete: bool
    incomplete: str | None
    duration_ms: float | None
    fingerprint: str | None
    model: Object | None
    user_id: str | None
    error: ErrorText | None
    metadata: Object
    edits: list[Object]
    way_back_in: str | None
    policy: dict[str, str]
    read_only: bool
    origin: dict[str, str]
    pinned: bool
    archived: bool
    former_names: list[str]
    held: bool | None = None
    """Whether somebody holds its agent; where runs are listed or shown."""
    damaged: str | None = None


class Runs(BaseModel):
    """A page of runs, the newest first."""

    runs: list[RunAnswer]
    next: str | None = Field(description="`after` of the next page; null at the end")


class CallAnswer(BaseModel):
    """A call, as in `agent-tt show --json`."""

    call: int
    kind: str
    name: str
    effect: str | None
    status: str
    lane: str
    args: Value
    result: Value
    error: ErrorText | None
    duration_ms: float | None
    meta: Object
    damaged: str | None = None


class StepAnswer(BaseModel):
    """A step, as in `agent-tt show --json`; further facts of its source stand beside these."""

    model_config = ConfigDict(extra="allow")
    step: int
    id: str
    name: str
    agent: str | None
    status: str
    started: str | None
    duration_ms: float | None
    kind: str | None = None
    lane: str = "main"
    inherited: bool = False
    decision: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    cost_complete: bool = True
    parent: int | None = None
    repeat_of: int | None = None
    calls: list[CallAnswer]
    error: ErrorText | None
    damaged: str | None = None


class Steps(BaseModel):
    """A page of steps."""

    run: str
    steps: list[StepAnswer]
    last: int = Field(description="the number of the run's last step")
    next: int | None = Field(description="`start` of the next page; null at the end")


class DeliveryAnswer(BaseModel):
    """What reached the agent at one moment of a call that answers in pieces."""

    number: int
    kind: str
    at: str | None
    data: Value


class Deliveries(BaseModel):
    """The pieces of an answer, in order."""

    run: str
    step: int
    call: int
    deliveries: list[DeliveryAnswer]


class StateAnswer(BaseModel):
    """The state after a step, or the value at a path in it."""

    run: str
    step: int
    path: str
    value: Value
    note: str | None = Field(description="what has to be known of it: that it is an earlier one, or put together")


class Change(BaseModel):
    """One difference, as in `agent-tt diff --json`."""

    model_config = ConfigDict(extra="allow")
    op: str
    path: str


class DiffAnswer(BaseModel):
    """What differs between two states."""

    a: str
    b: str
    differ: bool
    changes: list[Change]
    ignored: list[Object]
    remarks: list[str]


class BlameAnswer(BaseModel):
    """Who wrote a value, as in `agent-tt blame --json`."""

    model_config = ConfigDict(extra="allow")
    run: str
    step: int
    path: str
    value: Value
    made: Object | None
    trail: list[Object]
    ends: str
    writes: list[Object]
    more: bool


class Hit(BaseModel):
    """One place where a text was found."""

    run: str
    step: int | None
    where: str
    path: str
    excerpt: str
    start: int
    length: int
    call: int | None
    score: float
    times: int
    last: int | None


class FindAnswer(BaseModel):
    """What was found, as in `agent-tt find --json`."""

    hits: list[Hit]
    total: int
    complete: bool
    searched: float | None = None
    newest: int | None = None
    of: int | None = None
    seconds: float | None = None
    unread: list[str] = []


class WhereAnswer(BaseModel):
    """Where an expression holds."""

    steps: list[int]
    spans: list[list[int]]
    unread: list[str] = []


class CompareAnswer(BaseModel):
    """Two runs side by side, as in `agent-tt compare --json`."""

    model_config = ConfigDict(extra="allow")
    differs: bool | None = Field(description="null where something could not be read, and nothing else differs")


class EffectsAnswer(BaseModel):
    """What a run did to the world, as in `agent-tt show --effects --json`."""

    run: RunAnswer
    effects: list[Object]
    held_back: list[Object]
    reads: dict[str, int]
    models: dict[str, int]
    summary: str
    unrecorded: list[str]


class JoinAnswer(BaseModel):
    """One thing that fed another."""

    step: int = Field(description="the step that fed")
    call: int | None = Field(description="its call; null where it is the step as such, or its state")
    fed: int = Field(description="the step that was fed")
    fed_call: int | None
    kind: Literal["asked", "shown", "result", "inside", "started", "nested", "given", "text", "alike", "argument"]
    recorded: bool = Field(description="whether the recording says so; else equal texts suggest it")
    one_of: int = Field(description="how many it may have been: they hold the same text")


class FedAnswer(BaseModel):
    """The steps on one side of a step, each in one of three lists."""

    recorded: list[int]
    inferred: list[int] = Field(description="only these have brought text that is there")
    perhaps: list[int] = Field(description="one of several that brought the same text")
    joins: list[JoinAnswer]


class LinksAnswer(BaseModel):
    """Which steps fed a step, and which it fed, as `links` in `agent-tt show RUN STEP --json`."""

    model_config = ConfigDict(populate_by_name=True)
    run: str
    step: int
    from_: FedAnswer = Field(alias="from")
    to: FedAnswer


class RangeAnswer(BaseModel):
    """Some steps in a row, as in `agent-tt show RUN A..B --json`."""

    run: str
    first: int
    last: int
    base: int | None = Field(description="the step whose state was before them")
    steps: int
    errors: int
    tokens_in: int | None
    tokens_out: int | None
    uncounted: int = Field(description="of how many model calls no tokens were told")
    cost_usd: float | None
    unpriced_calls: int | None = Field(description="null where that is not known")
    took_ms: float | None
    effects: list[Object]
    held_back: list[Object]
    reads: dict[str, int]
    models: dict[str, int]
    summary: str
    changes: list[Change] | None = Field(description="null where no state was before them")


class OdditiesAnswer(BaseModel):
    """What is odd about a run."""

    oddities: list[Object]
    unread: list[str] = []


class NoteAnswer(BaseModel):
    """A note."""

    id: int
    step: int | None
    text: str
    created: str | None


class Notes(BaseModel):
    """Notes about a run, and the names of its checkpoints."""

    run: str
    notes: list[NoteAnswer]
    labels: list[Object]


class StatisticsAnswer(BaseModel):
    """What is counted over the runs, as in `agent-tt stats --json`."""

    model_config = ConfigDict(extra="allow")
    runs: int
    statuses: dict[str, int]
    by: dict[str, list[Object]]


class KeptReplay(BaseModel):
    """An offline replay as it was kept, as in `agent-tt replays --json`."""

    replay: int
    run: str
    ended: str | None
    verdict: ReplayVerdict
    mode: ReplayMode
    duration_ms: float
    recorded: int | None
    served: int | None
    reservations: dict[str, int]
    divergences: int
    divergence: str | None
    step: int | None
    call: int | None
    message: str | None
    agent: str | None
    fingerprint: str | None


class KeptReplays(BaseModel):
    """Offline replays of a run, newest first."""

    run: str
    replays: list[KeptReplay]


class GoldenHead(BaseModel):
    """A golden, or why it cannot be read."""

    name: str
    file: str
    rules: int = Field(description="how many are judged")
    of: int
    run: str | None
    problem: str | None


class Goldens(BaseModel):
    """The goldens of the folder that the server was started with."""

    goldens: list[GoldenHead]


class GoldenRule(BaseModel):
    """A rule of a golden."""

    kind: str
    sentence: str
    on: bool


class GoldenAnswer(BaseModel):
    """A golden: what is run, and its rules."""

    name: str
    file: str
    about: str
    live: list[str]
    passes: list[int]
    program: Object
    run: str
    steps: int
    rules: list[GoldenRule]


class ReceivedTrace(BaseModel):
    """A trace whose spans came lately."""

    trace: str
    run: str | None = Field(description="its run; null until it was imported")
    bytes: int
    heard_seconds_ago: float
    waiting: bool = Field(description="whether spans came that are not in the run yet")
    over: bool = Field(description="whether the span around all others has ended")
    closed: bool = Field(description="whether nothing was heard of it for long")
    problem: str | None = Field(description="why it is no run, or what of it is left out")


class Received(BaseModel):
    """Traces whose spans came lately."""

    traces: list[ReceivedTrace]


class SourceAnswer(BaseModel):
    """An answer to the typed client."""

    value: Value
