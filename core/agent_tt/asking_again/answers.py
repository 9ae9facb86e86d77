"""The answers to a call that was asked again, beside the recorded one: what differs, what each took, what failed."""

from __future__ import annotations

import difflib
import json
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.sameness import common_ends
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.providers.reading import recorded_answer, recorded_call

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run, Step
    from agent_tt.model.facts import AskedAgainFacts
    from agent_tt.protocols import RunSource
    from agent_tt.providers.shapes import ModelAnswer

__all__ = ["MOST_TIMES", "Answer", "AnswerStatus", "Answers", "answers_of", "said", "state_of", "text_diff"]

AnswerStatus: TypeAlias = Literal["answered", "waiting", "failed", "stopped", "not sent"]

MOST_TIMES: Final = 100
"""So often a model is asked again at most; a file may say any number."""
_MOST_COMPARED: Final = 1_000
"""Lines of an answer that are compared one by one."""
_ENDED: Final = frozenset({"succeeded", "failed", "interrupted", "crashed"})


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        number: which of those that were asked for, from 1; 0 of the recorded one.
        status: whether it came; `stopped` of one that somebody did not wait for.
        text: what was said.
        tools: the tools that it asks for, as code.
        is_same: whether text and tools are those of the recorded one; None where one of them is not known.
        model: the model that answered, in the provider's words.
        finish_reason: why it ended, in the provider's word.
        tokens_in, tokens_out, cost_usd, duration_us: what it took; None where that is not known.
        error: what went wrong; "" for nothing.
    """

    number: int
    status: AnswerStatus
    text: str = ""
    tools: tuple[str, ...] = ()
    is_same: bool | None = None
    model: str = ""
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    duration_us: int | None = None
    error: str = ""

    @property
    def lines(self) -> list[str]:
        """What it says and asks for, line by line."""
        return [*self.text.splitlines(), *self.tools]


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers to one call that was asked again.

    Attributes:
        run: the run that holds them.
        asked: which call it was, and what was changed of it.
        recorded: the answer that was recorded.
        answers: those that were asked for, in their order; also those that have not come.
        is_over: whether none comes any more.
    """

    run: Run
    asked: AskedAgainFacts = field(compare=False)  # the run says it
    recorded: Answer
    answers: tuple[Answer, ...]
    is_over: bool

    @property
    def came(self) -> tuple[Answer, ...]:
        """Those that came."""
        return tuple(answer for answer in self.answers if answer.status == "answered")

    @property
    def differing(self) -> tuple[Answer, ...]:
        """Those that say something else than the recorded one."""
        return tuple(answer for answer in self.came if answer.is_same is False)

    @property
    def cost_usd(self) -> float | None:
        """What all that came cost; None where that is not known of one."""
        costs = [answer.cost_usd for answer in self.came]
        return sum(cost for cost in costs if cost is not None) if costs and None not in costs else None


def answers_of(source: RunSource, run: Run, original: RunSource | None = None) -> Answers:
    """Read the answers of a run that only asked again.

    Args:
        source: where the run is.
        run: the run.
        original: where the recorded call is, where that is another file.

    Raises:
        UsageError: it is another run.
    """
    asked = run.facts.asked_again
    if not asked.run:
        raise UsageError(
            f"{run.name} did not ask a model again, so it holds no answers to compare",
            hint="ask a recorded call again: agent-tt again RUN STEP",
        )
    first = _recorded(source if original is None else original, source, run, asked)
    is_over = run.status in _ENDED
    steps = {step.number: step for step in source.steps(run.id, 1, MOST_TIMES + 1)}
    answers = tuple(
        _answer(source, run, steps.get(number), number, first, is_over=is_over)
        for number in range(1, min(max(asked.times or 0, len(steps)), MOST_TIMES) + 1)
    )
    return Answers(run, asked, first, answers, is_over)


def said(call: Call) -> ModelAnswer | None:
    """What a recorded request to a model was answered; None where nothing was, or it asks no model."""
    request = recorded_call(call.args)
    return None if request is None or call.result is None else recorded_answer(request, call.result)


def state_of(answer: ModelAnswer) -> dict[str, Wire]:
    """What is kept of an answer as the state of its step: what it says, as people read it."""
    return {"answer": _text(answer), "tools": [*_tools(answer)], "finish_reason": answer.finish_reason or None}


