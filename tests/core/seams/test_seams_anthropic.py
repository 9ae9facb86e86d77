"""The real Anthropic SDK: thinking and tool_use blocks, streams and its tool runner, recorded and served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.core.seams.loopback import Loopback
    from tests.core.seams.runs import Kept

    Twice = Callable[[Callable[[], Any]], Kept]

TOOLS: Any = [{"name": "lookup", "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}}}]
ASKED: Any = {"model": "m", "max_tokens": 99}


def client(server: Loopback, **options: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="secret-key", **options)


def async_client(server: Loopback, **options: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=server.url, api_key="secret-key", **options)


def answered(messages: list[Any], reply: Any) -> bool:
    """Add the model's message and its tools' results; whether it asked for none."""
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
    used = [block for block in reply.content if block.type == "tool_use"]
    if used:
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": str(block.input)} for block in used]
        messages.append({"role": "user", "content": results})
    return not used


def test_a_tool_loop(server: Loopback, twice: Twice):
    def agent() -> Any:
        dumps: list[Any] = []
        messages: list[Any] = [{"role": "user", "content": "x"}]
        with client(server) as asking:
            while True:
                reply = asking.messages.create(**ASKED, messages=messages, tools=TOOLS)
                dumps.append(reply.model_dump())
                if answered(messages, reply):
                    return dumps

    kept = twice(agent)
    assert len(kept.calls) == 3
    content = kept.calls[0][0].result["body"]["content"]
    assert [block["type"] for block in content] == ["thinking", "tool_use"]
    assert "secret-key" not in str(kept.calls)


def test_an_async_tool_loop(server: Loopback, twice: Twice):
    async def agent() -> Any:
        dumps: list[Any] = []
        messages: list[Any] = [{"role": "user", "content": "x"}]
        async with async_client(server) as asking:
            while True:
                reply = await asking.messages.create(**ASKED, messages=messages, tools=TOOLS)
                dumps.append(reply.model_dump())
                if answered(messages, reply):
                    return dumps

    assert len(twice(agent).calls) == 3


def test_a_tool_loop_through_streams(server: Loopback, twice: Twice):
    def agent() -> Any:
        seen: list[Any] = []
        messages: list[Any] = [{"role": "user", "content": "x"}]
        with client(server) as asking:
            while True:
                with asking.messages.stream(**ASKED, messages=messages, tools=TOOLS) as stream:
                    seen += [event.model_dump() for event in stream]
                    reply = stream.get_final_message()
                if answered(messages, reply):
                    return seen

    assert len(twice(agent).calls) == 3


def test_an_async_stream(server: Loopback, twice: Twice):
    async def agent() -> Any:
        async with (
            async_client(server) as asking,
            asking.messages.stream(**ASKED, messages=[{"role": "user", "content": "x"}]) as stream,
        ):
            seen = [event.model_dump() async for event in stream]
            return [*seen, (await stream.get_final_message()).model_dump()]

    twice(agent)


def test_the_text_of_a_stream_with_a_consumer_that_leaves(server: Loopback, twice: Twice):
    def agent() -> Any:
        with (
            client(server) as asking,
            asking.messages.stream(**ASKED, messages=[{"role": "user", "content": "x"}]) as stream,
        ):
            return next(iter(stream.text_stream))

    ((_, pieces),) = twice(agent).calls
    assert pieces[-1].kind == "closed"


def test_the_sdks_own_tool_runner(server: Loopback, twice: Twice):
    looked_up: list[str] = []

    @anthropic.beta_tool
    def lookup(q: str) -> str:
        """Look something up.

        Args:
            q: what to look up.
        """
        looked_up.append(q)
        return f"found {q}"

    def agent() -> Any:
        with client(server) as asking:
            runner = asking.beta.messages.tool_runner(
                **ASKED, messages=[{"role": "user", "content": "x"}], tools=[lookup]
            )
            return [message.model_dump() for message in runner]

    calls = [call for call, _ in twice(agent).calls]
    assert [call.kind for call in calls] == ["llm", "tool", "llm"]  # it continues a thread on the server: no third one
    assert looked_up == ["item 0"], "once: a replay answers it"


@pytest.mark.parametrize("probe", ["400", "429 forever"])
def test_refusals_are_parsed_again_by_the_sdk(server: Loopback, twice: Twice, probe: str):
    def agent() -> Any:
        asking = client(server, default_headers={"x-probe": probe}, max_retries=1)
        with asking, pytest.raises(anthropic.APIStatusError) as info:
            asking.messages.create(**ASKED, messages=[{"role": "user", "content": "x"}])
        error = info.value
        return type(error), str(error), error.status_code, error.body, error.request_id

    assert len(twice(agent).calls) == (1 if probe == "400" else 2)


def test_a_connection_that_breaks_in_mid_stream(server: Loopback, twice: Twice):
    async def agent() -> Any:
        seen: list[Any] = []
        async with async_client(server, default_headers={"x-probe": "drop"}) as asking:
            try:
                async with asking.messages.stream(**ASKED, messages=[{"role": "user", "content": "x"}]) as stream:
                    seen += [event.model_dump() async for event in stream]
            except Exception as error:
                seen += [type(error), str(error), type(error.__cause__)]
        return seen

    ((_, pieces),) = twice(agent).calls
    assert pieces[-1].kind == "error"
