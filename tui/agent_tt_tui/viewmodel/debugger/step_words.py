"""What a person types to go to a step: counts, times since the beginning, and questions in a word."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from agent_tt.codec.paths import parse_path
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.forking.terms import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.model import Run, Step

__all__ = ["EXAMPLES", "StepWords", "read_words", "step_at"]

EXAMPLES: Final = "3  +3  ~1  @1m30s  @error  NAME  errors  calls NAME  changes PATH"
"""What can be typed, for people."""

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
    if text == "errors":
        return StepWords("question", text="error")
    if noun == "calls":
        if not about:
            raise UsageError("calls of which tool? for example: calls search_docs")
        return StepWords("question", text=f"tool == {json.dumps(about, ensure_ascii=False)}")
    if noun == "changes":
        return StepWords("question", text=f"changed(state.{_path(about)})")
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


def _path(text: str) -> str:
    try:
        if parse_path(text):
            return text
    except AgentTTError as error:
        raise UsageError(f"changes of which value? {error.message}") from error
    raise UsageError("changes of which value? for example: changes budget.tokens_left")
