"""A small file of each format, which tests damage: a list is a file of lines, anything else one value.

A new format adds one row.
"""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import zstandard
from tests.core.interop import orca_traces as orca
from tests.core.interop import otlp_bytes
from tests.core.interop import test_agentrr as agentrr
from tests.core.interop import test_claude_stream as claude_stream
from tests.core.interop import test_databases as databases
from tests.core.interop import test_exchanges as exchanges
from tests.core.interop import test_gemini_cli as gemini
from tests.core.interop import test_inspect_ai as inspect_ai
from tests.core.interop import test_opencode as opencode
from tests.core.interop import test_openhands_v1 as openhands_v1
from tests.core.interop import test_pi as pi
from tests.core.interop import test_tables as tables
from tests.core.interop import test_vcr as vcr
from tests.core.interop.sessions import Session, words
from tests.core.interop.test_codex import session as codex_session
from tests.core.interop.test_message_files import BLOCKS, CALL, CHAT, HISTORY, PI, SWE, acted, came
from tests.core.interop.test_otlp import ai_sdk, genai, openinference, openllmetry, request
from tests.core.interop.test_trace_exports import constructor, observations, of_langchain, spans_of_phoenix
from tests.core.interop.zip_archives import write_zip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["PACKED", "SAMPLES", "Lines", "as_bytes"]


class Lines(list[Any]):
    """Values that stand one in a line."""


def as_bytes(sample: Any) -> bytes:
    """The file that holds a sample."""
    if isinstance(sample, Lines):
        return "".join(json.dumps(line) + "\n" for line in sample).encode()
    return json.dumps(sample).encode()


def _claude_code() -> Lines:
    session = Session()
    asked = session.says("Are the tests green?")
    first = session.answers("msg_1", words("I will look."), asked)
    call = session.calls("msg_1", "call_1", "Task", {"prompt": "Look closer.", "subagent_type": "tester"}, first)
    inner = session.says("Look closer.", None, isSidechain=True)
    session.answers("msg_9", words("Three fail."), inner, isSidechain=True)
    given = session.gives("call_1", "3 failed", call, failed=True, toolUseResult={"stdout": "3 failed"})
    cut = session.entry("system", None, given, subtype="compact_boundary", logicalParentUuid=given)
    session.says("A summary.", cut, isCompactSummary=True)
    session.answers("msg_2", words("No."), given)
    return Lines([*session.lines, {"type": "summary", "summary": "Green tests"}])


_ANSWER: Final = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}
_OBSERVED: Final = {"traceId": "t1", "startTime": "2026-03-02T10:00:00Z", "endTime": "2026-03-02T10:00:01Z"}

