"""What people name on the command line that may lie in other files: `RUN`, `RUN@STEP`, `FILE:RUN`, `FILE:RUN@STEP`."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.protocols import RunSource
    from agent_tt_tui.cli.options import Options

__all__ = ["Named", "opened"]


@dataclass(frozen=True, slots=True)
class Named:
    """One of the things that were named.

    Attributes:
        source: The file that it is in, opened.
        text: What was typed, without the file.
        file: The file as it was typed; None for the one that is looked at anyway.
    """

    source: RunSource
    text: str
    file: Path | None = None

    def called(self, name: str) -> str:
        """A name with the file in front, where one was typed."""
        return name if self.file is None else f"{self.file}:{name}"


@contextmanager
def opened(options: Options, texts: Sequence[str]) -> Iterator[list[Named]]:
    """Open the files of what was named, each once.

    Raises:
        StoreNotFound, StoreUnreadable: There is none, or none that can be read.
    """
    from agent_tt.querying.checkpoints import split_file
    from agent_tt.sources import open_source

    named = [split_file(text) for text in texts]
    ours = [text for file, text in named if file is None]
    with ExitStack() as stack:
        sources = {
            file: stack.enter_context(options.source(*ours) if file is None else closing(open_source(file)))
            for file in dict.fromkeys(file for file, _ in named)
        }
        yield [Named(sources[file], text, file) for file, text in named]
