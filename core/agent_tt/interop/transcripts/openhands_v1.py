"""Conversations of OpenHands since version 1, whose SDK keeps each event in a file: `events/event-00000-….json`.

| `kind` | is |
|---|---|
| `SystemPromptEvent` | the system's prompt |
| `MessageEvent` | what a person said, or an answer without tools |
| `ActionEvent` | a tool that an answer asked for; those of one `llm_response_id` are one answer |
| `ObservationEvent`, `AgentErrorEvent`, `UserRejectObservation` | what came of it: a result, an error, a refusal |
| `ACPToolCallEvent` | a tool that another agent ran, from its call to its result |
| `Condensation` | what is forgotten of the conversation, and a summary of it |
| `ConversationErrorEvent` | what ended a turn |
| `ConversationStateUpdateEvent` `stats` | what all answers cost so far; of each `base_state.json` may say it |
| anything else | shown with the step that it stands in |

The file to open is `base_state.json`, or the folder. Events stand also in lines, in a list, under `items` or `events`
as the server gives them, or in the archive that it exports.

Source of the format: github.com/OpenHands/software-agent-sdk, openhands-sdk/openhands/sdk/event and conversation.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.interop.transcripts.archive import MemberUnreadable
from agent_tt.interop.transcripts.beside import Room
from agent_tt.interop.transcripts.document import MOST_VALUE_BYTES
from agent_tt.interop.transcripts.telling import Teller, answer, micros, wire
from agent_tt.model import ErrorInfo, Usage
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import amount, count, dicts, items, mapping, parse, parse_arguments, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.model import RunStatus
    from agent_tt.providers.shapes import Json

__all__ = ["read_openhands_v1"]

_FOLDER: Final = "cwd"
"""What the sessions of other programs call the folder, too."""

_NAMED: Final = "id", "kind", "source", "timestamp"
_LISTS: Final = "items", "events"
_TRIED: Final = 20
_RESULTS: Final = "ObservationEvent", "AgentErrorEvent", "UserRejectObservation"
_STATUS: Final[dict[str, RunStatus]] = {"finished": "succeeded", "error": "failed"}
_KINDS: Final = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "ConversationStateUpdateEvent", "ACPToolCallEvent",
                 *_RESULTS)  # fmt: skip
"""Of which the first events of a conversation are."""

_MINOR: Final = "StreamingDeltaEvent", "TokenEvent"
"""Parts of what stands whole in another event."""


@dataclass(slots=True)
class _Conversation:
    """A conversation before it is told: its events, and what is said of the whole."""

    events: list[dict[str, Json]]
    state: dict[str, Json] = field(default_factory=dict)
    flaws: list[str] = field(default_factory=list)


def read_openhands_v1(document: Document) -> Sequence[Transcript] | None:
    """Read a conversation of OpenHands since version 1 as a run; None where the document has another format."""
    found = _conversation(document)
    if found is None:
        return None
    named = text(found.state.get("id"))
    name = named or (document.path.parent.name if document.path.stem == "base_state" else document.path.stem)
    telling = _Telling(name, found)
    for event in found.events:
        telling.tell(event)
    for flaw in found.flaws:
        telling.teller.flaw(flaw)
    return [telling.done()]


def _conversation(document: Document) -> _Conversation | None:
    if document.archive is not None:
        return _archived(document)
    whole = mapping(document.value)
    if "execution_status" in whole and "agent" in whole and document.path.name == "base_state.json":
        folder, room = document.path.parent / "events", Room()
        document.watched.append(folder)
        return _Conversation([event for _, event in room.objects(folder)], whole, room.flaws)
    events = [line.value for line in document.lines]
    if not events:
        events = next((dicts(whole[key]) for key in _LISTS if key in whole), dicts(document.value))
    tried = events[:_TRIED]
    if not all(_is_event(event) for event in tried) or not any(event["kind"] in _KINDS for event in tried):
        return None
    return _Conversation(list(filter(_is_event, events)), flaws=[str(flaw) for flaw in document.flaws])


def _archived(document: Document) -> _Conversation | None:
    """A conversation as the server exports it: `meta.json` and a member for each event."""
    archive = document.archive
    names = sorted(name for name in archive.members if name.rpartition("/")[2].startswith("event")) if archive else []
    if archive is None or not names:
        return None
    found, left = _Conversation([]), MOST_VALUE_BYTES
    for name in [each for each in archive.members if each.rpartition("/")[2] == "meta.json"][:1] + names:
        try:
            body = archive.read(name, left)
        except MemberUnreadable as error:
            found.flaws.append(f"{name} {error}")
            continue
        left -= len(body)
        event = mapping(parse(body))
        if name in names and _is_event(event):
            found.events.append(event)
        elif name in names:
            found.flaws.append(f"{name} is left out: it is no event")
        else:
            found.state = {"id": event.get("id", event.get("conversation_id")), "title": event.get("title")}
    return found if found.events else None


def _is_event(event: dict[str, Json]) -> bool:
    return all(text(event.get(key)) for key in _NAMED)


class _Telling:
    """Tells the events of a conversation, one after another."""

    def __init__(self, name: str, told: _Conversation) -> None:
        self.teller = Teller(name, "OpenHands")
        self._state = told.state
        self._model = text(mapping(mapping(told.state.get("agent")).get("llm")).get("model"))
        self._stats = mapping(told.state.get("stats"))
        self._usage = _of_each_answer(self._stats)
        self._answers: dict[str, list[dict[str, Json]]] = {}
        self._said: list[tuple[str, list[Wire]]] = []
        for event in told.events:
            if event["kind"] == "ActionEvent":
                self._answers.setdefault(text(event.get("llm_response_id")) or text(event["id"]), []).append(event)

    def tell(self, event: dict[str, Json]) -> None:
        """Tell an event."""
        lane, kind, at_us = self.teller.main, text(event["kind"]), micros(event.get("timestamp"))
        known = len(lane.said)
        if kind == "SystemPromptEvent":
            words = [text(mapping(event.get(key)).get("text")) for key in ("system_prompt", "dynamic_context")]
            lane.add({"role": "system", "content": "\n\n".join(filter(None, words))}, at_us)
        elif kind == "MessageEvent":
            self._message(event, at_us)
        elif kind == "ActionEvent":
            self._acted(event)
        elif kind in _RESULTS:
            self._came(event, kind, at_us)
        elif kind == "ACPToolCallEvent":
            self._of_another_agent(event, at_us)
        elif kind == "Condensation":
            self._condensed(event, at_us)
            known = len(lane.said)
        elif kind == "ConversationErrorEvent":
            step = lane.step("error", at_us)
            step.status, step.error = "error", ErrorInfo(text(event.get("code")) or "Error", text(event.get("detail")))
            lane.note(event)
        elif kind not in _MINOR:
            if event.get("key") in ("stats", "full_state"):
                value = mapping(event.get("value"))
                self._stats = value if event["key"] == "stats" else mapping(value.get("stats")) or self._stats
            lane.note(event)
        self._said.append((text(event["id"]), lane.said[known:]))

    def done(self) -> Transcript:
        """Give what was told."""
        status = _STATUS.get(text(self._state.get("execution_status")), "unknown")
        metadata: dict[str, Wire] = {}
        folder = text(mapping(self._state.get("workspace")).get("working_dir"))
        if folder:
            metadata |= {_FOLDER: folder}
        if text(self._state.get("title")):
            metadata |= RunFacts.title.entry(text(self._state["title"]))
        usage = None if any(step.usage.tokens_in for step in self.teller.steps) else _of_all(self._stats)
        return self.teller.done(status=status, model=self._model or None, usage=usage, metadata=metadata)

    def _answer(self, response: str) -> ModelAnswer:
        return self._usage.get(response) or ModelAnswer(model=self._model)

    def _message(self, event: dict[str, Json], at_us: int | None) -> None:
        lane, message = self.teller.main, mapping(event.get("llm_message"))
        role = text(message.get("role")) or ("assistant" if event.get("source") == "agent" else "user")
        said = [*dicts(message.get("content")), *dicts(event.get("extended_content"))]
        turn: dict[str, Json] = {"role": role, "content": _plain(said)}
        if text(message.get("reasoning_content")):
            turn["reasoning_content"] = message["reasoning_content"]
        if role == "assistant":
            lane.turn(turn, at_us, answer=self._answer(text(event.get("llm_response_id"))))
        else:
            lane.turn(turn, at_us)

    def _acted(self, event: dict[str, Json]) -> None:
        """Add the model's answer that asked for a tool, with all tools that it asked for."""
        response = text(event.get("llm_response_id")) or text(event["id"])
        together = self._answers.pop(response, None)
        if together is None:  # told with the first of them
            return
        thought = [text(block.get("text")) for each in together for block in dicts(each.get("thought"))]
        turn: dict[str, Json] = {"role": "assistant", "content": "\n".join(thought) or None}
        turn["tool_calls"] = [_called(each) for each in together]
        reasoning = next(filter(None, (text(each.get("reasoning_content")) for each in together)), "")
        if reasoning:
            turn["reasoning_content"] = reasoning
        lane, at_us = self.teller.main, micros(together[-1].get("timestamp"))
        step = lane.turn(turn, at_us, answer=self._answer(response))
        summary = next(filter(None, (text(each.get("summary")) for each in together)), "")
        if step is not None and summary and not thought:
            step.decision = summary

    def _came(self, event: dict[str, Json], kind: str, at_us: int | None) -> None:
        lane, asked_as = self.teller.main, text(event.get("tool_call_id"))
        if kind == "ObservationEvent":
            seen = mapping(event.get("observation"))
            code = seen.get("exit_code", mapping(seen.get("metadata")).get("exit_code"))
            failed = seen.get("is_error") is True or bool(seen.get("error")) or code not in (None, 0, -1)
            said = seen.get("content", seen.get("output"))
            content = _plain(dicts(said)) if isinstance(said, list) else said
            if not content:
                content = {key: value for key, value in seen.items() if value not in (None, "", [])}
        else:
            failed, content = True, event.get("error", event.get("rejection_reason"))
        lane.result(asked_as, wire(content), at_us, failed=failed, name=text(event.get("tool_name")))
        lane.add({"role": "tool", "tool_call_id": asked_as, "content": content}, at_us)

    def _of_another_agent(self, event: dict[str, Json], at_us: int | None) -> None:
        lane, asked_as = self.teller.main, text(event.get("tool_call_id"))
        _, call = self.teller.asked.get(asked_as) or (None, None)
        if call is None:
            name = text(event.get("title")) or text(event.get("tool_kind")) or "tool"
            call = lane.ask(lane.step(name, at_us), name, wire(event.get("raw_input")), asked_as, at_us)
        if event.get("is_error") is True or event.get("status") in ("completed", "failed"):
            failed = event.get("is_error") is True or event.get("status") == "failed"
            answer(call, wire(event.get("raw_output") or event.get("content")), at_us, failed=failed)

    def _condensed(self, event: dict[str, Json], at_us: int | None) -> None:
        lane = self.teller.main
        dropped = {text(each) for each in items(event.get("forgotten_event_ids"))}
        self._said = [(named, said) for named, said in self._said if named not in dropped]
        at, summary = count(event.get("summary_offset")), text(event.get("summary"))
        if summary:
            told: list[Wire] = [wire({"role": "user", "content": summary})]
            self._said.insert(len(self._said) if at is None else self._place(at), (f"{event['id']}-summary", told))
        lane.begin_anew("compaction", [message for _, said in self._said for message in said], at_us)
        lane.note(event)

    def _place(self, offset: int) -> int:
        """Where a summary stands: `offset` counts what the model is shown, not all events."""
        shown = 0
        for at, (_, said) in enumerate(self._said):
            if shown >= offset:
                return at
            shown += bool(said)
        return len(self._said)


