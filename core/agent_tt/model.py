"""What a run is made of: plain frozen dataclasses, no input or output.

Times are integer microseconds since the epoch, UTC (`…_us`); costs are US dollars; token counts are whole tokens.
A *wire value* (`agent_tt.codec.wire.Wire`) is the JSON-like form in which every state, argument and result is kept:
plain JSON plus `{"$type": …, "$v": …}` envelopes for everything that JSON cannot say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

RunStatus = Literal["running", "succeeded", "failed", "interrupted", "crashed"]
StepStatus = Literal["running", "ok", "error", "interrupted"]
CallStatus = Literal["pending", "ok", "error", "denied"]
CallKind = Literal["llm", "tool", "http", "subprocess", "socket", "clock", "rng", "id", "env", "human"]
Effect = Literal["read", "write"]
DeliveryKind = Literal["chunk", "end", "error", "closed"]
StreamEnd = Literal["end", "error", "closed"]
WayBackIn = Literal["restore", "replay"]
EditTarget = Literal["state", "result", "error", "answer", "system", "model", "parameter", "step"]

ACTING: Final[frozenset[CallKind]] = frozenset({"tool", "http", "subprocess", "socket", "human"})
"""Kinds of calls that do something in the world; clocks, random numbers and ids differ in every run, and in a loop a
model is asked with all that was said so far."""

OWN_DOING: Final[frozenset[CallKind]] = frozenset({"http", "subprocess", "socket"})
"""Kinds of calls that are the doing of the call that they are made inside of."""

MADE_UP: Final = "made_up"
"""Among the facts of a call, and of its step: no model gave this answer; `mock` or `script` did."""

COPY: Final = "copy_of"
"""Among the facts of a call of a resumed run: it repeats an earlier one word for word, and was not made again."""

SKIPPED: Final = "without_checkpoint"
"""Among the facts of a step: no checkpoint was taken of it."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An exception as it was recorded.

    Attributes:
        class_name: `module:Qualified.Name`; builtins have the module `builtins`.
        message: `str(exception)`.
        traceback: the formatted traceback as text, or "".
        value: the exception as a wire value (class, arguments, attributes), or None where only text is known.
    """

    class_name: str
    message: str
    traceback: str = ""
    value: Wire = None

    @property
    def short(self) -> str:
        """`TimeoutError: search_docs timed out`, one line."""
        name = self.class_name.rpartition(":")[2].rpartition(".")[2]
        first_line = self.message.splitlines()[0] if self.message else ""
        return f"{name}: {first_line}" if first_line else name


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The model that an agent is configured with; None where the agent did not say.

    Attributes:
        model: the provider's name of the model.
        temperature: sampling temperature.
        max_tokens: most tokens an answer may have.
        seed: sampling seed.
        prompt_version: the agent's own name for its prompt.
    """

    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    prompt_version: str | None = None


