"""An agent that asks a model three times and uses two tools, against a server on the loopback interface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.web_server import OPENAI_ANSWER
from tests.fresh_source import write_source

from agent_tt.golden.saving import save_golden
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.golden.golden_file import Golden

AGENT = """
import os
import agent_tt, httpx
from words import PROMPTS

SERVER = os.environ["MODEL_SERVER"]

def ask(prompt):
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    answer = httpx.post(f"{SERVER}/v1/chat/completions", json=body).json()
    return answer["choices"][0]["message"]["content"]

@agent_tt.tool(effect="read")
def search(word):
    return httpx.get(f"{SERVER}/search").json()["choices"][0]["message"]["content"]

@agent_tt.tool(effect="write")
def pay(amount):
    httpx.post(f"{SERVER}/pay", json={"amount": amount})

def main(state=None):
    state = state or {"answers": [], "found": None}
    with agent_tt.record("asking", state=state) as run:
        with run.step("ask", state):
            for prompt in PROMPTS:
                state["answers"].append(ask(prompt))
        with run.step("use tools", state):
            state["found"] = search("rates")
            pay(3)
    return state
"""


AT_ONCE = """
import asyncio, os
import agent_tt, httpx
from words import PROMPTS

async def ask(client, prompt):
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    answer = (await client.post(f"{os.environ['MODEL_SERVER']}/v1/chat/completions", json=body)).json()
    return answer["choices"][0]["message"]["content"]

async def ask_all(state):
    with agent_tt.record("asking", state=state) as run:
        for _ in range(2):
            with run.step("ask", state):
                async with httpx.AsyncClient(timeout=60) as client:
                    state["answers"] = await asyncio.gather(*(ask(client, prompt) for prompt in PROMPTS))
                await asyncio.sleep(0)

def main(state=None):
    asyncio.run(ask_all(state or {"answers": []}))
"""
"""An agent that asks a model as often at once, and then once more."""


OPENAI_LOOP = """
import os
import openai
from words import PROMPTS

client = openai.OpenAI(base_url=os.environ["MODEL_SERVER"] + "/v1", api_key="any")
for prompt in PROMPTS:
    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    print(answer.choices[0].message.content)
"""
"""A program on OpenAI's client that knows nothing of agent-tt."""


def words(folder: Path, *prompts: str) -> None:
    """Write what the agent asks."""
    write_source(folder / "words.py", f"PROMPTS = {list(prompts)!r}\n")


def recorded(folder: Path, url: str, rules, source: str = AGENT, *recording: str, **changes) -> Golden:
    """Record the agent in a folder, by itself or by a command that does, and keep the run as a golden."""
    write_source(folder / "asking.py", source)
    words(folder, "one", "two", "three")
    (folder / "pyproject.toml").write_text("")
    environment = {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db"), "MODEL_SERVER": url}
    code = ("-c", "import asking; asking.main()")
    command = (*recording, "--", sys.executable, "asking.py") if recording else code
    subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True)
    with closing(open_store(folder / "runs.db")) as store:
        golden = save_golden(store, store.run("asking"), folder / "goldens", "asking", rules)
    lines = golden.path.read_text().splitlines()
    golden.path.write_text("\n".join([lines[0], *(f"{key} = {said}" for key, said in changes.items()), *lines[1:]]))
    return golden


def answering(text: str) -> bytes:
    """What a model answers that says this."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({**OPENAI_ANSWER, "choices": [choice]}).encode()


def prompts_in(bodies: list[bytes]) -> list[str]:
    """What a server was asked, of requests that ask a model."""
    asked = [json.loads(body) for body in bodies if body]
    return [each["messages"][-1]["content"] for each in asked if "messages" in each]
