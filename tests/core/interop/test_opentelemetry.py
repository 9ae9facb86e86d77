"""Runs as spans of OpenTelemetry: to an exporter in memory, and by the real SDK to a receiver on loopback."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import itertools
import json
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.core.querying.compacted_session import write_session
from tests.core.web_server import serving
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.interop.opentelemetry.following import FollowedRun
from agent_tt.interop.opentelemetry.metrics import metrics_of
from agent_tt.interop.opentelemetry.sending import metric_collector, send, send_metrics, span_collector
from agent_tt.interop.opentelemetry.tree import spans_of
from agent_tt.model import NewFork, NewRun
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from agent_tt.protocols import RunSource

TOOLS = [
    {"type": "function", "function": {"name": "look_up", "description": "Find it.", "parameters": {"type": "object"}}}
]


def answer(_path: str, sent: bytes) -> bytes:
    """Ask for a tool first, and answer then."""
    turns = json.loads(sent)["messages"]
    asks = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "lamp"}'}}
        ],
    }
    says = asks if turns[-1]["role"] == "user" else {"role": "assistant", "content": "It costs 30."}
    return json.dumps(
        {
            "id": f"chatcmpl-{len(turns)}",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-2024-08-06",
            "choices": [{"index": 0, "message": says, "finish_reason": "tool_calls" if says is asks else "stop"}],
            "usage": {
                "prompt_tokens": 20 + len(turns),
                "completion_tokens": 7,
                "total_tokens": 27 + len(turns),
                "prompt_tokens_details": {"cached_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
        }
    ).encode()


@agent_tt.tool(effect="read")
def look_up(word: str) -> dict[str, object]:
    return {"word": word, "price": inner(word)}


@agent_tt.tool(effect="read")
def inner(word: str) -> int:
    tracer().start_span(f"SELECT {word}").end()
    return 30


@agent_tt.tool(effect="read")
async def check(number: int) -> int:
    await asyncio.sleep(0)
    tracer().start_span(f"SELECT {number}").end()
    return number


@agent_tt.tool(effect="write")
def charge(cents: int) -> None:
    message = f"no card for {cents}"
    raise TimeoutError(message)


_TRACER: list[trace.Tracer] = []


def tracer() -> trace.Tracer:
    """What a library of the agent's traces with."""
    return _TRACER[-1] if _TRACER else trace.NoOpTracer()


@contextmanager
def library(exporter: InMemorySpanExporter) -> Iterator[trace.Tracer]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    _TRACER.append(provider.get_tracer("library"))
    try:
        yield _TRACER[-1]
    finally:
        _TRACER.pop()


def desk(url: str, store: Path) -> str:
    """An agent: a conversation with a model, tools side by side and in threads, and another agent."""
    turns: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "The lamp?"}]

    def ask() -> dict[str, Any]:
        body = {"model": "gpt-4o", "temperature": 0.5, "max_tokens": 100, "messages": turns, "tools": TOOLS}
        said = httpx.post(f"{url}/v1/chat/completions", json=body).json()["choices"][0]["message"]
        turns.append(said)
        return said

    state = {"turns": turns}
    with agent_tt.record("desk", state=state, store=store) as run:
        with run.step("ask", state):
            called = ask()["tool_calls"][0]
            found = look_up(**json.loads(called["function"]["arguments"]))
            turns.append({"role": "tool", "tool_call_id": called["id"], "content": json.dumps(found)})
        with run.step("answer", state):
            ask()
        with run.step("check", state, agent="checker"):

            async def both() -> None:
                await asyncio.gather(check(1), check(2))

            asyncio.run(both())
            thread = threading.Thread(target=look_up, args=("bulb",))
            thread.start()
            thread.join()
        with pytest.raises(TimeoutError), run.step("pay", state):
            charge(30)
        return run.id


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[RunSource, str]]:
    with serving(answer) as web:
        run = desk(web.url, tmp_path / "runs.db")
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        yield source, run


