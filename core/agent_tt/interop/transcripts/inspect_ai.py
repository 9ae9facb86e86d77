"""Logs of Inspect, as `.json` and as `.eval`, a zip archive of the same JSON.

| what of it | is |
|---|---|
| a sample, in one epoch | a run |
| event `model` | a step; its input stands in it, or is named by places in a pool that the sample has beside |
| event `tool` | a call of the step that asked for it |
| event `error`, `sample_limit`, `score`, `input`, `interrupt` | a step of that name |
| event `compaction` | a step whose conversation is what the next model is shown |
| span (`span_begin`) or `step` of an agent inside a tool, of a subtask or a scorer | a lane |
| any other event | shown with the step that it stands in |

Long texts stand apart as attachments (`attachment://…`) and are put back. Messages are shown in the form of OpenAI's
chats, which Inspect's are close to. What a provider was sent besides, word for word, is left to the file.

The form is Inspect's own: `inspect_ai.log.EvalLog` and `inspect_ai.event`, versions 0.3.43 to 0.3.285. The names of an
archive's members are those of `_recorders/eval.py`, and of `_recorders/chunked/format.py` for samples in chunks.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt.interop.transcripts.archive import MemberUnreadable
from agent_tt.interop.transcripts.chat import beside
from agent_tt.interop.transcripts.document import MOST_VALUE_BYTES
from agent_tt.interop.transcripts.pieces import parse_json
from agent_tt.interop.transcripts.spans import AgentWork, Compaction, ModelWork, Remark, Span, ToolWork, TraceTelling
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.interop.transcripts.transcript import Promise
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import amount, count, dicts, first_line, items, mapping, parse_arguments, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.archive import Archive
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.model import RunStatus
    from agent_tt.providers.shapes import Json

__all__ = ["read_inspect_ai"]

_HEADERS: Final = "header.json", "_journal/start.json"
"""Members that say what was evaluated: of a log that is whole, and of one that is being written."""

_SUMMARIES: Final = "summaries.json"
_SAMPLE: Final = re.compile(r"samples/(?P<name>.+)\.json", re.DOTALL)
_SHELL: Final = re.compile(r"(?P<prefix>samples/.+_epoch_\d+)/sample\.json", re.DOTALL)
_REFERENCE: Final = re.compile(r"(?:attachment|tc)://(?P<key>.+)")
_EVALUATION: Final = "task", "model", "created", "eval_id", "run_id", "task_args", "tags", "packages"
_APART: Final = "messages", "events", "events_data", "message_pool", "attachments", "output", "transcript"
"""What of a sample is no fact about it."""

_STEPS: Final = "error", "sample_limit", "score", "input", "interrupt"
_BESIDE: Final = {"subtask", "scorer", "branch", "task"}
"""Spans whose conversations are none of the agent's: what is inside a tool, is judged, or runs at the same time."""

_MOST_SHOWN: Final = 10_000_000
"""Messages that all models of a sample are shown together: a file may say in few bytes that there are more."""


def read_inspect_ai(document: Document) -> Sequence[Transcript | Promise] | None:
    """See `agent_tt.interop.transcripts.formats.Format`."""
    if document.archive is not None:
        return _of_archive(document.archive)
    log = mapping(document.value)
    if not _is_log(log) or not isinstance(log.get("samples"), list):
        return None
    found: list[Transcript] = []
    names = set[str]()
    for number, sample in enumerate(dicts(log["samples"]), 1):
        name = _name(sample) if _name(sample) not in names else f"{_name(sample)}-{number}"
        names.add(name)
        found.append(_run(name, partial(mapping, sample), log))
    return found


def _is_log(log: Mapping[str, Json]) -> bool:
    evaluation = mapping(log.get("eval"))
    return "task" in evaluation and "model" in evaluation and "version" in log


# ---------------------------------------------------------------- archives