def _called(action: dict[str, Json]) -> Json:
    call = mapping(action.get("tool_call"))
    given = call.get("arguments")
    if given is None:
        given = {key: value for key, value in mapping(action.get("action")).items() if key != "kind"}
    name = text(action.get("tool_name")) or text(call.get("name"))
    asked_as = text(action.get("tool_call_id")) or text(call.get("id"))
    return {"id": asked_as, "type": "function", "function": {"name": name, "arguments": parse_arguments(given)}}


def _plain(blocks: Sequence[dict[str, Json]]) -> Json:
    """Blocks without what only their program needs; a text where they are nothing else."""
    told: list[Json] = [{key: value for key, value in each.items() if key != "cache_prompt"} for each in blocks]
    if all(each.get("type") == "text" for each in blocks):
        return "\n".join(text(each.get("text")) for each in blocks)
    return told


# ---------------------------------------------------------------- usage


def _of_each_answer(stats: dict[str, Json]) -> dict[str, ModelAnswer]:
    """What single answers cost, by their ids, where that was kept."""
    found: dict[str, ModelAnswer] = {}
    for metrics in dicts([*mapping(stats.get("usage_to_metrics")).values()]):
        for usage in dicts(metrics.get("token_usages")):
            tokens, model = _tokens(usage), text(usage.get("model"))
            found[text(usage.get("response_id"))] = ModelAnswer(
                model=model, tokens=tokens, cost_usd=cost_of(model, tokens)
            )
    return found


def _of_all(stats: dict[str, Json]) -> Usage | None:
    """What all answers cost together."""
    metrics = dicts([*mapping(stats.get("usage_to_metrics")).values()])
    totals = [_tokens(mapping(each.get("accumulated_token_usage"))) for each in metrics]
    costs = [cost for each in metrics if (cost := amount(each.get("accumulated_cost")))]
    read, wrote = (sum(getattr(each, name) or 0 for each in totals) for name in ("input", "output"))
    return Usage(read, wrote, sum(costs) or None) if read or wrote else None


def _tokens(usage: dict[str, Json]) -> Tokens:
    return Tokens(
        input=count(usage.get("prompt_tokens")),
        output=count(usage.get("completion_tokens")),
        cached=count(usage.get("cache_read_tokens")) or 0,
        written=count(usage.get("cache_write_tokens")) or 0,
        reasoning=count(usage.get("reasoning_tokens")) or 0,
    )
