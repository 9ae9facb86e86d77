"""The marks of personal data in a run: in all that it holds, packed bytes too."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.redaction.keyed import keyed_marks_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["marks_in_run"]


def marks_in_run(source: RunSource, run: Run) -> list[str]:
    """The marks in a run, each once, in the order in which they are come upon.

    Args:
        source: where it lies.
        run: the run.

    Raises:
        AgentTTError: something of it cannot be read.
    """
    return list(dict.fromkeys(mark for text in _texts(source, run) for mark in keyed_marks_in(text)))


def _texts(source: RunSource, run: Run) -> Iterator[str]:
    yield from _within(run)
    yield from _within(source.notes(run.id))
    yield from _within([*source.labels(run.id).values()])
    output = source.output(run.id)
    if output is not None:
        yield from (output.text, output.tail)
    seen: set[str] = set()
    for number in range(source.step_count(run.id) + 1):
        for step in source.steps(run.id, number, number + 1) if number else ():
            yield from _within(step)
            for call in source.calls(run.id, number) if step.calls else ():
                yield from _within(call)
                yield from _joined([piece.data for piece in source.deliveries(run.id, number, call.number)])
        for text in _within(source.state(run.id, number)):
            if text not in seen:
                seen.add(text)
                yield text


def _joined(pieces: list[object]) -> Iterator[str]:
    """The texts of pieces, and those at one place joined: a mark may be cut."""
    texts = [[*_within(piece)] for piece in pieces]
    yield from (text for each in texts for text in each)
    yield "".join(text for each in texts for text in each)


def _within(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _within(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _within(getattr(value, field.name))
    elif isinstance(value, Mapping):
        packed = value.get(VALUE)
        if value.get(TYPE) in ("bytes", "bytearray") and isinstance(packed, str):
            with suppress(ValueError):
                yield base64.b64decode(packed).decode("latin-1")
        for key, item in value.items():
            yield from _within(key)
            yield from _within(item)
