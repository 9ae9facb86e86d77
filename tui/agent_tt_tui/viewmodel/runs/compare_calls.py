"""What models saw and said, and which tools were called, in two steps that stand beside each other."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import summary
from agent_tt.codec.wire import is_envelope
from agent_tt.comparing.sequences.sequence import align, gaps
from agent_tt.comparing.steps.call_pairs import pair_calls
from agent_tt.comparing.steps.moves import acts_of, answers_of, value_key
from agent_tt.providers.chat import TOOLS, message_of
from agent_tt.providers.model_talk import ModelTalks
from agent_tt_tui.format import count, counted
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import clean, fit, width
from agent_tt_tui.viewmodel.values.blocks import Block
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap
from agent_tt_tui.viewmodel.values.sides import word_lines, word_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Call
    from agent_tt.providers.shapes import Message
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.runs.alike import Alike
    from agent_tt_tui.viewmodel.values.pieces import Piece

_ROLE_COLUMNS: Final = 10
_MOST_TEXT: Final = 1_200
"""Characters of a text that is shown."""

_MOST_SAME: Final = 4
"""So many messages in a row that both models saw are listed; of more the first and the last."""

_MOST_PARAMETERS: Final = 8
_BLANK: Final = TextLine()


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a model, as it is read.

    Attributes:
        model: Which model.
        parameters: What else it was sent, by name.
        shown: What it saw.
        tools: Names of the tools that it was offered.
        said: What it answered.
        failed: What came in place of an answer; empty where there is one.
        tokens_in: What it read; None where that is not known.
        tokens_out: What it wrote.
    """

    model: str
    parameters: Mapping[str, Wire]
    shown: Sequence[Message]
    tools: Sequence[str]
    said: Sequence[Message]
    failed: str
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True, slots=True)
class PairCalls:
    """The calls of two steps beside each other, by what they are; one side is None where the other has one more.

    Attributes:
        models: Calls of models.
        acts: Calls that act in the world.
    """

    models: Sequence[tuple[Asked | None, Asked | None]] = ()
    acts: Sequence[tuple[Call | None, Call | None]] = ()


def read_pair(calls_a: Sequence[Call], calls_b: Sequence[Call]) -> PairCalls:
    """Read the calls of two steps; of a step that one run did not take there are none."""
    models = pair_calls(answers_of(calls_a), answers_of(calls_b))
    return PairCalls(
        [(None if a is None else _asked(a), None if b is None else _asked(b)) for a, b in models],
        pair_calls(acts_of(calls_a), acts_of(calls_b)),
    )


def places_at_the_right(pair: PairCalls, changes: Sequence[Change], to: str) -> dict[tuple[int, str], str]:
    """Find values of changed states that are shown among the calls, to be pointed at and not shown twice.

    Args:
        pair: The calls.
        changes: What differs in the states.
        to: The arrow that points.

    Returns:
        What is said in place of a value, by the change's index and its side, `a` or `b`.
    """
    found = {}
    for side, position in (("a", 0), ("b", 1)):
        answers = [message for both in pair.models if (asked := both[position]) is not None for message in asked.said]
        texts = {message.text for message in answers if message.text}
        wanted = {tuple(map(str, message.calls)) for message in answers if message.calls}
        results = {value_key(act.result) for both in pair.acts if (act := both[position]) is not None}
        for index, change in enumerate(changes):
            value = change.old if side == "a" else change.new
            message = message_of(value)
            text = value if isinstance(value, str) else "" if message is None else message.text
            calls = () if message is None else tuple(map(str, message.calls))
            if text in texts or calls in wanted:
                found[index, side] = f"what it answered {to}"
            elif message is not None and message.role in TOOLS and _result_key(message.text) in results:
                found[index, side] = f"what came back {to}"
    return found


def without_seen(alike: Sequence[Alike], pair: PairCalls) -> list[Alike]:
    """What is the same in two states but for the messages that a model saw in both, which stand among the calls."""
    seen = {
        _key(message) for a, b in pair.models if a is not None and b is not None for message in (*a.shown, *b.shown)
    }
    messages = ((each, message_of(each.value)) for each in alike)
    return [each for each, message in messages if message is None or _key(message) not in seen]


def pair_blocks(pair: PairCalls, changes: Sequence[Change], columns: int, glyphs: Glyphs) -> Iterator[Block]:
    """Lay out the calls of two steps.

    Args:
        pair: The calls.
        changes: What differs in the states: a text that differs there already is pointed at.
        columns: Columns there are for a row.
        glyphs: The glyphs to use.
    """
    layout = _Layout(columns, glyphs, changes)
    for a, b in pair.models:
        yield from layout.model(a, b)
    if pair.acts:
        yield from layout.heading("tools called")
    for one, other in pair.acts:
        yield from layout.act(one, other)
    if not pair.models and not pair.acts:
        yield Block([TextLine((("no model and no tool was called here", "note"),))])


