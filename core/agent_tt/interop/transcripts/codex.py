"""Sessions of the Codex CLI (`rollout-….jsonl`): a line for each entry, with its time, kind and `payload`.

| entry | is |
|---|---|
| `session_meta` | the head: id, folder, version, what the session was forked from |
| `response_item` | an item of OpenAI's Responses: a turn, a thought, a tool's call or its result |
| `event_msg` `token_count` | what an answer cost; counted where the sum beside it has changed |
| `event_msg` `user_message` | says which of the items of a user a person said; the others Codex put in |
| `event_msg` `…_end` | how a command, a patch or a tool of an MCP server ended |
| `event_msg` `thread_rolled_back` | the last turns are dropped |
| `event_msg` `error` | a turn that failed |
| `event_msg` of a review | see `codex_review` |
| `compacted` | another conversation takes the place of the one so far; in old files only its summary is known |
| anything else | shown with the step that it stands in |

Items of a model that follow one another are one answer. Codex of before September 2025 wrote the payloads bare, without
times, below a head without a kind. A session that was forked from another one begins with a copy of it.

Source of the format: `RolloutItem`, `EventMsg` and `ResponseItem` of github.com/openai/codex, codex-rs.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.interop.transcripts.codex_review import Reviews, is_end_of_review, is_outcome
from agent_tt.interop.transcripts.telling import Teller, answer, micros, wire
from agent_tt.model import NO_USAGE, ErrorInfo, Usage
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import count, dicts, items, mapping, parse, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.reading import kept_answer
from agent_tt.providers.shapes import Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_codex"]

_KINDS: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_HEAD: Final = (
    "cwd", "cli_version", "originator", "source", "forked_from_id", "parent_thread_id", "agent_nickname", "agent_role",
    "model_provider", "git",
)  # fmt: skip
_PUT_IN: Final = "<", "# AGENTS.md instructions"
"""How what Codex itself says as the user begins, where no event tells what a person said."""

_NO_TURNS: Final = "ghost_snapshot", "other"
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,6})$", re.MULTILINE)
"""How Codex says a command's exit code to the model, above the line `Output:`."""


@dataclass(slots=True)
class _Entry:
    """One line: its payload with its kind and time; of a model's answer the items of several lines.

    Attributes:
        tokens: what the answer cost, or what was counted before a compaction.
        is_put_in: whether Codex words it, and no model.
    """

    number: int
    kind: str
    payload: dict[str, Json]
    at_us: int | None
    items: list[dict[str, Json]] = field(default_factory=list)
    tokens: list[Tokens] = field(default_factory=list)
    is_put_in: bool = False

    @property
    def is_model(self) -> bool:
        kind = text(self.payload.get("type"))
        is_said = kind == "message" and self.payload.get("role") == "assistant" and not self.is_put_in
        return self.kind == "response_item" and (is_said or kind == "reasoning" or kind.endswith("_call"))

    @property
    def raw(self) -> dict[str, Json]:
        """The line, but for its time."""
        is_bare = self.at_us is None and self.kind in ("response_item", "")
        return self.payload if is_bare else {"type": self.kind, "payload": self.payload}


def read_codex(document: Document) -> Sequence[Transcript] | None:
    """Read a session of the Codex CLI as a run; None where the document has another format."""
    if any(_is_entry(line.value) for line in document.entries):
        entries = [_entry(line.number, line.value) for line in document.entries]
    else:
        head = document.entries[0].value if document.entries else {}
        if not text(head.get("id")) or "instructions" not in head or "timestamp" not in head or "type" in head:
            return None
        bare = [_Entry(line.number, "response_item", line.value, None) for line in document.entries[1:]]
        entries = [_Entry(1, "session_meta", head, None), *bare]
    head = next((entry.payload for entry in entries if entry.kind == "session_meta"), {})
    _mark_outcomes(entries)
    telling = _Telling(text(head.get("id")) or document.path.stem, head, entries)
    flaws = [*document.flaws]
    for entry in _gathered(entries, telling):
        while flaws and flaws[0].line < entry.number:
            telling.teller.flaw(str(flaws.pop(0)))
        telling.tell(entry)
    for flaw in flaws:
        telling.teller.flaw(str(flaw))
    return [telling.done()]


def _is_entry(line: dict[str, Json]) -> bool:
    return text(line.get("type")) in _KINDS and isinstance(line.get("payload"), dict)


