"""Calls are listed without what they carried, and one of them is read without its large parts."""

from __future__ import annotations

from dataclasses import replace

from tests.core.store.recordings import begin, call, fork, new_store

from agent_tt.model import ErrorInfo, NewStep, StepEnd

LONG = "x" * 50_000


def test_heads_are_the_calls_of_all_steps_across_a_fork_without_what_they_carried(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    for _ in range(3):
        number = writer.open_step(NewStep("s"))
        call(writer, number, {"a": 1}, {"found": 1})
        call(writer, number, {"b": 1}, None, effect="write", status="error", error=ErrorInfo("m:Boom", "no"))
        writer.close_step(number, StepEnd("ok"), {})
    child, writer = fork(store, writer.run_id, 2, {})
    number = writer.open_step(NewStep("s"))
    call(writer, number, {"c": 1}, 1, name="late", meta={"model": "m"})
    writer.close_step(number, StepEnd("ok"), {})
    every = [made for step in store.steps(child) for made in store.calls(child, step.number)]
    bare = {"args": None, "result": None, "error": None, "signature": None, "lane_seq": 0, "delivered": None}
    assert [head.name for head in store.call_heads(child)] == ["search"] * 4 + ["late"]
    assert store.call_heads(child) == [replace(made, **bare) for made in every]
    assert store.call_heads(child, 3) == store.call_heads(child)[4:]
    assert store.call_heads(child, 2, 3) == store.call_heads(child)[2:4]


def test_a_call_is_read_with_its_arguments_and_without_the_large_parts_of_its_result(tmp_path, monkeypatch):
    store = new_store(tmp_path)
    writer = begin(store, {})
    number = writer.open_step(NewStep("s"))
    call(writer, number, {"text": LONG}, {"body": LONG + "y", "ok": True})
    call(writer, number, {"n": 1}, None, status="error", error=ErrorInfo("m:Boom", "no"))
    read = []
    get = store.log.blobs.get
    monkeypatch.setattr(store.log.blobs, "get", lambda digest: read.append(digest) or get(digest))
    heads = store.call_heads(writer.run_id)
    assert read == []
    full, failed = (store.with_values(writer.run_id, head) for head in heads)
    assert (full.args, full.result) == ({"text": LONG}, {"body": "…", "ok": True})
    assert len(read) == 1, "of the arguments"
    assert (failed.args, failed.result, failed.error) == ({"n": 1}, None, ErrorInfo("m:Boom", "no"))
