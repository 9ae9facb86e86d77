"""Programs that others instrument, which ask a fake of OpenAI on loopback and send their spans to a server.

Their model asks for a tool and then answers. A program sends each span before it goes on, says `asked`, and waits for a
line; so it is known what was sent when. It writes the same spans into a file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.core.serving.rest.served import TOKEN
from tests.core.web_server import Web
from tests.core.web_server import serving as serving_web
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
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


class Program:
    """A program that runs: what it was told to do, and has done."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def asked(self) -> None:
        """Wait until it has asked its model, and the span of that was taken."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "asked\n"

    def goes_on(self) -> None:
        """Let it go on."""
        print(file=self._process.stdin, flush=True)

    def ends(self) -> None:
        """Let it go on to its end."""
        self.goes_on()
        assert self._process.wait(PATIENCE_SECONDS) == 0


@contextmanager
def instrumented(kind: str, address: str, folder: Path) -> Iterator[Program]:
    """A program as a process of its own.

    Args:
        kind: by what it is instrumented, one of `MODULES`.
        address: of the server that it sends to.
        folder: where it runs, and writes its spans into `spans.pb`.
    """
    environment = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
                   "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental", "PATH": ""}  # fmt: skip
    with serving_web(_answer) as web:
        assert isinstance(web, Web)
        words = [sys.executable, "-c", PROGRAM, kind, address, TOKEN, f"{web.url}/v1", str(folder / "spans.pb")]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder
        ) as process:
            try:
                yield Program(process)
            finally:
                process.kill()