def _entry(number: int, line: dict[str, Json]) -> _Entry:
    payload = line.get("payload")
    if not isinstance(payload, dict):
        return _Entry(number, "", line, None)
    if (
        line.get("type") == "response_item" and "type" not in payload and "role" in payload
    ):  # as tools that copy leave it
        payload = {"type": "message", **payload}
    return _Entry(number, text(line.get("type")), payload, micros(line.get("timestamp")))


def _mark_outcomes(entries: Sequence[_Entry]) -> None:
    """Mark what Codex says in a model's name when a review is over."""
    ended: dict[str, Json] | None = None
    for entry in entries:
        if entry.kind == "event_msg":
            ended = entry.payload if is_end_of_review(entry.payload) else ended
        elif entry.kind == "response_item" and ended is not None:
            entry.is_put_in = entry.is_model and is_outcome(entry.payload, ended)
            ended = None if entry.is_model else ended


def _gathered(entries: Sequence[_Entry], telling: _Telling) -> list[_Entry]:
    """The entries, with those of an answer in one, and what it cost.

    A count belongs to the answer before it, unless that has one; else to the answer or the compaction that comes before
    a person says something again. What belongs to none of them counts for the run alone.
    """
    found: list[_Entry] = []
    open_answer: _Entry | None = None
    last: _Entry | None = None
    waiting: list[Tokens] = []
    known: Json = None
    for entry in entries:
        kind = text(entry.payload.get("type"))
        if entry.is_model:
            if open_answer is None:
                open_answer = last = replace(entry, items=[], tokens=waiting[-1:])
                del waiting[-1:]
                found.append(open_answer)
            open_answer.items.append(entry.payload)
            open_answer.at_us = entry.at_us
            continue
        if entry.kind == "event_msg":
            total = mapping(entry.payload.get("info")).get("total_token_usage")
            if kind == "token_count" and total is not None and total != known:
                known, open_answer = total, None
                tokens = _tokens(mapping(mapping(entry.payload.get("info")).get("last_token_usage")))
                if tokens.input or tokens.output:
                    (waiting if last is None or last.tokens else last.tokens).append(tokens)
        else:
            open_answer = None
            if entry.kind == "compacted":
                entry.tokens, waiting = waiting, []
            elif telling.is_said(entry.payload):
                telling.beside += waiting
                waiting, last = [], None
        found.append(entry)
    telling.beside += waiting
    return found


def _tokens(usage: dict[str, Json]) -> Tokens:
    """What one answer cost; what was cached is part of the input."""
    return Tokens(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cached=count(usage.get("cached_input_tokens")) or 0,
        reasoning=count(usage.get("reasoning_output_tokens")) or 0,
    )