def sent(source: RunSource, run: str, *, content: bool = True) -> list[ReadableSpan]:
    exporter = InMemorySpanExporter()
    send(exporter, source.run(run), list(spans_of(source, source.run(run), content=content)))
    return list(exporter.get_finished_spans())


def tree(spans: list[ReadableSpan]) -> list[tuple[str, str | None]]:
    """Each span's name with that of its parent."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    assert len(names) == len(spans)
    return [(span.name, names[span.parent.span_id] if span.parent else None) for span in spans]


TREE = [
    ("invoke_agent desk", None),
    ("chat gpt-4o", "invoke_agent desk"),
    ("execute_tool look_up", "invoke_agent desk"),
    ("execute_tool inner", "execute_tool look_up"),
    ("chat gpt-4o", "invoke_agent desk"),
    ("invoke_agent checker", "invoke_agent desk"),
    ("execute_tool check", "invoke_agent checker"),
    ("execute_tool check", "invoke_agent checker"),
    ("execute_tool look_up", "invoke_agent checker"),
    ("execute_tool inner", "execute_tool look_up"),
    ("execute_tool charge", "invoke_agent desk"),
]


def test_each_call_stands_below_what_made_it(recorded: tuple[RunSource, str]) -> None:
    source, run = recorded
    spans = sent(source, run)
    assert tree(spans) == TREE
    assert {span.context.trace_id for span in spans if span.context} == {spans[0].context.trace_id}
    again = sent(source, run)
    assert [span.context.span_id for span in again] == [span.context.span_id for span in spans], "twice is once"
    assert all(span.start_time <= span.end_time for span in spans)
    assert spans[1].start_time == source.calls(run, 1)[0].started_us * 1000


def test_a_model_call_says_what_the_conventions_ask_for(recorded: tuple[RunSource, str]) -> None:
    chat = dict(sent(*recorded)[1].attributes or {})
    messages = json.loads(str(chat.pop("gen_ai.input.messages")))
    assert messages == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "The lamp?"}]},
    ]
    (said,) = json.loads(str(chat.pop("gen_ai.output.messages")))
    asked = {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"word": "lamp"}}
    assert said == {"role": "assistant", "parts": [asked], "finish_reason": "tool_calls"}
    (tool,) = json.loads(str(chat.pop("gen_ai.tool.definitions")))
    assert (tool["type"], tool["name"]) == ("function", "look_up")
    told = {name: value for name, value in chat.items() if name.startswith("gen_ai.")}
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.response.model": "gpt-4o-2024-08-06",
        "gen_ai.response.id": "chatcmpl-2",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 22,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }
    assert chat["server.address"] == "127.0.0.1"


def test_a_tool_says_its_arguments_and_how_it_failed(recorded: tuple[RunSource, str]) -> None:
    spans = sent(*recorded)
    tool, failed = spans[2], spans[-1]
    says = dict(tool.attributes or {})
    assert (says["gen_ai.tool.name"], says["gen_ai.tool.type"]) == ("look_up", "function")
    assert json.loads(str(says["gen_ai.tool.call.arguments"])) == {"word": "lamp"}
    assert json.loads(str(says["gen_ai.tool.call.result"])) == {"word": "lamp", "price": 30}
    assert (failed.attributes or {})["error.type"] == "TimeoutError"
    assert (failed.status.is_ok, failed.status.description) == (False, "TimeoutError: no card for 30")
    assert tool.status.is_unset


def test_content_is_said_only_where_that_is_asked_for(recorded: tuple[RunSource, str]) -> None:
    said = json.dumps([dict(span.attributes or {}) for span in sent(*recorded, content=False)])
    for secret in ("Be brief", "The lamp", "It costs", '"price', "bulb"):
        assert secret not in said.replace("\\", "")


def registry() -> tuple[set[str], set[str]]:
    """The names that the conventions' registry has, and of these the ones that were removed or replaced."""
    found = importlib.util.find_spec("opentelemetry.semconv._incubating.attributes")
    assert found is not None
    assert found.submodule_search_locations
    names, gone = set(), set()
    for file in Path(found.submodule_search_locations[0]).glob("*_attributes.py"):
        body = ast.parse(file.read_text()).body
        for statement, words in itertools.pairwise(body):
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.value, ast.Constant):
                continue
            names.add(statement.value.value)
            text = words.value.value if isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant) else ""
            if "Deprecated: Re" in str(text):  # removed, or replaced; others have moved with their names
                gone.add(statement.value.value)
    return names, gone


