"""Who wrote a value, as rows: the way back to what caused it, two rows a place, and below it all writes."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.paths import format_path, without_envelopes
from agent_tt.codec.text import summary
from agent_tt.providers.chat import message_of
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import clean, cut, fit, width
from agent_tt_tui.viewmodel.values.pieces import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.querying.provenance.blaming import Blame
    from agent_tt.querying.provenance.links import Link, LinkKind
    from agent_tt.querying.provenance.writes import Write
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

WORDS: Final[dict[LinkKind, str]] = {
    "value": "value",
    "result": "tool result",
    "error": "tool error",
    "answer": "model answer",
    "argument": "its argument",
    "request": "its request",
    "computed": "computed",
    "input": "in the input",
    "edit": "your edit",
    "candidates": "one of these",
    "code": "agent's code",
    "unknown": "not known",
}
_LEAST_INDENT: Final = 5
"""Columns of a step's number and the blank after it."""

_BELOW: Final = "  "
"""Stands before reasons below what they are of, so that they are not taken for its value."""

_MOST_TOLD: Final = 3
"""Rows of reasons."""

_OUTCOMES: Final[frozenset[LinkKind]] = frozenset({"result", "error", "answer"})
_WHAT: Final = 13
_WRITTEN: Final = "written at step {}, "
"""What a reason begins with where it names the step that wrote the value."""
_MOST_TEXT: Final = 2_000
"""Characters of a value in which the words that were passed on are looked for."""

_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")

_LEAST_WORDS: Final = 8
"""Characters from which on a text may be an answer."""


class BlameRow(NamedTuple):
    """One row.

    Attributes:
        pieces: What it says.
        place: Which of the places it belongs to, links before writes; None for a heading.
    """

    pieces: tuple[Piece, ...]
    place: int | None = None


class Place(NamedTuple):
    """Where a link or a write leads: to a step, and there to a call or to a value of the state."""

    step: int
    call: int | None
    path: str
    is_outcome: bool = False
    """Whether it is in what came back of the call."""


def sentences(value: Wire) -> list[str]:
    """The sentences of a text, of which one may be asked about alone; none where it has only one."""
    parts = [part.strip() for part in _SENTENCES.split(value[:_MOST_TEXT])] if isinstance(value, str) else []
    found = [part for part in dict.fromkeys(parts) if part]
    return found if len(found) > 1 else []


def text_in(value: Wire) -> tuple[Path, str] | None:
    """The longest text of a value, as of a message its words, and where it stands in it; None where there is none."""
    from agent_tt.querying.provenance.origins import leaves

    texts = [(path, leaf) for path, leaf in leaves(value) if isinstance(leaf, str)]
    return max(texts, key=lambda found: len(found[1]), default=None)


def joined_path(path: str, below: Path) -> str:
    """The path of something inside a value, as people write it."""
    inner = format_path(below)
    return f"{path}.{inner}" if path and inner and not inner.startswith("[") else path + inner


def places(blame: Blame) -> list[Place]:
    """Everything that can be gone to, in the order in which it is shown."""
    trail = [Place(link.step, link.call, link.path, link.kind in _OUTCOMES) for link in blame.trail.links]
    return trail + [Place(write.step, None, write.path) for write in blame.writes]


def blame_rows(
    blame: Blame,
    columns: int,
    glyphs: Glyphs,
    kind_of: Callable[[int], str | None],
    *,
    told: Collection[int] | None = None,
) -> list[BlameRow]:
    """Lay out who wrote a value; one that stands right above is not shown again.

    Args:
        blame: It.
        columns: The columns there are.
        glyphs: The glyphs to draw with.
        kind_of: Tells the kind of a step.
        told: The places whose reasons are told to their end; of the others as much as one row has room for. None for
            all places.
    """
    rows: list[BlameRow] = []
    links = blame.trail.links
    indent = max(_LEAST_INDENT, len(str(max((blame.step, *(place.step for place in places(blame)))))) + 1)
    for number, link in enumerate(links):
        rail = glyphs.rail if number + 1 < len(links) or blame.trail.ends else " "
        lead: Piece = (f"{' ' * indent}{rail} ", "faint")
        head, reasons = _head(link, indent, glyphs, kind_of)
        all_told = list(_told(head, reasons, lead, columns, glyphs.cut))
        if told is not None and number not in told and len(all_told) > 1:
            all_told = [(*all_told[0], (f" {glyphs.cut}", "faint"))]
        rows += [BlameRow(row, number) for row in all_told]
        if repeats(links, number):
            continue
        rows.append(BlameRow((lead, *_value(link, columns - indent - 2, glyphs.cut)), number))
    if blame.trail.ends:
        corner = f"{' ' * indent}{glyphs.branch_last} "
        ends = cut(f"ends: {clean(blame.trail.ends)}", columns - len(corner), glyphs.cut)
        rows.append(BlameRow(((corner, "faint"), (ends, "note"))))
    count = f"{len(blame.writes)}{' last ones' if blame.more else ''}"
    rows += [BlameRow(()), BlameRow((("ALL WRITES  ", "title"), (count, "muted")))]
    last = len(links)
    rows += [BlameRow(_write(write, indent, blame, glyphs), last + number) for number, write in enumerate(blame.writes)]
    return rows


