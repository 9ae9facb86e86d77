"""What SDKs offer above a request: parsed answers, events of streams, and runners that call the tools themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pydantic

import agent_tt

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.core.seams.loopback import Loopback
    from tests.core.seams.runs import Kept

    Twice = Callable[[Callable[[], Any]], Kept]

ASKED: Any = [{"role": "user", "content": "x"}]


class Lookup(pydantic.BaseModel):
    q: str


TOOL: Any = openai.pydantic_function_tool(Lookup, name="lookup")


def test_answers_that_openai_parses(server: Loopback, twice: Twice):
    def agent() -> Any:
        with openai.OpenAI(base_url=server.url + "/v1", api_key="k") as client:
            completion = client.chat.completions.parse(model="m", messages=ASKED, tools=[TOOL])
            (call,) = completion.choices[0].message.tool_calls or ()
            assert call.function.parsed_arguments == Lookup(q="item 0")
            return completion.model_dump()

    assert len(twice(agent).calls) == 1


def test_events_of_an_openai_stream(server: Loopback, twice: Twice):
    async def agent() -> Any:
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="k") as client:
            async with client.chat.completions.stream(model="m", messages=ASKED) as stream:
                events = [event.model_dump() async for event in stream]
            return events, (await stream.get_final_completion()).model_dump()

    ((_, pieces),) = twice(agent).calls
    assert len(pieces) > 3


def test_an_async_tool_runner_with_a_recorded_tool(server: Loopback, twice: Twice):
    """The tool runs while it is recorded and is served afterwards; it belongs to the step of the call that wants it."""
    looked_up: list[str] = []

    async def look_up(q: str) -> str:
        """Look something up."""
        looked_up.append(q)
        return f"found {q} {len(looked_up)}"

    lookup = anthropic.beta_async_tool(agent_tt.tool(effect="read")(look_up), name="lookup")

    async def agent() -> Any:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="k") as client:
            runner = client.beta.messages.tool_runner(model="m", max_tokens=9, tools=[lookup], messages=ASKED)
            return [message.model_dump() async for message in runner]

    calls = [call for call, _ in twice(agent).calls]
    assert [call.kind for call in calls] == ["llm", "tool", "llm"]
    assert looked_up == ["item 0"]


def test_tools_of_the_responses_api(server: Loopback, twice: Twice):
    tool: Any = {"type": "function", "name": "lookup", "parameters": {"type": "object", "properties": {}}}

    def agent() -> Any:
        dumps, said = [], list(ASKED)
        with openai.OpenAI(base_url=server.url + "/v1", api_key="k") as client:
            while True:
                response = client.responses.create(model="m", input=said, tools=[tool])
                dumps.append(response.model_dump())
                wanted = [item for item in response.output if item.type == "function_call"]
                if not wanted:
                    return dumps, response.output_text
                said += response.output
                said += [{"type": "function_call_output", "call_id": i.call_id, "output": i.arguments} for i in wanted]

    assert len(twice(agent).calls) == 2
