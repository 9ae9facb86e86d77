"""The formats of transcripts, by which a document is known; other packages add theirs by entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, cast

from agent_tt.plugins import PluginFailed, Plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Promise, Transcript

__all__ = ["FORMATS", "Format", "read_transcripts"]


class Format(Protocol):
    """Reads a document as transcripts: what an entry point of the group `agent_tt.formats` names."""

    def __call__(self, document: Document) -> Sequence[Transcript | Promise] | None:
        """The runs in a document, told or promised; None where it is of another format. Never raises."""


def _accepted(found: object) -> Format:
    if not callable(found):
        raise PluginFailed(f"is a {type(found).__name__}, not a function that reads a document")
    return cast("Format", found)


_OURS: Final = "agent_tt.interop.transcripts"
_NAMES: Final = (
    "otlp", "langfuse", "inspect_ai", "openai_agents", "vcr", "claude_code", "claude_stream", "pi", "atif", "swe_agent",
    "mini_swe_agent", "openhands", "openhands_v1", "agentrr", "clearstone", "orca", "codex", "gemini_cli", "opencode",
    "langsmith", "phoenix", "ai_sdk", "exchanges", "chat",
)  # fmt: skip
FORMATS: Final = Plugins[Format](
    "agent_tt.formats",
    {name: f"{_OURS}.{name}:read_{name}" for name in _NAMES},
    _accepted,
)
"""Formats of JSON files, the most particular first: what is merely a list of messages is asked last."""


def read_transcripts(document: Document) -> Sequence[Transcript | Promise] | None:
    """What the first format that knows a document tells of it; None where none does."""
    for _, read in FORMATS.all():
        found = read(document)
        if found:
            return found
    return None
