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
from agent_tt.interop.transcripts.document import MOST_VALUE_BYTES
from agent_tt.interop.transcripts.inspect_sample import MOST_SHOWN, places_in, sample_name, sample_run, word
from agent_tt.interop.transcripts.pieces import parse_json
from agent_tt.interop.transcripts.telling import micros
from agent_tt.interop.transcripts.transcript import Promise
from agent_tt.providers.loose import dicts, items, mapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.interop.transcripts.archive import Archive
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_inspect_ai"]

_HEADERS: Final = "header.json", "_journal/start.json"
"""Members that say what was evaluated: of a log that is whole, and of one that is being written."""

_SUMMARIES: Final = "summaries.json"
_SAMPLE: Final = re.compile(r"samples/(?P<name>.+)\.json", re.DOTALL)
_SHELL: Final = re.compile(r"(?P<prefix>samples/.+_epoch_\d+)/sample\.json", re.DOTALL)


def read_inspect_ai(document: Document) -> Sequence[Transcript | Promise] | None:
    """Read a log of Inspect as runs, one for each sample and epoch; None where the document has another format."""
    if document.archive is not None:
        return _of_archive(document.archive)
    log = mapping(document.value)
    if not _is_log(log) or not isinstance(log.get("samples"), list):
        return None
    found: list[Transcript] = []
    names = set[str]()
    for number, sample in enumerate(dicts(log["samples"]), 1):
        name = sample_name(sample) if sample_name(sample) not in names else f"{sample_name(sample)}-{number}"
        names.add(name)
        found.append(sample_run(name, partial(mapping, sample), log))
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
        f"{word(each.get('id'))}_epoch_{word(each.get('epoch'))}": micros(each.get("started_at"))
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
            began_us = sample_run(sample, read, log).began_us or 0
        size = archive.members[name].file_size
        found.append(Promise(sample, began_us, size, partial(sample_run, sample, read, log, began_us)))
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
            raise MemberUnreadable(f"is not valid JSON: {error.msg}") from error

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
        "messages": [pool[place] for place in places_in(sample.get("message_refs"), len(pool), MOST_SHOWN)],
    }
