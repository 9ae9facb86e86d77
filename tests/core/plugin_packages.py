"""Packages installed into a folder as pip does it: modules, and a dist-info that names what they bring."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HELLO_PROVIDER = '''
from agent_tt.providers import Asked, Message, ModelAnswer, ModelCall, Provider, Tokens
from agent_tt.providers.loose import count, dicts, items, mapping, text, without


class Hello(Provider):
    """`POST /hello {"who": "hello-1", "say": [{"me": …} or {"you": …} or {"ran": id, "came": …}]}`."""

    PATHS = ("/hello",)
    MEASURES = {"/hello/length": (frozenset({"say"}),)}

    def read_request(self, request):
        turns = dicts(request.body.get("say"))
        if not turns or request.path != "/hello":
            return None
        messages = [message for turn in turns for message in self.read_turn(turn) or ()]
        prompt = text(request.body.get("manners"))
        return ModelCall(
            model=text(request.body.get("who")),
            messages=(*([Message("system", prompt)] if prompt else []), *messages),
            parameters=without(request.body, "who", "say", "manners"),
            conversation={"say": list(turns)},
            turns="say",
        )

    def read_answer(self, pieces):
        turn = mapping(pieces.whole.get("said"))
        read, wrote = [count(each) for each in (*items(pieces.whole.get("counted")), None, None)[:2]]
        return ModelAnswer(
            messages=tuple(self.read_turn(turn) or ()),
            turns=(turn,),
            finish_reason="said",
            tokens=Tokens(read, wrote),
            cost_usd=0.25,
        )

    def read_turn(self, turn):
        if "me" in turn:
            return [Message("user", text(turn["me"]))]
        if "ran" in turn:
            return [Message("tool", text(turn.get("came")), answers=text(turn["ran"]))]
        if "you" in turn:
            done = dicts(turn.get("do"))
            calls = [Asked(text(each.get("id")), text(each.get("run")), each.get("with")) for each in done]
            return [Message("assistant", text(turn["you"]), calls=tuple(calls))]
        return None

    def with_system(self, body, prompt):
        return {**body, "manners": prompt}

    def write_answer(self, call, recorded, answer, reply):
        do = [{"id": id_, "run": name, "with": given} for id_, name, given in reply.calls]
        return {**recorded, "said": {"type": "said", "you": reply.text, **({"do": do} if do else {})}}
'''
"""A provider of a made-up wire format: one class in one file."""

HELLO_SOURCE = '''
import tempfile
from pathlib import Path

import agent_tt
from agent_tt.store import open_store


def open_hello(path, head):
    """Open `hello run NAME` and lines `STEP=VALUE`."""
    if not head.startswith(b"hello run "):
        return None
    title, *lines = path.read_text().splitlines()
    made = Path(tempfile.mkdtemp(), "hello.db")
    state = {}
    with agent_tt.record(title.removeprefix("hello run "), store=made, state=state) as run:
        for line in lines:
            name, _, value = line.partition("=")
            with run.step(name, state):
                state[name] = value
    return open_store(made, read_only=True)
'''
"""A source of a made-up file format."""


def install(site: Path, package: str, version: str, entries: str, **modules: str) -> None:
    """Put a package into a folder that is on `sys.path`.

    Args:
        site: the folder.
        package: its name, as on an index: `agent-tt-hello`.
        version: its version.
        entries: its `entry_points.txt`.
        modules: the source of its modules, by name.
    """
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(textwrap.dedent(entries).strip() + "\n")
    for name, source in modules.items():
        (site / f"{name}.py").write_text(textwrap.dedent(source))
