"""The one ingest filter: everything that an agent or a person put in passes here before it is compared or stored.

Secrets end here: `agent_tt.redaction` says what they are and what stands for them. What agent-tt says on its own
account (ids, statuses, times, the agent's code and process, signatures) does not pass.

What knows secrets is imported with the first thing that passes: whoever only looks at runs never waits for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.model import Judged
from agent_tt.store.rows.columns import sound

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.model import ErrorInfo

__all__ = ["admit", "admit_answer", "admit_error", "admit_mapping", "admit_piece", "admit_text"]


def admit(value: Wire, name: str = "") -> Wire:
    """Arguments, edits, states and parts of states, as they may be stored.

    Args:
        value: the value.
        name: the field that holds it.
    """
    admitted: Wire = (_values or _found_values()).redact(value, name)
    return admitted


_values: ModuleType | None = None


def _found_values() -> ModuleType:
    """Import what takes secrets out of values, once: asking for it at each call takes as long as a number does."""
    global _values  # noqa: PLW0603
    from agent_tt.redaction import values

    _values = values
    return values


def admit_answer(value: Wire) -> Wire:
    """Results and pieces of streams, as they may be stored. A secret among them is known when the agent hands it on."""
    from agent_tt.redaction.values import given

    return given(value)


def admit_piece(piece: Wire | Judged) -> Judged:
    """A piece of a stream, as it may be stored: one that was judged with the others as it is."""
    return piece if isinstance(piece, Judged) else Judged(admit_answer(piece))


def admit_mapping(facts: Mapping[str, Wire]) -> dict[str, Wire]:
    """Metadata, as it may be stored."""
    if not facts:
        return {}
    admitted = admit(dict(facts))
    return admitted if isinstance(admitted, dict) else {}


def admit_text(words: str) -> str:
    """Names, tags, notes and decisions, as they may be stored; never with lone surrogates, which UTF-8 cannot hold."""
    if not words:
        return ""  # what looks for secrets takes longer to load than most commands need it
    from agent_tt.redaction.texts import redact_text

    return sound(redact_text(words))


def admit_error(error: ErrorInfo | None) -> ErrorInfo | None:
    """An exception, as it may be stored."""
    if error is None:
        return None
    from agent_tt.redaction.texts import redact_text

    return replace(
        error,
        message=redact_text(error.message),
        traceback=redact_text(error.traceback),
        value=admit(error.value),
    )