def told_in(rows: Sequence[BlameRow], least: Sequence[BlameRow], first: int, room: int) -> set[int]:
    """Choose the places whose reasons are told to their end: one first, then from the top as far as rows are free.

    Args:
        rows: All rows, every reason told.
        least: All rows with none told.
        first: The place that comes first, whatever room it takes.
        room: Rows there are.
    """
    whole, cut_off = Counter(row.place for row in rows), Counter(row.place for row in least)
    more = {place: whole[place] - cut_off[place] for place in whole if place is not None}
    told, free = {first}, room - len(least) - more.get(first, 0)
    for place in sorted(more):
        if place not in told and more[place] <= free:
            told.add(place)
            free -= more[place]
    return told


def _told(
    head: Sequence[Piece], reasons: Sequence[Piece], lead: Piece, columns: int, more: str
) -> Iterator[tuple[Piece, ...]]:
    """Lay out what a link is, with the reasons beside it as far as they fit, and the others below it."""
    row, rest = list(head), list(reasons)
    while rest and sum(width(text) for text, _ in [*row, rest[0]]) <= columns:
        row.append(rest.pop(0))
    yield tuple(row)
    if not rest:
        return
    room = columns - width(lead[0]) - len(_BELOW)
    rest[0] = (rest[0][0].lstrip(), rest[0][1])
    below = list(islice(wrap(rest, room), _MOST_TOLD + 1))
    if len(below) > _MOST_TOLD:
        (text, role), *before = reversed(below[_MOST_TOLD - 1])
        left = room - sum(width(words) for words, _ in before) - width(more)
        below[_MOST_TOLD - 1] = (*reversed(before), (cut(text.rstrip(), left, "") + more, role))
    for told in below[:_MOST_TOLD]:
        yield (lead, (_BELOW, "text"), *told)


def repeats(links: Sequence[Link], number: int) -> bool:
    """Whether a link's value is the one that stands right above it, so that it is not shown again."""
    here, above = links[number], links[number - 1] if number else None
    return (
        above is not None
        and (here.value, here.shared) == (above.value, above.shared)
        and type(here.value) is type(above.value)
        and "error" not in (here.kind, above.kind)
    )


def default_path(view: StepView, last: int) -> Path | None:
    """The value that most likely is asked about at a step where none was chosen.

    After the last step that is what the run came to: the longest text outside of conversations that it set, else the
    last message. At other steps it is what the step changed first. None where the state has nothing.
    """
    changes = [change for change in view.changes if change.op != "remove" and change.where]
    if view.number == last:
        texts = [change for change in changes if isinstance(change.new, str) and not _in_list(change.where)]
        answers = [change for change in texts if len(str(change.new)) >= _LEAST_WORDS]
        if answers:
            return max(answers, key=lambda change: len(str(change.new))).where
        said = _last_message(view.state)
        if said is not None:
            return said
    if changes:
        return changes[0].where
    return _last_message(view.state)


def _in_list(path: Path) -> bool:
    return any(isinstance(step, int) for step in without_envelopes(path))


def _last_message(state: Wire) -> Path | None:
    """The words of the last message in one of the state's own lists; the message where it has no words."""
    for key, value in state.items() if isinstance(state, dict) else ():
        if isinstance(value, list) and value and message_of(value[-1]) is not None:
            message, path = value[-1], (key, len(value) - 1)
            words = message.get("content") if isinstance(message, dict) else None
            return (*path, "content") if isinstance(words, str) and words else path
    return None