def test_names_are_those_of_the_registry_and_none_that_was_removed(recorded: tuple[RunSource, str]) -> None:
    names, gone = registry()
    assert {"gen_ai.system", "gen_ai.prompt"} <= gone, "this test reads the registry"
    said = {name for span in sent(*recorded) for name in span.attributes or {}}
    assert {name for name in said if not name.startswith("agent_tt.")} <= names - gone


def carried(result: object) -> object:
    """What an attribute of a span can carry of a result: text, and JSON that is more than one value."""
    return result if result is None or isinstance(result, (dict, list)) else str(result)


class Receiver:
    """What a collector got, as JSON."""

    def __init__(self) -> None:
        self.traces: list[dict[str, Any]] = []
        self.metrics: list[dict[str, Any]] = []

    def take(self, path: str, sent: bytes) -> bytes:
        if path == "/v1/traces":
            self.traces.append(MessageToDict(ExportTraceServiceRequest.FromString(sent)))
        else:
            self.metrics.append(MessageToDict(ExportMetricsServiceRequest.FromString(sent)))
        return b""


def test_what_a_collector_gets_opens_as_the_run_that_was_sent(recorded: tuple[RunSource, str], tmp_path: Path) -> None:
    source, number = recorded
    run, receiver = source.run(number), Receiver()
    spans = list(spans_of(source, run, content=True))
    with serving(receiver.take) as web:
        assert send(span_collector(web.url), run, spans) == len(TREE)
        send_metrics(metric_collector(web.url), metrics_of(run, spans, ()))
        assert web.asked == ["POST /v1/traces", "POST /v1/metrics"]
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(receiver.traces[0]))
    with closing(open_source(file)) as again:
        (told,) = again.runs()
        assert (told.tokens_in, told.tokens_out) == (run.tokens_in, run.tokens_out)
        kinds = ("llm", "tool")
        ours, theirs = (
            [call for step in each.steps(of) for call in each.calls(of, step.number) if call.kind in kinds]
            for each, of in ((source, number), (again, told.id))
        )
        assert sorted((call.kind, call.status) for call in ours) == sorted((call.kind, call.status) for call in theirs)
        for name in ("look_up", "inner", "check", "charge"):
            assert [(call.args, carried(call.result)) for call in theirs if call.name == name] == [
                (call.args, carried(call.result)) for call in ours if call.name == name
            ]
        last = max(step.number for step in again.steps(told.id) if step.lane == "main")
        texts = json.dumps(again.state(told.id, last))
        assert all(words in texts for words in ("Be brief.", "The lamp?", "call_1", "It costs 30."))
    (scope,) = receiver.metrics[0]["resourceMetrics"][0]["scopeMetrics"]
    by_name = {metric["name"]: metric for metric in scope["metrics"]}
    assert set(by_name) == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}
    sums = {
        attribute["value"]["stringValue"]: (int(point["count"]), point["sum"])
        for point in by_name["gen_ai.client.token.usage"]["histogram"]["dataPoints"]
        for attribute in point["attributes"]
        if attribute["key"] == "gen_ai.token.type"
    }
    assert sums == {"input": (2, float(run.tokens_in or 0)), "output": (2, float(run.tokens_out or 0))}


