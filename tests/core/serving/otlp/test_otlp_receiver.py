"""Spans that are sent over HTTP: the runs that an import of the same spans gives, whenever and however they come."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import threading
import time
import zlib
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from tests.core.interop.otlp_bytes import request as request_bytes
from tests.core.interop.test_otlp import TRACE, ai_sdk, genai, listed, openinference, openllmetry, request, span
from tests.core.serving.otlp.received_runs import imported, run_now, told, until
from tests.core.serving.rest.served import client

from agent_tt.addresses import Address
from agent_tt.serving.otlp.receiver import Receiver
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient

pytestmark = pytest.mark.warm("fastapi.testclient", "pydantic")

PROTOBUF = {"Content-Type": "application/x-protobuf"}
SECRET = "sk-ant-api03-" + "Ab3dEf6hIj9k" * 7 + "AA"


@contextmanager
def receiving(store: Path, **times: Any) -> Iterator[tuple[TestClient, Receiver]]:
    open_store(store, create=True).close()
    receiver = Receiver(store, **times)
    try:
        with client(store, receiver=receiver) as asked:
            yield asked, receiver
    finally:
        receiver.stop()


def sent(asked: TestClient, spans: list[Any]) -> Any:
    answer = asked.post("/v1/traces", json=request(spans))
    assert answer.status_code == 200, answer.text
    return answer.json()


CONVENTIONS = {"GenAI": genai, "OpenInference": openinference, "OpenLLMetry": openllmetry, "AI SDK": ai_sdk}


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("form", ["json", "protobuf", "gzip", "deflate"])
def test_a_trace_that_was_sent_is_the_run_that_its_import_gives(tmp_path, convention, form):
    spans = CONVENTIONS[convention]()
    with receiving(tmp_path / "runs.db") as (asked, _):
        for each in ([spans[0]], spans[1:3], spans[3:]):
            if form == "json":
                answer = asked.post("/v1/traces", json=request(each))
                assert (answer.status_code, answer.json()) == (200, {})
                continue
            body = request_bytes(request(each))
            packed = {"protobuf": body, "gzip": gzip.compress(body), "deflate": zlib.compress(body)}[form]
            encoding = {} if form == "protobuf" else {"Content-Encoding": form}
            answer = asked.post("/v1/traces", content=packed, headers=PROTOBUF | encoding)
            assert (answer.status_code, answer.content) == (200, b"")
            assert answer.headers["content-type"] == "application/x-protobuf"
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(request(spans)))
    assert told(tmp_path / "runs.db") == imported(file, tmp_path)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_late_and_repeated_spans_in_any_order_change_nothing_twice(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("sent")
    spans = CONVENTIONS[data.draw(st.sampled_from(sorted(CONVENTIONS)))]()
    order = data.draw(st.permutations(range(len(spans))))
    again = data.draw(st.lists(st.sampled_from(range(len(spans))), max_size=6))
    with receiving(folder / "runs.db") as (asked, receiver):
        for number in [*order, *again]:
            sent(asked, [spans[number]])
            if data.draw(st.booleans()):
                until(lambda: not any(each["waiting"] for each in receiver.told()))
        until(lambda: not any(each["waiting"] for each in receiver.told()))
        before = told(folder / "runs.db")
        with closing(open_source(folder / "runs.db", read_only=True)) as source:
            version = source.version()
        size = receiver.spool.size(TRACE)
        for each in spans:
            sent(asked, [each])
        time.sleep(0.1)
        assert receiver.spool.size(TRACE) == size, "what is known is not kept again"
        with closing(open_source(folder / "runs.db", read_only=True)) as source:
            assert source.version() == version
    file = folder / "traces.json"
    file.write_text("\n".join(json.dumps(request([spans[number]])) for number in order))
    assert told(folder / "runs.db") == before == imported(file, folder)


def test_a_run_grows_while_its_spans_come(tmp_path):
    spans = genai()
    store = tmp_path / "runs.db"
    with receiving(store) as (asked, receiver):
        sent(asked, spans[:1])
        (state,) = until(lambda: [each for each in asked.get("/api/received").json()["traces"] if each["run"]])
        run = state["run"]
        assert (state["trace"], state["over"]) == (TRACE, False)
        assert asked.get(f"/api/runs/{run}").json()["status"] == "unknown"
        assert asked.get(f"/api/runs/{run}").json()["steps"] == 1
        sent(asked, spans[1:3])
        until(lambda: run_now(asked, run).get("steps") == 2)
        sent(asked, spans[3:])
        until(lambda: run_now(asked, run).get("status") == "succeeded")
        until(lambda: receiver.told()[0]["over"])


def test_the_events_of_a_run_that_grows_go_on_until_its_trace_is_over(either_store):
    spans = genai()
    with receiving(either_store) as (asked, receiver):
        sent(asked, spans[:2])
        run = until(lambda: receiver.told()[0]["run"])
        assert receiver.is_open(run)
        later = threading.Timer(0.5, lambda: sent(asked, spans[2:]))
        later.start()
        lines = asked.get(f"/api/runs/{run}/events").text.splitlines()
        later.join()
    events = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert (events.count("step"), events.count("end"), events[-1]) == (2, 1, "end")
    assert json.loads(lines[-2].removeprefix("data: "))["status"] == "succeeded"


def test_a_trace_that_never_ends_is_closed_and_says_so_and_a_late_span_opens_it_again(either_store, tmp_path):
    spans = genai()
    store = either_store
    with receiving(store, idle=0.2) as (asked, receiver):
        sent(asked, spans[:3])
        until(lambda: receiver.told()[0]["closed"] and not receiver.told()[0]["waiting"])
        run = receiver.told()[0]["run"]
        said = until(lambda: asked.get(f"/api/runs/{run}").json()["incomplete"])
        assert "no span came for 0.2 s" in said
        assert asked.get(f"/api/runs/{run}").json()["status"] == "unknown"
        sent(asked, spans[3:])
        until(lambda: run_now(asked, run).get("status") == "succeeded")
        assert asked.get(f"/api/runs/{run}").json()["incomplete"] is None
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(request(spans)))
    assert told(store) == imported(file, tmp_path)


def test_spans_of_a_trace_that_was_closed_for_good_are_refused_and_change_nothing(either_store):
    spans = genai()
    store = either_store
    with receiving(store, idle=0.1, keep=0.1) as (asked, receiver):
        sent(asked, spans)
        until(lambda: not receiver.told())
        assert not receiver.spool.path(TRACE).exists()
        before = told(store)
        answer = sent(asked, spans[:1])
        assert answer["partialSuccess"]["rejectedSpans"] == "1"
        assert "closed" in answer["partialSuccess"]["errorMessage"]
    with receiving(store, idle=0.1, keep=0.1) as (asked, _):
        assert sent(asked, spans[:1])["partialSuccess"]["rejectedSpans"] == "1", "a new server knows it too"
    assert told(store) == before


def test_what_was_acknowledged_is_imported_by_the_next_server_where_the_last_one_did_not(either_store, tmp_path):
    spans = genai()
    store = either_store
    open_store(store, create=True).close()
    with receiving(store) as (asked, receiver):
        receiver._import = lambda _trace: None  # as if it were killed before
        sent(asked, spans)
    with closing(open_source(store)) as source:
        assert source.runs() == []
    spool = receiver.spool.path(TRACE)
    assert not isinstance(store, Address) or tmp_path in spool.parents
    with spool.open("ab") as file:
        file.write(b'{"resourceSpans": [{"scopeSp')  # killed in the middle of a line
    with receiving(store) as (asked, _):
        sent(asked, [span(9, 1, "more", (4, 5), {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})])
    with closing(open_source(store)) as source:
        (run,) = source.runs()
        assert (run.status, run.steps) == ("succeeded", 3)


def test_no_secret_of_a_span_reaches_the_disk(tmp_path):
    messages = json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": f"key {SECRET} " + "and more " * 40}]}]
    )
    says = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": messages,
            "http.request.header.authorization": f"Bearer {SECRET[13:40]}", "password": "hunter2hunter2"}  # fmt: skip
    raised = listed({"exception.type": "Denied", "exception.message": f"no {SECRET}"})
    more = {"status": {"code": 2, "message": f"bad {SECRET}"}, "events": [{"name": "exception", "attributes": raised}]}
    spans = [span(1, 0, f"chat {SECRET}", (0, 1), says, **more)]
    store = tmp_path / "runs.db"
    with receiving(store) as (asked, receiver):
        sent(asked, spans)
        until(lambda: receiver.told()[0]["run"])
        kept = receiver.spool.path(TRACE).read_text()
        if os.name == "posix":
            assert receiver.spool.path(TRACE).stat().st_mode & 0o77 == 0
    everything = kept + json.dumps(told(store), default=str)
    for path in tmp_path.rglob("*"):
        everything += path.read_bytes().decode("latin-1") if path.is_file() else ""
    for secret in (SECRET, SECRET[13:40], "hunter2hunter2"):
        assert secret not in everything
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(request(spans)))
    signed = [[each[:2], each[3]] for each in told(store)]  # a digest of what was asked is one without the secret here
    assert signed == [[each[:2], each[3]] for each in imported(file, tmp_path)]


UNREADABLE = [
    ("application/json", b"{", "", 400),
    ("application/json", b"[]", "", 400),
    ("application/json", b"\xff", "", 400),
    ("application/x-protobuf", b"\xff\xff\xff", "", 400),
    ("application/x-protobuf", b"\x0a\x7f", "", 400),
    ("application/x-protobuf", b"\x0a\x02\x0b\x01", "", 400),
    ("application/x-protobuf", b"not gzip", "gzip", 400),
    ("application/x-protobuf", gzip.compress(b"x" * 100, mtime=0)[:20], "gzip", 400),
    ("application/x-protobuf", b"", "br", 415),
    ("text/plain", b"", "", 415),
    ("", b"", "", 415),
]


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
@pytest.mark.parametrize(("content", "body", "encoding", "status"), UNREADABLE)
def test_what_cannot_be_read_is_refused_in_the_form_of_the_protocol(tmp_path, path, content, body, encoding, status):
    from tests.core.interop.otlp_bytes import number, sized

    with receiving(tmp_path / "runs.db") as (asked, receiver):
        answer = asked.post(path, content=body, headers={"Content-Type": content, "Content-Encoding": encoding})
        assert answer.status_code == status
        if content == "application/x-protobuf":
            assert answer.content.startswith(number(1, 3) + sized(2, b"")[:1])
        else:
            assert answer.json()["code"] == 3
            assert answer.json()["error"]["kind"] == "malformed"
        assert receiver.told() == []


def test_a_bomb_is_not_unpacked(tmp_path):
    bomb = gzip.compress(b"\0" * (80 << 20))
    with receiving(tmp_path / "runs.db") as (asked, _):
        answer = asked.post("/v1/traces", content=bomb, headers=PROTOBUF | {"Content-Encoding": "gzip"})
        assert answer.status_code == 413


def test_spans_without_ids_are_counted_and_the_others_kept(tmp_path):
    odd = [span(7, 0, "x", (0, 1), {}) | each for each in (
        {"traceId": ""}, {"traceId": "0" * 32}, {"traceId": "../../etc/passwd"}, {"spanId": "0" * 16}, {"spanId": "%"},
        {"traceId": "a" * 31}, {"traceId": 5}, {"spanId": None})]  # fmt: skip
    with receiving(tmp_path / "runs.db") as (asked, receiver):
        answer = sent(asked, [*odd, *genai()])
        assert answer["partialSuccess"]["rejectedSpans"] == str(len(odd))
        until(lambda: receiver.told()[0]["over"])
        body = request_bytes(request([odd[1], *openinference()]))
        told_back = ExportTraceServiceResponse()
        told_back.ParseFromString(asked.post("/v1/traces", content=body, headers=PROTOBUF).content)
        assert told_back.partial_success.rejected_spans == 1
        assert "no id" in told_back.partial_success.error_message
        assert [each["trace"] for each in receiver.told()] == [TRACE]
    assert sorted(path.name for path in (tmp_path / "runs.db.otlp").iterdir()) == [f"{TRACE}.jsonl"]


def test_ids_in_base64_and_in_capitals_are_one_trace(tmp_path):
    spans = genai()
    for key in ("traceId", "spanId", "parentSpanId"):
        spans[0][key] = base64.b64encode(bytes.fromhex(spans[0][key])).decode()
        spans[1][key] = spans[1][key].upper()
    with receiving(tmp_path / "runs.db") as (asked, receiver):
        sent(asked, spans)
        assert [each["trace"] for each in receiver.told()] == [TRACE]
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(request(genai())))
    assert told(tmp_path / "runs.db") == imported(file, tmp_path)


def test_records_that_say_more_of_a_model_are_kept_and_others_counted(tmp_path):
    shown = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "From the log."}]}])
    spans = [span(2, 0, "chat m", (0, 2), {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})]
    says = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": shown}
    own = {"traceId": TRACE, "spanId": f"{2:016x}", "timeUnixNano": "1772000000000000000"}
    records = [
        own | {"attributes": listed(says)},
        own | {"attributes": listed({"x": "y"})},
        {"body": {"stringValue": "a"}},
    ]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    with receiving(tmp_path / "runs.db") as (asked, _):
        answer = asked.post("/v1/logs", json=logs)
        assert (answer.status_code, answer.json()["partialSuccess"]["rejectedLogRecords"]) == (200, "2")
        sent(asked, spans)
    file = tmp_path / "traces.json"
    file.write_text("\n".join(map(json.dumps, (logs, request(spans)))))
    assert told(tmp_path / "runs.db") == imported(file, tmp_path)
    assert "From the log." in json.dumps(told(tmp_path / "runs.db"), default=str)


def test_a_trace_of_which_only_logs_came_is_closed_and_says_that_it_is_no_run(tmp_path, caplog):
    record = {"traceId": TRACE, "spanId": f"{2:016x}", "attributes": listed({"gen_ai.operation.name": "chat"})}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    spans = [span(2, 0, "chat m", (0, 2), {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})]
    store = tmp_path / "runs.db"
    with receiving(store, idle=0.2) as (asked, receiver):
        assert asked.post("/v1/logs", json=logs).json() == {}
        until(lambda: asked.get("/api/received").json()["traces"][0]["problem"])
        closed = until(lambda: [each for each in asked.get("/api/received").json()["traces"] if each["closed"]])
        assert (closed[0]["run"], closed[0]["over"]) == (None, False)
        assert closed[0]["problem"] == "only records of logs came, which make no run, and no span of it for 0.2 s"
        assert [each for each in caplog.messages if "is no run" in each]
        sent(asked, spans)
        until(lambda: receiver.told()[0]["over"])
        assert receiver.told()[0]["problem"] is None
    with receiving(tmp_path / "others.db", idle=0.1, keep=0.1) as (asked, receiver):
        assert asked.post("/v1/logs", json=logs).json() == {}
        until(lambda: not receiver.told())
        assert not receiver.spool.path(TRACE).exists(), "its file is not kept for ever"
        assert sent(asked, spans)["partialSuccess"]["rejectedSpans"] == "1"


def test_metrics_are_refused_and_who_may_not_write_takes_no_spans(tmp_path):
    with receiving(tmp_path / "runs.db") as (asked, _):
        answer = asked.post("/v1/metrics", json={})
        assert (answer.status_code, answer.json()["error"]["kind"]) == (501, "not_kept")
        assert asked.post("/v1/traces", json={}, headers={"Authorization": "Bearer x"}).status_code == 401
    for served in (client(tmp_path / "runs.db"), client(tmp_path / "runs.db", read_only=True)):
        answer = served.post("/v1/traces", json=request(genai()))
        assert (answer.status_code, answer.json()["error"]["kind"]) == (403, "not_allowed")


def test_a_spool_that_is_full_says_so_and_keeps_what_it_has(tmp_path):
    with receiving(tmp_path / "runs.db", room=1_500) as (asked, receiver):
        sent(asked, openinference()[:1])
        answer = asked.post("/v1/traces", json=request(genai()))
        assert (answer.status_code, answer.json()["error"]["kind"]) == (503, "too_many")
        assert answer.headers["retry-after"]
        until(lambda: receiver.told()[0]["run"])


def test_many_traces_are_many_runs(tmp_path):
    numbers = random.Random(3)
    ids = [f"{numbers.getrandbits(128) | 1:032x}" for _ in range(8)]
    with receiving(tmp_path / "runs.db") as (asked, _):
        for number in range(4):
            for trace in ids:
                sent(asked, [genai()[number] | {"traceId": trace}])
    found = told(tmp_path / "runs.db")
    assert len(found) == len(ids)
    assert {run.status for run, *_ in found} == {"succeeded"}
