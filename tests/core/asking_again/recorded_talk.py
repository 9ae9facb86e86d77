"""Recorded questions of the SDKs of OpenAI and Anthropic to a server on loopback."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import agent_tt
from agent_tt.asking_again.answers import answers_of
from agent_tt.asking_again.launch import start_again
from agent_tt.asking_again.plan import AgainRequest, plan_again
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.asking_again.answers import Answers
    from agent_tt.asking_again.plan import AgainPlan

KEY = "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6"
"""Of OpenAI, as the user has it now."""
OTHER_KEY = "sk-ant-api03-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6"
"""The same of Anthropic."""


def record_openai(
    store: Path, address: str, said: str = "hi", *, stream: bool = False, redact: Any = None, **more: Any
) -> str:
    """Ask once through OpenAI's SDK; the id of the run."""
    import openai

    with (
        openai.OpenAI(base_url=f"{address}/v1", api_key=KEY, max_retries=0) as client,
        agent_tt.record("talk", store=store, redact=redact) as run,
        run.step("ask"),
    ):
        messages: Any = [{"role": "user", "content": said}]
        answer = client.chat.completions.create(model="gpt-4o-mini", messages=messages, stream=stream, **more)
        if stream:
            list(answer)
    return run.id


def record_anthropic(store: Path, address: str, said: str = "hi", *, stream: bool = False) -> str:
    """Ask once through Anthropic's SDK; the id of the run."""
    import anthropic

    ask: Any = {"model": "claude-3-5-haiku-latest", "max_tokens": 9, "messages": [{"role": "user", "content": said}]}
    with (
        anthropic.Anthropic(base_url=address, api_key=OTHER_KEY, max_retries=0) as client,
        agent_tt.record("talk", store=store) as run,
        run.step("ask"),
    ):
        answer = client.messages.create(**ask, stream=stream)
        if stream:
            list(answer)
    return run.id


def planned(store: Path, run_id: str, asked: AgainRequest | None = None) -> AgainPlan:
    """What would be sent of the first call."""
    with closing(open_source(store)) as source:
        return plan_again(source, source.run(run_id), asked or AgainRequest(1))


def asked_anew(store: Path, run_id: str, asked: AgainRequest | None = None) -> Answers:
    """Ask again, wait, and read what came."""
    with start_again(planned(store, run_id, asked)) as handle:
        handle.wait()
    return read(store, handle.run_id)


def read(store: Path, run_id: str) -> Answers:
    """Read the answers of a run that asked again."""
    with closing(open_source(store)) as source:
        return answers_of(source, source.run(run_id))
