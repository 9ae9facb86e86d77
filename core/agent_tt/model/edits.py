"""One change that a person makes: for a fork, or to a state while its agent is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model.kinds import EditTarget

__all__ = ["Edit"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change that a person made.

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
