"""Paging: every answer is within its budget, and all pages joined are the whole."""

from __future__ import annotations

import json
import re
from contextlib import closing
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource
from tests.core.serving.asking import FLAKY, SAMPLES, pages, told
from tests.core.serving.test_answer_text import WIRES
from tests.core.strategies import values

import agent_tt
from agent_tt.codec.encode import encode
from agent_tt.errors import UsageError
from agent_tt.serving.text import written
from agent_tt.serving.tool import LEAST_BUDGET

LARGE = st.recursive(
    WIRES | st.sampled_from(["long ", "\x1b[0m", "<b>", "é"]).map(lambda text: text * 1_500),
    lambda inner: st.lists(inner, min_size=3, max_size=40) | st.dictionaries(st.text(max_size=30), inner, max_size=30),
    max_leaves=30,
)


def source_of(state):
    source = MemorySource()
    source.add("run", [Did("a", state=state)])
    return source


def rebuilt(ask, path=""):
    """A value that a client puts together again of pages, following what they leave out."""
    found = [*pages(ask, path=path)]
    assert all(len(written(page)) <= LEAST_BUDGET for page in found)
    first = found[0]
    if "value" in first:
        return first["value"]
    if "text" in first:
        content = "".join(page["text"] for page in found)
    elif "items" in first:
        content = [item for page in found for item in page["items"]]
    else:
        content = dict(entry for page in found for entry in page["entries"])
    value = {**first["typed"], "$v": content} if "typed" in first else content
    for page in found:
        assert "left_out_more" not in page or page["left_out"]
        for left in page.get("left_out", []):
            put(value, left, partial(rebuilt, ask), path)
    return value


def put(value, left, again, base):
    where = json.loads(re.fullmatch(r'state\(at="run@1",path=(.*)\)', left["get"])[1])
    whole = again(where)
    inner = where.removeprefix(base).removeprefix(".")
    from agent_tt.codec.paths import parse_path, to_wire_path

    *above, last = to_wire_path(value, parse_path(inner))
    part = value
    for step in above:
        part = part[step]
    part[last] = whole


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.text(max_size=300).map(lambda text: text * 50) | st.lists(st.integers(), max_size=300).map(lambda n: n * 8))
def test_all_pages_of_a_text_or_a_list_are_the_whole(value):
    assert rebuilt(partial(told, source_of({"x": value}), "state", at="run@1", budget=LEAST_BUDGET), "x") == value


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(LARGE)
def test_every_page_of_a_state_is_within_its_budget_and_names_what_it_leaves_out(value):
    ask = partial(told, source_of(value), "state", at="run@1", budget=LEAST_BUDGET)
    for page in pages(ask):
        assert len(written(page)) <= LEAST_BUDGET
        if "left_out" not in page and "value" in page:
            assert page["value"] == value


def test_a_client_gets_a_whole_nested_state_by_following_what_is_left_out():
    value = {"messages": [{"n": n, "text": "word " * (n * 20)} for n in range(60)], "deep": {"er": ["x" * 5_000] * 2}}
    assert rebuilt(partial(told, source_of(value), "state", at="run@1", budget=LEAST_BUDGET)) == value


@settings(max_examples=40, deadline=None)
@given(values)
def test_typed_values_are_paged_too(value):
    state = {"x": encode(value), "y": "z" * 3_000}
    for page in pages(partial(told, source_of(state), "state", at="run@1", budget=LEAST_BUDGET)):
        assert len(written(page)) <= LEAST_BUDGET


def test_a_long_tuple_and_bytes_come_page_by_page():
    state = {"t": encode(tuple(range(3_000))), "b": encode(b"0123456789" * 800)}
    assert rebuilt(partial(told, source_of(state), "state", at="run@1", budget=LEAST_BUDGET), "t") == state["t"]
    assert rebuilt(partial(told, source_of(state), "state", at="run@1", budget=LEAST_BUDGET), "b") == state["b"]