def test_live_spans_are_those_sent_afterwards_and_others_stand_below_them(tmp_path: Path) -> None:
    ours, others = InMemorySpanExporter(), InMemorySpanExporter()
    with (
        serving(answer) as web,
        library(others) as library_tracer,
        library_tracer.start_as_current_span("GET /desk"),
        agent_tt.send_spans(ours, content=True),
    ):
        run = desk(web.url, tmp_path / "runs.db")
    spans = list(ours.get_finished_spans())
    (request,) = [span for span in others.get_finished_spans() if span.name == "GET /desk"]
    root = next(span for span in spans if span.name == "invoke_agent desk")
    assert root.parent is not None
    assert root.parent.span_id == request.context.span_id, "it is part of the trace that it runs in"
    names = {span.context.span_id: span.name for span in (*spans, request) if span.context}
    assert sorted((span.name, names[span.parent.span_id]) for span in spans if span.parent) == sorted(
        (name, parent or "GET /desk") for name, parent in TREE
    )
    below = {span.name: names[span.parent.span_id] for span in others.get_finished_spans() if span.parent}
    assert below == {
        "SELECT lamp": "execute_tool inner",
        "SELECT bulb": "execute_tool inner",
        "SELECT 1": "execute_tool check",
        "SELECT 2": "execute_tool check",
    }
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        assert {(span.name, span.context.span_id) for span in sent(source, run)} == {
            (span.name, span.context.span_id) for span in spans
        }


def test_an_agent_goes_on_where_nothing_can_be_sent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(InMemorySpanExporter):
        def export(self, spans: object) -> Any:
            message = "no network"
            raise OSError(message)

    with serving(answer) as web, agent_tt.send_spans(Broken()):
        run = desk(web.url, tmp_path / "runs.db")
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        assert source.run(run).status == "succeeded"
    assert [record.message for record in caplog.records if record.name == "agent_tt.otel"] == [
        "spans are not sent: no network "
    ]


def test_a_fork_is_a_trace_of_its_own_that_names_its_parents(recorded: tuple[RunSource, str], tmp_path: Path) -> None:
    source, run = recorded
    with closing(open_store(tmp_path / "runs.db")) as store:
        fork = store.begin_fork(NewFork(run, 2, state={}, new=NewRun("")))
    (span,) = spans_of(source, source.run(fork))
    assert span.link is not None
    assert span.link == next(spans_of(source, source.run(run))).place
    assert span.place.trace != span.link.trace


def test_an_agent_that_a_tool_asks_stands_below_the_tool(tmp_path: Path) -> None:
    @agent_tt.tool(effect="read")
    def delegate(word: str) -> int:
        with run.step("help", state, agent="helper"):
            return inner(word)

    state: dict[str, object] = {}
    with agent_tt.record("boss", state=state, store=tmp_path / "runs.db") as run, run.step("ask", state):
        delegate("lamp")
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        assert tree(sent(source, run.id)) == [
            ("invoke_agent boss", None),
            ("execute_tool delegate", "invoke_agent boss"),
            ("invoke_agent helper", "execute_tool delegate"),
            ("execute_tool inner", "invoke_agent helper"),
        ]


def test_runs_that_are_sent_are_sampled_as_others_are(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        agent_tt.send_spans(InMemorySpanExporter()),
        agent_tt.record("boss", state={}, store=tmp_path / "runs.db", sampling={"successes": 0}) as run,
    ):
        inner("lamp")
    assert run.is_sampled_out
    assert not [record for record in caplog.records if record.name == "agent_tt.otel"]


def test_a_call_that_outlives_its_step_is_sent_once_and_so_is_each_other(tmp_path: Path) -> None:
    goes_on, begun = threading.Event(), threading.Event()

    @agent_tt.tool(effect="read")
    def slow() -> None:
        begun.set()
        assert goes_on.wait(PATIENCE_SECONDS)

    exporter, state = InMemorySpanExporter(), dict[str, object]()
    with agent_tt.record("boss", state=state, store=tmp_path / "runs.db") as run:
        followed = FollowedRun(run.id, exporter, None, content=False)
        with run.step("one", state):
            thread = threading.Thread(target=slow)
            thread.start()
            assert begun.wait(PATIENCE_SECONDS)
        for _ in range(2):
            with run.step("more", state):
                inner("lamp")
            with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
                assert not followed.send(source)
        goes_on.set()
        thread.join()
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        assert followed.send(source)
    assert sorted(span.name for span in exporter.get_finished_spans()) == [
        "execute_tool inner",
        "execute_tool inner",
        "execute_tool slow",
        "invoke_agent boss",
    ]
    assert followed.sent == 4


