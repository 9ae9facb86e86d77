"""What `bench_redaction` records: agents as they are, each with personal data in one message of ten.

Each gives what recording it once took. Nothing but the recording and the agent's own work counts: what it says is made
before, and its server is another process.
"""

from __future__ import annotations

import atexit
import functools
import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import httpx

import agent_tt

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS: Final = (
    *("refund", "policy", "order", "customer", "shipping", "delay", "agent", "tool", "search", "result", "document"),
    *("answer", "question", "invoice", "account", "update", "status", "pending", "approved", "manager", "escalate"),
    *("ticket", "number", "date", "amount", "total", "payment"),
)
NUMBER_OF_DOCUMENTS: Final = 200


class Spent(NamedTuple):
    """What recording took, in seconds.

    Attributes:
        processor: of the processor, the system's work for it among them.
        clock: that passed; the disk was waited for, too.
    """

    processor: float
    clock: float


class _Watch:
    """Measures a block."""

    spent = Spent(0, 0)

    def __enter__(self) -> Self:
        os.getpgid(0)  # nobody else calls it: by this `valgrind` knows where the counting begins, and where it ends
        self._begun = Spent(time.process_time(), time.perf_counter())
        return self

    def __exit__(self, *_: object) -> None:
        self.spent = Spent(time.process_time() - self._begun.processor, time.perf_counter() - self._begun.clock)
        os.getpgid(0)


