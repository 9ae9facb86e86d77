"""The steps of a large trace, kept in the user's cache folder for the next time that it is opened.

Kept is what the list of steps shows, and where the spans of each lie; no states, no calls, and no line in which a
secret would have to be taken out: that one is read again. It is believed as the list of runs is, see `kept_list`.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.cache_files import cache_folder, cache_path, keep_in, kept_in
from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts.found_steps import FoundSteps
from agent_tt.interop.transcripts.otlp_later import SpansOf
from agent_tt.interop.transcripts.otlp_spans import Requests
from agent_tt.interop.transcripts.pieces import Lines, PieceFile
from agent_tt.interop.transcripts.protobuf import SpanPieces
from agent_tt.interop.transcripts.spans_later import LaterSteps
from agent_tt.interop.transcripts.told_run import ToldRun
from agent_tt.interop.transcripts.transcript import Transcript
from agent_tt.redaction.values import redact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_tt.model import Run

__all__ = ["keep_steps", "kept_steps"]

_KINDS: Final[Mapping[str, type[Lines]]] = {"json": Lines, "protobuf": SpanPieces}
_DIGEST: Final = 16


def keep_steps(path: Path, identity: str | None, told: ToldRun) -> None:
    """Keep the steps of a run of a file, if it is one whose steps are told later, and nothing is in the way."""
    said = None if identity is None else _said(told)
    if identity is not None and said is not None:
        keep_in(_place(path, told.run.id), identity, said)


def kept_steps(path: Path, identity: str | None, run: Run | None) -> ToldRun | None:
    """A run with its steps; None where these are not known, or not of the file as it is."""
    if identity is None or run is None:
        return None
    return kept_in(_place(path, run.id), identity, lambda said: _told(path, run, said))


def _place(path: Path, run_id: str) -> Path:
    of_run = hashlib.blake2b(run_id.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()
    return cache_path(path, cache_folder("steps"), f"-{of_run}.steps")


def _said(told: ToldRun) -> dict[str, Any] | None:
    """All that is kept of a run; None where a secret would be in it, or its steps are not told later."""
    steps = told.transcript.steps
    if not isinstance(steps, LaterSteps) or not isinstance(steps.read, SpansOf):
        return None
    rows, spans = steps.rows, steps.read
    pieces = spans.requests.pieces
    where = pieces.where() if isinstance(pieces, Lines) else None
    if not isinstance(pieces, Lines) or where is None:
        return None
    try:
        around = pieces.said_around()
    except ValueError:
        return None
    errors = [rows.errors.get(number, "") for number in range(1, len(rows) + 1)]
    # Lists, as JSON has them: into tuples, which no JSON has, nobody looks for secrets.
    flaws = [[*flaw] for flaw in told.transcript.flaws]
    texts: list[Any] = [rows.names, [[*lane] for lane in rows.lanes], flaws, around]
    if redact(texts) != texts:
        return None
    lines: list[Any] = [[*line] for line in zip(rows.decisions, errors, strict=True)]
    shown = cast("list[Any]", redact(lines))
    unsaid = {number for number, (own, without) in enumerate(zip(lines, shown, strict=True), 1) if own != without}
    return {
        "columns": rows.columns(),
        "names": rows.names,
        "lanes": rows.lanes,
        "decisions": [None if at in unsaid else said for at, said in enumerate(rows.decisions, 1)],
        "errors": {str(number): error for number, error in rows.errors.items() if number not in unsaid},
        "unsaid": [*unsaid],
        "begin": steps.begin.tolist(),
        "requests": [spans.numbers[place] for place in steps.places],
        "places": [spans.places[place] for place in steps.places],
        "kind": next(kind for kind, made in _KINDS.items() if made is type(pieces)),
        "where": where,
        "flaws": flaws,
    }


def _told(path: Path, run: Run, said: dict[str, Any]) -> ToldRun:
    """The run that was kept.

    Raises:
        ValueError: the file cannot be opened any more, or is another run.
        TypeError, KeyError, IndexError, OverflowError: something else was kept.
    """
    lanes: list[tuple[str, str | None]] = [(lane, agent) for lane, agent in said["lanes"]]
    rows = FoundSteps.of_columns(said["columns"], said["names"], lanes)
    rows.decisions = said["decisions"]
    rows.errors = {int(number): error for number, error in said["errors"].items()}
    rows.unsaid = set(said["unsaid"])
    begin = array("q", said["begin"])
    if len(rows) != run.steps or len(begin) != len(rows) + 1:
        raise ValueError("it is of another run")
    try:
        pieces = _KINDS[said["kind"]].lie_at(PieceFile(path), said["where"])
    except StoreUnreadable as error:
        raise ValueError(str(error)) from error
    read = SpansOf(run.id, Requests(pieces), said["requests"], said["places"])
    steps = LaterSteps(rows, array("q", range(len(said["places"]))), begin, read)
    flaws = [(step, what) for step, what in said["flaws"]]
    told = Transcript(run.id, run.origin["system"], steps.opening, steps, flaws=flaws, rows=rows)
    return ToldRun(told, run, rows)
