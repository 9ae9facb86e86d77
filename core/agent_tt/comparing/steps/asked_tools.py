"""Tools that models asked for and of which no call is recorded: what the conversation shows, and nothing else.

A framework that keeps its tools where nothing finds them still says in its requests what ran: the model's answer asks
for a tool, and a later request gives the tool's result. Worked out when it is asked for, so that older runs have it.

A run's requests hold its conversation over and over. So most of them are read without it (`RunSource.outline`), and
whole ones only where a tool that nothing records may have been answered: of a conversation that grows, the newest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.tool_calls import ToolCalls
from agent_tt.providers.loose import dicts, mapping, parse_arguments, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource
    from agent_tt.providers.shapes import Asked, Json, Message
    from agent_tt.recording.steps.model_turns import ModelTurn

__all__ = ["AskedTool", "AskedTools", "ShownTool", "asked_tools", "read_asked_tools", "tools_asked_for"]

_ASKS: Final = ("llm", "http")
_TURNS: Final = ("messages", "input", "contents")
_TOOLS: Final = ("tools", "functions")
_STUBS: Final[dict[str, Wire]] = {
    "messages": [{"role": "user", "content": ""}],
    "input": "",
    "contents": [{"role": "user", "parts": []}],
}
"""What stands in a request in place of its conversation."""

_MOST_READ: Final = 3
"""So many of the next requests are looked through for the answer to a tool; all after that repeat these."""


@dataclass(frozen=True, slots=True)
class AskedTool:
    """One time that a model asked for a tool of which no call is recorded.

    Attributes:
        name: the tool, as models know it.
        arguments: what the model gave it.
        step: the step in which it was asked for.
        call: the number of the model call in there.
        lane: the lane of that call.
        answer: what the model was told came back; None where no later request of the run says.
    """

    name: str
    arguments: Json
    step: int
    call: int
    lane: str = "main"
    answer: str | None = None

    @property
    def seen(self) -> str:
        """What is known of it, in words."""
        return "no answer seen" if self.answer is None else "seen in the conversation"


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool that models were offered or asked for, and of which the run recorded no call at all.

    Attributes:
        name: the tool, as models know it.
        answered: how often it was asked for and its answer given to the model.
        unanswered: how often it was asked for, and no answer is seen.
    """

    name: str
    answered: int = 0
    unanswered: int = 0

    @property
    def asked(self) -> int:
        """How often models asked for it."""
        return self.answered + self.unanswered

    @property
    def said(self) -> str:
        """What is to be known of it before a fork, in one sentence."""
        if not self.asked:
            return f"`{self.name}` was offered and not asked for: whether its calls are recorded is not known"
        times = "once" if self.asked == 1 else f"{self.asked} times"
        if not self.answered:
            return f"`{self.name}` was asked for {times}, no call of it is recorded, and no answer to it is seen"
        return f"`{self.name}` was asked for {times} and is not recorded: a fork runs it live"


@dataclass(frozen=True, slots=True)
class AskedTools:
    """The tools that the conversations of a run show, and nothing records.

    Attributes:
        times: each time that one was asked for, in order.
        tools: those of which no call at all is recorded, in the order in which they were first shown; of a tool that
            is recorded now and then only `times` says when it was not.
    """

    times: tuple[AskedTool, ...] = ()
    tools: tuple[ShownTool, ...] = ()

    def unrecorded(self, *, ended_well: bool) -> tuple[ShownTool, ...]:
        """Those of `tools` that ran, or may have run.

        Args:
            ended_well: whether the run came to its end: then a tool that was asked for and never answered may not have
                been one to be run, but the form of an answer.
        """
        return tuple(tool for tool in self.tools if tool.answered or (tool.asked and not ended_well))

    def by_step(self) -> dict[int, list[AskedTool]]:
        """`times` by the step in which it was asked."""
        found: dict[int, list[AskedTool]] = {}
        for each in self.times:
            found.setdefault(each.step, []).append(each)
        return found

    @property
    def answered(self) -> dict[str, int]:
        """By name how often a tool was asked for and answered, and no call of it recorded."""
        return dict(Counter(each.name for each in self.times if each.answer is not None))

    @property
    def first_steps(self) -> dict[str, int]:
        """By name of those the first step in which a model asked for it."""
        found: dict[str, int] = {}
        for each in self.times:
            if each.answer is not None:
                found.setdefault(each.name, each.step)
        return found


def read_asked_tools(source: RunSource, run: Run, *, first: int = 1) -> AskedTools:
    """Find the tools that the conversations of a run show and nothing records.

    Args:
        source: where the run lies.
        run: the run.
        first: the first step that counts.

    Raises:
        RunNotFound, StoreUnreadable: it cannot be read.
    """
    calls = source.call_page(run.id, first, source.step_count(run.id) + 1)
    return asked_tools(
        calls,
        outline=lambda call: source.outline(run.id, call, _TURNS) if call.kind == "llm" else call,
        whole=lambda call: source.with_values(run.id, call),
    )


