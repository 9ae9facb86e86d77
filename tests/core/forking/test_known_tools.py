"""The pre-flight names every tool that a fork may call: declared, named, offered or asked for, called or not."""

from __future__ import annotations

import textwrap
from contextlib import closing
from dataclasses import replace

import pytest
from tests.core.store.recordings import begin, new_store

from agent_tt.comparing.steps.asked_tools import asked_tools
from agent_tt.errors import UsageError
from agent_tt.forking.entry.declared_tools import DeclaredTool, declared_tools
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.policy.boundary import _shown, _uncalled
from agent_tt.forking.request import ForkRequest
from agent_tt.intercepting.rules import Rule
from agent_tt.model import AgentCode, Call, CallEnd, NewCall, NewStep, Run, StepEnd
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.plan import plan_sweep

OPENAI, RESPONSES = "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/responses"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"
SCHEMA = {"type": "object", "properties": {}}


def call(kind, name, args, result=None, number=1):
    return Call(
        step=1, number=number, kind=kind, name=name, args=args, result=result, status="ok", lane="main", lane_seq=1
    )


def asked(url, body, answer):
    args = {"method": "POST", "url": url, "headers": {}, "body": body}
    return call("llm", f"POST {url}", args, {"status": 200, "headers": {}, "body": answer})


def openai(*, result=True):
    question = {"role": "user", "content": "go"}
    asks = {"id": "c1", "type": "function", "function": {"name": "charge", "arguments": '{"amount": 3}'}}
    said = {"role": "assistant", "content": None, "tool_calls": [asks]}
    tools = [
        {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("charge", "never_asked")
    ] + [{"type": "web_search"}]
    answer = {"object": "chat.completion", "choices": [{"message": said}]}
    again = [question, said, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    calls = [asked(OPENAI, {"model": "gpt-4o", "messages": [question], "tools": tools}, answer)]
    done = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "done"}}]}
    return [*calls, asked(OPENAI, {"model": "gpt-4o", "messages": again, "tools": tools}, done)] if result else calls


def responses():
    item = {"type": "function_call", "call_id": "c1", "name": "charge", "arguments": '{"amount": 3}'}
    tools = [{"type": "function", "name": name, "parameters": SCHEMA} for name in ("charge", "never_asked")]
    tools += [{"type": "web_search"}, {"type": "mcp", "server_label": "docs"}]
    first = {"model": "gpt-4o", "input": "go", "tools": tools}
    second = {**first, "previous_response_id": "r1", "input": [{"type": "function_call_output", "call_id": "c1"}]}
    answer = {"object": "response", "id": "r1", "output": [item]}
    return [asked(RESPONSES, first, answer), asked(RESPONSES, second, {"object": "response", "output": []})]


def anthropic():
    use = {"type": "tool_use", "id": "c1", "name": "charge", "input": {"amount": 3}}
    tools = [{"name": name, "input_schema": SCHEMA} for name in ("charge", "never_asked")]
    tools += [{"type": "web_search_20250305", "name": "web_search"}]
    turns = [{"role": "user", "content": "go"}]
    told = [*turns, {"role": "assistant", "content": [use]}]
    told += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}]
    body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "tools": tools}
    answer = {"type": "message", "role": "assistant", "content": [use]}
    end = {"type": "message", "role": "assistant", "content": []}
    return [asked(ANTHROPIC, {**body, "messages": turns}, answer), asked(ANTHROPIC, {**body, "messages": told}, end)]


def gemini():
    part = {"functionCall": {"name": "charge", "args": {"amount": 3}}}
    tools = [
        {"functionDeclarations": [{"name": name, "parameters": SCHEMA} for name in ("charge", "never_asked")]},
        {"google_search": {}},
    ]
    turns = [{"role": "user", "parts": [{"text": "go"}]}]
    told = [*turns, {"role": "model", "parts": [part]}]
    told += [{"role": "user", "parts": [{"functionResponse": {"name": "charge", "response": {}}}]}]
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
    end = {"candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}}]}
    return [
        asked(GEMINI, {"contents": turns, "tools": tools}, answer),
        asked(GEMINI, {"contents": told, "tools": tools}, end),
    ]


def shown(calls, known=(), *, ended_well=True):
    run = Run("r", "r", "succeeded" if ended_well else "failed", 0, AgentCode())
    return [row.name for row in _shown(run, asked_tools(calls), known, 0)]


@pytest.mark.parametrize("conversation", [openai, responses, anthropic, gemini])
def test_what_a_model_was_offered_and_nothing_records_is_named_and_what_the_provider_runs_is_not(conversation):
    calls = conversation()
    assert shown(calls, ended_well=False) == ["charge", "never_asked"]
    assert shown(calls, ["charge", "never_asked"]) == []


@pytest.mark.parametrize("name", ["charge", "Api.charge", "charge.on_invoke_tool", "shop:charge"])
def test_a_tool_that_is_recorded_under_a_longer_name_is_held(name):
    assert shown([*openai(), call("tool", name, {"n": 1})]) == ["never_asked"]


@pytest.mark.parametrize("args", [{"amount": 3}, {"tool_input": {"amount": 3}}, {"input": '{"amount":3}'}])
def test_a_tool_that_is_recorded_by_a_method_for_all_is_known_by_what_it_was_given(args):
    assert shown([*openai(), call("tool", "BaseTool.run", args)]) == ["never_asked"]
    assert shown([*openai(), call("tool", "BaseTool.run", {"tool_input": {"amount": 4}})]) == ["charge", "never_asked"]


def test_a_tool_whose_result_nobody_gave_is_a_form_of_an_answer_unless_the_run_broke_off():
    assert shown(openai(result=False), ended_well=True) == ["never_asked"]
    assert shown(openai(result=False), ended_well=False) == ["charge", "never_asked"]


def test_a_function_that_asks_a_model_shows_its_tools_too():
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "charge", "arguments": "{}"}}]}
    args = {"messages": [{"role": "user", "content": "go"}], "tools": [{"function": {"name": "refund"}}]}
    assert set(shown([call("llm", "ask", args, message)], ended_well=False)) == {"charge", "refund"}


