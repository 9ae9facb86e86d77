"""What is asked of, and answered about, what runs again: checkpoints, replays, forks and their questions.

As in `models`, answers are not made by these: a test holds each answer to its model.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from agent_tt.model.kinds import RunStatus
from agent_tt.serving.rest.models import Change, ErrorText, Object, RunAnswer, StepAnswer, Value


class CheckpointHead(BaseModel):
    """A checkpoint: a state that is kept."""

    checkpoint_id: str = Field(description="RUN@STEP")
    trace_id: str = Field(description="the id of the run")
    span_id: str = Field(description="step_N, the id of the step after which it was taken; step_0 is the input")
    step: int
    name: str | None
    created_at: str | None
    metadata: Object
    can_replay: bool = Field(description="whether this server may let its agent go on from there")


class CheckpointAnswer(CheckpointHead):
    """A checkpoint with its state."""

    state: Value
    configuration: Object = Field(description="the model that the agent was configured with")
    digest: str | None = Field(description="equal exactly where states are")


class Checkpoints(BaseModel):
    """The checkpoints of a run, in order."""

    trace_id: str
    checkpoint_count: int = Field(description="how many there are in all")
    checkpoints: list[CheckpointHead]
    offset: int
    limit: int
    has_more: bool


class NewCheckpoints(BaseModel):
    """Which checkpoints are meant. They were all taken while the run was recorded: they get a name, or facts."""

    model_config = ConfigDict(extra="forbid")
    auto: bool = Field(default=False, description="all that there are")
    span_ids: list[str] = Field(default=[], max_length=500, description="step_N")
    name: str | None = Field(default=None, min_length=1, max_length=200, description="of one checkpoint")
    metadata: Object | None = Field(default=None, description="facts that are kept with them")


class CheckpointsCreated(BaseModel):
    """Checkpoints that were named, or of which facts were kept."""

    trace_id: str
    checkpoints_created: int = Field(description="how many had neither a name nor facts before")
    checkpoint_ids: list[str]


class CheckpointDeleted(BaseModel):
    """A state that is not kept any more; its step stays and says so."""

    status: Literal["deleted"]
    checkpoint_id: str
    clean: bool = Field(description="false where free room of the store still holds the state")
    left: str | None = Field(description="what may still hold the state, in words")


class ReplayRequest(BaseModel):
    """How an agent goes on from a checkpoint."""

    model_config = ConfigDict(extra="forbid")
    modified_input: Object | None = Field(default=None, description="values of the state by key, set first")
    agent_overrides: Object | None = Field(
        default=None,
        description="`model`, `temperature`, `top_p`, `max_tokens` and `seed` of every later request to a model; what"
        " else is named is told to the agent",
    )
    edits: list[EditText] = Field(default=[], max_length=50, description="further edits")
    stop_at_span: str | None = Field(default=None, pattern=r"^step_[1-9][0-9]{0,8}$", description="the last step")
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400, description="never longer than is allowed")
    dry_run: bool = Field(default=False, description="ask no model, and let nothing write, whatever is allowed")
    executor: str | None = Field(default=None, min_length=1, max_length=200, description="python, mock, or another")
    deny: list[str] = Field(default=[], max_length=50, description="tools that are denied as well")
    name: str | None = Field(default=None, min_length=1, max_length=200, description="of the new run")
    expect: str | None = Field(default=None, min_length=1, max_length=2_000, description="what is hoped for at the end")
    wait_seconds: float = Field(default=20, ge=0, le=600, description="answer after so long; it goes on after that")


ReplayStatus: TypeAlias = Literal["running", "completed", "failed", "stopped", "unknown"]


class DiffSummary(BaseModel):
    """What differs between how a run and its replay ended."""

    has_changes: bool
    summary: str


class ReplayHead(BaseModel):
    """A replay in brief: a run that goes on from a checkpoint of another one."""

    replay_id: str = Field(description="the id of the new run")
    checkpoint_id: str
    trace_id: str
    status: ReplayStatus
    started_at: str | None
    completed_at: str | None
    duration_ms: float | None


class ReplayAnswer(ReplayHead):
    """A replay, with what came of it."""

    output: Value = Field(description="the state after its last step")
    error: ErrorText | None
    diff: DiffSummary | None = Field(description="null while it runs, and where it cannot be read")
    run: RunAnswer


class ReplayListed(ReplayHead):
    """A replay of a list."""

    has_changes: bool | None = Field(description="null while it runs, and where it cannot be read")


class TraceReplays(BaseModel):
    """The replays of a run, the oldest first."""

    trace_id: str
    replay_count: int
    replays: list[ReplayListed]


class ReplayDiff(BaseModel):
    """What differs between how a run and its replay ended, by the keys of the state, and each change."""

    replay_id: str
    status: ReplayStatus
    has_changes: bool
    summary: str
    added: Object
    removed: Object
    changed: dict[str, Object]
    unchanged: list[str]
    changes: list[Change]


class EditText(BaseModel):
    """An edit as people write it on the command line."""

    model_config = ConfigDict(extra="forbid")
    form: Literal[
        "set", "retype", "insert", "delete", "move", "result", "error", "answer", "system", "model", "param", "mute"
    ]
    text: str = Field(min_length=1, max_length=200_000, description="what follows: payment.amount=3")


class ForkRequest(BaseModel):
    """A fork: the agent runs again from a step, with edits. Unless `dry_run` is false, only what would run is said."""

    model_config = ConfigDict(extra="forbid")
    at: int | None = Field(default=None, ge=0, le=999_999_999, description="the step; 0 is the input")
    edits: list[EditText] = Field(default=[], max_length=50)
    deny: list[str] = Field(default=[], max_length=50, description="tools that are denied as well")
    name: str | None = Field(default=None, min_length=1, max_length=200)
    expect: str | None = Field(default=None, min_length=1, max_length=2_000)
    executor: str | None = Field(default=None, min_length=1, max_length=200)
    overrides: Object | None = Field(default=None, description="told to the agent beside its state")
    stop_at: int | None = Field(default=None, ge=1, le=999_999_999, description="the last step")
    seconds: float | None = Field(default=None, gt=0, le=86_400, description="never longer than is allowed")
    dry_run: bool = True


class Plan(BaseModel):
    """What a fork would do, as in `agent-tt fork --dry-run --json`."""

    model_config = ConfigDict(extra="allow")
    run: str
    step: int
    entry: str | None
    edits: list[Object]
    boundary: list[Object]
    unheld: list[str]
    problems: list[str]


class ForkAnswer(BaseModel):
    """A fork as far as it is: a run, with what it did and was kept from."""

    model_config = ConfigDict(extra="allow")
    id: str
    status: RunStatus
    effects: list[Object]
    held_back: list[Object]
    notes: list[str]
    edits_without_effect: list[Object]
    expect: Object | None


class Question(BaseModel):
    """A call that waits for an answer, as in `agent-tt answer --json`."""

    question: int
    run: str
    name: str
    step: int
    call: int
    kind: str
    tool: str
    effect: str | None
    args: Object
    editable: list[str]
    can_give: bool
    asked: str | None
    trouble: str | None


class Questions(BaseModel):
    """The calls that wait, the oldest question first."""

    questions: list[Question]


class AnswerText(BaseModel):
    """What becomes of a call that waits."""

    model_config = ConfigDict(extra="forbid")
    word: Literal["run", "give", "raise", "refuse"]
    args: Object | None = Field(default=None, description="of run: other arguments by name; those left out stay")
    value: Value = Field(default=None, description="of give: what the agent gets")
    error: str | None = Field(default=None, max_length=4_000, description="of raise: TimeoutError: no answer")
    why: str | None = Field(default=None, max_length=4_000, description="of refuse: what the agent is told")


class Answered(Question):
    """A question with its answer."""

    answer: Object


class OfflineReplay(BaseModel):
    """How a run is replayed offline: every call answered as it was recorded."""

    model_config = ConfigDict(extra="forbid")
    observe: bool = Field(default=False, description="go on after a difference, and collect all")
    seconds: float | None = Field(default=None, gt=0, le=86_400)


class ReplayReport(BaseModel):
    """What came of it, as in `agent-tt replay --json`."""

    model_config = ConfigDict(extra="allow")
    run: str
    verdict: str
    faithful: bool
    divergences: list[Object]


class GoldenWanted(BaseModel):
    """How a golden is run."""

    model_config = ConfigDict(extra="forbid")
    seconds: float | None = Field(default=None, gt=0, le=86_400, description="never longer than is allowed")


class JudgedRule(BaseModel):
    """What a rule of a golden says of the run that came."""

    model_config = ConfigDict(extra="allow")
    kind: str
    sentence: str
    verdict: Literal["passed", "failed", "unknown"]
    said: str
    step: int | None


class GoldenRun(BaseModel):
    """What came of a golden, as in `agent-tt test --json`, with the steps of the run that came."""

    model_config = ConfigDict(extra="allow")
    name: str
    outcome: Literal["passed", "failed", "unknown"] = Field(description="unknown: it could not be run, or judged")
    first: str = Field(description="why it did not pass, in one line")
    remarks: list[str]
    problem: str = Field(description="why it could not be run")
    new_request: Object | None = Field(description="the first request that has no recording")
    rules: list[JudgedRule]
    steps: list[StepAnswer] = Field(description="at most 500")


class Stopped(BaseModel):
    """A fork that was stopped."""

    run: str
    status: RunStatus