def _of_archive(archive: Archive) -> Sequence[Promise] | None:
    log = next(filter(_is_log, (mapping(_header(archive, name)) for name in _HEADERS)), None)
    if log is None:
        return None
    began = {
        f"{_word(each.get('id'))}_epoch_{_word(each.get('epoch'))}": micros(each.get("started_at"))
        for each in dicts(_header(archive, _SUMMARIES))
    }
    chunked = {shell["prefix"] for name in archive.members if (shell := _SHELL.fullmatch(name))}
    found: list[Promise] = []
    for name in archive.members:
        shell, whole = _SHELL.fullmatch(name), _SAMPLE.fullmatch(name)
        if shell is not None:
            sample, read = shell["prefix"].removeprefix("samples/"), partial(_chunked, archive, shell["prefix"])
        elif whole is not None and not any(folder in chunked for folder in _folders(name)):
            sample, read = whole["name"], partial(_whole, archive, name)
        else:
            continue
        began_us = began.get(sample)
        if began_us is None:  # of older versions: it is not known before the sample is read
            began_us = _run(sample, read, log).began_us or 0
        size = archive.members[name].file_size
        found.append(Promise(sample, began_us, size, partial(_run, sample, read, log, began_us)))
    return found


def _folders(name: str) -> Iterator[str]:
    """The folders that a member's name names, the outermost first."""
    at = name.find("/")
    while at >= 0:
        yield name[:at]
        at = name.find("/", at + 1)


def _header(archive: Archive, name: str) -> Json:
    """A member that says something of all samples; None where it is not there, or cannot be read."""
    try:
        return _Reader(archive).read(name) if name in archive.members else None
    except MemberUnreadable:
        return None


class _Reader:
    """Reads members of an archive, until as much came out as a value may be large."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self._left = MOST_VALUE_BYTES

    def read(self, name: str) -> Json:
        """A member as JSON.

        Raises:
            MemberUnreadable: it is damaged, or larger than what may still be read.
        """
        body = self.archive.read(name, self._left)
        self._left -= len(body)
        try:
            return parse_json(body)
        except orjson.JSONDecodeError as error:
            raise MemberUnreadable(f"is no JSON: {error.msg}") from error

    def sequence(self, prefix: str) -> list[Json]:
        """What the chunks of a sequence hold, in their order; each is named by the place of its first item."""
        chunks = [
            (int(number), name)
            for name in self.archive.members
            if name.startswith(prefix) and (number := name[len(prefix) :].removesuffix(".json")).isdecimal()
        ]
        return [item for _, name in sorted(chunks) for item in items(self.read(name))]


def _whole(archive: Archive, name: str) -> dict[str, Json]:
    return mapping(_Reader(archive).read(name))


def _chunked(archive: Archive, prefix: str) -> dict[str, Json]:
    reader = _Reader(archive)
    sample = mapping(reader.read(f"{prefix}/sample.json"))
    pool = reader.sequence(f"{prefix}/messages/")
    attachments = reader.sequence(f"{prefix}/attachments/")
    has_metadata = f"{prefix}/metadata.json" in archive.members
    return {
        **sample,
        "metadata": reader.read(f"{prefix}/metadata.json") if has_metadata else {},
        "events": reader.sequence(f"{prefix}/events/"),
        "events_data": {"messages": pool},
        "attachments": {str(number): each for number, each in enumerate(attachments)},
        "messages": [pool[place] for place in _places(sample.get("message_refs"), len(pool), _MOST_SHOWN)],
    }


def _places(references: Json, size: int, most: int) -> list[int]:
    """The places that ranges name, `[[start, end], …]`, the end not included.

    Raises:
        MemberUnreadable: there are more than `most`.
    """
    found: list[int] = []
    for reference in items(references):
        start, end = ([*map(count, items(reference)), None, None])[:2]
        places = range(start or 0, min(end or 0, size))
        if len(found) + len(places) > most:
            raise MemberUnreadable("names its messages too often")
        found += places
    return found


# ---------------------------------------------------------------- samples


def _run(
    name: str, read: Callable[[], Mapping[str, Json]], log: Mapping[str, Json], began_us: int | None = None
) -> Transcript:
    """A sample as a run; one without steps, which says why, where it cannot be read."""
    try:
        told = _Sample(name, read(), log).transcript()
        told.began_us = told.began_us if began_us is None else began_us
        return told
    except MemberUnreadable as error:
        why = str(error)
    except RecursionError:
        why = "is nested too deeply"
    teller = Teller(name, "Inspect")
    teller.flaw(f"the sample {name} {why}")
    return teller.done(metadata=_metadata({}, log), began_us=began_us)


def _metadata(sample: Mapping[str, Json], log: Mapping[str, Json]) -> dict[str, Wire]:
    evaluation = mapping(log.get("eval"))
    title = " ".join(filter(None, (text(evaluation.get("task")), _word(sample.get("id")))))
    return {
        **beside({key: evaluation[key] for key in _EVALUATION if evaluation.get(key)}),
        **beside(sample, *_APART),
        **RunFacts.title.entry(title),
    }


def _name(sample: Mapping[str, Json]) -> str:
    """The name that Inspect gives a sample's file."""
    return f"{_word(sample.get('id')) or 'sample'}_epoch_{_word(sample.get('epoch')) or '1'}"


