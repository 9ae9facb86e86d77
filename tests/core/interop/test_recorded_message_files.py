"""Recorded files of other programs: what is shown of each equals counts that were taken from it in another way."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest
import yaml
import zstandard
from tests.core.conformance.reading import check_source
from tests.recordings import MISSING, recordings

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from zipfile import ZipInfo

Counts = dict[str, Any]


def shown(path: Path) -> Counts:
    """Counts over all runs of a file, the steps of branches once."""
    found: Counter[str] = Counter()
    with closing(open_source(path)) as source:
        for run in source.runs():
            found["runs"] += 1
            for step in source.steps(run.id):
                if step.inherited:
                    continue
                found["tokens"] += (step.tokens_in or 0) + (step.tokens_out or 0)
                for call in source.calls(run.id, step.number):
                    found[call.kind] += 1
                    found["tool errors"] += call.kind == "tool" and call.status == "error"
        check_source(source) if run.steps < 300 else None
    return {name: count for name, count in found.items() if count}


def of_claude_code(path: Path) -> Counts:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    answers = {line["message"]["id"]: line["message"]["usage"] for line in lines if line["type"] == "assistant"}
    blocks = [
        block
        for line in lines
        if isinstance(line.get("message", {}).get("content"), list)
        for block in line["message"]["content"]
    ]
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    turns = [
        line for line in lines if line["type"] == "user" and not line.get("isMeta") and not line.get("isSidechain")
    ]
    said = [turn for turn in turns if "tool_result" not in str(turn["message"])]
    return {
        "runs": 1,
        "llm": len(answers),
        "tool": sum(block["type"] == "tool_use" for block in blocks),
        "tool errors": sum(block.get("is_error") is True for block in blocks),
        "tokens": sum(usage.get(name) or 0 for usage in answers.values() for name in read),
        "human": len(said) - 1,
    }


def of_pi(path: Path) -> Counts:
    turns = [json.loads(line).get("message") for line in path.read_text().splitlines()]
    answers = [turn for turn in turns if turn and turn["role"] == "assistant"]
    read = ("input", "output", "cacheRead", "cacheWrite")
    return {
        "runs": 1,
        "llm": len(answers),
        "tool": sum(block["type"] == "toolCall" for turn in answers for block in turn["content"]),
        "tool errors": sum(turn["role"] == "toolResult" and turn["isError"] for turn in turns if turn),
        "tokens": sum(turn["usage"][name] for turn in answers for name in read),
        "human": sum(turn["role"] == "user" for turn in turns if turn) - 1,
    }


def of_messages(*lists: list[dict[str, Any]]) -> Counts:
    """Of lists of OpenAI's messages."""
    later = 0
    for turns in lists:
        first = next(number for number, turn in enumerate(turns) if turn["role"] == "assistant")
        later += sum(turn["role"] == "user" for turn in turns[first:])
    every = [turn for turns in lists for turn in turns]
    return {
        "runs": len(lists),
        "llm": sum(turn["role"] == "assistant" for turn in every),
        "tool": sum(len(turn.get("tool_calls") or []) for turn in every),
        "human": later,
    }


def of_actions(path: Path) -> Counts:
    whole = json.loads(path.read_text())
    return {"runs": 1, "llm": len(whole["trajectory"]), "tool": len(whole["trajectory"])}


def of_mini(path: Path) -> Counts:
    turns = json.loads(path.read_text())["messages"]
    codes = [turn["extra"]["returncode"] for turn in turns if "returncode" in turn.get("extra", {})]
    answers = [turn for turn in turns if turn["role"] == "assistant"]
    actions = sum(len(turn["extra"]["actions"]) for turn in answers)
    return {"runs": 1, "llm": len(answers), "tool": actions, "tool errors": sum(map(bool, codes))}


def of_atif(path: Path) -> Counts:
    steps = [step for step in json.loads(path.read_text())["steps"] if step["source"] == "agent"]
    tokens = sum(step["metrics"]["prompt_tokens"] + step["metrics"]["completion_tokens"] for step in steps)
    return {"runs": 1, "llm": len(steps), "tool": sum(len(step["tool_calls"]) for step in steps), "tokens": tokens}


def of_spans(path: Path) -> Counts:
    """Of the lines of a trace: its spans by the names of their operations; of log records, what spans say of tools."""
    found: Counter[str] = Counter()
    traces = set()
    for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
        for of_resource in json.loads(line).get("resourceSpans", []):
            for span in (span for scope in of_resource["scopeSpans"] for span in scope["spans"]):
                traces.add(span["traceId"])
                says = {each["key"]: next(iter(each["value"].values()), None) for each in span["attributes"]}
                is_model = says.get("openinference.span.kind") == "LLM" or says.get("gen_ai.operation.name") == "chat"
                is_tool = "TOOL" in str(says.get("openinference.span.kind"))
                is_tool = is_tool or says.get("gen_ai.operation.name") == "execute_tool"
                found["llm"] += is_model
                found["tool"] += is_tool
                found["tool errors"] += is_tool and str(span.get("status", {}).get("code")) == "2"
                counted = [key for key in says if key.endswith(("usage.input_tokens", "usage.output_tokens"))]
                counted += [key for key in says if key in ("llm.token_count.prompt", "llm.token_count.completion")]
                found["tokens"] += sum(int(says[key]) for key in counted if is_model)
    return {"runs": len(traces)} | found


