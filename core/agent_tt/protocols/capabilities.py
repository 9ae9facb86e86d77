"""What a source can do beyond what every source can."""

from __future__ import annotations

from agent_tt._dataclass import dataclass

__all__ = ["Capabilities"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a source states about itself. The methods named here work in every source: this says what they are worth.

    Attributes:
        pages: `call_heads`, `call_page` and `digest_page` cost far less than asking for each step.
        indexes: `steps_touching`, `steps_calling` and `written_at` are answered from an index.
        anchors: numbers of runs and steps move as the file grows, and `anchor` gives ids that stay.
        records: runs can be recorded into such a source, so it numbers notes of its own and holds sweeps. Also true of
            one that was opened to read; `RunSource.read_only` says that.
        redacted: secrets were taken out of all that it holds before it was written.
    """

    pages: bool = False
    indexes: bool = False
    anchors: bool = False
    records: bool = False
    redacted: bool = False
