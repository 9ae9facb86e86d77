"""One call laid out in rows: what was asked, what came back, and where in the code it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.text import summary
from agent_tt.codec.wire import is_envelope
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.providers.chat import ASSISTANTS, answer_in, conversation_in, message_of
from agent_tt.providers.provider_call import provider_call, tool_line
from agent_tt_tui import format as fmt
from agent_tt_tui.format import counted
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import clean, fit, width
from agent_tt_tui.viewmodel.calls.conversation import conversation_lines, turns_of
from agent_tt_tui.viewmodel.calls.decided import decided_lines, waiting_line
from agent_tt_tui.viewmodel.calls.exchange import exchange_of, raw_lines
from agent_tt_tui.viewmodel.calls.source_excerpt import place_of
from agent_tt_tui.viewmodel.edits.leaves import is_json_text, value_rows
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap, wrap_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call, ErrorInfo, Run, Step
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.calls.source_excerpt import Excerpt
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

_KEY_COLUMNS: Final = (8, 16)
_MOST_TEXT: Final = 20_000
_MOST_PARAMETERS: Final = 6
_BLANK: Final = TextLine()
_ANSWERED: Final = "what it answered"
_CAME_BACK: Final = "came back"
_RAISED: Final = "raised"

OUTCOME_HEADINGS: Final[frozenset[tuple[Piece, ...]]] = frozenset(
    ((title.upper(), "title"),) for title in (_ANSWERED, _CAME_BACK, _RAISED)
)
"""What the row begins with below which stands what came back of a call."""


def error_lines(
    error: ErrorInfo, columns: int, glyphs: Glyphs, toggled: Container[str] = frozenset()
) -> Iterator[TextLine]:
    """Lay out what was raised: its message, and its traceback, folded at first.

    Args:
        error: What was raised.
        columns: How wide the view is.
        glyphs: The set in use.
        toggled: The folds that were unfolded.
    """
    said = "\n".join([error.short, *error.message.splitlines()[1:]])
    for pieces in wrap_text(f"{glyphs.failed} {said}", columns - 2, "failed_text", glyphs.cut, limit=2000):
        yield TextLine((("  ", "text"), *pieces))
    if not error.traceback:
        return
    opened = "traceback" in toggled
    sign = glyphs.unfolded if opened else glyphs.folded
    yield TextLine(((f"  {sign} traceback", "muted"),), fold="traceback")
    if opened:
        for pieces in wrap_text(error.traceback, columns - 4, "muted", glyphs.cut, limit=_MOST_TEXT):
            yield TextLine((("    ", "text"), *pieces))


class CallContext(NamedTuple):
    """What a call is shown with.

    Attributes:
        run: Its run.
        step: Its step.
        calls: All calls of the step.
        excerpt: The code around it, once it was read.
    """

    run: Run
    step: Step | None
    calls: Sequence[Call]
    excerpt: Excerpt | None = None


def call_lines(
    call: Call, context: CallContext, columns: int, glyphs: Glyphs, toggled: Container[str] = ()
) -> list[TextLine]:
    """Lay out a call.

    Args:
        call: The call.
        context: Its surroundings.
        columns: Columns there are for a row.
        glyphs: The glyphs to use.
        toggled: Folds that are not as they are by themselves.
    """
    layout = _Layout(call, context, columns, glyphs, toggled)
    return list(layout.model_call() if call.kind == "llm" else layout.other_call())


class _Layout:
    def __init__(self, call: Call, context: CallContext, columns: int, glyphs: Glyphs, toggled: Container[str]) -> None:
        self._call, self._context, self._columns = call, context, columns
        self._glyphs, self._toggled = glyphs, toggled
        self._provider_call = provider_call(call)
        self._exchange = exchange_of(call)

    def model_call(self) -> Iterator[TextLine]:
        call = self._call
        yield self._who(call.facts.model or call.name, self._parameters(), "model")
        yield from self._damaged()
        used = self._usage()
        if used:
            yield TextLine((("context  ", "muted"), (used, "text")))
        sent = self._provider_call
        if sent is not None:
            yield from self._conversation(sent.messages)
            yield from self._outcome(_ANSWERED)
            yield from self._tools_offered([tool_line(tool) for tool in sent.tools])
            yield from self._raw()
            yield from self._source()
            return
        path = conversation_in(call.args)
        asked = call.args if isinstance(call.args, dict) and not is_envelope(call.args) else {}
        messages = call.args if path == () else asked.get(str(path[0])) if path else None
        if isinstance(messages, list):
            yield from self._conversation(messages)
        else:
            yield from self._heading("what the model saw")
            yield from self._value({key: value for key, value in asked.items() if key != "tools"} or call.args)
        yield from self._outcome(_ANSWERED)
        tools = asked.get("tools")
        yield from self._tools_offered([_offered(tool) for tool in tools] if isinstance(tools, list) else [])
        yield from self._source()

    def _conversation(self, messages: Sequence[Wire]) -> Iterator[TextLine]:
        new = _since_last_answer(messages)
        fresh = f", {len(new)} new" if new else ""
        count = counted(len(messages), "message")
        yield from self._heading("what the model saw", f"{count}{fresh}")
        yield from conversation_lines(turns_of(messages, new), self._columns, self._glyphs, self._toggled, name="saw ")

    def _tools_offered(self, tools: Sequence[tuple[str, str]]) -> Iterator[TextLine]:
        if tools:
            yield from self._heading("tools offered", f"{len(tools):,}")
        for name, takes in tools:
            yield TextLine(((f"  {clean(name)}", "text"), (f"  {clean(takes)}", "muted")))

    def other_call(self) -> Iterator[TextLine]:
        call, step = self._call, self._context.step
        facts = [f"{call.effect}s" if call.effect else call.kind]
        facts += [f"answers {call.facts.answers}"] if call.facts.answers else []
        facts += [f"lane {call.lane}", f"seq {call.lane_seq}"]
        sent = self._exchange
        name = call.name if sent is None else f"{sent.method} {sent.address}"
        yield self._who(name, facts, "text")
        yield from self._damaged()
        yield from self._heading("asked", "" if sent is None else "for its address alone" if sent.asked is None else "")
        if sent is None or sent.asked is not None:
            yield from self._value(call.args if sent is None else sent.asked)
        yield from self._outcome(_CAME_BACK)
        yield from self._raw()
        if step is not None and step.repeat_of is not None:
            yield _BLANK
            said = f"{self._glyphs.same} same question and same answer as step "
            yield TextLine(((said, "muted"), (str(step.repeat_of), "strong")))
        yield from self._source()
        before = next(
            (other for other in reversed(self._context.calls) if other.kind == "llm" and other.number < call.number),
            None,
        )
        if before is not None:
            yield from self._heading("before it")
            model = clean(before.facts.model or before.name)
            yield TextLine(((f"  {self._glyphs.model} ", "model"), (model, "text")))

    def _who(self, name: str, facts: Sequence[str], role: PieceRole) -> TextLine:
        """Say what was called and what is known of that: as many facts as there is room for, none of them cut."""
        call, dot = self._call, f" {self._glyphs.dot} "
        kind = {"llm": "llm", "tool": call.effect or "read"}.get(call.kind, call.kind)
        glyph = kind_glyph("other" if kind in ("clock", "rng", "id", "env") else kind, self._glyphs)
        took = f" {self._glyphs.dot} {fmt.duration(call.duration_us / 1e6)}" if call.duration_us is not None else ""
        right: Piece = (f"recorded{took}", "muted")
        room = self._columns - width(f"{glyph} {clean(name)}  ") - width(f"  {right[0]}")
        known = [clean(fact) for fact in facts]
        while known and width(dot.join(known)) > room:
            known.pop()
        said: tuple[Piece, ...] = ((f"  {dot.join(known)}", "muted"),) if known else ()
        return TextLine(((f"{glyph} ", role), (clean(name), "strong"), *said), right=(right,))

    def _parameters(self) -> list[str]:
        args = self._call.args
        given: Mapping[str, Wire] = args if isinstance(args, dict) and not is_envelope(args) else {}
        if self._provider_call is not None:
            given = self._provider_call.parameters
        model = self._context.run.model
        known: dict[str, Wire] = {} if model is None else {"temperature": model.temperature, "seed": model.seed}
        known |= {key: value for key, value in given.items() if not isinstance(value, list | dict)}
        shown = [f"{key} {summary(value, 24)}" for key, value in known.items() if value is not None and key != "model"]
        return shown[:_MOST_PARAMETERS]

    def _usage(self) -> str:
        """What it cost: tokens, of which so many came from a cache or were thoughts, and money."""
        said, shown = self._call.facts, []
        if said.tokens_in is not None:
            shown.append(f"{said.tokens_in:,} tokens in{_part(said.tokens_cached, 'cached')}")
        if said.tokens_out is not None:
            shown.append(f"{said.tokens_out:,} out{_part(said.tokens_reasoning, 'reasoning')}")
        if said.cost_usd is not None:
            shown.append(fmt.cost(said.cost_usd))
        return f" {self._glyphs.dot} ".join(shown)

    def _heading(self, title: str, detail: str = "") -> Iterator[TextLine]:
        yield _BLANK
        yield TextLine(((title.upper(), "title"), (f"  {clean(detail)}" if detail else "", "muted")))

    def _outcome(self, title: str) -> Iterator[TextLine]:
        yield from decided_lines(self._call, self._glyphs)
        call, glyphs, sent = self._call, self._glyphs, self._provider_call
        if call.status == "pending":
            yield from self._heading(title)
            waits = waiting_line(call, glyphs, is_running=self._context.run.status == "running")
            if waits is not None:
                yield waits
            elif call.kind == "human":
                yield TextLine(((f"  {glyphs.person} no answer yet", "note"),))
            elif self._context.run.status == "running":
                yield TextLine(((f"  {glyphs.still} not yet", "note"),))
            elif (again := made_again(call, self._context.calls)) is not None:
                said = f"it broke off here: made again as call {again.number}"
                yield TextLine(((f"  {glyphs.interrupted} {said}", "note"),))
            else:
                yield TextLine(((f"  {glyphs.unknown} outcome unknown", "failed"),))
                is_over = self._context.run.status != "unknown"
                said = "the run ended before an answer was recorded" if is_over else "no answer to it is recorded"
                yield TextLine(((f"  {said}", "note"),))
        elif call.status == "denied":
            yield from self._heading(title)
            step = self._context.step
            is_own = self._context.run.fork_step is not None and not (step is not None and step.inherited)
            by = " by this fork" if is_own and not call.facts.answered else ""
            yield TextLine(((f"  denied{by}", "yours"), ("  it did not run", "muted")))
        elif call.error is not None:
            yield from self._heading(_RAISED)
            yield from error_lines(call.error, self._columns, glyphs, self._toggled)
        else:
            stopped = f"stop: {sent.stopped}" if sent is not None and sent.stopped else ""
            status = str(self._exchange.status) if sent is None and self._exchange is not None else ""
            yield from self._heading(title, stopped or _stop_reason(call.result) or status)
            yield from self._result(call.result)
            yield from self._after_resuming()

    def _after_resuming(self) -> Iterator[TextLine]:
        """What is to be known of the answer to a call that was in flight when the run broke off."""
        before = self._call.facts.again
        if before is None:
            return
        from agent_tt.resuming.plan import decided_before

        step, number = before
        where = f"call {number}" if step == self._call.step else f"call {number} of step {step}"
        if decided_before(self._context.run).get(before) is not None:
            said = f"a person said that {where} had happened"
            yield TextLine(((f"  {self._glyphs.person} ", "yours"), (said, "note")))
        else:
            yield TextLine(((f"  in place of {where}, which broke off", "note"),))

    def _result(self, result: Wire) -> Iterator[TextLine]:
        sent, exchange = self._provider_call, self._exchange
        if sent is not None and sent.error:
            for pieces in wrap_text(
                f"{self._glyphs.failed} {sent.error}", self._columns - 2, "failed_text", self._glyphs.cut, limit=2000
            ):
                yield TextLine((("  ", "text"), *pieces))
        if sent is not None and sent.answer:
            lines = turns_of(sent.answer)
            yield from conversation_lines(lines, self._columns, self._glyphs, self._toggled, name="answer ", whole=True)
            return
        if exchange is not None:
            if not (sent is not None and sent.error):
                yield from self._value(exchange.answered, ("body",))
            return
        answer = answer_in(result)
        if self._call.kind == "llm" and answer is not None:
            lines = turns_of([answer])
            yield from conversation_lines(lines, self._columns, self._glyphs, self._toggled, name="answer ", whole=True)
            return
        said = message_of(result)
        yield from self._value(result, ()) if said is None else self._value(said.text)

    def _raw(self) -> Iterator[TextLine]:
        if self._exchange is not None:
            yield from self._heading("raw")
            yield from raw_lines(self._exchange, self._columns, self._glyphs, self._toggled)

    def _source(self) -> Iterator[TextLine]:
        place, excerpt = place_of(self._call), self._context.excerpt
        if place is None:
            return
        file, number = place
        yield from self._heading("from")
        as_now = "  as the file is now" if excerpt is not None else ""
        yield TextLine(((f"  {clean(file)}", "text"), (f":{number}", "strong"), (as_now, "muted")))
        if excerpt is None:
            return
        from agent_tt_tui.viewmodel.values.highlight import highlighted

        indent = min((len(line) - len(line.lstrip()) for line in excerpt.lines if line.strip()), default=0)
        code = "\n".join(line[indent:].expandtabs(4) for line in excerpt.lines)
        for line_number, pieces in enumerate(highlighted(code, "python"), excerpt.first):
            here = line_number == number
            shown: Sequence[Piece] = [(text, "strong") for text, _ in pieces] if here else pieces
            beside = f"  {line_number:>5}  "
            for row in list(wrap(shown, self._columns - width(beside))) or [()]:
                yield TextLine(((beside, "muted"), *row), here=here)
                beside = " " * width(beside)

    def _value(self, value: Wire, place: Path | None = None) -> Iterator[TextLine]:
        """Parts with names, or the value as a whole; of a result each row with its place in it."""
        if value is None:
            yield TextLine(((f"  {self._glyphs.interrupted}", "faint"),))
        elif is_placeholder(value) and isinstance(value, dict):
            said = f"{self._glyphs.failed} damaged: {value.get('why') or 'it cannot be read'}"
            for pieces in wrap_text(said, self._columns - 2, "failed", self._glyphs.cut, limit=_MOST_TEXT):
                yield TextLine((("  ", "text"), *pieces))
        elif isinstance(value, dict) and value and not is_envelope(value):
            least, most = _KEY_COLUMNS
            column = max(least, min(most, max(width(clean(key[: most + 1])) for key in list(value)[:100])))
            for key in list(value)[:200]:
                inner = None if place is None else (*place, key)
                yield from self._entry(fit(clean(key), column, self._glyphs.cut), value[key], inner)
            if len(value) > 200:
                yield TextLine(((f"  {len(value) - 200:,} more", "note"),))
        else:
            yield from self._entry("", value, place)

    def _damaged(self) -> Iterator[TextLine]:
        """Say what of the call is damaged."""
        if self._call.damaged is not None:
            said = f"{self._glyphs.failed} {clean(self._call.damaged)}"
            for pieces in wrap_text(said, self._columns, "failed", self._glyphs.cut, limit=_MOST_TEXT):
                yield TextLine(pieces)

    def _entry(self, key: str, value: Wire, place: Path | None = None) -> Iterator[TextLine]:
        before: Piece = (f"  {key}  " if key else "  ", "muted")
        right: tuple[Piece, ...] = (("a JSON text", "faint"),) if place is not None and is_json_text(value) else ()
        columns = self._columns - (width(right[0][0]) + 2 if right else 0)
        for text, shown in value_rows(value, place):
            said = text.lstrip(" ")
            deep: Piece = (" " * (len(text) - len(said)), "text")
            room = max(8, columns - width(before[0] + deep[0]))
            for pieces in wrap_text(said, room, "text", self._glyphs.cut, limit=_MOST_TEXT):
                yield TextLine(pieces, (before, deep), right, place=shown)
                before, right = (" " * width(before[0]), "text"), ()


def _part(count: int | None, word: str) -> str:
    """` (1,024 cached)`; empty where there are none."""
    return f" ({count:,} {word})" if count else ""


def made_again(call: Call, calls: Sequence[Call]) -> Call | None:
    """The call that took the place of one that was in flight when the run broke off, among those of its step."""
    place = (call.step, call.number)
    return next((other for other in calls if other.facts.again == place), None)


def _since_last_answer(messages: Sequence[Wire]) -> range:
    """The messages from the model's last answer on: what this call shows it that the call before did not."""
    for position in range(len(messages) - 1, -1, -1):
        said = message_of(messages[position])
        if said is not None and said.role in ASSISTANTS:
            return range(position, len(messages))
    return range(0)


def _stop_reason(result: Wire) -> str:
    holder = result if isinstance(result, dict) and not is_envelope(result) else {}
    choices = holder.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    reason = holder.get("stop_reason") or first.get("finish_reason")
    return f"stop: {reason}" if isinstance(reason, str) else ""


def _offered(tool: Wire) -> tuple[str, str]:
    """A tool's name and what it takes."""
    if not isinstance(tool, dict):
        return (tool if isinstance(tool, str) else summary(tool, 60)), ""
    function = tool.get("function")
    said = function if isinstance(function, dict) else tool
    schema = said.get("parameters", said.get("input_schema"))
    properties = schema.get("properties") if isinstance(schema, dict) else None
    takes = ", ".join(properties) if isinstance(properties, dict) else ""
    return str(said.get("name", summary(tool, 60))), takes[:200]
