"""The calls and digests of many steps at once, across a fork."""

from __future__ import annotations

from dataclasses import replace

from tests.core.store.recordings import begin, call, fork, new_store

from agent_tt.model import CallEnd, ErrorInfo, NewCall, NewStep, StepEnd


def test_a_page_holds_what_the_steps_hold_one_by_one_without_what_models_were_asked(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for n in range(4):
        number = writer.open_step(NewStep("s"))
        call(writer, number, {"a": n, "long": "x" * 9_000}, {"found": n})
        asked = writer.begin_call(number, NewCall("llm", "model", {"messages": ["x"] * n}, f"{n:032x}"))
        writer.end_call(number, asked, CallEnd("ok", {"content": "y"}))
        call(writer, number, {"b": 1}, None, effect="write", status="error", error=ErrorInfo("m:Boom", "no"))
        writer.close_step(number, StepEnd("ok"), {"n": n})
    child, writer = fork(store, writer.run_id, 2, {"n": 100})
    for n in range(2):
        number = writer.open_step(NewStep("s"))
        call(writer, number, {"c": n}, n, name="late")
        writer.close_step(number, StepEnd("ok"), {"n": 200 + n})
    assert store.capabilities.pages
    steps = range(1, store.step_count(child) + 1)
    bare = {"lane_seq": 0, "signature": None, "delivered": None, "started_us": None, "ended_us": None, "meta": {}}
    every = [
        replace(made, **{**bare, **({"args": None, "signature": made.signature} if made.kind == "llm" else {})})
        for step in steps
        for made in store.calls(child, step)
    ]
    assert store.call_page(child, 1, len(steps) + 1) == every
    assert store.call_page(child, 2, 4) == [made for made in every if made.step in (2, 3)]
    assert store.call_page(child, 4, 4) == []
    digests = store.digest_page(child, 1, len(steps) + 1)
    assert digests == {step: store.digest(child, step) for step in steps if step != 2}, "2 is edited in the fork"