@agent_tt.tool(effect="read")
def look_up_order(order: str, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the records of an order."""
    del order
    return records


def message(source: random.Random, number: int, words_of: int = 190) -> str:
    """Words as people and models write them (1.5 KB where there are 190), with what agents have in their texts."""
    words = source.choices(WORDS, k=words_of)
    for at in range(9, words_of, 19):
        words[at] = source.choice(
            [
                f"ord_{source.randrange(10**9)}",
                "2026-11-24T08:21:21Z",
                f"{source.randrange(10**5) / 100:.2f}",
                "https://x.example/a?b=1",
            ]
        )
    if number % 10 == 0:
        words[min(50, words_of - 1)] = f"ann{number}@mail.example.com, +49 170 {source.randrange(10**6, 10**7)}"
    return " ".join(words)


def support(profile: str | None, steps: int) -> Spent:
    """A support agent: two messages of 1.5 KB a step, and a tool that answers with records of customers."""
    source = random.Random(7)
    messages = [(message(source, 2 * number), message(source, 2 * number + 1)) for number in range(steps)]
    records = [
        [
            {
                "id": source.randrange(10**12),
                "at": "2026-11-24T08:21:21Z",
                "total": 12.5,
                "note": " ".join(source.choices(WORDS, k=12)),
            }
        ]
        * 5
        for _ in range(steps)
    ]
    state: dict[str, Any] = {"messages": [], "step": 0}
    with _recorded(profile, state) as (run, watch):
        for number, (asked, said) in enumerate(messages):
            with run.step("turn", state):
                look_up_order(f"ord_{number}", records[number])
                state["messages"] += [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
                state["step"] = number
    return watch.spent


def chat(profile: str | None, steps: int) -> Spent:
    """A growing chat: two messages of 1.5 KB a step with ids, and 20 numbers beside them; no tool."""
    source = random.Random(8)
    made = [(message(source, 2 * number), message(source, 2 * number + 1)) for number in range(steps)]
    ids = [(f"{source.getrandbits(64):016x}", f"{source.getrandbits(64):016x}") for _ in range(steps)]
    state: dict[str, Any] = {"messages": [], **{f"scalar_{number}": number for number in range(20)}}
    with _recorded(profile, state) as (run, watch):
        for step, (texts, names) in enumerate(zip(made, ids, strict=True), 1):
            with run.step("chat", state):
                for role, text, name in zip(("user", "assistant"), texts, names, strict=True):
                    state["messages"].append({"role": role, "content": text, "id": name})
                for number in range(20):
                    state[f"scalar_{number}"] = step * (number + 1)
    return watch.spent


def documents(profile: str | None, steps: int) -> Spent:
    """An agent that looks things up: 2 MB of documents are replaced every tenth step, beside a growing chat."""
    source = random.Random(9)
    sets = [_documents(source) for _ in range(max(1, steps // 10))]
    made = [message(source, number) for number in range(steps)]
    state: dict[str, Any] = {"messages": [], "documents": []}
    with _recorded(profile, state) as (run, watch):
        for number, text in enumerate(made):
            with run.step("turn", state):
                state["messages"].append({"role": "user", "content": text})
                if number % 10 == 9:
                    state["documents"] = sets[number // 10]
    return watch.spent


def _documents(source: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "id": f"doc-{source.getrandbits(64):016x}",
            "score": source.random(),
            "content": message(source, number, 1_300),
            "metadata": {"source": f"https://x.example/{number}", "page": number},
        }
        for number in range(NUMBER_OF_DOCUMENTS)
    ]


def model(profile: str | None, steps: int) -> Spent:
    """A loop that asks a model over HTTP with a conversation that grows by 1 KB a call, from 8 KB on."""
    return _asking(profile, steps, is_streamed=False)


def stream(profile: str | None, steps: int) -> Spent:
    """The same with answers that come as 60 server-sent events."""
    return _asking(profile, steps, is_streamed=True)


def _asking(profile: str | None, steps: int, *, is_streamed: bool) -> Spent:
    source = random.Random(10)
    conversation = [{"role": "user", "content": message(source, number, 120)} for number in range(8)]
    made = [message(source, number, 60) for number in range(steps)]
    path = "/v1/stream" if is_streamed else "/v1/chat/completions"
    state: dict[str, Any] = {"asked": 0}
    with httpx.Client(base_url=_address()) as client, _recorded(profile, state) as (run, watch):
        for text in made:
            with run.step("turn", state):
                conversation.append({"role": "user", "content": text})
                body = {"model": "m", "messages": conversation, "stream": is_streamed}
                with client.stream("POST", path, json=body, headers={"authorization": "Bearer none"}) as answer:
                    said = [line[6:] for line in answer.iter_lines() if line.startswith("data: {")]
                conversation.append({"role": "assistant", "content": text if not said else str(len(said))})
                state["asked"] += 1
    return watch.spent


@contextmanager
def _recorded(profile: str | None, state: dict[str, Any]) -> Iterator[tuple[Any, _Watch]]:
    with tempfile.TemporaryDirectory() as folder:
        recording = agent_tt.record("bench", state=state, store=Path(folder) / "runs.db", redact=profile)
        with _Watch() as watch, recording as run:
            yield run, watch


# ---------------------------------------------------------------- the server


def _answers() -> Iterator[tuple[bytes, bytes]]:
    """Answers of a model: as JSON, and as events."""
    source = random.Random(11)
    for number in range(50):
        text = message(source, number, 60)
        usage = {"prompt_tokens": 1_000, "completion_tokens": 60, "total_tokens": 1_060}
        head = {"id": f"chatcmpl-{source.getrandbits(64):016x}", "created": 1_790_000_000, "model": "m"}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        pieces = [f"{word} " for word in text.split(" ")]
        events = [
            {
                **head,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}],
            }
            for piece in pieces
        ]
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        yield json.dumps(whole).encode(), "".join([*lines, "data: [DONE]\n\n"]).encode()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: Final = [*_answers()]

    def do_POST(self) -> None:
        size = len(self.rfile.read(int(self.headers["content-length"])))
        whole, events = self.answers[size % len(self.answers)]
        is_streamed = self.path.endswith("stream")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_streamed else "application/json")
        if is_streamed:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for event in events.split(b"\n\n")[:-1]:
                self.wfile.write(b"%x\r\n%s\n\n\r\n" % (len(event) + 2, event))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.send_header("content-length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@functools.cache
def _address() -> str:
    """The address of a server, which is a process of its own: its time is not the agent's."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE)
    atexit.register(process.kill)
    assert process.stdout is not None
    return f"http://127.0.0.1:{int(process.stdout.readline())}"


def _serve() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve()
