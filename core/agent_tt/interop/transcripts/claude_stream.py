"""What Claude Code writes as it works (`--output-format stream-json`), and its SDKs exchange with it.

| entry | is |
|---|---|
| `system` `init` | what the session is: folder, model, version |
| `user` | what a person said, or results of tools |
| `assistant` | a block of an answer: those of one `message.id` are one answer |
| `system` `compact_boundary` | the conversation before it is dropped |
| `result` | the end of a task, with usage and cost of the whole session |
| `stream_event` | an answer in pieces, of which only the usage is taken: the answer follows |
| anything else | shown with the step that it stands in |

It comes as lines, as a list (`--output-format json --verbose`), or as a list of `{"direction", "message"}`, which keeps
both sides. `parent_tool_use_id` names the call whose sub-agent said something. An entry is written when its block is
there, before the answer has ended, so its `output_tokens` count only what had been written then; they are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.claude_code import answer_in, blocks_of
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.model import ErrorInfo, Usage
from agent_tt.providers.loose import amount, count, dicts, items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.model import RunStatus
    from agent_tt.providers.shapes import Json

__all__ = ["read_claude_stream"]

_HEAD: Final[tuple[str, ...]] = "cwd", "permissionMode", "claude_code_version", "tools"
_FACTS: Final[tuple[str, ...]] = "num_turns", "duration_ms", "duration_api_ms", "permission_denials"
_LIMIT: Final = "error_max_"
_READ: Final = "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"
_READ_OF_ALL: Final = "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"


def read_claude_stream(document: Document) -> Sequence[Transcript] | None:
    """Read a stream of Claude Code as a run; None where the document has another format."""
    value = document.value
    if value is None:
        entries = [line.value for line in document.lines]
    else:
        entries = dicts(mapping(value).get("messages") if isinstance(value, dict) else value)
    if entries and all("direction" in entry for entry in entries):
        entries = [mapping(entry.get("message")) for entry in entries]
    known = [entry for entry in entries if "session_id" in entry]
    if not any(_is_turn(entry) or entry.get("type") == "result" for entry in known):
        return None
    session = next((text(entry["session_id"]) for entry in known if entry.get("type") != "user"), "")
    stream = _Stream(session or document.path.stem, entries)
    for flaw in document.flaws:
        stream.teller.flaw(str(flaw))
    return [stream.told()]


def _is_turn(entry: dict[str, Json]) -> bool:
    return entry.get("type") in ("user", "assistant") and isinstance(entry.get("message"), dict)


class _Stream:
    """Tells the entries of a session, one after another."""

    def __init__(self, run_id: str, entries: Sequence[dict[str, Json]]) -> None:
        self.teller = Teller(run_id, "Claude Code")
        self._entries = entries
        self._answers: dict[str, list[dict[str, Json]]] = {}
        self._wrote: dict[str, Json] = {}
        self._names: dict[str, str] = {}
        self._head: dict[str, Json] = {}
        self._result: dict[str, Json] = {}
        self._results = 0
        streamed = ""
        for entry in entries:
            message, event = mapping(entry.get("message")), mapping(entry.get("event"))
            if entry.get("type") == "assistant" and text(message.get("id")):
                self._answers.setdefault(text(message["id"]), []).append(entry)
            elif event.get("type") == "message_start":
                streamed = text(mapping(event.get("message")).get("id"))
            elif event.get("type") == "message_delta":
                self._wrote[streamed] = mapping(event.get("usage")).get("output_tokens")

    def told(self) -> Transcript:
        """Tell them all."""
        for entry in self._entries:
            self._tell(entry)
        head, result = self._head, self._result
        status: RunStatus = "unknown"
        error = None
        if result:
            subtype = text(result.get("subtype"))
            is_error = result.get("is_error") is True or subtype.startswith("error")
            status = "interrupted" if subtype.startswith(_LIMIT) else "failed" if is_error else "succeeded"
            said = text(result.get("result")) or "\n".join(text(each) for each in items(result.get("errors")))
            error = ErrorInfo(subtype or "error", said) if is_error else None
        facts = [(key, head[key]) for key in _HEAD if key in head]
        facts += [(key, result[key]) for key in _FACTS if key in result]
        return self.teller.done(
            status=status,
            error=error,
            model=text(head.get("model")) or None,
            usage=self._usage(),
            metadata={key: wire(fact) for key, fact in facts},
        )

    def _tell(self, entry: dict[str, Json]) -> None:
        kind, message = text(entry.get("type")), mapping(entry.get("message"))
        lane, at_us = self._lane(entry), micros(entry.get("timestamp"))
        if kind == "assistant" and _is_turn(entry):
            self._answer(entry, message, lane, at_us)
        elif kind == "user" and _is_turn(entry):
            if entry.get("isReplay") is not True:  # what was sent to it, given back
                self._result = {}
                lane.turn(message, at_us)
        elif kind == "system" and entry.get("subtype") == "init":
            self._head = self._head or entry
        elif kind == "system" and entry.get("subtype") == "compact_boundary":
            lane.begin_anew("compaction", [], at_us)
            lane.note(entry)
        elif kind == "result":
            self._result = entry
            self._results += 1
            lane.note(entry)
        elif kind != "stream_event":
            lane.note(entry)

    def _answer(self, entry: dict[str, Json], message: dict[str, Json], lane: Lane, at_us: int | None) -> None:
        named = text(message.get("id"))
        parts = self._answers.get(named, [entry])
        if parts[0] is not entry:
            return
        self._result = {}
        messages = [mapping(part.get("message")) for part in parts]
        content = [block for each in messages for block in blocks_of(each)]
        whole: dict[str, Json] = {**messages[-1], "content": content}
        counted = {**mapping(whole.get("usage"))}
        if named in self._wrote:
            counted["output_tokens"] = self._wrote[named]
        elif whole.get("stop_reason") is None:
            counted.pop("output_tokens", None)
        is_error = bool(entry.get("error"))
        lane.turn(whole, at_us, answer=answer_in({**whole, "usage": counted}, is_error=is_error))

    def _lane(self, entry: dict[str, Json]) -> Lane:
        asked_as = text(entry.get("parent_tool_use_id"))
        if not asked_as:
            return self.teller.main
        step, call = self.teller.asked.get(asked_as) or (None, None)
        if asked_as not in self._names:
            given = call.args if call is not None and isinstance(call.args, dict) else {}
            name = str(given.get("subagent_type") or given.get("description") or "sub-agent")
            same = sum(known == name or known.startswith(f"{name} ") for known in self._names.values())
            self._names[asked_as] = f"{name} {same + 1}" if same else name
        name = self._names[asked_as]
        return self.teller.lane(name, agent=name, parent=step)

    def _usage(self) -> Usage | None:
        """The usage of the session, where the last result stands behind all that was said.

        Each result counts by model, and in dollars, what its process used since it began; its plain `usage` says less
        (claude-code's issues 39733 and 83239), and counts only where there is one result and nothing by model.
        """
        if not self._result:
            return None
        cost = amount(self._result.get("total_cost_usd"))
        models = [mapping(each) for each in mapping(self._result.get("modelUsage")).values()]
        read, wrote = _READ, "outputTokens"
        if not models and self._results == 1:
            models, read, wrote = [mapping(self._result.get("usage"))], _READ_OF_ALL, "output_tokens"
        if not any(models):
            return None
        given = sum(count(each.get(key)) or 0 for each in models for key in read)
        return Usage(given, sum(count(each.get(wrote)) or 0 for each in models), cost)