class _Layout:
    def __init__(self, columns: int, glyphs: Glyphs, changes: Sequence[Change]) -> None:
        self._columns, self._glyphs = columns, glyphs
        self._in_state = {(change.old, change.new): change.path for change in changes if isinstance(change.old, str)}

    def heading(self, title: str, detail: str = "") -> Iterator[Block]:
        line = TextLine(((title.upper(), "title"), (f"  {detail}" if detail else "", "muted")))
        yield Block([_BLANK, line])

    def model(self, a: Asked | None, b: Asked | None) -> Iterator[Block]:
        glyph = self._glyphs.model
        one = a or b
        if one is None:
            return
        names = list(dict.fromkeys(each.model for each in (a, b) if each is not None))
        only = "" if a is not None and b is not None else f"  only {'A' if b is None else 'B'} asked a model"
        who: list[Piece] = [(f"{glyph} ", "model"), (clean(names[0]), "strong"), (only, "note")]
        if len(names) > 1:
            who += [(f" {self._glyphs.differs} ", "yours"), (clean(names[1]), "strong")]
        yield Block([TextLine(tuple(who))])
        yield from self._parameters(a, b)
        yield from self._tokens(a, b)
        yield from self._saw(a, b)
        yield from self._said("thought", [[m.reasoning for m in each.said if m.reasoning] for each in _sides(a, b)])
        yield from self._said("answered", [_answer(each, self._glyphs) for each in _sides(a, b)])
        yield from self._tools(a, b)

    def act(self, a: Call | None, b: Call | None) -> Iterator[Block]:
        one = a or b
        if one is None:
            return
        kind = one.effect or "read" if one.kind == "tool" else one.kind
        names = list(dict.fromkeys(call.name for call in (a, b) if call is not None))
        only = "" if a is not None and b is not None else f"  only {'A' if b is None else 'B'} called it"
        who: list[Piece] = [(f"{kind_glyph(kind, self._glyphs)} ", "text"), (clean(names[0]), "strong"), (only, "note")]
        if len(names) > 1:
            who += [(f" {self._glyphs.differs} ", "yours"), (clean(names[1]), "strong")]
        yield Block([TextLine(tuple(who))])
        yield from self._both("asked", [None if each is None else _text(each.args) for each in (a, b)])
        yield from self._both("came back", [None if each is None else _outcome(each) for each in (a, b)])

    def _parameters(self, a: Asked | None, b: Asked | None) -> Iterator[Block]:
        ours, theirs = ({} if each is None else each.parameters for each in (a, b))
        names = list(dict.fromkeys([*ours, *theirs]))[:_MOST_PARAMETERS]
        if a is None or b is None:
            alike, differ = names, []
        else:
            alike = [name for name in names if value_key(ours.get(name)) == value_key(theirs.get(name))]
            differ = [name for name in names if name not in alike]
        if alike:
            said = ", ".join(f"{clean(name)} {clean(summary((ours or theirs)[name], 24))}" for name in alike)
            yield self._wrapped([(said, "muted")], self._sign(a, b))
        for name in differ:
            old, new = (clean(summary(each[name], 40)) if name in each else "not sent" for each in (ours, theirs))
            pieces: list[Piece] = [(f"{clean(name)}  ", "text"), ("A ", "muted"), (old, "removed"), ("  B ", "muted")]
            yield self._wrapped([*pieces, (new, "added")], ((f"{self._glyphs.differs} ", "yours"),))

    def _sign(self, a: Asked | None, b: Asked | None) -> tuple[Piece, ...]:
        return ((f"{self._glyphs.same} ", "well"),) if a is not None and b is not None else (("  ", "muted"),)

    def _tokens(self, a: Asked | None, b: Asked | None) -> Iterator[Block]:
        sides = (a, b)
        for word, numbers in (
            ("read", [None if each is None else each.tokens_in for each in sides]),
            ("wrote", [None if each is None else each.tokens_out for each in sides]),
        ):
            if numbers == [None, None]:
                continue
            old, new = numbers
            pieces: list[Piece] = [(f"  {word:<7}", "muted")]
            for letter, each, number in zip("AB", sides, numbers, strict=True):
                if each is not None:
                    said = f"{self._glyphs.interrupted:>7}" if number is None else f"{count(number):>7} tok"
                    pieces += [(f"{letter} ", "muted"), (f"{said}   ", "text")]
            if old is not None and new is not None and old != new:
                pieces.append((f"{new - old:+,}", "muted"))
            yield Block([TextLine(tuple(pieces))])

    def _saw(self, a: Asked | None, b: Asked | None) -> Iterator[Block]:
        ours, theirs = ([] if each is None else list(each.shown) for each in (a, b))
        if not ours and not theirs:
            return
        rows = list(_beside(ours, theirs))
        differ = sum(not _equal(one, other) for one, other in rows)
        detail = counted(len(rows), "message")
        if a is not None and b is not None:
            detail += f", {count(differ)} differ{'s' if differ == 1 else ''}" if differ else ", the same in both"
        yield from self.heading("saw", detail)
        if a is None or b is None:
            yield from self._same_messages([*ours, *theirs], differs=None)
            return
        for alike, group in groupby(rows, lambda row: _equal(*row)):
            listed = list(group)
            if alike:
                yield from self._same_messages([one for one, _ in listed if one is not None], differs=False)
                continue
            for one, other in listed:
                yield self._other_message(one, other)

    def _same_messages(self, messages: Sequence[Message], *, differs: bool | None) -> Iterator[Block]:
        glyphs = self._glyphs
        sign: Piece = ("  ", "muted") if differs is None else (f"{glyphs.same} ", "well")
        hidden = len(messages) - 2 if len(messages) > _MOST_SAME else 0
        for index, message in enumerate(messages):
            if hidden and 0 < index < len(messages) - 1:
                if index == 1:
                    said = f"  {glyphs.alike} {counted(hidden, 'message')} between"
                    yield Block([TextLine(((f"{said}{'' if differs is None else ', the same'}", "note"),))])
                continue
            lead: tuple[Piece, ...] = (sign, *self._role(message))
            yield self._wrapped([(_said(message, glyphs), "muted")], lead, least=1)

    def _other_message(self, a: Message | None, b: Message | None) -> Block:
        glyphs = self._glyphs
        lead: tuple[Piece, ...] = ((f"{glyphs.differs} ", "yours"), *self._role(a or b))
        where = None if a is None or b is None else self._in_state.get((a.text, b.text))
        if where is not None:
            return self._wrapped([(f"{glyphs.fed_by} {clean(where)}, in the state", "muted")], lead)
        lines: list[TextLine] = []
        texts = ["" if each is None else _said(each, glyphs) for each in (a, b)]
        for letter, each in (("a", a), ("b", b)):
            if each is None:
                continue
            pieces = word_pieces(texts[0], texts[1], letter, None, glyphs)
            lines += self._lines(pieces, (*lead, (f"{letter.upper()} ", "muted")))
            lead = ((" " * (2 + _ROLE_COLUMNS + 2), "muted"),)
        return Block(lines, 2 if a is not None and b is not None else 1)

    def _role(self, message: Message | None) -> tuple[Piece, ...]:
        role = "" if message is None else clean(message.role)
        return ((fit(role, _ROLE_COLUMNS, self._glyphs.cut), "muted"), (f"{self._glyphs.role_bar} ", "faint"))

    def _said(self, title: str, sides: Sequence[Sequence[str] | None]) -> Iterator[Block]:
        texts = ["\n".join(side) if side else None for side in sides]
        if any(texts):
            yield from self.heading(title)
            yield from self._both("", texts)

    def _tools(self, a: Asked | None, b: Asked | None) -> Iterator[Block]:
        glyphs = self._glyphs
        ours, theirs = ([] if each is None else list(each.tools) for each in (a, b))
        if not ours and not theirs:
            return
        yield from self.heading("tools offered")
        between = f" {glyphs.dot} "
        if a is None or b is None or ours == theirs:
            yield self._wrapped([(clean(between.join(ours or theirs)), "muted")], self._sign(a, b))
            return
        for letter, mine, others in (("A", ours, theirs), ("B", theirs, ours)):
            own = Counter(mine) - Counter(others)
            pieces: list[Piece] = []
            for name in mine:
                pieces += [(between, "muted")] if pieces else []
                pieces.append((clean(name), ("removed" if letter == "A" else "added") if own[name] else "muted"))
            yield self._wrapped(pieces or [("none", "note")], ((f"{letter} ", "muted"),))

    def _both(self, name: str, texts: Sequence[str | None]) -> Iterator[Block]:
        """A text of each side: once where they are the same, by word where both have one."""
        glyphs, (a, b) = self._glyphs, texts
        before: tuple[Piece, ...] = ((fit(name, _ROLE_COLUMNS, glyphs.cut), "muted"),) if name else ()
        if a is not None and a == b:
            shown: Sequence[Sequence[Piece]] = [[(clean(line), "muted")] for line in a[:_MOST_TEXT].split("\n")]
            yield self._listed(shown, ((f"{glyphs.same} ", "well"), *before), least=1)
            return
        for letter, text in (("a", a), ("b", b)):
            if text is None:
                continue
            shown = [[(clean(line), "text")] for line in text[:_MOST_TEXT].split("\n")]
            if a is not None and b is not None:
                shown = word_lines(a[:_MOST_TEXT], b[:_MOST_TEXT], letter)
            yield self._listed(shown, ((f"{letter.upper()} ", "muted"), *before), least=2)

    def _listed(self, lines: Sequence[Sequence[Piece]], lead: tuple[Piece, ...], least: int) -> Block:
        """Lines of a text, each wrapped; a dash where there is nothing in them."""
        if not any(text for line in lines for text, _ in line):
            lines = [[(self._glyphs.interrupted, "faint")]]
        found: list[TextLine] = []
        for line in lines:
            found += self._lines(line, lead) if line else [TextLine((), lead)]
            lead = ((" " * sum(width(text) for text, _ in lead), "muted"),)
        return Block(found, least)

    def _wrapped(self, pieces: Sequence[Piece], lead: tuple[Piece, ...], least: int | None = None) -> Block:
        return Block(list(self._lines(pieces, lead)), least)

    def _lines(self, pieces: Sequence[Piece], lead: tuple[Piece, ...]) -> Iterator[TextLine]:
        wide = sum(width(text) for text, _ in lead)
        for row in wrap(pieces, self._columns - wide):
            yield TextLine(row, lead)
            lead = ((" " * wide, "muted"),)


