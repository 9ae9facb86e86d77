"""What redaction would take out of a text or a run: where, and of which kind. No value is ever given out.

What was recorded under other rules than those that hold now, or lies in a file of another system, still holds what
these would take out. Marks that stand there already are nothing to take out.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.redaction.marks import canonical, is_mark, same_digits
from agent_tt.redaction.own import OWN
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.streams.bodies import Body
from agent_tt.redaction.streams.wire_pieces import WirePieces
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call, ErrorInfo, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["SECRET", "Hit", "in_run", "in_text"]

SECRET: Final = "secret"  # noqa: S105  a word for people
_NAMED: Final = "named"
_NUMBER: Final = "number"
_PIECES: Final = "pieces"
_EVENTS: Final = "text/event-stream"
_OF_EVENTS: Final = (b"data:", b"event:", b"id:", b":")


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that would be taken out.

    Attributes:
        kind: `mail`, `phone`, `card`, `iban`, `id`, `ip`; `number` of a card or person that is no text; `named` by its
            field; `pieces` of what only the pieces of a stream say together; else `secret`, also what a pattern of the
            project's own fits.
        where: `name`, `user`, `tag`, `metadata`, `label`, `note`, `agent`, `decision`, `error`, `arguments`, `result`,
            `stream`, `state`, `edits`, `output`; `text` of a text.
        step: number of the step; None for the run, and in a text.
        call: number of the call; None for what belongs to none.
        path: where in the state, arguments or result, as people write it.
        line: line of a text, from 1; 0 elsewhere.
    """

    kind: str
    where: str
    step: int | None = None
    call: int | None = None
    path: str = ""
    line: int = 0


def in_text(text: str) -> Iterator[Hit]:
    """Yield what the rules that hold would take out of a text.

    Args:
        text: any text.
    """
    line, at = 1, 0
    for span in secrets_in(text):
        line, at = line + text.count("\n", at, span.start), span.start
        said = text[span.start : span.end]
        if not (is_mark(said) or (span.quote is not None and said == same_digits(said))):  # it was taken out before
            yield Hit(span.kind or SECRET, "text", line=line)


def in_run(source: RunSource, run: Run) -> Iterator[Hit]:
    """Yield what the rules that hold would take out of a run; of a state what a step newly brought.

    Args:
        source: where it lies.
        run: the run.

    Raises:
        AgentTTError: something of it cannot be read, so that nobody can say that it holds nothing.
    """
    yield from _named("name", run.name)
    yield from _named("user", run.user_id or "")
    for tag in run.tags:
        yield from _named("tag", tag)
    yield from _within("metadata", dict(run.metadata))
    for note in source.notes(run.id):
        yield from _named("note", note.body, note.step)
    for number, label in source.labels(run.id).items():
        yield from _named("label", label.name or "", number)
        yield from _within("label", dict(label.metadata), number)
    for edit in run.edits:
        yield from _within("edits", edit.value)
    yield from _of_error(run.error, None, None)
    output = source.output(run.id)
    if output is not None:
        yield from _named("output", output.text)
        yield from _named("output", output.tail)
    seen: set[tuple[str, str]] = set()
    for number in range(source.step_count(run.id) + 1):
        for step in source.steps(run.id, number, number + 1) if number else ():
            yield from _of_step(source, run, step)
        for hit in _within("state", source.state(run.id, number), number):
            if (hit.path, hit.kind) not in seen:
                seen.add((hit.path, hit.kind))
                yield hit


def _of_step(source: RunSource, run: Run, step: Step) -> Iterator[Hit]:
    yield from _named("name", step.name, step.number)
    yield from _named("agent", step.agent or "", step.number)
    yield from _named("decision", step.decision or "", step.number)
    yield from _of_error(step.error, step.number, None)
    for call in source.calls(run.id, step.number) if step.calls else ():
        yield from _of_call(call)
        yield from _of_pieces(call, [piece.data for piece in source.deliveries(run.id, step.number, call.number)])