def test_the_steps_of_a_long_run_come_page_by_page_each_once():
    source = MemorySource()
    source.add("run", [Did(f"step {n}", tool="look", args={"n": n}, result="x" * 300) for n in range(1, 201)])
    found = [*pages(partial(told, source, "overview"), run="run", budget=LEAST_BUDGET)]
    assert len(found) > 5
    assert all(len(written(page)) <= LEAST_BUDGET for page in found)
    assert [step["at"] for page in found for step in page["steps_in_brief"]] == [f"run@{n}" for n in range(1, 201)]


def test_a_run_that_begins_meanwhile_does_not_shift_the_pages_of_runs():
    source = MemorySource()
    for n in range(60):
        source.add(f"run-{n:02}", [])
    first = told(source, "runs", budget=LEAST_BUDGET)
    source.add("run-99", [])
    cursor, listed = first["next"], [run["run"] for run in first["runs"]]
    while cursor is not None:
        page = told(source, "runs", budget=LEAST_BUDGET, cursor=cursor)
        listed += [run["run"] for run in page["runs"]]
        cursor = page.get("next")
    assert sorted(set(listed) - {"run-99"}) == [f"run-{n:02}" for n in range(60)]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("budget", [LEAST_BUDGET, 5_000])
@pytest.mark.parametrize(
    ("tool", "arguments", "key"),
    [
        ("overview", {"run": FLAKY}, "steps_in_brief"),
        ("context", {"at": f"{FLAKY}@10"}, "messages"),
        ("find", {"text": "payment", "runs": [FLAKY], "by": "step"}, "hits"),
        ("blame", {"at": FLAKY, "path": "answer"}, "trail"),
        ("diff", {"a": f"{FLAKY}@0", "b": f"{FLAKY}@10"}, "changes"),
        ("compare", {"a": FLAKY, "b": "refund-loop"}, "final_changes"),
        ("step", {"at": f"{FLAKY}@7"}, "calls"),
        ("effects", {"run": FLAKY}, "effects"),
        ("oddities", {"run": "refund-loop"}, "oddities"),
        ("where", {"run": FLAKY, "expression": "error"}, "spans"),
    ],
)
def test_the_pages_of_every_list_joined_are_the_list(tool, arguments, key, budget):
    with closing(agent_tt.open_source(SAMPLES, read_only=True)) as source:
        whole = told(source, tool, **arguments, budget=40_000)[key]
        found = [*pages(partial(told, source, tool), **arguments, budget=budget)]
        assert all(len(written(page)) <= budget for page in found)
        joined = [item for page in found for item in page[key]]
        assert [item.get("at") for item in joined] == [item.get("at") for item in whole]
        assert len(joined) == len(whole)


def test_all_hits_of_a_search_come_page_by_page_whatever_their_number():
    source = MemorySource()
    source.add("run", [Did(f"needle {n}") for n in range(1, 301)])
    found = [*pages(partial(told, source, "find"), text="needle", by="step", runs=["run"], budget=LEAST_BUDGET)]
    assert [hit["at"] for page in found for hit in page["hits"]] == [f"run@{n}" for n in range(1, 301)]
    assert {page["total"] for page in found} == {300}
    assert all(page.get("of", 300) == 300 for page in found)


@pytest.mark.parametrize("cursor", ["-1", "x", "9" * 30, "²", "999999", ""])
@pytest.mark.parametrize("tool", ["overview", "runs"])
def test_a_cursor_that_is_none_is_refused(tool, cursor):
    with closing(agent_tt.open_source(SAMPLES, read_only=True)) as source, pytest.raises(UsageError):
        told(source, tool, cursor=cursor, **({"run": FLAKY} if tool == "overview" else {}))


def test_a_call_in_brief_counts_what_of_it_is_neither_shown_nor_named():
    nested = {}
    for _ in range(12):
        nested = {"text": "long " * 5_000, "inner": nested}
    source = MemorySource()
    source.add("run", [Did("a", tool="send", args=nested, result=1)])
    answer = told(source, "call", at="run@1#1", budget=40_000)
    shown = json.dumps(answer["args"], ensure_ascii=False)
    cut = shown.count('…",') + shown.count('"left_out"')
    assert len(answer["left_out"]) == 6
    assert answer["left_out_more"] == cut - 6 > 0
