"""Every error that agent-tt raises on purpose, and the exit code each one ends a command with.

```
AgentTTError
├── UsageError                 exit 2
│   ├── InvalidPath            a path such as `messages[3].content` cannot be read
│   ├── InvalidValue           a VALUE is not JSON
│   ├── InvalidExpression      a question such as `state.budget < 0` cannot be read, or would take too long to answer
│   ├── InvalidEdit            an edit does not fit the state it is for
│   ├── InvalidEntryPoint      an agent cannot be found, imported or restored
│   │   └── InvalidExecutor    nobody is registered as the executor that was asked for, or it cannot be imported
│   ├── InvalidScript          a scripted model has no answer to give
│   ├── QuestionClosed         a question was answered already, or nobody waits for its answer any more
│   ├── Untrusted              a store that came from elsewhere names code that would run
│   ├── VaultLocked            there is no key to a vault, or it is another one's
│   └── ReadOnlySource         writing was asked of a store that is only read
├── NotFound                   exit 3
│   ├── StoreNotFound
│   ├── RunNotFound
│   ├── StepNotFound
│   ├── QuestionNotFound
│   └── PathNotFound
├── StoreUnreadable            exit 4
│   ├── NotAStore
│   ├── NewerFormat
│   ├── OlderFormat
│   ├── StoreBusy
│   └── Damaged                a row, blob or keyframe does not hold what it should
│       └── CorruptDelta
├── Refused                    exit 1: it would take away what somebody wants to keep, or is in use
│   ├── HasForks               a run to be deleted has forks
│   ├── IsPinned               a run to be deleted or archived is pinned
│   └── IsRunning              a run to be deleted is running
├── NotRebuildable             exit 2: a recorded value cannot become a Python object again
├── CannotReenter              exit 1: an agent that is re-entered no longer does what was recorded
├── AgentFailed                exit 5: the agent itself raised
├── ModelRefused               exit 5: a model's provider answered with an error; said of a step
├── ToolDenied                 raised into a forked agent by a tool that its policy denies
└── Interrupted                exit 130
```

A replay that went as recorded only with reservations ends its command with `RESERVED` (6) where that is asked for.

Every error carries a one-line message that says what was wrong and where, a `hint` that says what to do (may be empty),
and its context as attributes. Commands print `message` and `hint`; they never print a traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "RESERVED",
    "AgentFailed",
    "AgentTTError",
    "CannotReenter",
    "CorruptDelta",
    "Damaged",
    "HasForks",
    "Interrupted",
    "InvalidEdit",
    "InvalidEntryPoint",
    "InvalidExecutor",
    "InvalidExpression",
    "InvalidPath",
    "InvalidScript",
    "InvalidValue",
    "IsPinned",
    "IsRunning",
    "ModelRefused",
    "NewerFormat",
    "NotAStore",
    "NotFound",
    "NotRebuildable",
    "OlderFormat",
    "OutcomeUnknown",
    "PathNotFound",
    "QuestionClosed",
    "QuestionNotFound",
    "ReadOnlySource",
    "Refused",
    "RunNotFound",
    "StepNotFound",
    "StoreBusy",
    "StoreNotFound",
    "StoreUnreadable",
    "ToolDenied",
    "Untrusted",
    "UsageError",
    "VaultLocked",
]


RESERVED: Final = 6
"""Exit code of `agent-tt replay --strict` where less is known than "as recorded" says; no error has it."""


class AgentTTError(Exception):
    """The root. `kind` is the stable word that `--json` gives as `error.kind`."""

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message

    @property
    def advice(self) -> str:
        """What to do, as it is shown below the message."""
        return self.hint


class UsageError(AgentTTError):
    """What was asked for makes no sense as it was written."""

    exit_code = 2
    kind = "usage"


class InvalidPath(UsageError):
    """A path cannot be read.

    Attributes:
        text: the path as it was written.
        position: index into `text` (code points, from 0) at which reading stopped.
    """

    kind = "invalid_path"

    def __init__(self, message: str, *, text: str, position: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.position = position


class InvalidValue(UsageError):
    """A VALUE is not JSON.

    Attributes:
        line: line of the mistake, from 1.
        column: column of the mistake, from 1.
    """

    kind = "invalid_value"

    def __init__(self, message: str, *, line: int = 1, column: int = 1, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


class InvalidExpression(UsageError):
    """A question about steps cannot be read, or answering it would take too long.

    Attributes:
        text: the expression as it was written.
        why: what is wrong, in words that say neither the expression nor the place.
        position: index into `text` (code points, from 0) of what is wrong.
    """

    kind = "invalid_expression"

    def __init__(self, message: str, *, text: str, why: str, position: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.why = why
        self.position = position

    def caret(self, width: int = 72) -> tuple[str, str]:
        """The line of the expression and, to be written below it, a `^` under what is wrong; at most `width` wide."""
        line = "".join(character if character.isprintable() else " " for character in self.text)
        start = max(0, min(self.position - width // 2, len(line) - width + 1))
        return line[start : start + width], " " * (self.position - start) + "^"


class InvalidEdit(UsageError):
    """An edit does not fit the state it is meant for."""

    kind = "invalid_edit"


class InvalidEntryPoint(UsageError):
    """An agent's entry point cannot be found or cannot take a state."""

    kind = "invalid_entry_point"


class InvalidExecutor(InvalidEntryPoint):
    """Nothing is registered under the name of an executor, or what is cannot be imported or called."""

    kind = "invalid_executor"


class InvalidScript(UsageError):
    """A scripted or made-up model has no answer that it could give."""

    kind = "invalid_script"


