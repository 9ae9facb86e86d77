"""What a format is, and what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["Export", "Exported"]


@dataclass(frozen=True, slots=True)
class Exported:
    """The runs that are to be written.

    Attributes:
        source: where they are; what it gives holds no secrets (`agent_tt.exporting.redacted`).
        runs: at least one, in the order in which they were named.
        steps: of runs of which one step was named, that step; 0 is the input.
    """

    source: RunSource
    runs: tuple[Run, ...]
    steps: Mapping[str, int] = field(default_factory=dict)


class Export(ABC):
    """A format: what an entry point of the group `agent_tt.exports` names, as an object.

    The name of the entry point is its option, `markdown` for `--markdown`.

    Attributes:
        SUFFIXES: ends of the names of its files; they choose it where no option does.
        HELP: what it writes, one line of help.
        IS_TEXT: whether it is written to standard output where no file is named.
    """

    SUFFIXES: ClassVar[tuple[str, ...]]
    HELP: ClassVar[str]
    IS_TEXT: ClassVar[bool] = False

    @abstractmethod
    def write(self, exported: Exported, path: Path) -> str | None:
        """Write the runs.

        Args:
            exported: the runs.
            path: a file that is not there yet, in a folder of its own. It is moved to its place when it is whole.

        Returns:
            What was left out or could not be told, in lines; None where that is nothing.

        Raises:
            AgentTTError: they cannot be written in this format; the message says why.
        """