def text_diff(old: Answer, new: Answer) -> list[str]:
    """All lines of two answers that differ, marked `-`, `+` or with a space; none where they are the same.

    Where as many lines stand in the place of others, each stands below the one that it may have been.
    """
    before, after = old.lines, new.lines
    if before == after:
        return []
    # The same ones at both ends are no work, and what lies between may be too long to be compared line by line.
    head, tail = common_ends(before, after)
    lines = [f"  {line}" for line in before[:head]]
    lines += _compared(before[head : len(before) - tail], after[head : len(after) - tail])
    return lines + [f"  {line}" for line in before[len(before) - tail :]]


def _compared(before: list[str], after: list[str]) -> list[str]:
    """The lines of two texts, marked."""
    if max(len(before), len(after)) > _MOST_COMPARED:
        return [*(f"- {line}" for line in before), *(f"+ {line}" for line in after)]
    lines: list[str] = []
    for op, start, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, came = [f"- {line}" for line in before[start:end]], [f"+ {line}" for line in after[first:last]]
        if op == "equal":
            lines += [f"  {line}" for line in before[start:end]]
        elif len(gone) == len(came):
            lines += [line for pair in zip(gone, came, strict=True) for line in pair]
        else:
            lines += gone + came
    return lines


def _recorded(original: RunSource, source: RunSource, run: Run, asked: AskedAgainFacts) -> Answer:
    """The recorded answer, from its own run, else what the run that asked again keeps of it."""
    try:
        calls = original.calls(asked.run or "", asked.step or 0)
        call = next(each for each in calls if each.number == asked.call)
    except (AgentTTError, StopIteration):
        kept = source.state(run.id, 0)
        if not isinstance(kept, dict):
            return Answer(0, "failed", error="it is not there any more")
        tools = kept.get("tools")
        names = tuple(map(str, tools)) if isinstance(tools, list) else ()
        return Answer(0, "answered", str(kept.get("answer") or ""), names, is_same=True)
    return _of_call(0, call)


def _answer(source: RunSource, run: Run, step: Step | None, number: int, first: Answer, *, is_over: bool) -> Answer:
    if step is None:
        return Answer(number, "not sent" if is_over else "waiting")
    refused = "" if step.error is None or step.status == "interrupted" else step.error.message
    call = next((each for each in source.calls(run.id, number) if each.kind == "llm"), None)
    if call is None:
        return Answer(number, "failed" if refused else "stopped" if is_over else "waiting", error=refused)
    return _of_call(number, call, first, refused, is_over=is_over)


def _of_call(
    number: int, call: Call, first: Answer | None = None, refused: str = "", *, is_over: bool = True
) -> Answer:
    answer, facts = said(call), call.facts
    error = refused or (call.error.message if call.error is not None else "" if answer is None else answer.error)
    status: AnswerStatus = "answered"
    if error:
        status = "failed"
    elif call.status == "pending" or answer is None:
        status = "stopped" if is_over else "waiting"
    if answer is None or status != "answered":
        return Answer(number, status, duration_us=call.duration_us, error=error)
    text, tools = _text(answer), _tools(answer)
    is_same = True if first is None else None
    if first is not None and first.status == "answered":
        is_same = (text, tools) == (first.text, first.tools)
    return Answer(
        number,
        status,
        text,
        tools,
        is_same=is_same,
        model=answer.model,
        finish_reason=answer.finish_reason,
        tokens_in=facts.tokens_in if answer.tokens.input is None else answer.tokens.input,
        tokens_out=facts.tokens_out if answer.tokens.output is None else answer.tokens.output,
        cost_usd=facts.cost_usd if answer.cost_usd is None else answer.cost_usd,
        duration_us=call.duration_us,
    )


def _text(answer: ModelAnswer) -> str:
    return "\n\n".join(message.text for message in answer.messages if message.text)


def _tools(answer: ModelAnswer) -> tuple[str, ...]:
    """The tools that it asks for, with all of their arguments; without ids, which are new in each answer."""
    return tuple(
        f"{call.name}({json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)})"
        for message in answer.messages
        for call in message.calls
    )