def test_declared_tools_are_read_from_the_code_and_what_it_imports(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "more.py").write_text("from agent_tt import tool as t\n@t\ndef deep(x): pass\n")
    (tmp_path / "helper.py").write_text("from pack import more\nraise SystemExit('imported')\n")
    agent = tmp_path / "agent.py"
    agent.write_text(
        textwrap.dedent("""
        import agent_tt, agent_tt as att, helper
        from other import tool
        @agent_tt.tool
        def plain(x): pass
        @agent_tt.tool(effect="read", name="named")
        async def reads(x): pass
        class Api:
            @att.tool(effect="write")
            def method(self): pass
        @tool
        def not_ours(x): pass
        wrapped = agent_tt.tool(effect="read")(some.function)
        agent_tt.register("shop.charge", effect="write")
        agent_tt.register("shop.Api.get", "read")
        agent_tt.register("shop.ask", effect="llm")
        """)
    )
    assert declared_tools(agent, tmp_path) == (
        DeclaredTool("plain", "write"), DeclaredTool("named", "read"), DeclaredTool("method", "write"),
        DeclaredTool("function", "read"), DeclaredTool("charge", "write"), DeclaredTool("Api.get", "read"),
        DeclaredTool("deep", "write"),
    )  # fmt: skip
    assert [tool.name for tool in declared_tools(agent, None)][-1] == "Api.get"


@pytest.mark.parametrize("text", ["def (", "\0", ""])
def test_code_that_cannot_be_read_declares_nothing(tmp_path, text):
    (tmp_path / "agent.py").write_text(text)
    assert declared_tools(tmp_path / "agent.py", tmp_path) == ()
    assert declared_tools(tmp_path / "gone.py", tmp_path) == ()
    assert declared_tools(None, None) == ()


def test_what_was_named_from_outside_is_known_although_it_was_not_called():
    metadata = {
        "calls": {"shop.charge": "write", "shop.get": "read", "shop.ask": "llm"},
        "calls_named": {"shop.charge": "charge", "shop.get": "get", "shop.ask": "ask"},
    }
    run = Run("r", "r", "succeeded", 0, AgentCode(), metadata=metadata)
    rows = _uncalled(run, [DeclaredTool("charge", "read")], {"get"})
    assert [(row.name, row.kind, row.effect, row.known_by) for row in rows] == [
        ("charge", "tool", "write", "named"),
        ("ask", "llm", None, "named"),
    ]


def test_a_fork_of_a_tool_that_nothing_records_is_said_to_run_it_and_is_refused_unless_it_is_allowed(tmp_path):
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {"n": 0}, "loop")
        for made in openai():
            step = writer.open_step(NewStep("ask"))
            number = writer.begin_call(step, NewCall("llm", made.name, made.args, "ab" * 16))
            writer.end_call(step, number, CallEnd("ok", made.result))
            writer.close_step(step, StepEnd("ok"), {"n": step})
        writer.finish("succeeded")

        def plan(**more):
            return plan_fork(store, store.run("loop"), ForkRequest(1, edits=[], agent="tests.agent:main", **more))

        plain = plan()
        assert [(row.name, row.policy, row.is_held, row.seen) for row in plain.boundary if row.kind == "tool"] == [
            ("charge", "deny", False, 1),
            ("never_asked", "live", False, 0),
        ]
        assert plain.problems[-2:] == (
            "`charge` was asked for once and is not recorded: a fork runs it live",
            "`never_asked` was offered and not asked for: whether its calls are recorded is not known",
        )
        assert [row.name for row in plain.unheld] == ["charge"]
        with pytest.raises(UsageError, match="charge: a tool that nothing records") as caught:
            plain.check_held()
        assert "--allow charge" in str(caught.value.hint)
        for rule in ({"allow": ["charge"]}, {"policy": plain.rules.with_all([("char*", Rule("live"))])}):
            allowed = plan(**rule)
            allowed.check_held()
            assert plain.problems[-2:] == allowed.problems[-2:]
        denied = plan(policy=plain.rules.with_all([("charge", Rule("deny")), ("never_asked", Rule("deny"))]))
        assert [row.name for row in denied.unheld] == ["charge", "never_asked"]
        with pytest.raises(UsageError, match="charge, never_asked: tools that nothing records"):
            denied.check_held()

        sweep = Definition((Axis("set", "n", (1, 2)),), fork=ForkRequest(1, agent="tests.agent:main"))
        with pytest.raises(UsageError, match="charge: a tool that nothing records"):
            plan_sweep(store, "loop", sweep)
        assert plan_sweep(store, "loop", replace(sweep, fork=replace(sweep.fork, allow=("charge",)))).step == 1