def _sides(a: Asked | None, b: Asked | None) -> Iterator[Asked]:
    nobody = Asked("", {}, (), (), (), "", None, None)
    yield from (each or nobody for each in (a, b))


def _asked(call: Call) -> Asked:
    talk = ModelTalks().of(call)
    facts, given = call.facts, call.args
    args = given if isinstance(given, dict) and not is_envelope(given) else {}
    offered = args.get("tools")
    parameters: Mapping[str, Wire] = talk.request.parameters if talk.request.api else args
    tools = [tool.name for tool in talk.request.tools]
    if not talk.request.api:
        tools = [_tool_name(tool) for tool in offered] if isinstance(offered, list) else []
    failed = call.error.short if call.error is not None else talk.answer.error
    if not failed and call.status != "ok":
        failed = {"pending": "outcome unknown", "denied": "denied"}.get(call.status, call.status)
    return Asked(
        model=facts.model or talk.request.model or call.name,
        parameters={
            key: value
            for key, value in parameters.items()
            if value is not None and not isinstance(value, list | dict) and key != "model"
        },
        shown=talk.shown,
        tools=tools,
        said=talk.said,
        failed=failed or ("" if talk.said else _text(call.result)),
        tokens_in=facts.tokens_in,
        tokens_out=facts.tokens_out,
    )