def asked_tools(
    calls: Iterable[Call],
    *,
    outline: Callable[[Call], Call] = lambda call: call,
    whole: Callable[[Call], Call] = lambda call: call,
) -> AskedTools:
    """Find the tools that the conversations of calls show, and that none of the calls is one of.

    Args:
        calls: all calls of a run, those inside of others too; with results.
        outline: gives a call of a model with its arguments; its conversation may be left out.
        whole: gives a call of a model with all of its arguments.
    """
    return _Conversations(sorted(calls, key=lambda call: (call.step, call.number)), outline, whole).found()


def tools_asked_for(call: Call) -> list[tuple[str, Json]]:
    """Give the tools that a model's answer asks the program to run, with their arguments; none where none can be read.

    Args:
        call: the call of the model, with its values.
    """
    turn = _turn_of(call.args, call)
    return [] if turn is None else [(each.name, each.arguments) for each in _asked_for(turn, call.result)]


@dataclass(slots=True, eq=False)
class _Ask:
    """One time that a model asked for a tool.

    Attributes:
        asked: what for.
        at: the position of the model call among all calls.
        call: the model call.
        place: which of those with the same key it is, from 0.
        answer: what came back, once that was found.
    """

    asked: Asked
    at: int
    call: Call
    place: int = 0
    answer: str | None = None

    @property
    def named(self) -> str:
        """By what its answer names it."""
        return self.asked.id or self.asked.name

    @property
    def key(self) -> tuple[str, str]:
        """That, with its lane where it is only a name."""
        return self.named, "" if self.asked.id else self.call.lane


@dataclass(slots=True, eq=False)
class _Conversations:
    """The conversations of a run, as its model calls hold them."""

    calls: Sequence[Call]
    outline: Callable[[Call], Call]
    whole: Callable[[Call], Call]
    models: list[int] = field(default_factory=list)
    by_lane: dict[str, list[int]] = field(default_factory=dict)
    asks: list[_Ask] = field(default_factory=list)
    asked_at: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    asking: set[tuple[int, int]] = field(default_factory=set)
    offered: dict[str, None] = field(default_factory=dict)
    hosted: set[str] = field(default_factory=set)
    given: dict[int, dict[str, list[str]]] = field(default_factory=dict)

    def found(self) -> AskedTools:
        """What they show, and nothing records."""
        rest: list[tuple[int, Call]] = []
        for at, call in enumerate(self.calls):
            if not self._see(at, call):
                rest.append((at, call))
        asks = [ask for ask in self.asks if ask.asked.name not in self.hosted]
        recorded = ToolCalls(rest, {*self.offered, *(ask.asked.name for ask in asks)})
        missed = [ask for ask in asks if not self._is_recorded(ask, recorded)]
        self._find_answers(missed)
        left = [ask for ask in missed if ask.answer is None or not recorded.gave(ask.answer, ask.at)]
        tools = tuple(self._never_recorded(asks, left, recorded))
        never = {tool.name for tool in tools}
        times = tuple(
            AskedTool(ask.asked.name, ask.asked.arguments, ask.call.step, ask.call.number, ask.call.lane, ask.answer)
            for ask in left
            if ask.answer is not None or ask.asked.name in never  # else it would be recorded if it had run
        )
        return AskedTools(times, tools)

    def _never_recorded(self, asks: Sequence[_Ask], left: Sequence[_Ask], recorded: ToolCalls) -> Iterator[ShownTool]:
        total = Counter(ask.asked.name for ask in asks)
        missed = Counter(ask.asked.name for ask in left)
        answered = Counter(ask.asked.name for ask in left if ask.answer is not None)
        called = {ask.asked.name for ask in left if recorded.after(ask.asked, -1) is not None}
        for name in dict.fromkeys((*self.offered, *total)):
            is_called = recorded.has(name) or total[name] > missed[name] or name in called
            if name and name not in self.hosted and not is_called:
                yield ShownTool(name, answered[name], missed[name] - answered[name])

    # ------------------------------------------------------------ what models were asked and answered

    def _see(self, at: int, call: Call) -> bool:
        """Look at one call; give whether it asks a model."""
        if call.kind not in _ASKS:
            return False
        outlined = self.outline(call)
        turn = _turn_of(_without_conversation(outlined.args), call)
        if turn is None:
            return False
        self.models.append(at)
        self.by_lane.setdefault(call.lane, []).append(at)
        offered, hosted = _offered(turn, outlined.args)
        self.offered.update(dict.fromkeys(offered))
        self.hosted |= hosted
        if call.error is None and call.result is not None:
            self._hear(at, call, turn, outlined.facts.inside)
        return True

    def _hear(self, at: int, call: Call, turn: ModelTurn, inside: tuple[int, int] | None) -> None:
        asked = _asked_for(turn, call.result)
        if inside in self.asking:
            return  # a function that is recorded as a model's call, and the request that it makes, tell of the same
        for each in asked:
            ask = _Ask(each, at, call)
            self.asking.add((call.step, call.number))
            ask.place = len(self.asked_at[ask.key])
            self.asked_at[ask.key].append(at)
            self.asks.append(ask)

    # ------------------------------------------------------------ what is recorded

    def _is_recorded(self, ask: _Ask, recorded: ToolCalls) -> bool:
        """Whether a call of the tool is recorded between the model's asking for it and its being told the answer."""
        made = recorded.after(ask.asked, ask.at)
        if made is None:
            return False
        return not any(ask.named in self._given_at(at) for at in self._later(ask) if at < made)

    def _later(self, ask: _Ask) -> Sequence[int]:
        """The requests that may hold its answer: the later ones of its lane, else all later ones."""
        own = self.by_lane[ask.call.lane]
        return own[bisect_left(own, ask.at + 1) :] or self.models[bisect_left(self.models, ask.at + 1) :]

    # ------------------------------------------------------------ what came back

    def _find_answers(self, asks: Sequence[_Ask]) -> None:
        """Find what models were told came back of tools: in the newest request of a lane most of the time."""
        newest = {lane: places[-1] for lane, places in self.by_lane.items()}
        for ask in reversed(asks):
            later = self._later(ask)
            last = newest[ask.call.lane] if newest[ask.call.lane] > ask.at else later[-1] if later else None
            known = [at for at in self.given if at > ask.at]
            tried = dict.fromkeys([*([] if last is None else [last]), *known, *later[:_MOST_READ]])
            ask.answer = next((found for at in tried if (found := self._answer_in(at, ask)) is not None), None)

    def _answer_in(self, at: int, ask: _Ask) -> str | None:
        results = self._given_at(at).get(ask.named)
        if not results:
            return None
        # The same id or name may be used again and again: the newest result is that of the newest question before it.
        newer = bisect_left(self.asked_at[ask.key], at) - 1 - ask.place
        return results[-1 - newer] if newer < len(results) else None

    def _given_at(self, at: int) -> dict[str, list[str]]:
        """The results that a request gives, by what names them, in their order."""
        known = self.given.get(at)
        if known is None:
            known = self.given[at] = defaultdict(list)
            call = self.whole(self.calls[at])
            turn = _turn_of(call.args, call)
            for message in () if turn is None else _messages_sent(turn):
                if message.answers:
                    known[message.answers].append(message.text)
        return known


