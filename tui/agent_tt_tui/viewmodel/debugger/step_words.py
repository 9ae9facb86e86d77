"""What a person types to go to a step: counts, times since the beginning, and questions in a word."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import parse_path
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.forking.terms import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_tt.model import Run, Step

__all__ = ["EXAMPLES", "WORDS", "StepWords", "Word", "read_words", "step_at"]


class Word(NamedTuple):
    """One form of what can be typed.

    Attributes:
        example: How it is typed; what is in capitals stands for something.
        help: Where it goes.
        question: Of a word that asks: gives the question, as `find --where` takes it, about what follows the word.
    """

    example: str
    help: str
    question: Callable[[str], str] | None = None


def _tool(about: str) -> str:
    if not about:
        raise UsageError("calls of which tool? for example: calls search_docs")
    return f"tool == {json.dumps(about, ensure_ascii=False)}"


def _path(about: str) -> str:
    try:
        if parse_path(about):
            return f"changed(state.{about})"
    except AgentTTError as error:
        raise UsageError(f"changes of which value? {error.message}") from error
    raise UsageError("changes of which value? for example: changes budget.tokens_left")


WORDS: Final = (
    Word("3", "to step 3; `0` is the input"),
    Word("+3", "three steps on; `-3` goes back"),
    Word("~1", "to the step before the last; `~0` is the last"),
    Word("@1m30s", "to the step that ran a minute and a half after the run began"),
    Word("@error", "to the first step that failed"),
    Word("NAME", "to the next step whose name holds it"),
    Word("errors", "through the steps that failed", lambda _: "error"),
    Word("calls NAME", "through the steps that called a tool", _tool),
    Word("writes", "through the steps with a call that writes", lambda _: 'call.effect == "write"'),
    Word("models", "through the steps that asked a model", lambda _: 'call.kind == "llm"'),
    Word("changes PATH", "through the steps that changed a value of the state", _path),
)
"""What can be typed: the one table, of which the dialog and the page of keys are made."""

EXAMPLES: Final = "  ".join(word.example for word in WORDS if word.example not in ("3", "~1", "@error"))
"""Examples for the dialog, which has 74 columns; those that every command takes as a step are left out."""

_QUESTIONS: Final = {word.example.partition(" ")[0]: word for word in WORDS if word.question is not None}

_COUNT: Final = re.compile(r"[+-]\d{1,12}")


@dataclass(frozen=True, slots=True)
class StepWords:
    """What was typed.

    Attributes:
        kind: Whether it is a count from the step that is shown, a time, a question, or what names a step.
        number: The count.
        us: Microseconds since the run began.
        text: The question, as `find --where` takes it, or the name.
    """

    kind: Literal["count", "time", "question", "name"]
    number: int = 0
    us: int = 0
    text: str = ""


def read_words(typed: str) -> StepWords:
    """Read what was typed.

    Raises:
        UsageError: A question lacks what it is about, or has something that it cannot be about.
    """
    text = typed.strip()
    if _COUNT.fullmatch(text):
        return StepWords("count", number=int(text))
    if text.startswith("@"):
        try:
            return StepWords("time", us=round(parse_duration(text[1:]) * 1_000_000))
        except UsageError:
            return StepWords("name", text=text)
    noun, _, rest = text.partition(" ")
    about = rest.strip()
    word = _QUESTIONS.get(noun)
    takes_more = word is not None and " " in word.example
    if word is not None and word.question is not None and (takes_more or not about):
        return StepWords("question", text=word.question(about))
    return StepWords("name", text=text)


def step_at(run: Run, steps: Iterable[Step], us: int) -> int | None:
    """The last step that had begun so long after the run did; None where that is before the first, or not known."""
    found = None
    for step in steps:
        if step.started_us is None or run.started_us is None:
            continue
        if step.started_us - run.started_us <= us:
            found = step.number
        else:
            break
    return found
