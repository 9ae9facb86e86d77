"""A run, the code and the model behind it, and what a person changed for it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model.edits import Edit
    from agent_tt.model.kinds import RunStatus, WayBackIn

__all__ = ["AgentCode", "ErrorInfo", "ModelConfig", "Run"]

_SHOWN_NODES: Final = 3


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
            beginning with what was recorded given to it again. None of a run that is not a fork.
        policy: what a fork did with its calls, as `agent_tt.intercepting.policy.ToolPolicy.to_mapping` says it.
        read_only: it lies in a file that is not ours.
        metadata: what people and agents said of it by free names, and what we did: see `agent_tt.model.facts.RunFacts`.
        origin: where an imported or foreign run came from (`file`, `thread`, …), for display.
        pinned: somebody wants it kept: it is neither archived nor deleted before it is unpinned.
        archived: left out of lists unless they are asked for all runs.
        former_names: what it was called before it was renamed, oldest first; they still name it.
        damaged: what is wrong with what is stored of it; then only its id is shown, and its name with a word about it.
            None of one that is as it was recorded.
        unpriced: how many of its model calls have no known price: `cost_usd` is that of the others.
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
    damaged: str | None = None
    unpriced: int = 0

    @property
    def facts(self) -> RunFacts:
        """What `metadata` says by keys of ours, read and checked."""
        return RunFacts(self.metadata)

    @property
    def agent(self) -> str | None:
        """The entry point, as `runs --json` shows it."""
        return self.code.entry

    @property
    def standing(self) -> str | None:
        """Where an interrupted thread of LangGraph stands: `in ask`, which asked a person, else `before pay`.

        None of another run, and where that is not known.
        """
        if self.status != "interrupted":
            return None
        asks, following = self.facts.asks_in, self.facts.stopped_before
        return f"in {_few(asks)}" if asks else f"before {_few(following)}" if following else None

    @property
    def incomplete(self) -> str | None:
        """Why it was not recorded to its end, `recording stopped at step 3: …`, or what is left out; else None."""
        if self.facts.parts_left_out:
            return f"left out are {self.facts.parts_left_out}"
        said = self.facts.incomplete
        step, reason = said.step, said.reason
        if step is None or reason is None:
            return None
        return f"recording stopped {f'at step {step}' if step else 'before its first step'}: {reason}"


def _few(names: Sequence[str]) -> str:
    """The first names, each once."""
    each = list(dict.fromkeys(names))
    return ", ".join(each[:_SHOWN_NODES]) + (", …" if len(each) > _SHOWN_NODES else "")