def _turn_of(args: Wire, call: Call) -> ModelTurn | None:
    """Read what a call sent to a model; None if it asks no model."""
    if not isinstance(args, dict):
        return None
    from agent_tt.recording.steps.model_turns import asked_of  # reads providers' languages: most replays never do

    turn = asked_of(args)
    return turn if turn.call is not None or call.kind == "llm" else None


def _without_conversation(args: Wire) -> Wire:
    """A request with a stub in place of its conversation: to read what else it says takes the same time for all."""
    if not isinstance(args, dict):
        return args
    body = args.get("body")
    inner = body if isinstance(body, dict) else args
    stubs: dict[str, Wire] = {key: _STUBS[key] for key in _TURNS if key in inner and _is_long(inner[key])}
    if not stubs:
        return args
    return {**args, "body": {**inner, **stubs}} if inner is body else {**args, **stubs}


def _is_long(turns: Wire) -> bool:
    """Whether a conversation is more than one turn, or was left out."""
    return len(turns) > 1 if isinstance(turns, list) else turns is None or isinstance(turns, str)


def _offered(turn: ModelTurn, args: Wire) -> tuple[list[str], set[str]]:
    """The tools that a request offers, and those of them that the provider runs itself."""
    if turn.call is not None:
        hosted = {tool.name for tool in turn.call.tools if tool.is_hosted}
        return [tool.name for tool in turn.call.tools if not tool.is_hosted], hosted
    asked = mapping(args)
    tools = [tool for key in _TOOLS for tool in dicts(asked.get(key))]
    return [text((mapping(tool.get("function")) or tool).get("name")) for tool in tools], set()


def _asked_for(turn: ModelTurn, result: Wire) -> list[Asked]:
    """The tools that an answer asks for; without those that the provider ran itself."""
    from agent_tt.recording.steps.model_turns import said_of  # only where a model was asked

    said = said_of(turn, result).messages
    own = {message.answers for message in said if message.answers}
    asked = [each for message in said for each in message.calls]
    if turn.call is None:
        asked = asked or [*_asked_by_function(result)]
    return [each for each in asked if each.name and not each.is_hosted and (each.id or each.name) not in own]


def _asked_by_function(result: Wire) -> Iterator[Asked]:
    """The tools that a function's own answer asks for, in the forms that are common."""
    from agent_tt.providers.shapes import Asked

    said = mapping(result).get("tool_calls") if isinstance(result, dict) else result
    for tool in dicts(said):
        if "arguments" in tool:
            yield Asked(text(tool.get("id")), text(tool.get("name")), parse_arguments(tool["arguments"]))


def _messages_sent(turn: ModelTurn) -> Iterable[Message]:
    if turn.call is not None:
        return turn.call.messages
    from agent_tt.providers.reading import messages_of_turn

    found: list[Message] = []
    for key in _TURNS:
        for each in dicts(mapping(turn.state).get(key)):  # type: ignore[arg-type]
            found += messages_of_turn(each)
    return found
