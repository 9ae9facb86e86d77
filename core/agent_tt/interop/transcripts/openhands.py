"""Event streams of OpenHands before version 1: actions and observations, in a list, in lines or in files.

The lines of the resolver have one in `history`; of a folder with a file for each event `events/0.json` is to be opened.

| event | is |
|---|---|
| `action` of the agent | what it did: an answer of a model with a tool, or `message` and `finish` without one |
| `observation` with `cause` | what came of the action of that `id`; without ids, of the action before it |
| `action` `message` of the user | what a person said |
| anything else | shown with the step that it stands in |

Where an action names the `model_response` that it came from, that is the answer, with its usage; several actions of one
response are one step. Where none is named, the action says what the model decided, and nothing says what it cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.beside import Room
from agent_tt.interop.transcripts.chat import beside
from agent_tt.interop.transcripts.telling import Teller, answer, micros, wire
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import CallFacts
from agent_tt.providers.loose import count, dicts, items, mapping, text
from agent_tt.providers.reading import kept_answer
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import ToldCall, ToldStep, Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_openhands"]

_SAID: Final = "message", "finish", "agent_finish"
_NO_CALLS: Final = *_SAID, "change_agent_state", "recall", "system", "null", "think"
_KEPT_APART: Final = "action", "thought", "id", "timestamp", "source", "message", "tool_call_metadata", "cause"


def read_openhands(document: Document) -> Sequence[Transcript] | None:
    """Read an event stream of OpenHands before version 1 as a run; None where the document has another format."""
    events = dicts(document.value)
    if document.path.name == "0.json" and _are_events([mapping(document.value)]):
        return [_stored(document)]
    if _are_events(events):
        return [_told(document.path.stem, events, {})]
    rows = [line.value for line in document.lines] or [mapping(document.value)]
    resolved = [(row, dicts(row.get("history"))) for row in rows]
    if not all(_are_events(history) for _, history in resolved):
        return None
    return [
        _told(f"{document.path.stem}-{number}" if len(resolved) > 1 else document.path.stem, history, row)
        for number, (row, history) in enumerate(resolved, 1)
    ]


def _stored(document: Document) -> Transcript:
    """A conversation whose events are files beside one another, by their numbers."""
    folder, room = document.path.parent, Room()
    document.watched.append(folder)
    numbered = sorted(
        (
            (int(name), event)
            for name, event in room.objects(folder)
            if name.isascii() and name.isdigit() and len(name) < 10
        ),
        key=lambda each: each[0],
    )
    told = _told(folder.parent.name if folder.name == "events" else folder.name, [event for _, event in numbered], {})
    told.flaws += [(len(told.steps), flaw) for flaw in room.flaws]
    return told


def _are_events(events: Sequence[dict[str, Json]]) -> bool:
    known = [event for event in events if "action" in event or "observation" in event]
    return len(known) == len(events) > 0 and any(text(event.get("action")) for event in events)


def _told(name: str, events: Sequence[dict[str, Json]], row: dict[str, Json]) -> Transcript:
    telling = _Telling(name)
    for event in events:
        telling.tell(event)
    error = ErrorInfo("Error", text(row["error"])) if text(row.get("error")) else None
    return telling.teller.done(
        status="failed" if error else "unknown",
        error=error,
        model=telling.model or None,
        metadata=beside(row, "history", "metrics", "error"),
    )


class _Telling:
    """Tells the events of a stream, one after another."""

    def __init__(self, name: str) -> None:
        self.teller = Teller(name, "OpenHands")
        self.model = ""
        self._answers: dict[str, ToldStep] = {}
        self._calls: dict[int, ToldCall] = {}
        self._last: ToldCall | None = None

    def tell(self, event: dict[str, Json]) -> None:
        """Tell an event."""
        lane, at_us = self.teller.main, micros(event.get("timestamp"))
        args = mapping(event.get("args")) or event
        action = text(event.get("action"))
        is_first = not self.teller.steps and not lane.said
        if action == "message" and (event.get("source") == "user" or (is_first and "source" not in event)):
            lane.turn({"role": "user", "content": text(args.get("content"))}, at_us)
        elif action and event.get("source") in ("agent", None):
            self._did(event, action, args)
        elif "observation" in event:
            self._saw(event)
        else:
            lane.note(event)

    def _did(self, event: dict[str, Json], action: str, args: dict[str, Json]) -> None:
        lane, at_us = self.teller.main, micros(event.get("timestamp"))
        response = mapping(mapping(event.get("tool_call_metadata")).get("model_response"))
        asked_as = text(mapping(event.get("tool_call_metadata")).get("tool_call_id"))
        if response:
            known = kept_answer("openai-chat", response)
            self.model = known.model or self.model
            answered = text(response.get("id"))
            if answered not in self._answers:
                turn = mapping(mapping((items(response.get("choices")) or [None])[0]).get("message"))
                step = lane.turn({"role": "assistant", **turn}, at_us, answer=known)
                if step is not None:
                    self._answers[answered] = step
            _, call = self.teller.asked.get(asked_as) or (None, None)
        else:
            words = text(args.get("thought")) or (text(args.get("content")) if action in _SAID else "")
            step = lane.turn({"role": "assistant", "content": words or None}, at_us, answer=ModelAnswer())
            given = {key: value for key, value in args.items() if key not in _KEPT_APART}
            call = None
            if action not in _NO_CALLS and step is not None:
                step.name = action
                call = lane.ask(step, action, wire(given), at_us=at_us)
        self._last = call
        number = count(event.get("id"))
        if call is not None and number is not None:
            self._calls[number] = call

    def _saw(self, event: dict[str, Json]) -> None:
        lane, at_us = self.teller.main, micros(event.get("timestamp"))
        cause = count(event.get("cause"))
        call = self._last if cause is None else self._calls.get(cause)
        seen = text(event.get("observation"))
        if call is None or seen in ("agent_state_changed", "null"):
            lane.note(event)
            return
        extras = mapping(event.get("extras")) or event
        code = mapping(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
        content = wire(event.get("content"))
        failed = seen == "error" or event.get("success") is False or code not in (None, 0)
        answer(call, content, at_us, failed=failed)
        self._last = None
        asked_as = CallFacts.answers.of(call.meta)
        role: dict[str, Json] = {"role": "tool", "tool_call_id": asked_as} if asked_as else {"role": "user"}
        lane.add({**role, "content": event.get("content")}, at_us)