def of_events(path: Path) -> Counts:
    """Of OpenHands: answers by their ids, or actions where none names one."""
    found: Counter[str] = Counter()
    for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
        whole = json.loads(line)
        events = whole if isinstance(whole, list) else whole["history"]
        responses = {}
        for number, event in enumerate(events):
            response = event.get("tool_call_metadata", {}).get("model_response")
            is_agents = event.get("source", "agent") == "agent" and "action" in event and number > 0
            if is_agents:
                responses[response["id"] if response else number] = response
            found["tool"] += is_agents and event["action"] not in ("message", "finish")
            found["tool errors"] += event.get("observation") == "run" and event.get("success") is False
        found["runs"] += 1
        found["llm"] += len(responses)
        usages = [response["usage"] for response in responses.values() if response]
        found["tokens"] += sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)
    return dict(found)


def of_stream(path: Path) -> Counts:
    """Of what Claude Code writes as it works: answers by their ids, and what its result counts."""
    said = [entry["message"] for entry in json.loads(path.read_text())["messages"]]
    answers = {entry["message"]["id"] for entry in said if entry["type"] == "assistant"}
    (usage,) = [entry["usage"] for entry in said if entry["type"] == "result"]
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {"runs": 1, "llm": len(answers), "tokens": sum(usage[name] for name in read)}


def of_run_state(path: Path) -> Counts:
    """Of the Agents SDK: answers, and the calls of tools in them."""
    responses = json.loads(path.read_text())["model_responses"]
    asked = [item for response in responses for item in response["output"] if item["type"] == "function_call"]
    tokens = sum(response["usage"]["total_tokens"] for response in responses)
    return {"runs": 1, "llm": len(responses), "tool": len(asked), "tokens": tokens}


def of_inspect(path: Path) -> Counts:
    """Of the samples in a log: their model and tool events, and the usage that each sample sums up."""
    if path.suffix == ".json":
        samples = json.loads(path.read_text())["samples"]
    else:
        with ZipFile(path) as archive:
            names = [member for member in archive.infolist() if member.filename.startswith("samples/")]
            samples = [json.loads(unzipped(path, member)) for member in names]
    events = [event for sample in samples for event in sample["events"]]
    usages = [usage for sample in samples for usage in sample["model_usage"].values()]
    return {
        "runs": len(samples),
        "llm": sum(event["event"] == "model" for event in events),
        "tool": sum(event["event"] == "tool" for event in events),
        "tool errors": sum(event["event"] == "tool" and bool(event.get("error")) for event in events),
        "tokens": sum(usage["total_tokens"] for usage in usages),
    }


def of_cassette(path: Path) -> Counts:
    """Of VCR's exchanges: those with models by their addresses, and the largest count of each kind in an answer."""
    found: Counter[str] = Counter(runs=1)
    for exchange in yaml.safe_load(path.read_text())["interactions"]:
        is_model = re.search(r"/(completions|responses|messages|converse-stream)$", exchange["request"]["uri"])
        found["llm" if is_model else "http"] += 1
        body = exchange["response"]["body"]
        answer = body.get("string") or json.dumps(body.get("parsed_body"))
        if isinstance(answer, bytes):
            answer = (gzip.decompress(answer) if answer[:2] == b"\x1f\x8b" else answer).decode("utf-8", "replace")
        names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "inputTokens", "outputTokens")
        counts = (re.findall(rf'"{name}": ?(\d+)', answer) for name in names)
        found["tokens"] += sum(max(map(int, each), default=0) for each in counts)
    return dict(found)


def asked_in(path: Path) -> Counts:
    """How many tools the answers in a cassette ask for, by words that each of them is asked for with."""
    asked = {"multiple_tools": 2, "tool_calls_with": 2, "converse": 2, "complex_agent": 4, "tool_call_and_result": 2}
    return {"tool": next((count for words, count in asked.items() if words in path.name), 0)}


def unzipped(path: Path, member: ZipInfo) -> bytes:
    body = path.read_bytes()[member.header_offset :]
    begins = 30 + int.from_bytes(body[26:28], "little") + int.from_bytes(body[28:30], "little")
    packed = body[begins : begins + member.compress_size]
    if member.compress_type == 8:
        return zlib.decompress(packed, -15)
    return zstandard.ZstdDecompressor().decompressobj().decompress(packed)


def loaded(path: Path) -> Any:
    return json.loads(path.read_text())


FILES: dict[str, Callable[[Path], Counts]] = {
    "claude_code/*.jsonl": of_claude_code,
    "pi_session/*.jsonl": of_pi,
    "chat/openhands_sdk*.json": lambda path: of_messages(loaded(path)),
    "chat/tau_bench*.json": lambda path: of_messages(*(run["traj"] for run in loaded(path))),
    "chat/tau2*.json": lambda path: of_messages(*(run["messages"] for run in loaded(path)["simulations"])),
    "swe_agent/*.traj": of_actions,
    "mini_swe_agent/v1*.json": of_mini,
    "mini_swe_agent/github*.json": lambda path: of_messages(loaded(path)),
    "atif/*.json": of_atif,
    "openhands/*": of_events,
    "claude_agent_sdk_stream/*": of_stream,
    "inspect/*": of_inspect,
    "openai_agents_run_state/*": of_run_state,
    "vcr/*": lambda path: of_cassette(path) | asked_in(path),
    "otlp/*[!s].json": of_spans,
    "otlp/*.jsonl": of_spans,
}
FOUND = [(path, count) for pattern, count in FILES.items() for path in sorted(recordings(".").glob(pattern))]


@pytest.mark.skipif(not FOUND, reason=MISSING)
@pytest.mark.parametrize(("path", "count"), FOUND, ids=lambda given: getattr(given, "stem", "")[:24])
def test_a_recorded_file_shows_what_a_count_of_its_own_finds(path: Path, count: Callable[[Path], Counts]) -> None:
    before = path.read_bytes()
    assert shown(path) == {name: number for name, number in count(path).items() if number}
    assert path.read_bytes() == before
