"""What people write down about runs, in a store or beside what is only read."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from agent_tt.protocols.reading import RunSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Note


class MarkedRuns(RunSource):
    """Runs that can be read, and about which people may write something down. Each method is one durable commit."""

    @abstractmethod
    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note:
        """Write a note, a bookmark or a watch."""

    @abstractmethod
    def change_note(self, note_id: int, body: str) -> None:
        """Replace what a note, a bookmark or a watch says.

        Raises:
            NotFound: it is gone.
        """

    @abstractmethod
    def delete_note(self, note_id: int) -> None:
        """Remove a note, a bookmark or a watch."""

    @abstractmethod
    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Replace a run's tags."""

    @abstractmethod
    def set_metadata(
        self, run_id: str, metadata: Mapping[str, Wire], *, remove: Sequence[str] = (), step: int | None = None
    ) -> None:
        """Merge into the metadata of a run, or of one of its checkpoints.

        Args:
            run_id: the run.
            metadata: facts by name.
            remove: names of facts to take away; those that are not there stay away.
            step: the checkpoint; None for the run.

        Raises:
            UsageError: `purpose` or `ticket` is not text.
            StepNotFound: the run has no such step.
        """

    @abstractmethod
    def rename_run(self, run_id: str, name: str) -> None:
        """Give a run another name; forks called after it (`NAME/fork-N`, and theirs) are renamed with it.

        What it was called names it still, unless another run is called that.

        Raises:
            UsageError: another run has that name, or it could not be told from something else that names a run.
        """

    @abstractmethod
    def name_checkpoint(self, run_id: str, step: int, name: str | None) -> None:
        """Give a checkpoint a name, or take it away.

        Raises:
            UsageError: another checkpoint of the run has that name, or it reads as a number.
            StepNotFound: the run has no such step.
        """

    @abstractmethod
    def set_pinned(self, run_ids: Sequence[str], *, pinned: bool) -> None:
        """Pin runs, which are then neither archived nor deleted, or unpin them; what is pinned is listed."""

    @abstractmethod
    def set_archived(self, run_ids: Sequence[str], *, archived: bool) -> None:
        """Hide runs from lists, or show them again; all of them, or none.

        Raises:
            IsPinned: a run to be archived is pinned.
        """