@dataclass(frozen=True, slots=True)
class AgentCode:
    """Which code an agent runs, and where a fork finds it again.

    Attributes:
        entry: `module:callable` or `path/file.py:callable` (relative to `root`), None for a script without one.
        version: the agent's own version name.
        fingerprint: hex blake2b-16 of the entry point's source file when it was recorded.
        root: the project root that was on `sys.path`.
        cwd: working directory of the recording process.
        interpreter: path of the Python that ran it; None means "the one that runs agent-tt".
        restore: how a fork can hand it a state: a `state` parameter, a `load_state` method, plain attributes, or not
            at all.
    """

    entry: str | None = None
    version: str | None = None
    fingerprint: str | None = None
    root: str | None = None
    cwd: str | None = None
    interpreter: str | None = None
    restore: Literal["state", "load_state", "attributes"] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of an agent.

    Attributes:
        id: 12 characters of Crockford base 32 (a thread id or `THREAD@tip` for runs of a LangGraph file).
        name: what people call it; forks are `NAME/fork-N`.
        status: as shown: a run whose process is gone reads `crashed` even where no one could write that down.
        parent: id of the run that it was forked from.
        fork_step: the parent's step whose checkpoint it started from.
        steps: how many steps it has, those it shares with its parent included.
        edits: what a person changed for a fork.
        way_back_in: how the agent of a fork got to `fork_step`: `restore` was handed that state, `replay` ran from the
            beginning with what was recorded given to it again. None of a run that is no fork.
        policy: what a fork did with its calls, as `agent_tt.recording.policy.ToolPolicy.to_mapping` says it.
        read_only: it lies in a file that is not ours.
        origin: where an imported or foreign run came from (`file`, `thread`, …), for display.
        pinned: somebody wants it kept: it is neither archived nor deleted before it is unpinned.
        archived: left out of lists unless they are asked for all runs.
        former_names: what it was called before it was renamed, oldest first; they still name it.
    """

    id: str
    name: str
    status: RunStatus
    started_us: int
    ended_us: int | None = None
    code: AgentCode = field(default_factory=AgentCode)
    model: ModelConfig | None = None
    user_id: str | None = None
    parent: str | None = None
    fork_step: int | None = None
    steps: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    error: ErrorInfo | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Wire] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    way_back_in: WayBackIn | None = None
    policy: Mapping[str, Wire] = field(default_factory=dict)
    read_only: bool = False
    origin: Mapping[str, str] = field(default_factory=dict)
    pinned: bool = False
    archived: bool = False
    former_names: tuple[str, ...] = ()

    @property
    def agent(self) -> str | None:
        """The entry point, as `runs --json` shows it."""
        return self.code.entry


@dataclass(frozen=True, slots=True)
class Edit:
    """One change that a person made for a fork.

    Attributes:
        op: `set` (also inserts a key), `insert` (into a list), `delete`, `move`; `mute` of a whole step.
        path: inside of what is changed, as people write it: `messages[3].content`; "" is all of it. The name of a
            parameter.
        value: the new value (set, insert).
        old: the value that was there, for display; None where nothing was.
        to: the target path of a move.
        target: what is changed: a `state`; the `result` or `error` of a call, or the `answer` of a model; for every
            later request to a model its `system` prompt, `model` or a `parameter`; a `step` as a whole.
        step: the step whose call it is, that is muted, or after whose end a state is changed; None of a state at the
            step where the fork begins, and of later requests.
        call: number of the call in its step.
    """

    op: Literal["set", "insert", "delete", "move", "mute"]
    path: str
    value: Wire = None
    old: Wire = None
    to: str | None = None
    target: EditTarget = "state"
    step: int | None = None
    call: int | None = None

    @property
    def where(self) -> str:
        """What is changed, in words: `messages[3]`, `result of call 1 in step 6, items[0]`, `model`, `step 3`."""
        match self.target:
            case "state":
                return self.path
            case "step":
                return f"step {self.step}"
            case "parameter":
                return f"parameter {self.path}"
            case "system":
                return "system prompt"
            case "model":
                return "model"
        of = f"{self.target} of call {self.call} in step {self.step}"
        return f"{of}, {self.path}" if self.path else of


@dataclass(frozen=True, slots=True)
class Step:
    """One move of an agent.

    Attributes:
        number: from 1, in order of starting. Number 0 is the initial input, which has a checkpoint but no row.
        name: what the agent calls it.
        kind: its strongest call: `write`, `read`, `http`, `llm`, `other`, `human` or None when it made no call.
        agent: which agent took it, in runs of several.
        lane: the logical thread of control that it ran in.
        parent: number of the step that it is nested in.
        track, seq: the state history and the checkpoint in it taken when the step ended; None without state.
        inherited: it belongs to the parent run, before the fork.
        decision: what the agent decided, in its own words.
        messages: how many messages the state or request held, where known.
        extra: further facts of the source (`checkpoint_id`, `langgraph_step`, …) for `--json`.
    """

    number: int
    name: str
    status: StepStatus
    kind: str | None = None
    agent: str | None = None
    lane: str = "main"
    parent: int | None = None
    started_us: int | None = None
    ended_us: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    error: ErrorInfo | None = None
    track: str = "main"
    seq: int | None = None
    inherited: bool = False
    decision: str | None = None
    calls: int = 0
    repeat_of: int | None = None
    extra: Mapping[str, Wire] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The stable id, `step_3`."""
        return f"step_{self.number}"

    @property
    def duration_us(self) -> int | None:
        """How long it took, None while it runs."""
        if self.started_us is None or self.ended_us is None:
            return None
        return self.ended_us - self.started_us


