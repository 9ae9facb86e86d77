"""What is run again, and how: all that the process of an agent is told, in one environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["RERUN_VARIABLE", "WARM_VARIABLE", "Beginning", "Following", "Rerun"]

RERUN_VARIABLE: Final = "AGENT_TT_RERUN"

WARM_VARIABLE: Final = "AGENT_TT_WARM"
"""Stands in its place where agents are forked from the process; see `agent_tt.rerunning.warm.server`."""

Beginning: TypeAlias = Literal["state", "recording"]
"""Where the agent's beginning comes from: the state that it is handed, or what its calls were answered when it ran."""

Following: TypeAlias = Literal["halt", "live", "edited"]
"""What follows: nothing more, as in a replay; calls that are made for real, as in a run that is resumed; or those of a
fork, a run of its own with edits, a policy and limits."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """One rerun of a recorded agent.

    | | halt | live | edited |
    |---|---|---|---|
    | `state` | | | a fork that is handed its state |
    | `recording` | a replay | a run that is resumed | a fork that is re-entered |

    Attributes:
        store: path of the file that holds the run.
        run: id of the run: the one that is replayed, else the one that is filled.
        begins: where its beginning comes from.
        follows: what follows.
        observe: of a replay, whether it goes on after changed requests.
        arguments: of a replay, what the agent finds behind its name in `sys.argv`.
        report: of a replay, path of the file that the report is written to.
        progress: of a replay, path of the file that says how many calls were answered so far.
        debug_at: of a replay, the step at which a debugger opens on the terminal; None for none.
        agent: of a replay, the entry point that runs in place of the recorded one; None for that.
        any_order: of a replay, whether recorded calls may come in another order.
        in_place: of a replay that goes on after changed requests, whether also after those that are another question.
        keep: of a replay, path of the store in which the run that comes is kept; empty where none is.
        kept: id of that run; it is there already where `kept_is_fork`, waiting to be filled.
        kept_name: its name.
        kept_is_fork: whether it goes on from a state of another run.
        live_names, live_changed: which calls of a replay are made for real where the policy lets them; see
            `agent_tt.replaying.live_replay.Lively`.
        live_earlier: ids of runs in `store` whose answers are given again where the recording has none.
    """

    store: str
    run: str
    begins: Beginning
    follows: Following
    observe: bool = False
    arguments: tuple[str, ...] = ()
    report: str = ""
    progress: str = ""
    debug_at: int | None = None
    agent: str | None = None
    any_order: bool = False
    in_place: bool = False
    keep: str = ""
    kept: str = ""
    kept_name: str = ""
    kept_is_fork: bool = False
    live_names: tuple[str, ...] = ()
    live_changed: bool = False
    live_earlier: tuple[str, ...] = ()

    @property
    def fills(self) -> bool:
        """Whether the agent's process writes a run."""
        return self.follows != "halt"

    def to_variable(self) -> str:
        """The text of the environment variable."""
        return json.dumps(asdict(self))

    @classmethod
    def take(cls, environment: MutableMapping[str, str] = os.environ) -> Self | None:
        """The rerun that this process is, which processes that the agent starts do not see; None where it is none."""
        text = environment.pop(RERUN_VARIABLE, None)
        return None if text is None else cls.from_variable(text)

    @classmethod
    def from_variable(cls, text: str) -> Self:
        """What `to_variable` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, **{name: tuple(fields[name]) for name in ("arguments", "live_names", "live_earlier")}})
