"""Reviews in sessions of Codex: `/review` has another agent look at changes, in a conversation of its own.

| entry | is |
|---|---|
| `event_msg` `entered_review_mode` | what is to be reviewed: a step of its own, with the review as a call |
| `event_msg` `agent_reasoning`, `agent_message` in a review | what the reviewer thought and said: no item has it |
| `event_msg` `exited_review_mode` | what the review found; nothing where it was interrupted |
| the item of an assistant after that | what was found once more, as Codex words it: no model said that |

Later versions write the first and the third as `item_completed`, with the text alone.

Source of the format: `ReviewRequest`, `ReviewOutputEvent` and `exit_review_mode` of github.com/openai/codex, codex-rs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.telling import answer, wire
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import dicts, mapping, text
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.interop.transcripts.telling import Lane, Teller
    from agent_tt.interop.transcripts.transcript import ToldCall, ToldStep
    from agent_tt.providers.shapes import Json

__all__ = ["Reviews", "is_end_of_review", "is_outcome"]

_NAME: Final = "review"
_REVIEWER: Final = "reviewer"
_BEGINS: Final = "entered_review_mode", "EnteredReviewMode"
_ENDS: Final = "exited_review_mode", "ExitedReviewMode"
_INTERRUPTED: Final = "Review was interrupted"


def is_end_of_review(event: dict[str, Json]) -> bool:
    """Whether an event says that a review is over."""
    return _kind_of(event) in _ENDS


def is_outcome(item: dict[str, Json], event: dict[str, Json]) -> bool:
    """Whether an item says once more what an event, the end of a review, said of its outcome."""
    words = "\n".join(text(block.get("text")) for block in dicts(item.get("content")))
    found = mapping(event.get("review_output"))
    told = text(found.get("overall_explanation")).strip() or text(mapping(event.get("item")).get("review")).strip()
    if told:
        return words.startswith(told)
    title = next((text(each.get("title")) for each in dicts(found.get("findings"))), "")
    return title in words if title else words.startswith(_INTERRUPTED)


def _kind_of(event: dict[str, Json]) -> str:
    kind = text(event.get("type"))
    return text(mapping(event.get("item")).get("type")) if kind == "item_completed" else kind


class Reviews:
    """Tells the reviews of a session.

    Args:
        teller: the session.
        said: what the items of the session say, so that no event says it again.
    """

    def __init__(self, teller: Teller, said: Iterable[str]) -> None:
        self._teller, self._said = teller, frozenset(said)
        self._open: tuple[ToldStep, ToldCall] | None = None
        self._thoughts: list[str] = []
        self._number = 0

    def tell(self, event: dict[str, Json], at_us: int | None) -> bool:
        """Tell an event; give whether it is one of a review."""
        kind = _kind_of(event)
        if kind in _BEGINS and self._open is None:
            self._begin(event, at_us)
        elif kind in _ENDS and self._open is not None:
            self._end(*self._open, event, at_us)
        elif self._open is None or kind not in ("agent_reasoning", "agent_message"):
            return False
        elif kind == "agent_reasoning":
            self._thoughts.append(text(event.get("text")))
        else:
            self._speak(text(event.get("message")), at_us)
        return True

    def done(self) -> None:
        """Tell what the reviewer thought last, where it said nothing afterwards."""
        if self._open is not None:
            self._speak("", None)

    def _begin(self, event: dict[str, Json], at_us: int | None) -> None:
        given: dict[str, Json] = {key: value for key, value in event.items() if key != "type"}
        hint = text(given.get("user_facing_hint")) or text(mapping(given.get("item")).get("review"))
        lane = self._teller.main
        step = lane.step(_NAME, at_us)
        step.decision = hint or None
        self._open = step, lane.ask(step, _NAME, wire(given), at_us=at_us)
        self._number += 1

    def _end(self, step: ToldStep, call: ToldCall, event: dict[str, Json], at_us: int | None) -> None:
        self._speak("", None)
        found = event.get("review_output", mapping(event.get("item")).get("review"))
        if found is None or (isinstance(found, str) and found.startswith(_INTERRUPTED)):
            call.status, call.ended_us = "error", at_us
            call.error = ErrorInfo("Interrupted", "the review ended without a result")
        else:
            answer(call, wire(found), at_us)
        step.ended_us = max(filter(None, (step.ended_us, at_us)), default=None)
        self._open = None

    def _speak(self, said: str, at_us: int | None) -> None:
        """Tell what the reviewer said, and what it had thought before, as far as no item tells it."""
        thoughts = "\n".join(each for each in self._thoughts if each and each not in self._said)
        self._thoughts.clear()
        if self._open is None or not (thoughts or said) or (said and said in self._said):
            return
        turn: dict[str, Json] = {"role": "assistant", "content": said or None}
        turn |= {"reasoning_content": thoughts} if thoughts else {}
        self._lane(self._open[0]).turn(turn, at_us, answer=ModelAnswer())

    def _lane(self, step: ToldStep) -> Lane:
        name = _REVIEWER if self._number == 1 else f"{_REVIEWER} {self._number}"
        return self._teller.lane(name, agent=_REVIEWER, parent=step)