def _word(value: Json) -> str:
    return str(value) if isinstance(value, int | str) else ""


class _Sample:
    """One sample, with what its events refer to."""

    def __init__(self, name: str, sample: Mapping[str, Json], log: Mapping[str, Json]) -> None:
        self._name = name
        old = mapping(sample.get("transcript"))  # until 0.3.40: events, and attachments as `content`
        self._sample, self._log = sample, log
        self._events = dicts(sample.get("events")) or dicts(old.get("events"))
        self._attachments = {**mapping(old.get("content")), **mapping(sample.get("attachments"))}
        pool = mapping(sample.get("events_data")).get("messages", sample.get("message_pool"))
        self._pool = [self._turn(message) for message in dicts(pool)]
        self._messages = [self._turn(message) for message in dicts(sample.get("messages"))]
        self._shown = 0
        self._results = {
            key: turn
            for turn in (*self._pool, *self._messages)
            if turn.get("role") == "tool"
            for key in (text(turn.get("id")), text(turn.get("tool_call_id")))
            if key
        }

    def transcript(self) -> Transcript:
        """Tell it."""
        spans: dict[str, Span] = {}
        telling = TraceTelling(self._name, spans, "Inspect")
        for span in self._spans(self._events, spans):
            telling.tell(span, is_of_models=True)
        telling.end()
        self._finish(telling)
        failed, limit = mapping(self._sample.get("error")), mapping(self._sample.get("limit"))
        status: RunStatus = "failed" if failed else "interrupted" if limit else "succeeded"
        return telling.teller.done(
            status=status,
            error=_error(failed) if failed else None,
            model=text(mapping(self._log.get("eval")).get("model")) or None,
            metadata=_metadata(self._sample, self._log),
            began_us=micros(self._sample.get("started_at"))
            or next(filter(None, (micros(event.get("timestamp")) for event in self._events)), None),
        )

    def _finish(self, telling: TraceTelling) -> None:
        """Add what was said after the last model was asked; where no event was kept, all that was said."""
        main = telling.teller.main
        if not telling.teller.steps:
            for message in self._messages:
                main.turn(message)
            return
        messages = [wire(message) for message in self._messages]
        if messages[: len(main.said)] == main.said:
            for message in self._messages[len(main.said) :]:
                main.add(message)

    # ------------------------------------------------------------ events

    def _spans(self, events: Sequence[dict[str, Json]], spans: dict[str, Span], around: str = "") -> Iterator[Span]:
        """Events as spans, in their order. Those that others stand in are kept in `spans`."""
        steps = [around]
        for number, event in enumerate(events):
            kind = text(event.get("event"))
            if kind == "step" and event.get("action") == "end":
                del steps[max(1, len(steps) - 1) :]
                continue
            if kind == "span_end":
                continue
            inside = text(event.get("span_id"))
            if kind == "span_begin":
                inside = text(event.get("parent_id"))
            inside = inside if inside in spans else steps[-1]
            if kind in ("span_begin", "step", "subtask"):
                span = self._opened(event, kind, inside, spans, f"{around}/{number}")
                if kind == "step":
                    steps.append(span.id)
            if kind not in ("span_begin", "step"):
                yield from self._told_by(event, kind, inside)
            nested = dicts(event.get("events"))  # until 0.3.80 what a tool or a subtask did stood in its event
            if nested:
                if kind == "tool":
                    span = self._opened({**event, "type": "tool"}, kind, inside, spans, f"{around}/{number}")
                yield from self._spans(nested, spans, span.id if kind in ("tool", "subtask") else inside)

    def _opened(self, event: dict[str, Json], kind: str, inside: str, spans: dict[str, Span], own: str) -> Span:
        """The span that an event opens; an agent inside a tool has a conversation of its own."""
        span_id = text(event.get("id")) if kind == "span_begin" else own
        span = Span(span_id, "", inside, text(event.get("name")), None, None, {"type": event.get("type")})
        what = "subtask" if kind == "subtask" else text(event.get("type"))
        if what in _BESIDE:
            span.does = AgentWork(span.name or what, is_apart=True)
        elif what == "agent":
            span.does = AgentWork(span.name or what, is_apart=self._is_in_tool(inside, spans))
        spans.setdefault(span_id, span)
        return span

    def _is_in_tool(self, inside: str, spans: Mapping[str, Span]) -> bool:
        seen = set[str]()
        while inside in spans and inside not in seen:
            seen.add(inside)
            if spans[inside].says["type"] in ("tool", "handoff"):
                return True
            inside = spans[inside].parent
        return False

    def _told_by(self, event: dict[str, Json], kind: str, inside: str) -> Iterator[Span]:
        at_us, end_us = micros(event.get("timestamp")), micros(event.get("completed"))
        began_us = None if end_us is None else at_us
        if kind == "model":
            answered = self._model(event)
            yield self._span(inside, answered, began_us, end_us or at_us)
            for block in dicts(mapping(answered.said[0]).get("content")) if answered.said else ():
                if block.get("type") == "tool_use":  # of a tool that the provider runs itself
                    yield self._hosted(inside, block, end_us or at_us)
        elif kind == "tool":
            yield self._tool(event, inside, began_us, end_us or at_us)
        elif kind == "compaction":
            yield self._span(inside, Compaction(mapping(self._put_back(event))), at_us, at_us)
            return
        rest = {key: value for key, value in event.items() if key not in _SHOWN_OF.get(kind, ())}
        step = kind if kind in _STEPS else ""
        failed, scored = mapping(event.get("error")), mapping(event.get("score"))
        says = str(scored["value"]) if "value" in scored else text(event.get("message")) or text(failed.get("message"))
        beside = {"score": self._put_back(event.get("score"))} if kind == "score" else {}
        told = self._span(inside, Remark(mapping(self._put_back(rest)), step, first_line(says), beside), at_us, at_us)
        if kind == "error":
            told.error = _error(failed)
        yield told

    @staticmethod
    def _span(
        inside: str, does: ModelWork | ToolWork | Compaction | Remark, start: int | None, end: int | None
    ) -> Span:
        return Span("", "", inside, "", start, end, {}, does=does)

    def _model(self, event: dict[str, Json]) -> ModelWork:
        shown = [self._turn(message) for message in dicts(event.get("input"))]
        if not shown:
            places = _places(event.get("input_refs"), len(self._pool), _MOST_SHOWN - self._shown)
            self._shown += len(places)
            shown = [self._pool[place] for place in places]
        output = mapping(event.get("output"))
        choice = mapping(next(iter(items(output.get("choices"))), None))
        said = mapping(choice.get("message"))
        usage = {} if event.get("cache") == "read" else mapping(output.get("usage"))  # nothing was asked
        model = text(output.get("model")) or text(event.get("model"))
        tokens = _tokens(usage)
        cost = amount(usage.get("total_cost"))
        return ModelWork(
            shown,
            [self._turn(said)] if said else [],
            ModelAnswer(
                model=model,
                finish_reason=text(choice.get("stop_reason")),
                tokens=tokens,
                cost_usd=cost_of(model, tokens) if cost is None else cost,
                error=text(event.get("error")) or text(output.get("error")),
            ),
        )

    def _tool(self, event: dict[str, Json], inside: str, start: int | None, end: int | None) -> Span:
        asked_as, failed = text(event.get("id")), mapping(event.get("error"))
        turn = self._results.get(text(event.get("message_id"))) or self._results.get(asked_as)
        span = self._span(
            inside,
            ToolWork(
                text(event.get("function")) or "tool",
                self._put_back(event.get("arguments")),
                self._put_back(event.get("result")),
                asked_as,
                turn,
                is_over=event.get("pending") is not True,
            ),
            start,
            end,
        )
        if failed:
            span.error = ErrorInfo(f"tool:{text(failed.get('type')) or 'error'}", text(failed.get("message")))
        return span

    def _hosted(self, inside: str, block: dict[str, Json], at_us: int | None) -> Span:
        given, name = parse_arguments(block.get("arguments")), text(block.get("name")) or "tool"
        span = self._span(inside, ToolWork(name, given, block.get("result"), text(block.get("id"))), at_us, at_us)
        if text(block.get("error")):
            span.error = ErrorInfo("tool:error", text(block["error"]))
        return span

    # ------------------------------------------------------------ messages

    def _turn(self, message: dict[str, Json]) -> dict[str, Json]:
        """A message in the form of OpenAI's chats."""
        turn = mapping(self._put_back(message))
        asked = turn.get("tool_calls")
        if isinstance(asked, list):
            turn["tool_calls"] = [_call(call) for call in dicts(asked)]
        thoughts = [text(block.get("reasoning")) or text(block.get("summary"))
                    for block in dicts(turn.get("content")) if block.get("type") == "reasoning"]  # fmt: skip
        if any(thoughts):
            turn["reasoning_content"] = "\n".join(filter(None, thoughts))
        return turn

    def _put_back(self, value: Json) -> Json:
        """A value with its attachments in their places."""
        if isinstance(value, str):
            found = _REFERENCE.fullmatch(value)
            return value if found is None else self._attachments.get(found["key"], value)
        if isinstance(value, dict):
            return {key: self._put_back(each) for key, each in value.items()}
        return [self._put_back(each) for each in value] if isinstance(value, list) else value


_SHOWN_OF: Final = {
    "model": ("input", "input_refs", "output", "call"),
    "tool": ("arguments", "result", "events"),
    "subtask": ("events",),
}
"""What of an event is shown elsewhere, by kind; and what of a model's is left to the file."""


def _call(call: dict[str, Json]) -> dict[str, Json]:
    rest = {key: value for key, value in call.items() if key not in ("function", "arguments")}
    return {**rest, "function": {"name": call.get("function"), "arguments": call.get("arguments")}}


def _tokens(usage: Mapping[str, Json]) -> Tokens:
    """What was counted. Input that was cached is counted apart, but by some versions for some providers within."""
    fresh, wrote = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    cached, written = (count(usage.get(f"input_tokens_cache_{way}")) or 0 for way in ("read", "write"))
    is_within = fresh is not None and fresh + (wrote or 0) == count(usage.get("total_tokens"))
    return Tokens(
        input=None if fresh is None else fresh if is_within else fresh + cached + written,
        output=wrote,
        cached=cached,
        written=written,
        reasoning=count(usage.get("reasoning_tokens")) or 0,
    )


def _error(error: Mapping[str, Json]) -> ErrorInfo:
    return ErrorInfo("Error", text(error.get("message")), text(error.get("traceback")))
