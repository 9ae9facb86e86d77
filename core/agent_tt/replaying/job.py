"""What a replay's process is told, and where it leaves its report: one environment variable and one file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["JOB_VARIABLE", "Job"]

JOB_VARIABLE: Final = "AGENT_TT_REPLAY"


@dataclass(frozen=True, slots=True)
class Job:
    """One replay to be made.

    Attributes:
        store: path of the file that holds the run.
        run: id of the run.
        observe: whether it goes on after changed requests.
        arguments: what the agent finds behind its name in `sys.argv`.
        report: path of the file that the report is written to.
        progress: path of the file that says how many calls were answered so far; see `progress`.
        debug_at: the step at which a debugger opens on the terminal; None for none.
        agent: the entry point that runs in place of the recorded one; None for that.
    """

    store: str
    run: str
    observe: bool
    arguments: tuple[str, ...]
    report: str
    progress: str
    debug_at: int | None = None
    agent: str | None = None

    def to_variable(self) -> str:
        """The text of the environment variable."""
        return json.dumps(asdict(self))

    @classmethod
    def take(cls, environment: MutableMapping[str, str] = os.environ) -> Self | None:
        """The job of this process, which processes that the agent starts do not see; None where there is none."""
        text = environment.pop(JOB_VARIABLE, None)
        if text is None:
            return None
        fields = json.loads(text)
        return cls(**{**fields, "arguments": tuple(fields["arguments"])})