def _of_call(call: Call) -> Iterator[Hit]:
    yield from _named("name", call.name, call.step, call.number)
    yield from _within("arguments", call.args, call.step, call.number)
    yield from _within("result", call.result, call.step, call.number)
    yield from _of_error(call.error, call.step, call.number)


def _of_pieces(call: Call, pieces: list[Wire]) -> Iterator[Hit]:
    """What the pieces of a stream say together; of bodies, as their bytes came."""
    body = b"".join(map(_bytes_of, pieces))
    found = [hit.kind for hit in in_text(body.decode("latin-1"))]
    if body and not found:
        joined = Body(_EVENTS if body.lstrip().startswith(_OF_EVENTS) else "")
        joined.feed(body, is_end=True)
        found = [_PIECES] if joined.is_covered(0, len(body)) else []
    elif not body:
        judged = WirePieces()
        for piece in pieces:
            judged.take(piece)
        judged.end()
        told = (each for pair in zip(pieces, judged.shown, strict=True) for each in _differing(*pair, ()))
        found = [_PIECES if kind == _NAMED else kind for _, kind in told]
    yield from (Hit(kind, "stream", call.step, call.number) for kind in found)


def _bytes_of(piece: Wire) -> bytes:
    if isinstance(piece, dict) and piece.get(TYPE) in ("bytes", "bytearray") and isinstance(piece.get(VALUE), str):
        return base64.b64decode(str(piece[VALUE]))
    return b""


def _of_error(error: ErrorInfo | None, step: int | None, call: int | None) -> Iterator[Hit]:
    if error is not None:
        yield from _named("error", error.message, step, call)
        yield from _within("error", error.value, step, call)


def _named(where: str, text: str, step: int | None = None, call: int | None = None) -> Iterator[Hit]:
    for hit in in_text(text):
        yield Hit(hit.kind, where, step, call)


def _within(where: str, value: Wire, step: int | None = None, call: int | None = None) -> Iterator[Hit]:
    for path, kind in _differing(value, redact(value), ()):
        yield Hit(kind, where, step, call, redact_text(format_path(path)))


def _kinds(text: str, shown: str) -> list[str]:
    """What is taken out of a text: `named` where it holds nothing by itself, and the name of its field gave it away."""
    kinds = [hit.kind for hit in in_text(text)]
    if not kinds and text.strip("*") and canonical(redact_text(text)) != canonical(shown):
        return [_NAMED]
    return kinds


def _differing(value: Wire, shown: Wire, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield where something was taken out of a value, and of which kind."""
    if value is shown:
        return
    if isinstance(value, dict) and isinstance(shown, dict) and len(value) == len(shown):
        if value.get(TYPE) in ("bytes", "bytearray") and isinstance(packed := value.get(VALUE), str):
            text, now_packed = base64.b64decode(packed).decode("latin-1"), str(shown.get(VALUE))
            yield from ((path, kind) for kind in _kinds(text, base64.b64decode(now_packed).decode("latin-1")))
            return
        for (key, item), (name, now) in zip(value.items(), shown.items(), strict=True):
            inner = path if key == VALUE else (*path, name)
            if key != name:
                yield from ((inner, hit.kind) for hit in in_text(key))
            yield from _differing(item, now, inner)
    elif isinstance(value, list) and isinstance(shown, list) and len(value) == len(shown):
        for index, (item, now) in enumerate(zip(value, shown, strict=True)):
            yield from _differing(item, now, (*path, index))
    elif isinstance(value, str):
        yield from ((path, kind) for kind in _kinds(value, str(shown)))
    elif isinstance(value, (int, float)) and value != type(value)(same_digits(repr(value))):
        yield path, _NUMBER if OWN.takes_number(value) else _NAMED
    elif not isinstance(value, (int, float)):  # a value whose form changed as a whole
        yield path, SECRET
