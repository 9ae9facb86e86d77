"""A conversation laid out in rows: who speaks, what is said, tool calls with their results, repeats folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.providers.chat import ASSISTANTS, TOOLS, message_of
from agent_tt.providers.shapes import Message
from agent_tt_tui.text import clean, fit, show, width
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap, wrap_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

ROLE_COLUMNS: Final = 10
LEAST_ALIKE: Final = 3
"""Fewer turns that are alike are shown one by one."""

_MOST_TURNS: Final = 120
"""So many of the last turns are laid out at first; a row says how many came before."""

_MOST_TEXT: Final = 20_000
_MOST_ROWS: Final = {True: 40, False: 5}
"""Rows that a text has before it is folded: one that is new, and one that was seen before."""

_FOLDED_ROWS: Final = 2
"""So many rows may a folded call and what came back of it take; of a longer one the beginning is shown."""


class Turn(NamedTuple):
    """A message, with the results of the tools that it called.

    Attributes:
        position: Where the message stands in the list.
        message: The message.
        results: The results that follow it.
        new: Whether the message or one of its results is new.
    """

    position: int
    message: Message
    results: tuple[Message, ...]
    new: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for turns that ask the same and get the same."""
        return (
            self.message.role,
            self.message.text,
            [(call.name, call.arguments) for call in self.message.calls],
            [result.text for result in self.results],
        )


def turns_of(items: Sequence[Wire], new: Container[int] = ()) -> list[Turn]:
    """Read a list of messages.

    Args:
        items: The list; what is not a message in it is shown as said by nobody.
        new: Positions of the messages that are new.
    """
    turns: list[Turn] = []
    at = 0
    while at < len(items):
        start, message = at, message_of(items[at]) or Message("", show(str(items[at])[:200], 200, ""))
        at += 1
        results: list[Message] = []
        if message.calls:
            wanted = {call.id for call in message.calls}
            while at < len(items):
                result = message_of(items[at])
                if result is None or result.role not in TOOLS or not (result.answers in wanted or not result.answers):
                    break
                results.append(result)
                at += 1
        is_new = any(position in new for position in range(start, at))
        turns.append(Turn(start, message, tuple(results), is_new))
    return turns


def conversation_lines(
    turns: Sequence[Turn],
    columns: int,
    glyphs: Glyphs,
    toggled: Container[str] = (),
    *,
    name: str = "",
    whole: bool = False,
) -> Iterator[TextLine]:
    """Lay out a conversation.

    Args:
        turns: What was said.
        columns: Columns there are for a row.
        glyphs: The glyphs to use.
        toggled: Folds that are not as they are by themselves.
        name: Begins the names of the folds, to tell those of several conversations apart.
        whole: Whether long texts are shown whole; else they are folded.
    """
    room = max(8, columns - ROLE_COLUMNS - 5)
    start = 0
    if len(turns) > _MOST_TURNS and f"{name}earlier" not in toggled:
        start = len(turns) - _MOST_TURNS
        lead: Piece = (f"{'':{ROLE_COLUMNS + 3}}{glyphs.alike} ", "muted")
        yield TextLine(((f"{start:,} earlier", "note"),), (lead,), fold=f"{name}earlier")
    for first, count in _alike(turns, start):
        last = turns[first + count - 1]
        fold = f"{name}alike{turns[first].position}"
        if count < LEAST_ALIKE or fold in toggled:
            for turn in turns[first : first + count]:
                yield from _turn(turn, room, glyphs, toggled, name, opens=turn.new or count == 1, whole=whole)
            continue
        yield from _turn(turns[first], room, glyphs, toggled, name, opens=False)
        note = f"{count - 2:,} more like it  {glyphs.same} same arguments, same answer"
        if width(note) + 2 > room:
            note = f"{count - 2:,} more like it  {glyphs.same}"
        bar: Piece = (f"{'':{ROLE_COLUMNS + 3}}{glyphs.role_bar} ", "model")
        yield TextLine(((f"{glyphs.alike} ", "muted"), (note, "note")), (bar,), fold=fold)
        yield from _turn(last, room, glyphs, toggled, name, opens=True, nth=count)