def test_calls_without_a_time_are_sent_in_their_order_and_say_that_nobody_knows_when(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "lamp"}'}}
    turns = [
        {"role": "user", "content": "The lamp?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "30"},
        {"role": "assistant", "content": "It costs 30."},
    ]
    (tmp_path / "talk.json").write_text(json.dumps({"messages": turns}))
    receiver = Receiver()
    with closing(open_source(tmp_path / "talk.json")) as source, serving(receiver.take) as web:
        run = source.run("talk")
        spans = list(spans_of(source, run, content=True))
        assert send(span_collector(web.url), run, spans) == 4
        kinds = ("llm", "tool")
        ours = [call for step in source.steps("talk") for call in source.calls("talk", step.number)]
        ours = [call for call in ours if call.kind in kinds]
    said = [span.told.attributes.get("agent_tt.call.time") for span in spans[1:]]
    assert said == ["unknown"] * 3
    assert [span.began_ns for span in spans] == sorted(span.began_ns for span in spans)
    metrics = metrics_of(run, spans, ())
    assert "gen_ai.client.operation.duration" not in str(metrics)
    (tmp_path / "trace.json").write_text(json.dumps(receiver.traces[0]))
    with closing(open_source(tmp_path / "trace.json")) as again:
        (told,) = again.runs()
        theirs = [call for step in again.steps(told.id) for call in again.calls(told.id, step.number)]
        assert [(call.kind, call.status) for call in theirs] == [(call.kind, call.status) for call in ours]
        assert [(call.args, call.result) for call in theirs if call.kind == "tool"] == [({"word": "lamp"}, "30")]
        assert "It costs 30." in json.dumps(again.state(told.id, again.step_count(told.id)))


def test_large_spans_are_sent_in_several_requests(recorded: tuple[RunSource, str]) -> None:
    source, number = recorded
    run, receiver = source.run(number), Receiver()
    spans = list(spans_of(source, run))
    for span in spans:
        span.told.attributes["long"] = "x" * 700_000
    with serving(receiver.take) as web:
        assert send(span_collector(web.url), run, spans) == len(spans)
        assert len(web.asked) == -(-len(spans) // 2)


def test_a_session_that_was_opened_comes_back_with_its_calls_and_what_nobody_knows(tmp_path: Path) -> None:
    file = write_session(tmp_path / "one.jsonl")
    lines = file.read_text().splitlines()
    asks = json.loads(lines[1])
    asks["message"]["id"], asks["uuid"], asks["parentUuid"] = "msg_last", "u99", json.loads(lines[-1])["uuid"]
    asks["timestamp"], asks["requestId"] = "2026-11-01T10:05:00Z", "req_last"
    asks["message"]["content"][0] |= {"id": "toolu_99", "name": "Wait"}
    file.write_text("\n".join([*lines, json.dumps(asks)]) + "\n")
    receiver = Receiver()
    with closing(open_source(file)) as source, serving(receiver.take) as web:
        (run,) = source.runs()
        assert send(span_collector(web.url), run, list(spans_of(source, run, content=True)))
        ours = calls_of(source, run.id)
    (tmp_path / "trace.json").write_text(json.dumps(receiver.traces[0]))
    with closing(open_source(tmp_path / "trace.json")) as again:
        (told,) = again.runs()
        theirs = calls_of(again, told.id)
    assert (told.status, told.tokens_in, told.tokens_out) == ("unknown", run.tokens_in, run.tokens_out)
    assert [call for call in theirs if call[0] == "tool"] == [call for call in ours if call[0] == "tool"]
    assert ("tool", "Wait", "pending", {"file_path": "config.toml"}, None) in theirs
    assert len(theirs) == len(ours)


def calls_of(source: RunSource, run: str) -> list[tuple[object, ...]]:
    """What models and tools were asked and gave; a person's words are no span."""
    calls = [call for step in source.steps(run) for call in source.calls(run, step.number)]
    return [(each.kind, each.name, each.status, each.args, each.result) for each in calls if each.kind != "human"]
