"""How a run ended, in the figures that two runs are compared by."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.effects import Effects, effects_in, was_halted
from agent_tt.comparing.values.bookkeeping import without_bookkeeping
from agent_tt.errors import AgentTTError
from agent_tt.model.as_json import milliseconds
from agent_tt.model.facts import CallFacts
from agent_tt.model.facts.calls import is_given

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, ErrorInfo, Run, RunStatus, Step
    from agent_tt.protocols import RunSource

NO_ANSWER: Final = "no answer"
"""The words for a run that ended well and said nothing."""

_ANSWER_KEYS = ("answer", "final_answer", "output", "result")
_TOOLS = frozenset({"tool", "http"})
_DENIABLE = _TOOLS | {"subprocess", "socket"}
_SPEAKERS = frozenset({"assistant", "ai"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: As `Run.status`.
        steps: How many steps it has.
        tools: How often each tool was called, denied calls left out; most often first.
        writes: The same for tools that write.
        denied: How often each tool was denied.
        tokens: Tokens in and out together; None where no step said.
        cost_usd: US dollars; None where no step said.
        duration_us: Microseconds from its start to its end; None while it runs.
        error: What it failed with.
        answer: Its last words: the state's `answer` (or the like), else the last message of a model.
        effects: What it did to the world, and what it was kept from; of a fork only what it did itself.
        unpriced: How many model calls have no known price: `cost_usd` is that of the others.
        uncounted: How many model calls say nothing of their tokens: `tokens` are those of the others.
        knows_end: Whether the state after its last step is known; else `answer` may only be missing.
    """

    status: RunStatus
    steps: int
    tools: Mapping[str, int] = field(default_factory=dict)
    writes: Mapping[str, int] = field(default_factory=dict)
    denied: Mapping[str, int] = field(default_factory=dict)
    tokens: int | None = None
    cost_usd: float | None = None
    duration_us: int | None = None
    error: ErrorInfo | None = None
    answer: str | None = None
    effects: Effects = field(default_factory=Effects)
    unpriced: int = 0
    uncounted: int = 0
    knows_end: bool = True

    @property
    def whole_tokens(self) -> int | None:
        """Tokens in and out together; None where that is not known of every model call."""
        return None if self.uncounted else self.tokens

    @property
    def last_words(self) -> str | None:
        """The answer in words, also where it is none; None where nobody knows what it was."""
        return self.answer or (NO_ANSWER if self.knows_end else None)

    @property
    def whole_cost(self) -> float | None:
        """US dollars; None where that is not known of every model call."""
        return None if self.unpriced else self.cost_usd

    def to_json(self) -> dict[str, Wire]:
        """The outcome for programs.

        `{status, steps, tools, writes, denied, tokens, cost_usd, cost_complete, duration_ms, error, answer, effects}`.
        `error`: `{class, message, traceback}` or null; `effects`: in one line, "" where there are none.
        """
        error = self.error
        return {
            "status": self.status,
            "steps": self.steps,
            "tools": dict(self.tools),
            "writes": dict(self.writes),
            "denied": dict(self.denied),
            "tokens": self.tokens,
            "cost_usd": self.cost_usd,
            "cost_complete": not self.unpriced,
            "duration_ms": milliseconds(self.duration_us),
            "error": None
            if error is None
            else {"class": error.class_name, "message": error.message, "traceback": error.traceback},
            "answer": self.answer,
            "effects": self.effects.summary(),
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """What one run has more than another; None where one of them does not say all of it.

    Attributes:
        steps: Steps.
        tokens: Tokens in and out together.
        cost_usd: US dollars.
        duration_us: Microseconds.
    """

    steps: int = 0
    tokens: int | None = None
    cost_usd: float | None = None
    duration_us: int | None = None

    def to_json(self) -> dict[str, Wire]:
        """`{steps, tokens, cost_usd, duration_ms}`."""
        return {
            "steps": self.steps,
            "tokens": self.tokens,
            # Sums of prices are off by less than a millionth of a cent; their difference must not show it.
            "cost_usd": None if self.cost_usd is None else round(self.cost_usd, 9),
            "duration_ms": milliseconds(self.duration_us),
        }


def difference_of(a: Outcome, b: Outcome) -> Difference:
    """What B has more than A."""
    return Difference(
        steps=b.steps - a.steps,
        tokens=None if a.whole_tokens is None or b.whole_tokens is None else b.whole_tokens - a.whole_tokens,
        cost_usd=None if a.whole_cost is None or b.whole_cost is None else b.whole_cost - a.whole_cost,
        duration_us=None if a.duration_us is None or b.duration_us is None else b.duration_us - a.duration_us,
    )


def read_outcome(run: Run, steps: Iterable[Step], calls: Iterable[Call], final_state: Wire) -> Outcome:
    """Sum up a run.

    Args:
        run: The run.
        steps: All its steps.
        calls: All their calls.
        final_state: The state after its last step; None where it is not known.
    """
    steps, calls = list(steps), list(calls)
    tools: Counter[str] = Counter()
    writes: Counter[str] = Counter()
    denied: Counter[str] = Counter()
    for call in calls:
        if call.kind in _DENIABLE and call.status == "denied":
            denied[call.name] += 1
            continue
        if call.kind not in _TOOLS:
            continue
        tools[call.name] += 1
        if call.kind == "tool" and call.effect != "read":
            writes[call.name] += 1
    return Outcome(
        status=run.status,
        steps=len(steps),
        tools=dict(tools.most_common()),
        writes=dict(writes.most_common()),
        denied=dict(denied.most_common()),
        tokens=tokens_of(steps),
        cost_usd=cost_of(steps),
        unpriced=sum(step.unpriced for step in steps),
        uncounted=uncounted_in(steps, calls),
        duration_us=None if run.ended_us is None else run.ended_us - run.started_us,
        error=run.error,
        answer=last_words(final_state),
        knows_end=final_state is not None,
        effects=effects_in(
            (call for call in calls if call.step > (run.fork_step or 0)),
            is_running=run.status == "running",
            is_halted=was_halted(run),
        ),
    )


def tokens_of(steps: Iterable[Step]) -> int | None:
    """Tokens of some steps, in and out together; None where no step says."""
    known = [count for step in steps for count in (step.tokens_in, step.tokens_out) if count is not None]
    return sum(known) if known else None


def uncounted_in(steps: Iterable[Step], calls: Iterable[Call]) -> int:
    """How many model calls say nothing of their tokens.

    A step whose tokens are known, though none of its calls says any, was counted as a whole. What was refused, made up
    or given took none; of a call around another one the inner one says it.

    Args:
        steps: Steps of a run.
        calls: Their calls.
    """
    asked = [call for call in calls if call.kind == "llm"]
    around = {call.facts.inside for call in asked}
    counted = {step.number for step in steps if (step.tokens_in, step.tokens_out) != (None, None)}
    counted -= {call.step for call in asked if _says_tokens(call)}
    return sum(
        call.status == "ok"
        and call.step not in counted
        and (call.step, call.number) not in around
        and not (_says_tokens(call) or _took_none(call))
        for call in asked
    )


def _says_tokens(call: Call) -> bool:
    return CallFacts.tokens_in.is_in(call.meta) or CallFacts.tokens_out.is_in(call.meta)


def _took_none(call: Call) -> bool:
    is_answered = is_given(call.meta) or CallFacts.copy_of.is_in(call.meta)
    return is_answered or CallFacts.made_up.is_in(call.meta) or CallFacts.answer_error.is_in(call.meta)


def cost_of(steps: Iterable[Step]) -> float | None:
    """What some steps cost in US dollars; None where no step says."""
    known = [step.cost_usd for step in steps if step.cost_usd is not None]
    return sum(known) if known else None


def final_state(source: RunSource, run_id: str) -> Wire:
    """The state after a run's last step; None where it has none, or none that is kept and can be read."""
    try:
        last = source.step_count(run_id)
        if any(step.is_unkept for step in (source.steps(run_id, last, last + 1) if last else ())):
            return None
        return without_bookkeeping(source.state(run_id, last))
    except AgentTTError:  # a damaged end must not hide what the steps did; `verify` names the damage
        return None


def last_words(state: Wire) -> str | None:
    """What an agent answered in the end, read off its state; None where that cannot be told."""
    if not isinstance(state, dict):
        return None
    for key in _ANSWER_KEYS:
        answer = state.get(key)
        if isinstance(answer, str) and answer:
            return answer
    messages = state.get("messages")
    if not isinstance(messages, list):
        return None
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role", message.get("type")) in _SPEAKERS:
            content = message.get("content")
            return content if isinstance(content, str) and content else None
    return None