def _alike(turns: Sequence[Turn], start: int) -> Iterator[tuple[int, int]]:
    """Runs of turns that call the same with the same result, as first and count; all others are runs of one."""
    at = start
    while at < len(turns):
        end = at + 1
        key = turns[at].key if turns[at].message.calls else None
        while key is not None and end < len(turns) and turns[end].key == key:
            end += 1
        yield at, end - at
        at = end


def _turn(
    turn: Turn,
    room: int,
    glyphs: Glyphs,
    toggled: Container[str],
    name: str,
    *,
    opens: bool,
    nth: int = 0,
    whole: bool = False,
) -> Iterator[TextLine]:
    mark: Piece = (f"{glyphs.added} " if turn.new else "  ", "added_mark")
    message = turn.message
    role: PieceRole = (
        "model" if message.role in ASSISTANTS else "strong" if message.role in ("human", "user") else "muted"
    )
    who: tuple[Piece, ...] = (mark, (fit(clean(message.role), ROLE_COLUMNS, glyphs.cut), role))
    bar: Piece = (f" {glyphs.role_bar} ", "model" if role == "model" else "faint")
    blank: Piece = (" " * (ROLE_COLUMNS + 2), "text")
    tone: PieceRole = "muted" if role == "muted" and not turn.new else "text"
    lead: tuple[Piece, ...] = (*who, bar)
    if message.text or not message.calls:
        rows, long = (
            list(wrap_text(message.text, room, tone, glyphs.cut, limit=_MOST_TEXT)),
            f"{name}text{turn.position}",
        )
        most = len(rows) if whole or long in toggled else _MOST_ROWS[turn.new]
        most = len(rows) if len(rows) <= most + 2 else most  # a row that says so would take as much room
        folds = len(rows) > _MOST_ROWS[turn.new] + 2 and not whole
        for index, pieces in enumerate(rows[:most]):
            yield TextLine(pieces, lead, fold=long if folds and not index else None, item=turn.position)
            lead = (blank, bar)
        if most < len(rows):
            folded: Piece = (f"{glyphs.folded} {len(rows) - most:,} more rows", "note")
            yield TextLine((folded,), lead, fold=long, item=turn.position)
    fold = f"{name}turn{turn.position}"
    opened = opens != (fold in toggled)
    for number, call in enumerate(message.calls):
        asked = clean(str(call)[:_MOST_TEXT])
        tool, _, arguments = asked.partition("(")
        sign: Piece = (f"{glyphs.unfolded if opened else glyphs.folded} ", "muted")
        said: list[Piece] = [sign, (tool, "strong"), (f"({arguments}", "text")]
        if not opened and number < len(turn.results):
            said.append((f"  {glyphs.to} {show(turn.results[number].text, _FOLDED_ROWS * room, glyphs.cut)}", "muted"))
        if nth:
            said.append((f"  {glyphs.same} {_ordinal(nth)} time", "changed_mark"))
        rows = list(wrap(said, room))
        for row in rows if opened or len(rows) <= _FOLDED_ROWS else [tuple(said)]:
            yield TextLine(row, lead, fold=fold, item=turn.position)
            lead = (blank, bar)
    for place, result in enumerate(turn.results if opened else (), turn.position + 1):
        lead = (mark, (fit(clean(result.role), ROLE_COLUMNS, glyphs.cut), "muted"), (f" {glyphs.role_bar} ", "faint"))
        for line in wrap_text(result.text, room - 2, "text", glyphs.cut, limit=_MOST_TEXT):
            yield TextLine((("  ", "text"), *line), lead, item=place)
            lead = (blank, (f" {glyphs.role_bar} ", "faint"))


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