SAMPLES: Final[dict[str, Any]] = {
    "claude_code": _claude_code(),
    "pi": Lines(PI),
    "claude_stream": Lines(claude_stream.WORK),
    "agentrr": Lines([agentrr.HEAD, *agentrr.WORK]),
    "inspect_ai": inspect_ai.HEAD | {"samples": [inspect_ai.sample()]},
    "openai_agents": Lines([
        {"object": "trace", "id": "trace_1", "workflow_name": "desk"},
        {"object": "trace.span", "id": "span_1", "trace_id": "trace_1", "parent_id": None,
         "started_at": "2026-03-02T10:00:00Z", "ended_at": "2026-03-02T10:00:02Z", "error": None,
         "span_data": {"type": "agent", "name": "desk"}},
        {"object": "trace.span", "id": "span_2", "trace_id": "trace_1", "parent_id": "span_1",
         "started_at": "2026-03-02T10:00:00Z", "ended_at": "2026-03-02T10:00:01Z", "error": {"message": "no"},
         "span_data": {"type": "function", "name": "look", "input": "{}", "output": "none"}},
        {"object": "trace.span", "id": "span_3", "trace_id": "trace_1", "parent_id": "span_1",
         "started_at": "2026-03-02T10:00:01Z", "ended_at": "2026-03-02T10:00:02Z", "error": None,
         "span_data": {"type": "generation", "model": "m", "input": CHAT[:1], "output": CHAT[-1:],
                       "usage": {"input_tokens": 3, "output_tokens": 4}}},
    ]),
    "vcr": vcr.told(vcr.exchange([vcr.ASKED], {"string": vcr.answer(vcr.CALLS).decode()})),
    "otlp": request([*genai(), *openinference(), *openllmetry(), *ai_sdk()]),
    "otlp, lines": Lines(request([each]) for each in genai()),
    "langfuse": {
        "trace": {"id": "t1", "name": "desk"},
        "observations": [
            {**_OBSERVED, "id": "a", "type": "AGENT", "name": "desk"},
            {**_OBSERVED, "id": "b", "type": "GENERATION", "name": "chat", "parentObservationId": "a", "model": "m",
             "input": '[{"role": "user", "content": "Hi."}]', "output": '{"role": "assistant", "content": "Yes."}',
             "usageDetails": {"input": 3, "output": 4}},
            {**_OBSERVED, "id": "c", "type": "TOOL", "name": "look", "parentObservationId": "b", "level": "ERROR",
             "input": '{"input": {"q": 1}}', "output": "none", "statusMessage": "no"},
        ],
    },
    "atif": {
        "schema_version": "ATIF-v1.5", "session_id": "h1", "agent": {"name": "hand", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Make a file.", "timestamp": "2026-03-02T10:00:00Z"},
            {"step_id": 2, "source": "agent", "message": "Made.", "metrics": {"prompt_tokens": 9},
             "tool_calls": [{"tool_call_id": "t1", "function_name": "write", "arguments": {"path": "a"}}],
             "observation": {"results": [{"source_call_id": "t1", "content": "done"}]}},
        ],
        "final_metrics": {"total_prompt_tokens": 9, "total_cost_usd": 0.5},
    },
    "swe_agent": SWE | {"history": HISTORY},
    "mini_swe_agent": {
        "trajectory_format": "mini-swe-agent-1.1", "info": {"exit_status": "Submitted"},
        "messages": [
            {"role": "system", "content": "You fix things."},
            {"role": "assistant", "content": "cat x", "extra": {"actions": [{"command": "cat x"}], "cost": 0.5}},
            {"role": "user", "content": "no such file", "extra": {"returncode": 1, "timestamp": 1_772_000_000.5}},
            {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
        ],
    },
    "openhands": [
        acted(0, "message", {"content": "Look."}, "user"),
        acted(1, "run", {"command": "a"},
              tool_call_metadata={"tool_call_id": "c1", "model_response": {"id": "r1", "model": "gpt-4o", **_ANSWER}}),
        came(2, 1, "no", extras={"metadata": {"exit_code": 1}}),
        acted(3, "message", {"content": "Done."}),
    ],
    "openhands_v1": openhands_v1.EVENTS,
    "clearstone": {
        "metadata": {"checkpoint_id": "ckpt_1", "agent_class_path": "desk.Agent"}, "agent_state_pickle_b64": "gASV",
        "current_span": {"span_id": "s2", "trace_id": "t1", "parent_span_id": "s1", "name": "tool.look",
                         "start_time_ns": 1_772_445_600_000_000_000, "end_time_ns": 1_772_445_601_000_000_000,
                         "input_snapshot": {"captured": True, "data": '{"__type__": "json", "value": 1}'}},
        "upstream_spans": [{"span_id": "s1", "trace_id": "t1", "name": "agent", "status": "ERROR"}],
    },
    "orca": Lines(orca.events()),
    "orca, without bytes": Lines(orca.events_without_bytes()),
    "exchanges": Lines([*exchanges.BATCHES["openai"][0], *exchanges.BATCHES["openai"][1]]),
    "exchanges, of Anthropic": Lines([*exchanges.BATCHES["anthropic"][0], *exchanges.BATCHES["anthropic"][1]]),
    "exchanges, one": {"request": exchanges.ASKED, "response": exchanges.COMPLETION},
    "ai_sdk": {"steps": exchanges.STEPS, "messages": CHAT[:1]},
    "pi, branches": Lines([pi.HEAD, pi.user("a", None, "Hi."), pi.model("b", "a", "Yes."), pi.user("c", "a", "No."),
                           pi.entry("d", "c", "compaction", summary="Hi.", firstKeptEntryId="c")]),
    "codex": Lines(codex_session().event("thread_rolled_back", num_turns=1).lines),
    "gemini_cli": Lines([gemini.HEAD, gemini.ASKED, gemini.DONE, {"$rewindTo": "g1"}, gemini.SAID]),
    "gemini_cli, checkpoint": {"history": gemini.CONTENTS},
    "opencode": {"info": opencode.HEAD, "messages": opencode.MESSAGES},
    "langsmith": of_langchain(constructor, counted_beside=True),
    "phoenix": Lines(spans_of_phoenix()),
    "langfuse, rows": observations(),
    "chat": CHAT,
    "chat, blocks": BLOCKS,
    "chat, lines": Lines([{"id": "one", "messages": CHAT}, {"messages": BLOCKS}]),
}  # fmt: skip
"""By the name of the format, and where it has several forms what tells them apart behind a comma."""


# ---------------------------------------------------------------- files that are no plain JSON


def _path(folder: Path) -> Path:
    return folder / "packed"


def _compressed(folder: Path, pack: Callable[[bytes], bytes], sample: str) -> Path:
    path = _path(folder)
    path.write_bytes(pack(as_bytes(SAMPLES[sample])))
    return path


def _opencode(folder: Path) -> Path:
    with closing(databases.opencode(_path(folder))) as rows, rows:
        databases.add_session(rows, "ses_1")
        databases.add_messages(rows, "ses_1", opencode.MESSAGES)
        databases.add_entries(rows, "ses_1", [{"type": "user", "text": "Hi."}])
    return _path(folder)


def _protobuf(folder: Path) -> Path:
    path = _path(folder)
    path.write_bytes(otlp_bytes.request(request([*genai(), *openinference()])))
    return path


PACKED: Final[dict[str, Callable[[Path], Path]]] = {
    "gzip": lambda folder: _compressed(folder, gzip.compress, "claude_code"),
    "Zstandard": lambda folder: _compressed(folder, zstandard.ZstdCompressor().compress, "otlp"),
    "zip": lambda folder: write_zip(_path(folder), inspect_ai.members()),
    "YAML": lambda folder: vcr.written(folder, SAMPLES["vcr"]),
    "CSV": lambda folder: tables.as_csv(_path(folder), observations()),
    "protocol buffers": _protobuf,
    "OpenCode's database": _opencode,
    "clearstone's database": lambda folder: databases.clearstone(_path(folder), databases.span("a", 1, None)),
}
"""What writes a file of each container that is no plain JSON."""
