"""Every recording that the manifest of the recorded runs names: it opens, and shows what a count of its own finds.

Most are counted in `test_recorded_message_files`; a format that comes into its table is covered here by that.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tarfile
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.test_recorded_message_files import FILES, Counts, loaded, shown
from tests.recordings import MISSING, recordings

from agent_tt.providers import recognise
from agent_tt.providers.reading import read_answer
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOT = recordings(".")
MANIFEST = ROOT / "MANIFEST.json"
NAMED = [ROOT / row["file"] for row in json.loads(MANIFEST.read_text())] if MANIFEST.is_file() else []

pytestmark = pytest.mark.skipif(not NAMED, reason=MISSING)


def attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in holder["attributes"]}


def of_records(path: Path) -> Counts:
    """Of log records: one a model call."""
    found: Counter[str] = Counter()
    traces = set()
    for of_resource in loaded(path)["resourceLogs"]:
        for record in (record for scope in of_resource["scopeLogs"] for record in scope["logRecords"]):
            says = attributes(record)
            traces.add(record["traceId"])
            found["llm"] += says["gen_ai.operation.name"] == "chat"
            found["tokens"] += int(says["gen_ai.usage.input_tokens"]) + int(says["gen_ai.usage.output_tokens"])
            found["tool"] += json.dumps(says["gen_ai.output.messages"]).count('"tool_call"')
    return {"runs": len(traces)} | found


def of_dump(path: Path) -> Counts:
    """Of the spans that the SDK for JavaScript dumps, those of Vercel's AI SDK."""
    found: Counter[str] = Counter()
    spans = loaded(path)
    for says in (span["attributes"] for span in spans):
        if says["ai.operationId"].endswith((".doGenerate", ".doStream")):
            found["llm"] += 1
            old, new = ("promptTokens", "completionTokens"), ("inputTokens", "outputTokens")
            found["tokens"] += sum(says.get(f"ai.usage.{name}", 0) for name in (*old, *new))
        found["tool"] += says["ai.operationId"] == "ai.toolCall"
    return {"runs": len({span["spanContext"]["traceId"] for span in spans})} | found


def of_observations(path: Path) -> Counts:
    """Of Langfuse: generations, and tools as observations or as what generations ask for."""
    found: Counter[str] = Counter(runs=1)
    asked = 0
    for observed in loaded(path)["observations"]:
        is_model = observed["type"] == "GENERATION"
        found["llm"] += is_model
        found["tool"] += observed["type"] == "TOOL"
        usage = observed.get("usageDetails") or {}
        found["tokens"] += is_model * (usage.get("input", 0) + usage.get("output", 0))
        output = json.loads(observed["output"]) if is_model and observed.get("output") else None
        output = json.loads(output) if isinstance(output, str) and output[:1] == "{" else output
        if isinstance(output, dict):
            asked += len(output.get("additional_kwargs", {}).get("tool_calls") or [])
    return {**found, "tool": found["tool"] or asked}


MORE: dict[str, Callable[[Path], Counts]] = {
    "otlp/*.logs.json": of_records,
    "spans_other/*": of_dump,
    "langfuse/*": of_observations,
}
DATABASES = [path for path in NAMED if path.suffix in (".db", ".tar")]
STREAMS = [path for path in NAMED if path.parent.name == "stream_bodies"]
COUNTED = [(path, count) for pattern, count in MORE.items() for path in sorted(ROOT.glob(pattern))]


def test_no_recording_that_is_named_is_left_out() -> None:
    counted = {path for pattern in (*FILES, *MORE) for path in ROOT.glob(pattern)}
    left = {path for path in NAMED if path.name != "expected.json"} - counted - {*DATABASES, *STREAMS}
    assert sorted(path.name for path in left) == []


@pytest.mark.parametrize(("path", "count"), COUNTED, ids=lambda given: getattr(given, "stem", "")[:24])
def test_a_recorded_trace_shows_what_a_count_of_its_own_finds(path: Path, count: Callable[[Path], Counts]) -> None:
    assert shown(path) == {name: number for name, number in count(path).items() if number}


@pytest.mark.parametrize("path", DATABASES, ids=lambda path: path.parent.name[:24])
def test_a_recorded_database_has_a_step_for_each_of_its_checkpoints(path: Path, tmp_path: Path) -> None:
    if path.suffix == ".tar":
        with tarfile.open(path) as packed:
            packed.extractall(tmp_path, filter="data")
    else:
        shutil.copyfile(path, tmp_path / path.name)
    (database,) = tmp_path.rglob("*.db")
    with closing(open_source(database)) as source:
        runs = source.runs()
        own = [step for run in runs for step in source.steps(run.id) if not step.inherited]
        steps = {step.extra["checkpoint_id"] for step in own} - {None}
        threads = {run.origin["thread"] for run in runs}
        if sum(run.steps for run in runs) < 100:
            check_source(source)
        assert source.verify() == []
    with closing(sqlite3.connect(database)) as rows:
        ids = {row[0] for row in rows.execute("SELECT checkpoint_id FROM checkpoints")}
        assert threads == {row[0] for row in rows.execute("SELECT DISTINCT thread_id FROM checkpoints")}
    assert steps == ids


# By a word in the name of a file: the path that was asked, and with what.
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "converse": ("/model/m/converse-stream", {"messages": []}),
    "responses": ("/v1/responses", {"model": "m", "input": "x"}),
    "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}),
    "": ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}]}),
}


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name[-40:])
def test_a_recorded_answer_is_read_with_the_tools_that_its_bytes_name(path: Path) -> None:
    asked = next(given for word, given in ASKED.items() if word in path.name)
    call = recognise("POST", asked[0], {}, asked[1])
    assert call is not None
    body = path.read_bytes()
    kind = "application/vnd.amazon.eventstream" if path.suffix == ".bin" else "text/event-stream"
    answer = read_answer(call, 200, {"content-type": kind}, body)
    tools = [called.name for message in answer.messages for called in message.calls]
    named = len(re.findall(rb'"toolUse":{"name"|"function":{"(?:arguments":"",")?name"', body))
    assert (len(tools), answer.error) == (named, "")
    assert answer.tokens.input
    assert answer.tokens.output