def _tool_name(tool: Wire) -> str:
    held = tool.get("function", tool) if isinstance(tool, dict) else tool
    name = held.get("name") if isinstance(held, dict) else held
    return name if isinstance(name, str) else summary(tool, 40)


def _answer(asked: Asked, glyphs: Glyphs) -> list[str]:
    """What a model answered: its words and the calls that it asks for, each on a line of its own."""
    lines = []
    for message in asked.said:
        lines += [message.text] if message.text else []
        lines += [f"{glyphs.to} {call}" for call in message.calls]
    return [*lines, asked.failed] if asked.failed else lines


def _beside(a: Sequence[Message], b: Sequence[Message]) -> Iterator[tuple[Message | None, Message | None]]:
    """Set two conversations beside each other: equal messages, and between them others in order, by who speaks."""
    keys = [[_key(message) for message in side] for side in (a, b)]
    pairs = align(*keys)
    for gap, (start_a, stop_a, start_b, stop_b) in enumerate(gaps(pairs, len(a), len(b))):
        one, other = list(a[start_a:stop_a]), list(b[start_b:stop_b])
        while one and other and one[0].role == other[0].role:
            yield one.pop(0), other.pop(0)
        yield from ((message, None) for message in one)
        yield from ((None, message) for message in other)
        if gap < len(pairs):
            yield a[pairs[gap][0]], b[pairs[gap][1]]


def _equal(a: Message | None, b: Message | None) -> bool:
    return a is not None and b is not None and _key(a) == _key(b)


def _key(message: Message) -> str:
    return repr(
        (message.role, message.text, message.reasoning, [(call.name, call.arguments) for call in message.calls])
    )


def _said(message: Message, glyphs: Glyphs) -> str:
    calls = [f"{glyphs.to} {call}" for call in message.calls]
    return clean(" ".join(filter(None, [message.text or message.reasoning, *calls]))[:_MOST_TEXT])


def _text(value: Wire) -> str:
    return value if isinstance(value, str) else "" if value is None else summary(value, _MOST_TEXT)


def _outcome(call: Call) -> str:
    if call.error is not None:
        return call.error.short
    if call.status != "ok":
        return {"pending": "outcome unknown", "denied": "denied"}.get(call.status, call.status)
    return _text(call.result)


def _result_key(text: str) -> str:
    from agent_tt.codec.json_in_text import read_json_text

    read = read_json_text(text)
    return value_key(text if read is None else read)