class _Telling:
    """Tells the entries of a session, one after another.

    Attributes:
        beside: what was counted and belongs to no step.
    """

    def __init__(self, name: str, head: dict[str, Json], entries: Sequence[_Entry]) -> None:
        given = head.get("base_instructions", head.get("instructions"))
        instructions = mapping(given).get("text", given)
        beside: dict[str, Wire] = {"instructions": wire(instructions)} if instructions is not None else {}
        self.teller = Teller(name, "Codex CLI", beside)
        self.teller.main.agent = text(head.get("agent_nickname")) or text(head.get("agent_role")) or None
        self.beside: list[Tokens] = []
        self._model = ""
        self._metadata = {key: wire(head[key]) for key in _HEAD if head.get(key) is not None}
        events = [entry.payload for entry in entries if entry.kind == "event_msg"]
        self._said = {text(event.get("message")) for event in events if event.get("type") == "user_message"}
        own = [entry.payload for entry in entries if entry.is_model]
        blocks = [block for item in own for key in ("content", "summary") for block in dicts(item.get(key))]
        self._reviews = Reviews(self.teller, (text(block.get("text")) for block in blocks))
        self._ends = {text(event["call_id"]): event for event in events
                      if text(event.get("type")).endswith("_end") and text(event.get("call_id"))}  # fmt: skip

    def is_said(self, item: dict[str, Json]) -> bool:
        """Whether an item is what a person said, not what Codex put in for the user."""
        if item.get("type") != "message" or item.get("role") != "user":
            return False
        words = [text(block.get("text")) for block in dicts(item.get("content"))]
        return not self._said.isdisjoint(words) if self._said else not any(each.startswith(_PUT_IN) for each in words)

    def tell(self, entry: _Entry) -> None:
        """Tell an entry."""
        lane, payload, kind = self.teller.main, entry.payload, text(entry.payload.get("type"))
        if entry.items:
            self._answered(entry)
        elif entry.kind == "response_item" and kind.endswith("_output"):
            self._gave(entry)
        elif entry.kind == "response_item" and kind and kind not in _NO_TURNS:
            (lane.turn if self.is_said(payload) else lane.add)(payload, entry.at_us)
        elif entry.kind == "event_msg" and self._reviews.tell(payload, entry.at_us):
            lane.note(entry.raw)
        elif entry.kind == "compacted":
            self._compacted(entry)
        elif entry.kind == "event_msg" and kind == "thread_rolled_back":
            said = [at for at, item in enumerate(lane.said) if self.is_said(mapping(item))]
            dropped = count(payload.get("num_turns")) or 0
            kept = said[max(len(said) - dropped, 0)] if said and dropped else len(lane.said)
            lane.begin_anew("rollback", lane.said[:kept], entry.at_us)
            lane.note(entry.raw)
        elif entry.kind == "event_msg" and kind == "error":
            step = lane.step("error", entry.at_us)
            step.status, step.error = "error", ErrorInfo("Error", text(payload.get("message")))
            lane.note(entry.raw)
        else:
            if entry.kind == "turn_context":
                self._model = text(payload.get("model")) or self._model
            if kind == "thread_name_updated" and text(payload.get("thread_name")):
                self._metadata |= RunFacts.title.entry(text(payload["thread_name"]))
            lane.note(entry.raw)

    def done(self) -> Transcript:
        """Give what was told."""
        self._reviews.done()
        usage: Usage | None = None
        if self.beside:
            usage = sum((step.usage for step in self.teller.steps), self._usage(self.beside))
        return self.teller.done(model=self._model or None, metadata=self._metadata, usage=usage)

    def _usage(self, counted: Sequence[Tokens]) -> Usage:
        costs = [(tokens, cost_of(self._model, tokens)) for tokens in counted]
        each = (Usage(tokens.input, tokens.output, cost, int(cost is None) or None) for tokens, cost in costs)
        return sum(each, NO_USAGE)

    def _answered(self, entry: _Entry) -> None:
        lane, first = self.teller.main, entry.items[0]
        whole: dict[str, Json] = {"model": self._model, "output": [*entry.items]}
        known = kept_answer("openai-responses", whole)
        for tokens in entry.tokens:
            known = replace(known, tokens=tokens, cost_usd=cost_of(self._model, tokens))
        step = lane.turn(first, entry.at_us, answer=known)
        if step is None:
            return
        for item in entry.items[1:]:
            lane.add(item, entry.at_us)
        model, *calls = step.calls
        model.result = wire([*entry.items])
        asked = [item for item in entry.items if text(item.get("type")).endswith("_call")]
        for call, item in zip(calls, asked, strict=False):
            if item.get("status") == "completed" and not text(item.get("call_id")):  # the provider ran it itself
                answer(call, None, entry.at_us)

    def _gave(self, entry: _Entry) -> None:
        item, lane = entry.payload, self.teller.main
        called = text(item.get("call_id"))
        given = item.get("output", item.get("tools"))
        lane.result(called, wire(given), entry.at_us, failed=self._failed(called, given))
        lane.add(item, entry.at_us)

    def _failed(self, called: str, given: Json) -> bool:
        """Whether a tool failed: as the event of its end says, or as Codex tells the model."""
        end = self._ends.get(called, {})
        if "exit_code" in end or "success" in end:
            return end.get("success") is False or end.get("exit_code") not in (0, None)
        result = mapping(end.get("result"))
        if result:
            return "Err" in result or mapping(result.get("Ok")).get("isError") is True
        code = mapping(mapping(parse(given) if isinstance(given, str) else None).get("metadata")).get("exit_code")
        if code is None:
            words = given if isinstance(given, str) else "\n".join(text(each.get("text")) for each in dicts(given))
            head, output, _ = words.partition("\nOutput:\n")
            exits = _EXIT.search(head[:2_000]) if output else None
            code = int(exits[1]) if exits else 0
        return code != 0

    def _compacted(self, entry: _Entry) -> None:
        lane, payload = self.teller.main, entry.payload
        kept = items(payload.get("replacement_history"))
        summary: Json = {"type": "output_text", "text": text(payload.get("message"))}
        if not kept:
            kept = [{"type": "message", "role": "assistant", "content": [summary]}]
        step = lane.begin_anew("compaction", [wire(item) for item in kept], entry.at_us)
        step.usage = self._usage(entry.tokens)
        rest: Json = {key: value for key, value in payload.items() if key != "replacement_history"}
        lane.note({"type": entry.kind, "payload": rest})