@dataclass(frozen=True, slots=True)
class Call:
    """One crossing of a nondeterministic boundary inside a step.

    Attributes:
        number: from 1 within its step.
        lane, lane_seq: the logical thread that made it, and its place in it (from 1).
        status: `pending` in a run that is over means "outcome unknown".
        signature: hex digest of what was asked (kind, name, arguments).
        args: what was asked: `{"name": value}` by parameter name, or a request.
        result: what came back; None with `error` set when it raised.
        delivered: run-wide number under which the answer reached the agent, from 1; of an answer that came in pieces,
            the last one's. None while it is pending.
        meta: facts for display: `model`, `tokens_in`, `tokens_out`, `cost_usd`, `file`, `line`, ….
    """

    step: int
    number: int
    kind: CallKind
    name: str
    status: CallStatus
    effect: Effect | None = None
    lane: str = "main"
    lane_seq: int = 0
    args: Wire = None
    result: Wire = None
    error: ErrorInfo | None = None
    signature: str | None = None
    started_us: int | None = None
    ended_us: int | None = None
    delivered: int | None = None
    meta: Mapping[str, Wire] = field(default_factory=dict)

    @property
    def duration_us(self) -> int | None:
        """How long it took, None while it is pending."""
        if self.started_us is None or self.ended_us is None:
            return None
        return self.ended_us - self.started_us


@dataclass(frozen=True, slots=True)
class Delivery:
    """What reached the agent at one moment of a call that answers in pieces.

    Attributes:
        number: run-wide, from 1, in the order in which answers reached the agent; calls answered in one piece are
            counted with them.
        kind: `chunk` for a piece; then one of `end`, `error` (the call's own says which) and `closed` (the agent left).
        at_us: when it was committed, just before the agent saw it.
        data: the piece, or what a generator returned at its `end`.
    """

    number: int
    kind: DeliveryKind
    at_us: int | None = None
    data: Wire = None


@dataclass(frozen=True, slots=True)
class Note:
    """Something a person wrote down: a `note`, or a `bookmark` whose body is its letter."""

    id: int
    kind: Literal["note", "bookmark"]
    step: int | None
    body: str
    created_us: int


@dataclass(frozen=True, slots=True)
class Label:
    """What a person calls a checkpoint of a run, and the facts that were written down about it.

    Attributes:
        step: the checkpoint; 0 is the input.
        name: a name that is good in place of the step's number; None for none.
        metadata: facts by name, `purpose` and `ticket` among them.
    """

    step: int
    name: str | None = None
    metadata: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was deleted.

    Attributes:
        runs: the runs that are gone, forks after what they were forked from.
        freed_bytes: room in the file that is free again; later recordings use it.
    """

    runs: tuple[Run, ...]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that `verify` found.

    Attributes:
        run: id of the run, or None when it concerns the file.
        step: the checkpoint concerned, None when unknown.
        what: one line.
    """

    run: str | None
    step: int | None
    what: str


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a recorder says about a run when it starts (the store gives it an id and a unique place)."""

    name: str
    code: AgentCode = field(default_factory=AgentCode)
    model: ModelConfig | None = None
    user_id: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewStep:
    """What a recorder says about a step when it opens."""

    name: str
    agent: str | None = None
    lane: str = "main"
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class StepEnd:
    """What a recorder says about a step when it closes."""

    status: StepStatus
    error: ErrorInfo | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    decision: str | None = None
    shared_track: bool = False
    extra: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewCall:
    """What a recorder says about a call before it is made: the intent that is committed first."""

    kind: CallKind
    name: str
    args: Wire
    signature: str
    effect: Effect | None = None
    lane: str = "main"
    lane_seq: int = 0
    meta: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallEnd:
    """What came back from a call, committed before the agent sees it.

    Attributes:
        stream: how an answer that came in pieces ended: its end is a delivery of its own. None for one in one piece.
        returned: what came with that end.
    """

    status: CallStatus
    result: Wire = None
    error: ErrorInfo | None = None
    meta: Mapping[str, Wire] = field(default_factory=dict)
    stream: StreamEnd | None = None
    returned: Wire = None
