"""`agent-tt otel`: a run goes to a collector, by the real SDK over the loopback interface."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.core.web_server import serving

import agent_tt

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command


@agent_tt.tool(effect="read")
def look_up(word: str) -> str:
    return f"{word} costs 30"


@pytest.fixture
def run(tmp_path: Path) -> str:
    with agent_tt.record("desk", state={}, store=tmp_path / "runs.db") as recording, recording.step("ask", {}):
        look_up("lamp")
    return recording.id


def test_a_run_is_sent_with_its_metrics_and_without_content(command: Command, run: str, tmp_path: Path) -> None:
    with serving(lambda _path, _sent: b"") as web:
        done = command("otel", run, "--endpoint", web.url, "--store", str(tmp_path / "runs.db"), "--json")
        assert (done.code, web.asked) == (0, ["POST /v1/traces", "POST /v1/metrics"])
        said = ExportTraceServiceRequest.FromString(web.bodies[0])
    assert json.loads(done.out) == {"runs": [{"run": run, "spans": 2, "over": True}]}
    (spans,) = said.resource_spans
    assert [span.name for span in spans.scope_spans[0].spans] == ["invoke_agent desk", "execute_tool look_up"]
    assert next(each.value.string_value for each in spans.resource.attributes if each.key == "service.name") == "desk"
    assert "costs" not in str(said)


def test_content_is_sent_where_that_is_asked_for(command: Command, run: str, tmp_path: Path) -> None:
    with serving(lambda _path, _sent: b"") as web:
        done = command("otel", run, "--endpoint", web.url, "--store", str(tmp_path / "runs.db"), "--content")
        assert "lamp costs 30" in str(ExportTraceServiceRequest.FromString(web.bodies[0]))
    assert done.out == "desk: 2 spans sent\n"


def test_a_collector_that_refuses_is_said_so(command: Command, run: str, tmp_path: Path) -> None:
    with serving(lambda _path, _sent: b"", status=400) as web:
        done = command("otel", run, "--endpoint", web.url, "--store", str(tmp_path / "runs.db"))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("agent-tt: the collector took 0 of 2 spans\n")
