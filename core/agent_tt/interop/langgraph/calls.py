"""The calls of a row: model answers and tool results among what its nodes wrote, and questions to people.

A LangGraph database keeps no calls, only what nodes wrote. A message written by a node is taken as the result of a call
that the node made: of the model, or of the tool whose call it answers. What a tool does to the world it does not say.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope
from agent_tt.config import effect_of_tool
from agent_tt.interop.langgraph.checkpoint import INPUT_CHANNEL, WHOLE_STATE, is_internal
from agent_tt.interop.langgraph.envelopes import opaque
from agent_tt.interop.langgraph.messages import find_tool_call, messages_in, new_messages, thoughts_of, words_of
from agent_tt.interop.langgraph.tasks import Nodes
from agent_tt.model import Call, ErrorInfo
from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.config import ToolEffect
    from agent_tt.interop.langgraph.messages import Message, ToolCall
    from agent_tt.interop.langgraph.rows import WriteRow
    from agent_tt.interop.langgraph.tasks import Task
    from agent_tt.model import CallKind, CallStatus
    from agent_tt.model.facts import Fact

__all__ = ["CallMaker", "decision", "error_info", "lane_of", "lanes_of", "strongest", "tokens", "tool_error"]

_LONGEST_MESSAGE: Final = 100_000
_LONGEST_DECISION: Final = 200


@dataclass(slots=True)
class CallMaker:
    """Collects the calls of one step.

    Attributes:
        step: the step's number.
        read: gives a written value.
        before: gives the state that the tasks saw; it is asked for only if it tells something of a call.
        inside: gives what the subgraphs of a task wrote.
        with_args: whether the calls have arguments: those of a model are all that it was shown.
        effects: what the settings say that tools do.
        nodes: the nodes that the tasks ran, where these do not say it.
    """

    step: int
    read: Callable[[WriteRow], Wire]
    before: Callable[[], Wire]
    inside: Callable[[Task], Iterable[Wire]] = lambda _: ()
    with_args: bool = True
    effects: Mapping[str, ToolEffect] = field(default_factory=dict)
    nodes: Nodes = field(default_factory=Nodes)
    _told: list[Message] = field(default_factory=list)
    _asked: Mapping[str, Wire] | None = None

    def of_results(self, tasks: Iterable[Task], lanes: Mapping[str, str]) -> list[Call]:
        """The calls that tasks came back with, in order.

        Args:
            tasks: the tasks.
            lanes: by task id.
        """
        return self._collect(tasks, lanes, results=True, questions=False)

    def of_questions(self, tasks: Iterable[Task], lanes: Mapping[str, str]) -> list[Call]:
        """What tasks asked a person, with the answers that were given."""
        return self._collect(tasks, lanes, results=False, questions=True)

    def of_everything(self, tasks: Iterable[Task], lanes: Mapping[str, str]) -> list[Call]:
        """Results and questions."""
        return self._collect(tasks, lanes, results=True, questions=True)

    def _collect(
        self, tasks: Iterable[Task], lanes: Mapping[str, str], *, results: bool, questions: bool
    ) -> list[Call]:
        calls: list[Call] = []
        for task in tasks:
            lane = lanes.get(task.id, "main")
            for inner in task.called if results else ():
                meta = CallFacts.task_id.entry(inner.id)
                self._add(calls, "tool", "task", lane, result=self._result(inner), error=self._error(inner), meta=meta)
            for write in task.results if results and task.name(self.nodes) != INPUT_CHANNEL else ():
                for message in self._new(self.read(write), write.channel, task):
                    self._message(calls, message, write.channel, lane)
            if questions and task.interrupts is not None:
                self._question(calls, task, task.interrupts, lane)
        return calls

    def of_told(self, told: Iterable[tuple[str, Mapping[str, Wire]]], lane: str) -> list[Call]:
        """The messages in what nodes wrote, where only their checkpoint tells of it.

        Args:
            told: each node with its update.
            lane: of all of them.
        """
        calls: list[Call] = []
        for node, update in told:
            for channel, value in update.items() if node != INPUT_CHANNEL else ():
                for message in self._new(value, channel):
                    self._message(calls, message, channel, lane)
        return calls

    def _new(self, value: Wire, channel: str, task: Task | None = None) -> list[Message]:
        """The messages in what a task wrote that it wrote itself, each once.

        A functional workflow's value is kept a second time for its next turn.
        """
        if is_internal(channel) and channel not in WHOLE_STATE:
            return []

        def inside() -> list[Message]:
            return [message for inner in self.inside(task) for message in messages_in(inner)] if task else []

        found = new_messages(value, lambda: self._was(channel), inside)
        self._told += found
        return found

    def of_input(self, value: Wire) -> list[Call]:
        """The one call of an input row: a person, or a program, gave `value`."""
        calls: list[Call] = []
        self._add(calls, "human", "input", "main", result=value)
        return calls

    def of_unreadable(self, why: Wire) -> list[Call]:
        """What stands for the calls of a row of which nothing can be read."""
        calls: list[Call] = []
        self._add(calls, "tool", "(damaged)", "main", result=why)
        return calls

    def _message(self, calls: list[Call], message: Message, channel: str, lane: str) -> None:
        if message.kind == "ai":
            meta: dict[str, Wire] = {
                CallFacts.model.key: message.model,
                CallFacts.tokens_in.key: message.tokens_in,
                CallFacts.tokens_out.key: message.tokens_out,
            }
            said = {key: value for key, value in meta.items() if value is not None}
            seen = self._channels() if self.with_args else {}
            asked = {channel: seen[channel]} if channel in seen and not is_internal(channel) else None
            self._add(calls, "llm", message.model or "model", lane, args=asked, result=message.wire, meta=said)
        elif message.kind == "tool":
            call = (
                self._asked_for(message.answers) if message.answers and (self.with_args or not message.name) else None
            )
            name = message.name or (call.name if call is not None else "tool")
            error = tool_error(message)
            args = call.arguments if call is not None and self.with_args else None
            result = None if error else message.content
            meta = CallFacts.answers.entry(message.answers) if message.answers else {}
            effect = effect_of_tool(self.effects, name) or "write"
            self._add(calls, "tool", name, lane, args=args, result=result, error=error, meta=meta, effect=effect)

    def _asked_for(self, call_id: str) -> ToolCall | None:
        """The tool call with an id: a model asked for it before, or a node that does both in one superstep."""
        own = (call for message in reversed(self._told) for call in message.tool_calls if call.id == call_id)
        return next(own, None) or find_tool_call(self._channels(), call_id)

    def _was(self, channel: str) -> Wire:
        """What was in a channel that the tasks saw."""
        seen = self._channels()
        return seen.get(channel) if channel in seen or channel not in WHOLE_STATE else self.before()

    def _channels(self) -> Mapping[str, Wire]:
        """The state that the tasks saw, by channel."""
        if self._asked is None:
            state = self.before()
            self._asked = state if isinstance(state, dict) and not is_envelope(state) else {}
        return self._asked

    def _question(self, calls: list[Call], task: Task, interrupts: WriteRow, lane: str) -> None:
        questions = self.read(interrupts)
        status: CallStatus = "ok" if task.was_answered else "pending"
        answer = self._answer(task) if task.was_answered else None
        for question in questions if isinstance(questions, list) else [questions]:
            self._add(calls, "human", "interrupt", lane, args=_question_value(question), result=answer, status=status)

    def _answer(self, task: Task) -> Wire:
        """The answer to the last question of a task that went on; an opaque value where the file does not keep it.

        The file keeps the last question alone, but the answers from the first on; the last one of several is not
        written again when a task ends well.
        """
        answers = self.read(task.resumes) if task.resumes is not None else []
        if not isinstance(answers, list):
            return answers
        count = task.answers_taken or len(answers)
        is_known = 0 < count <= len(answers)
        return answers[count - 1] if is_known else opaque("langgraph:answer", "not in the database", "lost")

    def _result(self, task: Task) -> Wire:
        return self.read(task.results[0]) if task.results else None

    def _error(self, task: Task) -> ErrorInfo | None:
        return error_info(self.read(task.error)) if task.error is not None and not task.results else None

    def _add(  # the fields of a call
        self,
        calls: list[Call],
        kind: CallKind,
        name: str,
        lane: str,
        *,
        args: Wire = None,
        result: Wire = None,
        error: ErrorInfo | None = None,
        status: CallStatus = "ok",
        meta: Mapping[str, Wire] | None = None,
        effect: ToolEffect | None = None,
    ) -> None:
        calls.append(
            Call(
                step=self.step,
                number=len(calls) + 1,
                kind=kind,
                name=name,
                status="error" if error is not None else status,
                effect=effect,
                lane=lane,
                lane_seq=1 + sum(call.lane == lane for call in calls),
                args=args,
                result=result,
                error=error,
                signature=hashlib.blake2b(tlv([kind, name, args]), digest_size=16).hexdigest(),
                meta=meta or {},
            )
        )


def error_info(stored: Wire) -> ErrorInfo:
    """The error in an `__error__` write: LangGraph keeps an exception as its `repr`."""
    text = stored if isinstance(stored, str) else _shown(stored)
    name, bracket, rest = text.partition("(")
    if not bracket or not name.replace(".", "").isidentifier() or not rest.endswith(")"):
        return ErrorInfo("Exception", text)
    return ErrorInfo(f"builtins:{name}" if hasattr(builtins, name) else name, _unquoted(rest[:-1]))


def tool_error(message: Message) -> ErrorInfo | None:
    """The error that a tool's message reports; None where it reports none."""
    is_error = message.kind == "tool" and message.failed
    return ErrorInfo("tool:ToolError", _shown(message.content)) if is_error else None


