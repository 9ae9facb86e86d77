"""What adapters make of tools: names and arguments, whose effect holds, what stands beside them, what replays give."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import textwrap
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from agents import Agent, FunctionTool, RunContextWrapper, SQLiteSession, function_tool, handoff
from agents.tool import invoke_function_tool
from agents.tool_context import ToolContext
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolArg, ToolException, tool
from langgraph.types import Command, Send
from mcp.types import ToolAnnotations
from tests.core.plugin_packages import install
from tests.core.replaying.recorded import record

import agent_tt
from agent_tt.errors import ToolDenied
from agent_tt.frameworks import langchain, tool_calls
from agent_tt.frameworks.tool_calls import ToolCall, asked_by, call_tool
from agent_tt.launching.tools.wrapping import How, replace_function
from agent_tt.model.facts import CallFacts
from agent_tt.recording.calls.exchange import Asked, begin_exchange
from agent_tt.recording.links import Link, Place, Reply
from agent_tt.recording.session import SESSION
from agent_tt.recording.steps.agent_names import acting, agent_here
from agent_tt.seams.install import SEAMS, Seams

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.replaying.recorded import Recorded

    from agent_tt.model import Call

did: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_was_done() -> None:
    did.clear()


def row(recorded: Recorded) -> Call:
    """The only call."""
    ((call, *_),) = recorded.calls
    found: Call = call
    return found


def asked_as(call_id: str, **arguments: object) -> dict[str, Any]:
    return {"name": "charge", "args": arguments, "id": call_id, "type": "tool_call"}


def again(recorded: Recorded, agent: Callable[[], Any]) -> Any:
    """What a replay gives, in which nothing is done."""
    before = list(did)
    result, replay = recorded.replay(agent)
    assert (replay.failure, did) == (None, before)
    return result


# ---------------------------------------------------------------- LangChain


def test_a_langchain_tool_is_called_by_its_name_with_the_models_arguments(tmp_path: Path):
    @tool
    def charge(order: str, amount: float = 1) -> str:
        """Charge."""
        did.append("charge")
        return f"{amount} for {order}"

    recorded = record(tmp_path, lambda: charge.invoke(asked_as("call_7", order="A-7", amount=3)))
    call = row(recorded)
    assert (call.name, call.kind, call.effect, call.result) == ("charge", "tool", "write", "3.0 for A-7")
    assert call.args == {"order": "A-7", "amount": 3}
    assert call.facts.answers == "call_7"
    assert recorded.result == ToolMessage("3.0 for A-7", tool_call_id="call_7", name="charge")
    # The message is made again, under the id that the model gives now.
    served = again(recorded, lambda: charge.invoke(asked_as("call_8", order="A-7", amount=3)))
    assert served == ToolMessage("3.0 for A-7", tool_call_id="call_8", name="charge")


def test_callbacks_are_told_in_a_replay_too(tmp_path: Path):
    @tool
    async def charge(order: str) -> str:
        """Charge."""
        did.append("charge")
        return order

    def agent() -> list[str]:
        told: list[str] = []

        class Told(BaseCallbackHandler):
            def on_tool_start(self, serialized: dict[str, Any], input_str: str, **_: Any) -> None:
                told.append(f"{serialized['name']} {input_str}")

            def on_tool_end(self, output: Any, **_: Any) -> None:
                told.append(str(output))

        asyncio.run(charge.ainvoke({"order": "A-7"}, {"callbacks": [Told()]}))
        return told

    recorded = record(tmp_path, agent)
    assert recorded.result == ["charge {'order': 'A-7'}", "A-7"] == again(recorded, agent)


def test_a_tool_class_with_a_text_as_its_input_is_one_too(tmp_path: Path):
    class Charge(BaseTool):
        name: str = "charge"
        description: str = "Charge."
        count: int = 0

        def _run(self, order: str) -> str:
            self.count += 1
            return f"{order} {self.count}"

    charge = Charge()
    recorded = record(tmp_path, lambda: charge.run("A-7"))
    assert (row(recorded).args, recorded.result, charge.count) == ({"tool_input": "A-7"}, "A-7 1", 1)
    assert again(recorded, lambda: charge.run("A-7")) == "A-7 1"


def test_what_is_injected_is_shown_and_not_compared(tmp_path: Path):
    @tool
    def charge(order: str, state: Annotated[dict, InjectedToolArg], user: Annotated[str, InjectedToolArg]) -> str:
        """Charge."""
        return f"{order} {state['n']} {user}"

    recorded = record(tmp_path, lambda: charge.run({"order": "A-7", "state": {"n": 1}, "user": "Ann"}))
    args = row(recorded).args
    assert isinstance(args, dict)
    assert (args.pop("order"), recorded.result) == ("A-7", "A-7 1 Ann")
    assert {name: shown["class"] for name, shown in args.items()} == {"state": "builtins:dict", "user": "builtins:str"}
    assert again(recorded, lambda: charge.run({"order": "A-7", "state": {"n": 2}, "user": "Bob"})) == "A-7 1 Ann"


@pytest.mark.parametrize("handles", [True, False])
def test_an_error_of_a_tool_is_handled_again(tmp_path: Path, *, handles: bool):
    @tool
    def charge(order: str) -> str:
        """Charge."""
        did.append("charge")
        raise ToolException(f"no {order}")

    charge.handle_tool_error = handles

    def agent() -> str:
        try:
            return str(charge.invoke({"order": "A-7"}))
        except ToolException as error:
            return f"raised {error}"

    recorded = record(tmp_path, agent)
    assert (row(recorded).status, recorded.result) == ("error", "no A-7" if handles else "raised no A-7")
    assert again(recorded, agent) == recorded.result


def test_arguments_that_do_not_fit_never_reach_the_tool(tmp_path: Path):
    @tool
    def charge(amount: int) -> str:
        """Charge."""
        return str(amount)

    charge.handle_validation_error = True
    recorded = record(tmp_path, lambda: charge.invoke({"amount": "much"}))
    assert (recorded.calls, recorded.result) == ([], "Tool input validation error")


def test_commands_come_back_as_they_were(tmp_path: Path):
    @tool
    def move(to: str) -> Command:
        """Move."""
        did.append("move")
        return Command(update={"at": to, "messages": [ToolMessage("moved", tool_call_id="1")]}, goto=Send(to, {"n": 1}))

    recorded = record(tmp_path, lambda: move.invoke({"to": "till"}))
    assert again(recorded, lambda: move.invoke({"to": "till"})) == recorded.result
    assert recorded.result.update["at"] == "till"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({}, None),
        ({"langgraph_node": "agent", "langgraph_checkpoint_ns": "agent:1"}, None),
        ({"langgraph_node": "plan", "langgraph_checkpoint_ns": "plan:1"}, "plan"),
        ({"langgraph_node": "agent", "langgraph_checkpoint_ns": "clerk:1|agent:2"}, "clerk"),
        ({"langgraph_node": "judge", "langgraph_checkpoint_ns": "clerk:1|judge:2"}, "judge"),
        ({"langgraph_node": "model", "langgraph_checkpoint_ns": "x:1|model:2", "lc_agent_name": "till"}, "till"),
    ],
)
def test_a_graphs_agent_is_the_innermost_node_with_a_name_of_its_own(said: dict[str, str], name: str | None):
    assert langchain._acting({"metadata": said}) == name
    assert langchain._acting(None) is None


# ---------------------------------------------------------------- one row, with the effect that was declared


def test_an_agent_tt_tool_below_a_frameworks_decorator_is_one_row(tmp_path: Path):
    @tool("find_order")
    @agent_tt.tool(effect="read")
    def lookup(order: str) -> str:
        """Look up."""
        did.append("lookup")
        return order

    recorded = record(tmp_path, lambda: lookup.invoke({"order": "A-7"}))
    assert (row(recorded).name, row(recorded).effect) == ("find_order", "read")
    assert again(recorded, lambda: lookup.invoke({"order": "A-7"})) == "A-7"


def test_another_tool_that_a_tool_calls_has_rows_of_its_own(tmp_path: Path):
    @agent_tt.tool(effect="read")
    def count(n: int) -> int:
        return n + count(n - 1) if n else 0

    def number(n: int) -> int:
        """Count."""
        return count(n)

    counting = tool(number)
    recorded = record(tmp_path, lambda: counting.invoke({"n": 2}))
    assert [call.name for call, *_ in recorded.calls] == ["number", "count", "count", "count"]


@function_tool
@agent_tt.tool(effect="read", idempotency_key="key")
def looked_up(order: str, key: str) -> str:
    """Look up."""
    did.append("lookup")
    return order


def invoked(found: FunctionTool, context: object = None, **arguments: object) -> Callable[[], Any]:
    text = json.dumps(arguments)
    made = ToolContext(context, tool_name=found.name, tool_call_id="call_7", tool_arguments=text)
    return lambda: invoke_function_tool(function_tool=found, context=made, arguments=text)


def test_the_same_of_the_openai_agents_sdk_whose_key_is_not_compared(tmp_path: Path):
    recorded = record(tmp_path, invoked(looked_up, order="A-7", key="1"))
    call = row(recorded)
    assert (call.name, call.effect, call.facts.idempotency_key) == ("looked_up", "read", "1")
    assert again(recorded, invoked(looked_up, order="A-7", key="2")) == "A-7"


@function_tool
@agent_tt.tool(effect="write", once="{order}-{part}")
def paid(order: str, part: int = 1) -> str:
    """Pay."""
    did.append("paid")
    return order


def test_a_tool_that_is_done_once_is_so_below_a_framework_with_what_the_model_leaves_out(tmp_path: Path):
    async def twice() -> Any:
        return [await invoked(paid, order="A-7")(), await invoked(paid, order="A-7", part=1)()]

    before = did.count("paid")
    recorded = record(tmp_path, twice)
    assert did.count("paid") == before + 1
    assert [call.facts.once.key for call, *_ in recorded.calls] == ["A-7-1"] * 2
    assert recorded.calls[1][0].facts.once.call == 1


def test_a_tool_that_is_named_from_outside_is_one_row_and_was_called(tmp_path: Path):
    def weigh(order: str) -> str:
        """Weigh."""
        return order

    seen: list[str] = []
    weighing = tool(weigh)
    named = replace_function(weigh, How("weigh", "read", seen=lambda: seen.append("weigh")))
    assert named is not None
    try:
        recorded = record(tmp_path, lambda: weighing.invoke({"order": "A-7"}))
        assert ([call.name for call, *_ in recorded.calls], row(recorded).effect, {*seen}) == (
            ["weigh"],
            "read",
            {"weigh"},
        )
    finally:
        named.undo()
    assert row(record(tmp_path, lambda: weighing.invoke({"order": "A-7"}))).effect == "write"


# ---------------------------------------------------------------- OpenAI Agents


@dataclass
class Cart:
    items: list[str]
    paid: bool = False


@function_tool
def pay(context: RunContextWrapper[Cart], item: str) -> dict:
    """Pay."""
    did.append("pay")
    context.context.items.append(item)
    context.context.paid = True
    return {"paid": item}


def test_what_a_tool_did_to_the_runs_context_is_done_again(tmp_path: Path):
    cart = Cart(["pen"])
    recorded = record(tmp_path, invoked(pay, cart, item="cup"))
    call = row(recorded)
    assert isinstance(call.args, dict)
    assert (call.args["item"], call.result, call.facts.answers) == ("cup", {"paid": "cup"}, "call_7")
    assert cart == Cart(["pen", "cup"], paid=True)
    # Another object, which holds something else: it is not compared, and is brought to what the tool left.
    served = Cart([])
    assert again(recorded, invoked(pay, served, item="cup")) == {"paid": "cup"}
    assert (served.items, served.paid) == (["pen", "cup"], True)


@pytest.mark.parametrize("denied", [False, True])
def test_a_session_in_a_file_is_as_it_was_in_a_replay(tmp_path: Path, *, denied: bool):
    def agent() -> Any:
        async def talk() -> Any:
            session = SQLiteSession("ann", tmp_path / "talk.db")
            before = await session.get_items()
            await session.add_items([{"role": "user", "content": "hello"}])
            session.close()
            return before

        return talk()

    links = [Answers(Reply(refusal=ToolDenied("no", tool="session.add_items")), only="write")] if denied else []
    for n in range(2):
        with SESSION.joined(*links):
            recorded = record(tmp_path, agent)
        assert [item["content"] for item in recorded.result] == ["hello"] * (0 if denied else n)
        found = [(call.name, call.effect, call.status) for call, *_ in recorded.calls]
        assert found == [
            ("session.get_items", "read", "ok"),
            ("session.add_items", "write", "denied" if denied else "ok"),
        ]
    if not denied:  # the file holds more by now
        result, replay = recorded.replay(agent)
        assert (result, replay.failure) == (recorded.result, None)


def test_a_session_in_memory_is_the_agents_own(tmp_path: Path):
    async def talk() -> Any:
        session = SQLiteSession("ann")
        await session.add_items([{"role": "user", "content": "hello"}])
        return await session.get_items()

    recorded = record(tmp_path, talk)
    assert (recorded.calls, len(recorded.result)) == ([], 1)


def test_arguments_that_are_no_object_are_a_text(tmp_path: Path):
    async def run(_context: object, text: str) -> str:
        return text.upper()

    raw = FunctionTool("raw", "Raw.", {}, run, strict_json_schema=False)
    recorded = record(tmp_path, lambda: invoke_function_tool(function_tool=raw, context=_context(raw), arguments="[1"))
    assert (row(recorded).args, recorded.result) == ({"input": "[1"}, "[1")


def _context(found: FunctionTool) -> ToolContext[None]:
    return ToolContext(None, tool_name=found.name, tool_call_id="call_7", tool_arguments="")


@pytest.mark.parametrize(("hint", "effect"), [(True, "read"), (False, "write"), (None, "write")])
def test_a_tool_of_an_mcp_server_is_one_row_and_reads_where_the_server_says_so(
    tmp_path: Path, *, hint: bool | None, effect: str
):
    async def run(_context: object, text: str) -> str:
        # What the session of a server asks, as the seam of MCP sees it.
        begun = begin_exchange(Asked("tool", "charge", {"params": text}, "0" * 32, effect="write"))
        assert begun is None
        return "charged"

    charge = FunctionTool("charge", "Charge.", {}, run, strict_json_schema=False)
    charge._mcp_annotations = ToolAnnotations(read_only_hint=hint)
    recorded = record(tmp_path, invoked(charge, amount=1))
    assert ([call.name for call, *_ in recorded.calls], row(recorded).effect) == (["charge"], effect)


def test_a_handoff_writes_only_where_it_runs_a_function():
    from agent_tt.frameworks.openai_agents import _handoff

    till = Agent(name="till")
    context = RunContextWrapper(None)
    for_effects = {"read": handoff(till), "write": handoff(till, on_handoff=lambda _context: None)}
    for effect, found in for_effects.items():
        asked = _handoff(found, "call_7", context, "")
        assert asked is not None
        assert (asked.name, asked.arguments, asked.effect) == ("transfer_to_till", {}, effect)
    gone = handoff(Agent(name="gone"))
    gone._agent_ref = None
    assert _handoff(gone, "call_7", context, "") is None


# ---------------------------------------------------------------- links


@dataclass(eq=False)
class Answers(Link):
    """Makes one reply to every call, or to those of one effect."""

    reply: Reply
    only: str = ""
    place = Place.POLICY

    def answer_call(self, call: object, new: Any) -> Reply | None:
        return self.reply if self.only in ("", new.effect) else None


def test_arguments_that_a_person_changed_go_to_the_tool(tmp_path: Path):
    @tool
    def charge(order: str, amount: int) -> str:
        """Charge."""
        return f"{amount!r} for {order}"

    changed = {"order": "B-8", "amount": 5}
    reply = Reply(sent=((), changed), edited=changed, facts={CallFacts.args_asked.key: {"order": "A-7", "amount": 3}})
    with SESSION.joined(Answers(reply)):
        recorded = record(tmp_path, lambda: charge.invoke({"order": "A-7", "amount": 3}))
        assert (recorded.result, row(recorded).args) == ("5 for B-8", changed)
        recorded = record(tmp_path, invoked(billed, order="A-7", amount=3))
        assert (recorded.result, row(recorded).args) == ("5 for B-8", changed)


@function_tool
def billed(order: str, amount: int) -> str:
    """Bill."""
    return f"{amount!r} for {order}"


def test_a_denied_tool_is_told_to_the_model_by_the_openai_agents_sdk(tmp_path: Path):
    with SESSION.joined(Answers(Reply(refusal=ToolDenied("not here", tool="pay")))):
        recorded = record(tmp_path, invoked(pay, Cart([]), item="cup"))
    assert (row(recorded).status, did) == ("denied", [])
    assert recorded.result.startswith("An error occurred while running the tool.")


def test_a_denied_tool_of_langchain_raises(tmp_path: Path):
    @tool
    def charge(order: str) -> str:
        """Charge."""
        did.append("charge")
        return order

    with SESSION.joined(Answers(Reply(refusal=ToolDenied("not here", tool="charge")))):
        recorded = record(tmp_path, lambda: charge.invoke({"order": "A-7"}))
    assert (row(recorded).status, type(recorded.result), did) == ("denied", ToolDenied, [])


# ---------------------------------------------------------------- adapters


def test_a_framework_that_is_made_otherwise_is_named_once_and_left_alone(caplog: pytest.LogCaptureFixture):
    other = ModuleType("langchain_core.tools.base")
    other.BaseTool = type("BaseTool", (), {"run": lambda self, query: query, "arun": None})  # type: ignore[attr-defined]
    seams = Seams()
    seams.acquire()
    try:
        seams.patch("langchain_core.tools.base", other)
        assert other.BaseTool().run(1) == 1
    finally:
        seams.release()
    (said,) = [record.getMessage() for record in caplog.records if "cannot be recorded" in record.getMessage()]
    assert said.startswith("the tools and agents of langchain_core.tools.base")
    assert said.endswith("takes no tool_input, tool_call_id")


def test_a_package_of_the_programs_own_with_a_frameworks_name_is_none(caplog: pytest.LogCaptureFixture):
    SEAMS.acquire()
    try:
        SEAMS.patch("agents", ModuleType("agents"))
    finally:
        SEAMS.release()
    assert caplog.records == []


def test_a_tool_that_cannot_be_told_runs_and_is_named_once(caplog: pytest.LogCaptureFixture, tmp_path: Path):
    def describe() -> ToolCall:
        raise AttributeError("no name")

    def agent() -> int:
        found = [asked_by("Some framework", describe) for _ in range(2)]
        assert found == [None, None]
        return 1

    tool_calls._TOLD.discard("Some framework")
    with caplog.at_level(logging.WARNING):
        assert record(tmp_path, agent).result == 1
    assert [each.getMessage() for each in caplog.records] == [
        "a tool of Some framework is not recorded: AttributeError: no name"
    ]


def test_a_package_brings_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))
    install(
        site,
        "agent-tt-hello",
        "1",
        "[agent_tt.frameworks]\nplug_hello = plug_adapter:patches\n",
        plug_hello="def use(tool, **arguments): return tool(**arguments)",
        plug_adapter=textwrap.dedent(
            """
            from agent_tt.frameworks.tool_calls import ToolCall, asked_by, call_tool
            from agent_tt.recording.modules.rebinding import Rebinding

            def patches(module):
                original = module.use
                def use(tool, **arguments):
                    asked = asked_by("Hello", ToolCall, tool.__name__, arguments)
                    if asked is None:
                        return original(tool, **arguments)
                    return call_tool(asked, lambda given: original(tool, **given))
                return [Rebinding(original, use)]
            """
        ),
    )

    def agent() -> Any:
        import plug_hello  # type: ignore[import-not-found]

        def add(a: int, b: int) -> int:
            did.append("add")
            return a + b

        return plug_hello.use(add, a=1, b=2)

    try:
        recorded = record(tmp_path, agent)
        assert (row(recorded).name, row(recorded).args, recorded.result) == ("add", {"a": 1, "b": 2}, 3)
        assert again(recorded, agent) == 3
        assert agent() == 3
    finally:
        for name in ("plug_hello", "plug_adapter"):
            sys.modules.pop(name, None)


def test_an_answer_that_a_framework_wraps_is_recorded_plain(tmp_path: Path):
    class Wrapped:
        def __init__(self, value: object) -> None:
            self.value = value

    def agent() -> object:
        asked = asked_by("Hello", ToolCall, "add", {"a": 1})
        assert asked is not None
        kept = tool_calls.Kept(lambda answer: answer.value, Wrapped)
        return call_tool(asked, lambda given: Wrapped(given["a"]), kept).value

    recorded = record(tmp_path, agent)
    assert (row(recorded).result, recorded.result, again(recorded, agent)) == (1, 1, 1)


def test_who_acts_is_the_innermost_that_is_named():
    with acting("desk"):
        with acting("till"):
            assert agent_here() == "till"
        assert agent_here() == "desk"
    assert agent_here() is None