class Untrusted(UsageError):
    """Code would run that is named by a store which was not made by this user on this machine.

    Attributes:
        run_id: the run that names it; "" where it is not one alone.
    """

    kind = "untrusted"

    def __init__(self, message: str, *, hint: str = "", run_id: str = "") -> None:
        super().__init__(message, hint=hint)
        self.run_id = run_id


class VaultLocked(UsageError):
    """There is no key to a vault, or it is another one's."""

    kind = "vault_locked"


class QuestionClosed(UsageError):
    """A question about a call was answered already, or the process that asked it is gone."""

    kind = "question_closed"


class ReadOnlySource(UsageError):
    """Something was to be written to a store that is only read (a file of another system, or a `mode=ro` store)."""

    kind = "read_only"


class NotFound(AgentTTError):
    """Something named does not exist. `nearest` holds names that look like what was asked for, best first."""

    exit_code = 3
    kind = "not_found"

    def __init__(self, message: str, *, hint: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(message, hint=hint)
        self.nearest = tuple(nearest)

    @property
    def advice(self) -> str:
        """What to do; names that look like what was asked for come first, unless the hint has them."""
        if not self.nearest or any(name in self.hint for name in self.nearest):
            return self.hint
        return f"Did you mean {' or '.join(self.nearest[:3])}? {self.hint}".rstrip()


class StoreNotFound(NotFound):
    """There is no file where the store should be."""

    kind = "store_not_found"


class RunNotFound(NotFound):
    """No run has that id, name or prefix, or several have that prefix."""

    kind = "run_not_found"


class StepNotFound(NotFound):
    """The run has no such step or checkpoint."""

    kind = "step_not_found"


class QuestionNotFound(NotFound):
    """There is no question of that number."""

    kind = "question_not_found"


class PathNotFound(NotFound):
    """The state has nothing at that path."""

    kind = "path_not_found"


class StoreUnreadable(AgentTTError):
    """A store is there but cannot be used."""

    exit_code = 4
    kind = "store_unreadable"


class NotAStore(StoreUnreadable):
    """The file is not a store that agent-tt can read."""

    kind = "not_a_store"


class NewerFormat(StoreUnreadable):
    """The store was written by a newer agent-tt.

    Attributes:
        found: the file's format number.
        supported: the newest format number this program reads.
    """

    kind = "newer_format"

    def __init__(self, message: str, *, found: int, supported: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.found = found
        self.supported = supported


class OlderFormat(StoreUnreadable):
    """The store was written by an older agent-tt, in a format that this one does not read.

    Attributes:
        found: the file's format number.
        supported: the format number that this program reads.
    """

    kind = "older_format"

    def __init__(self, message: str, *, found: int, supported: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.found = found
        self.supported = supported


class StoreBusy(StoreUnreadable):
    """Another process held the store's lock for longer than we wait (10 s)."""

    kind = "store_busy"


class Damaged(StoreUnreadable):
    """A row, blob or keyframe does not hold what it should: its checksum, hash or chain is wrong, or it is missing."""

    kind = "damaged"


class CorruptDelta(Damaged):
    """The operations of a checkpoint do not fit the state before it."""

    kind = "corrupt_delta"


class Refused(AgentTTError):
    """What was asked for would take away what somebody wants to keep, or what is in use.

    Attributes:
        runs: names of the runs in the way.
    """

    exit_code = 1
    kind = "refused"

    def __init__(self, message: str, *, runs: Sequence[str], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.runs = tuple(runs)


class HasForks(Refused):
    """A run cannot be deleted alone: runs were forked from it, and hold only what came after."""

    kind = "has_forks"


class IsPinned(Refused):
    """A run is pinned, so it is neither archived nor deleted."""

    kind = "pinned"


class IsRunning(Refused):
    """A run cannot be deleted while it is recorded."""

    kind = "running"


class NotRebuildable(AgentTTError):
    """A recorded value cannot become a Python object again.

    Attributes:
        path: where in the state it is, as people write paths.
        class_name: `module:Qualified.Name` of what it was, or the envelope's type.
    """

    exit_code = 2
    kind = "not_rebuildable"

    def __init__(self, message: str, *, path: str, class_name: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.class_name = class_name


class CannotReenter(AgentTTError):
    """A fork's agent did not get to the fork's step: up to there it does not ask again what it asked."""

    kind = "cannot_reenter"


class AgentFailed(AgentTTError):
    """The agent raised, exited with a failure or was killed.

    Attributes:
        traceback: the agent's traceback as text, or an empty string.
    """

    exit_code = 5
    kind = "agent_failed"

    def __init__(self, message: str, *, traceback: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.traceback = traceback


class ModelRefused(AgentTTError):
    """A model's provider answered with an error, `429 Rate limit reached`. A step ends with it.

    No agent gets it: its SDK raises its own.
    """

    exit_code = 5
    kind = "model_refused"


class ToolDenied(AgentTTError):
    """A tool that writes was called in a fork whose policy does not allow it. The agent sees this as the tool's error.

    Attributes:
        tool: the tool's name.
    """

    kind = "tool_denied"

    def __init__(self, message: str, *, tool: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.tool = tool


class OutcomeUnknown(AgentTTError):
    """A tool that is done once for its key was not run: an earlier call may have happened, or its answer is not kept.

    Attributes:
        tool: the tool's name.
    """

    kind = "outcome_unknown"

    def __init__(self, message: str, *, tool: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.tool = tool


class Interrupted(AgentTTError):
    """The person stopped it."""

    exit_code = 130
    kind = "interrupted"
