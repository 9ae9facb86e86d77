"""Programs that others instrument, over a server that is a process: live within moments, and equal to an import.

Their model is a fake of OpenAI on loopback, which asks for a tool and then answers. Each sends its spans to the server,
and writes the same spans into a file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.core.serving.otlp.received_runs import imported, told, until
from tests.core.serving.rest.served import TOKEN, asking, serving
from tests.core.web_server import Web
from tests.core.web_server import serving as serving_web
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import json, sys, urllib.parse
from google.protobuf.json_format import MessageToDict
from openai import OpenAI
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

kind, server, token, model, file = sys.argv[1:]


class ToFile(SpanExporter):
    def export(self, spans):
        with open(file, "ab") as opened:
            body = encode_spans(spans).SerializeToString()
            opened.write(len(body).to_bytes(4, "big") + body)
        return SpanExportResult.SUCCESS


provider = TracerProvider(resource=Resource.create({"service.name": kind}))
sender = OTLPSpanExporter(server + "/v1/traces", headers={"Authorization": "Bearer " + token})
for exporter in (ToFile(), sender):
    provider.add_span_processor(SimpleSpanProcessor(exporter))
if kind == "openinference":
    from openinference.instrumentation.openai import OpenAIInstrumentor
else:
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
OpenAIInstrumentor().instrument(tracer_provider=provider)

client = OpenAI(base_url=model, api_key="sk-none", max_retries=0)
messages = [{"role": "user", "content": "How many lamps are there?"}]
tools = [{"type": "function", "function": {"name": "count", "parameters": {"type": "object", "properties": {}}}}]
with provider.get_tracer("desk").start_as_current_span("clerk"):
    for _ in range(2):
        said = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=tools).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls or ():
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "30"})
        print("asked", flush=True)
        sys.stdin.readline()
provider.shutdown()
"""

MODULES = {
    "opentelemetry": "opentelemetry.instrumentation.openai_v2",
    "openinference": "openinference.instrumentation.openai",
}

_CALL = {"id": "c1", "type": "function", "function": {"name": "count", "arguments": "{}"}}


def _answer(_path: str, body: bytes) -> bytes:
    is_told = any(message["role"] == "tool" for message in json.loads(body)["messages"])
    message = {"role": "assistant", "content": "There are 30."} if is_told else {"role": "assistant", "content": None}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini-2024-07-18",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop" if is_told else "tool_calls",
                    "message": message if is_told else message | {"tool_calls": [_CALL]},
                }
            ],
            "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
        }
    ).encode()


@pytest.mark.parametrize("kind", ["opentelemetry", "openinference"])
def test_an_instrumented_program_is_a_run_while_it_runs_and_the_one_that_its_file_gives(
    tmp_path: Path, kind: str
) -> None:
    pytest.importorskip(MODULES[kind], exc_type=ImportError)
    store, file = tmp_path / "runs.db", tmp_path / "spans.pb"
    environment = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
                   "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental", "PATH": ""}  # fmt: skip
    with serving_web(_answer) as web, serving(store, tmp_path) as address, asking(address) as asked:
        assert isinstance(web, Web)
        words = [sys.executable, "-c", PROGRAM, kind, address, TOKEN, f"{web.url}/v1", str(file)]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
        ) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            assert program.stdout.readline() == "asked\n"
            sent = time.monotonic()
            until(lambda: asked.get("/api/runs").json()["runs"])
            live = time.monotonic() - sent
            (run,) = asked.get("/api/runs").json()["runs"]
            assert (run["status"], run["steps"]) == ("unknown", 1)
            print(file=program.stdin, flush=True)
            program.stdout.readline()
            until(lambda: asked.get(f"/api/runs/{run['id']}").json()["steps"] == 2)
            print(file=program.stdin, flush=True)
            assert program.wait(PATIENCE_SECONDS) == 0
        until(lambda: asked.get(f"/api/runs/{run['id']}").json()["status"] == "succeeded")
        state = asked.get(f"/api/runs/{run['id']}/states/2").json()["value"]
        assert [message["role"] for message in state["messages"]] == ["user", "assistant", "tool", "assistant"]
        assert asked.get(f"/api/runs/{run['id']}").json()["tokens_in"] == 40
        print(f"shown {live:.3f} s after its span was sent")
    assert told(store) == imported(file, tmp_path)