def _head(
    link: Link, indent: int, glyphs: Glyphs, kind_of: Callable[[int], str | None]
) -> tuple[list[Piece], list[Piece]]:
    """What a link is, and the reasons for it: where in it, what it may also have come from, why."""
    glyph, role = _glyph(link, glyphs, kind_of)
    # What a call's result is is said by its name; where in it comes second.
    where = link.name or link.path
    inside = link.path if link.name else ""
    pieces: list[Piece] = [
        (f"{link.step:>{indent - 1}} ", "strong"),
        (f"{glyph} ", role),
        (fit(WORDS[link.kind], _WHAT, glyphs.cut), "muted"),
        (clean(where), "strong"),
    ]
    reasons: list[Piece] = [(f" {clean(inside)}", "text")] if inside else []
    # The number of the step stands before the row.
    said = (
        f"in step {link.why.removeprefix(own)}" if link.why.startswith(own := _WRITTEN.format(link.step)) else link.why
    )
    why: Piece = (f"  {clean(said)}", "muted" if link.kind == "value" else "note")
    if link.kind == "value":
        reasons.append(why)
    if link.others:  # before the reason: where a row is cut, what it may also have come from is not
        others = ", ".join(" ".join(part for part in (str(other.step), other.name) if part) for other in link.others)
        reasons.append((f"  {others_word(link)} {clean(others)}", "muted"))
    if link.kind not in ("value", "argument"):
        reasons.append(why)
    return pieces, reasons


def others_word(link: Link) -> str:
    """What stands before the further places of a link."""
    return {"candidates": "at", "value": "or by", "argument": "and with values of"}.get(link.kind, "also at")


def _glyph(link: Link, glyphs: Glyphs, kind_of: Callable[[int], str | None]) -> tuple[str, PieceRole]:
    match link.kind:
        case "value":
            return glyphs.changed, "changed_mark"
        case "error":
            return glyphs.failed, "failed"
        case "answer":
            return glyphs.model, "model"
        case "argument":
            return glyphs.ambient, "muted"
        case "input" | "request":
            return glyphs.person if link.kind == "input" else glyphs.model, "text"
        case "candidates" | "unknown":
            return glyphs.unknown, "text"
        case "edit":
            return glyphs.edited, "yours"
        case "code" | "computed":
            return glyphs.code, "text"
        case _:
            # A step's kind is its strongest call's, which a model's never is beside a tool's.
            kind = kind_of(link.step)
            return kind_glyph("read" if kind in (None, "llm", "other") else kind, glyphs), "text"


def _value(link: Link, columns: int, more: str) -> tuple[Piece, ...]:
    """A value on one row, with the words that are passed on in view."""
    value = link.value
    raw = isinstance(value, str) and (link.kind == "error" or bool(link.shared))
    text = clean(str(value)[:_MOST_TEXT]) if raw else clean(summary(value, max(columns, 1) * 2))
    shared = clean(link.shared)
    at = text.casefold().find(shared.casefold()) if shared else -1
    role: PieceRole = "failed_text" if link.kind == "error" else "text"
    if at < 0:
        return ((cut(text, columns, more), role),)
    before, words, after = text[:at], text[at : at + len(shared)], text[at + len(shared) :]
    room = max(0, columns - width(words))
    if width(before) > room // 2:
        kept = room // 2 if width(after) >= room // 2 else room - width(after)
        while width(before) > max(0, kept - 1):
            before = before[max(1, len(before) // 32) :]
        before = more + before
    return (before, role), (words, "hit"), (after, role)


def _write(write: Write, indent: int, blame: Blame, glyphs: Glyphs) -> tuple[Piece, ...]:
    marks: dict[str, Piece] = {
        "added": (f"{glyphs.added} ", "added_mark"),
        "removed": (f"{glyphs.removed} ", "removed_mark"),
        "edited": (f"{glyphs.edited} ", "yours"),
    }
    mark = marks.get(write.what, (f"{glyphs.changed} ", "changed_mark"))
    pieces: list[Piece] = [(f"{write.step:>{indent - 1}} ", "strong"), mark]
    if write.path != blame.path:
        pieces.append((f"{clean(write.path)}  ", "muted"))
    if write.beside:
        pieces.append((f"or by {', '.join(map(str, write.beside))}  ", "muted"))
    if write.by:
        pieces.append((f"{clean(write.edited)}  ", "yours"))
    match write.what:
        case "moved":
            pieces.append((f"was {clean(write.old_path or '')}  ", "muted"))
        case "removed":
            pieces += [(clean(summary(write.old, 200)), "text"), ("  taken away", "muted")]
            return tuple(pieces)
        case _ if not write.began:
            pieces += [(clean(summary(write.old, 24)), "text"), (f" {glyphs.to} ", "muted")]
    pieces.append((clean(summary(write.new, 200)), "text"))
    return tuple(pieces)