def strongest(calls: Iterable[Call]) -> str | None:
    """The kind that stands for a step.

    What a tool does to the world is not in the file: where the settings do not say it, it counts as writing, as a tool
    does that was recorded without its effect. A task of a functional workflow is not a tool but the workflow's own
    code, and counts for nothing.
    """
    kinds = {call.effect or call.kind for call in calls if not CallFacts.task_id.is_in(call.meta)}
    return next((kind for kind in ("human", "write", "read", "llm") if kind in kinds), None)


def decision(calls: Iterable[Call]) -> str | None:
    """Sum up in one line what models answered: their words, else the tools they asked for, else their thoughts.

    None where none answered.
    """
    said = [
        " ".join(words_of(message.content)[:_LONGEST_DECISION].split())
        or ", ".join(call.name for call in message.tool_calls)
        or " ".join(thoughts_of(message.content)[:_LONGEST_DECISION].split())
        for answer in calls
        if answer.kind == "llm"
        for message in messages_in(answer.result)
    ]
    return "; ".join(filter(None, said))[:_LONGEST_DECISION] or None


def lanes_of(tasks: Iterable[Task], nodes: Nodes, lane: str) -> dict[str, str]:
    """The lanes of tasks, by their ids: parallel ones have one each, which is called after the node."""
    those = list(tasks)
    return {task.id: task.name(nodes) if len(those) > 1 else lane for task in those}


def lane_of(namespace: str) -> str:
    """Subgraphs run in lanes of their own, named after their nodes: `review/polisher`."""
    if not namespace:
        return "main"
    nodes = [part.rpartition(":")[0] or part for part in namespace.split("|") if not part.isdigit()]
    return "/".join(nodes) or namespace


def tokens(calls: Iterable[Call], which: Fact[int | None]) -> int | None:
    """The sum of `tokens_in` or `tokens_out`; None where no call says."""
    known = [count for call in calls if (count := which.of(call.meta)) is not None]
    return sum(known) if known else None


def _question_value(question: Wire) -> Wire:
    """What `interrupt(...)` was given, out of LangGraph's `Interrupt`."""
    if envelope_type(question) == "made" and isinstance(question, dict):
        payload = question.get(VALUE)
        keywords = payload[1] if isinstance(payload, list) and len(payload) == 2 else None
        if isinstance(keywords, dict) and "value" in keywords:
            return keywords["value"]
    return question


def _shown(value: Wire) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _unquoted(text: str) -> str:
    """The message inside the `repr` of an exception with one text argument."""
    if len(text) > _LONGEST_MESSAGE or text[:1] not in ("'", '"'):
        return text
    try:
        message = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return message if isinstance(message, str) else text
