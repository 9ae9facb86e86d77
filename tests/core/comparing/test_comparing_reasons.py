"""Why runs part, in words and as data: what is said of two steps, two questions, two runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.comparing.runs.comparison import Comparison, compare_runs
from agent_tt.comparing.runs.divergence_reason import (
    Deed,
    Reason,
    differences,
    explain,
    explain_code,
    explain_edits,
    explain_input,
    explain_question,
)
from agent_tt.comparing.runs.request_parts import parts_of_request
from agent_tt.comparing.values.states import Change, compare_states
from agent_tt.errors import Damaged
from agent_tt.model import AgentCode, Call, Edit, ErrorInfo, Run, Step
from agent_tt.model.facts import RunFacts, StepFacts

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire


def deed(*calls: Call, number: int = 3, name: str = "work", **rest: Any) -> Deed:
    return Deed(Step(number, name, **{"status": "ok", **rest}), calls)


def tool(name: str = "look", args: Wire = None, result: Wire = None, **rest: Any) -> Call:
    return Call(3, 1, "tool", name, **{"status": "ok", "args": args, "result": result, **rest})


def model(result: Wire = None) -> Call:
    return Call(3, 1, "llm", "m", "ok", args={"messages": [{"role": "user", "content": "go"}]}, result=result)


def asking(tool: str, *, said: str = "", id_: str = "1") -> Wire:
    """What a model answers that asks for a tool."""
    asked = {"id": id_, "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return {"role": "assistant", "content": said, "tool_calls": [asked]}


LOOKED = "it called look in A, no tool in B"


NO = ErrorInfo("builtins:ValueError", "no")


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (None, None, None),
        (deed(), deed(), None),
        (deed(tool(), name="plan"), None, ("step", "only A took step 3, look", 3, None, "look", "plan", None)),
        (None, deed(name="plan"), ("step", "only B took step 4, plan", None, 4, "plan", None, "plan")),
        (deed(agent="x"), deed(agent="y"), ("agent", "another agent took over: x, y", 3, 4, "agent", "x", "y")),
        (deed(agent="x"), deed(), ("agent", "another agent took over: x, none", 3, 4, "agent", "x", None)),
        (deed(), deed(agent="y"), ("agent", "another agent took over: none, y", 3, 4, "agent", None, "y")),
        (deed(), deed(name="other"), ("agent", "it went to work in A, to other in B", 3, 4, "name", "work", "other")),
        (deed(), deed(decision="stop"), ("decision", "the agent decided something else", 3, 4, "", None, "stop")),
        (
            deed(tool("look"), tool("book"), tool("sing")),
            deed(),
            ("call", "it called look, book and 1 more in A, no tool in B", 3, 4, "look", ["look", "book", "sing"], []),
        ),
        (deed(), deed(tool("book")), ("call", "it called no tool in A, book in B", 3, 4, "book", [], ["book"])),
        (
            deed(tool("look"), tool("book")),
            deed(tool("book"), tool("look")),
            ("call", "it called look, book in A, book, look in B", 3, 4, "look", ["look", "book"], ["book", "look"]),
        ),
        (
            deed(model(asking("look")), tool("look")),
            deed(model({"role": "assistant", "content": "done"})),
            ("call", "the model asked for something else", 3, 4, "look", ["look"], []),
        ),
        # Of a text nobody knows what it asks for, and of equal answers that it was not the model's doing.
        (
            deed(model("a"), tool("look")),
            deed(model("b")),
            ("call", f"the model answered something else; {LOOKED}", 3, 4, "look", ["look"], []),
        ),
        (
            deed(model(asking("look", said="first")), tool("look")),
            deed(model(asking("look", said="then"))),
            ("call", f"the model answered something else; {LOOKED}", 3, 4, "look", ["look"], []),
        ),
        (
            deed(model(asking("look", id_="1")), tool("look")),
            deed(model(asking("look", id_="2"))),
            ("call", LOOKED, 3, 4, "look", ["look"], []),
        ),
        (
            deed(model("a"), tool("look")),
            deed(model("a"), tool("book")),
            ("call", "it called look in A, book in B", 3, 4, "look", ["look"], ["book"]),
        ),
        (
            deed(model("a"), tool("look")),
            deed(),
            ("call", "it called look in A, no tool in B", 3, 4, "look", ["look"], []),
        ),
        (
            deed(tool(args={"q": 1, "r": [1, 2]})),
            deed(tool(args={"q": 1, "r": [1, 3]})),
            ("call", "look was asked with another r", 3, 4, "look.r[1]", 2, 3),
        ),
        (
            deed(tool(args={"q": 1, "r": 1, "s": 1, "t": 1})),
            deed(tool(args={"q": 1, "s": 2, "t": 2, "u": 2})),
            ("call", "look was asked with another r, s and 2 more", 3, 4, "look.r", 1, None),
        ),
        (
            deed(tool(args=[1])),
            deed(tool(args=[2])),
            ("call", "look was asked with another argument", 3, 4, "look[0]", 1, 2),
        ),
        (
            deed(tool(args={"q": 1})),
            deed(tool(args=[1])),
            ("call", "look was asked with another argument", 3, 4, "look", {"q": 1}, [1]),
        ),
        (
            deed(model({"content": "yes"})),
            deed(model({"content": "no", "id": "x"})),
            ("answer", "the model answered something else", 3, 4, "content", "yes", "no"),
        ),
        (
            deed(model("yes"), model("no")),
            deed(model("yes")),
            ("answer", "the model answered something else", 3, 4, "[1]", "no", None),
        ),
        # What a model said beside its calls counts where it called nothing.
        (deed(model("yes"), tool()), deed(model("no"), tool()), None),
        (
            deed(tool(), tool(result={"a": [1]})),
            deed(tool(), tool(result={"a": [2]})),
            ("result", "look came back with another result", 3, 4, "look.a[0]", 1, 2),
        ),
        # Nothing in them can be named as another.
        (
            deed(tool(result={"$type": "float", "$v": "nan"})),
            deed(tool(result={"$type": "float", "$v": "nan:fff8000000000000"})),
            (
                "result",
                "look came back with another result",
                3,
                4,
                "look",
                {"$type": "float", "$v": "nan"},
                {"$type": "float", "$v": "nan:fff8000000000000"},
            ),
        ),
        (
            deed(tool(status="error", error=NO)),
            deed(tool()),
            ("result", "look: ValueError: no in A, went well in B", 3, 4, "look", "ValueError: no", "went well"),
        ),
        (
            deed(tool(status="pending")),
            deed(tool(status="denied")),
            ("result", "look: outcome unknown in A, denied in B", 3, 4, "look", "outcome unknown", "denied"),
        ),
        (
            deed(tool()),
            deed(tool(status="error")),
            ("result", "look: went well in A, failed in B", 3, 4, "look", "went well", "failed"),
        ),
        (deed(tool(), error=NO), deed(tool()), ("result", "ValueError: no in A", 3, 4, "look", "ValueError: no", None)),
        (
            deed(tool(), status="stopped"),
            deed(tool()),
            ("result", "the step ended stopped in A, ok in B", 3, 4, "look", "stopped", "ok"),
        ),
    ],
)
def test_of_two_steps_it_is_said_what_differs_first(
    a: Deed | None, b: Deed | None, reason: tuple[Any, ...] | None
) -> None:
    if b is not None:
        b = replace(b, step=replace(b.step, number=4))
    assert explain(a, b) == (None if reason is None else Reason(*reason))


def test_what_two_steps_wrote_counts_where_they_did_the_same() -> None:
    written = compare_states({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 2})
    text = "work wrote something else to a, b and 1 more"
    assert explain(deed(), deed(), written) == Reason("state", text, 3, 3, "a", 1, 2)
    everything = "work wrote something else to the whole state"
    assert explain(deed(), deed(), [Change("change", "", 1, 2)]) == Reason("state", everything, 3, 3, "", 1, 2)
    assert explain(deed(), deed(name="other"), written).kind == "agent"


def test_what_the_runs_began_with_is_said_by_its_places() -> None:
    assert explain_input([]) is None
    changes = compare_states({"a": 1, "b": 1}, {"a": 2, "b": 2})
    assert explain_input(changes) == Reason("input", "the input differs at a, b", 0, 0, "a", 1, 2)
    assert explain_input(compare_states(1, 2)) == Reason(
        "input", "the input differs at the whole state", 0, 0, "", 1, 2
    )


@pytest.mark.parametrize(
    ("edits", "text", "where"),
    [
        ((Edit("set", "goal", 2, 1),), "state edited at goal", "goal"),
        ((Edit("set", "", 2, 1),), "state edited at the whole state", ""),
        ((Edit("set", "a", 2, 1), Edit("delete", "b"), Edit("set", "a", 3)), "state edited at a, b", "a"),
        ((Edit("set", "a", 2, 1), Edit("set", "b"), Edit("set", "c")), "state edited at a, b and 1 more", "a"),
        ((Edit("set", "", 2, 1, target="model"),), "edited: model", "model"),
        ((Edit("mute", "", 2, 1, target="step", step=4),), "edited: step 4 muted", "step 4"),
        ((Edit("set", "goal", 2, 1), Edit("set", "", "n", target="model")), "edited: model", "goal"),
    ],
)
def test_what_a_person_edited_is_named(edits: tuple[Edit, ...], text: str, where: str) -> None:
    run = Run("f", "f", "succeeded", 0, fork_step=5, edits=edits)
    assert explain_edits(run) == Reason("edit", text, 5, 5, where, 1, 2)
    assert explain_edits(run, of_b=False) == Reason("edit", text, 5, 5, where, 2, 1)


def test_an_edit_that_both_forks_have_is_no_reason() -> None:
    limit, goal = Edit("set", "limit", 3, 20), Edit("set", "goal", "win", "play")
    one, other = (
        Run(name, name, "succeeded", 0, fork_step=5, edits=edits)
        for name, edits in (("a", (limit, goal)), ("b", (limit,)))
    )
    assert explain_edits(one, other) == Reason("edit", "state edited at goal", 5, 5, "goal", "play", "win")
    assert explain_edits(other, one) is None


def test_without_edits_that_anything_came_of_none_is_a_reason() -> None:
    assert explain_edits(Run("f", "f", "succeeded", 0, fork_step=5)) is None
    edits = (Edit("set", "goal", 2, 1),)
    unmade: dict[str, Wire] = {RunFacts.edits_without_effect.key: [{"edit": 0, "reason": "never reached"}]}
    assert explain_edits(Run("f", "f", "succeeded", 0, fork_step=5, edits=edits, metadata=unmade)) is None


def ran(name: str, entry: str | None, fingerprint: str | None = None, parent: str | None = None) -> Run:
    return Run(name, name, "succeeded", 0, parent=parent, code=AgentCode(entry=entry, fingerprint=fingerprint))


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (("pkg.agent:main", "1"), ("src/pkg/agent.py:main", "1"), None),
        (("pkg.agent:main", "1"), ("pkg.agent:main", "2"), ("the agent's code had changed", "1", "2")),
        (("pkg.agent:main", "1"), ("pkg.agent:main", None), None),
        (("pkg.agent:main", None), ("pkg.agent:main", "1"), None),
        ((None, "1"), ("pkg.agent:main", "2"), None),
        (("pkg.agent:main", "1"), (None, "2"), None),
        (("agent:main", "1"), ("agent:other", "1"), ("{} ran instead", "agent:main", "agent:other")),
        (("agent:main", "1"), ("agents:main", "1"), ("{} ran instead", "agent:main", "agents:main")),
        ((r"C:\src\agent.py:main", "1"), ("agent:main", "1"), None),
    ],
)
def test_that_a_fork_ran_other_code_is_said_whichever_side_it_is(
    a: tuple[str | None, str | None], b: tuple[str | None, str | None], reason: tuple[str, Wire, Wire] | None
) -> None:
    text, old, new = reason or ("", None, None)
    found = explain_code(ran("a", *a), ran("b", *b, parent="a"))
    assert found == (None if reason is None else Reason("code", text.format(b[0]), old=old, new=new))
    found = explain_code(ran("a", *a, parent="b"), ran("b", *b))
    assert found == (None if reason is None else Reason("code", text.format(a[0]), old=old, new=new))


# ---------------------------------------------------------------- questions


def think(*asked: Wire) -> list[Did]:
    return [Did("think", answer={"content": "yes"}, asked=each) for each in asked]


def compared(a: list[Did], b: list[Did], **rest: Any) -> Comparison:
    source = MemorySource()
    return compare_runs(source, source.add("a", a), source, source.add("b", b, **rest))


def messages(*texts: str, role: str = "user") -> list[Wire]:
    return [{"role": role, "content": text} for text in texts]


@pytest.mark.parametrize(
    ("a", "b", "words", "where"),
    [
        ({"system": "a"}, {"system": "b"}, "another system prompt", "system"),
        ({"instructions": "a"}, {"instructions": "b"}, "another system prompt", "instructions"),
        (
            {"messages": messages("a", role="developer")},
            {"messages": messages("b", role="developer")},
            "another system prompt",
            "messages[0].content",
        ),
        (
            {"messages": messages("a"), "temperature": 0, "system": "a"},
            {"messages": messages("b"), "temperature": 1, "system": "b"},
            "another system prompt; temperature 0 in A, 1 in B; 1 more",
            "system",
        ),
        (
            {"messages": messages("a"), "n": 0},
            {"messages": messages("b"), "n": 1},
            "n 0 in A, 1 in B; message 1 (user) differs",
            "n",
        ),
        (
            {"messages": messages("a")},
            {"messages": messages("b")},
            "message 1 (user) differs",
            "messages[0].content",
        ),
        ("a", "b", "another question", ""),
        (["a"], ["b"], "[0] differs", "[0]"),
        ({"a b": 1}, {"a b": 2}, '["a b"] 1 in A, 2 in B', '["a b"]'),
        ({"tools": ["look"]}, {"tools": []}, "look is offered only in A", "tools[0]"),
        (
            {"tools": [{"function": {"name": "look"}}]},
            {
                "tools": [
                    {"function": {"name": "look"}},
                    {"name": "refund"},
                    {"functionDeclarations": [{"name": "pay"}]},
                ]
            },
            "refund, pay are offered only in B",
            "tools[1]",
        ),
        (
            {"tools": [{"name": "look", "description": "finds orders by number"}]},
            {"tools": [{"name": "look", "description": "finds orders by name"}]},
            "the tool look is described otherwise",
            "tools[0].description",
        ),
        ({"model": "one"}, {"model": "two"}, 'model "one" in A, "two" in B', "model"),
        ({"q": 1}, {"q": 1, "seed": 7}, "seed 7 only in B", "seed"),
        (
            {"method": "POST", "url": "u", "body": {"system": "a", "messages": messages("a")}},
            {"method": "POST", "url": "u", "body": {"system": "b", "messages": messages("a")}},
            "another system prompt",
            "body.system",
        ),
        (
            {"messages": messages("first thing said", "one two three four five six")},
            {"messages": messages("be short", "first thing said", "one two three four five seven")},
            "message 1 (user) only in B; message 3 (user) differs",
            "messages[0]",
        ),
        (
            {"messages": messages("a")},
            {"messages": [*messages("s", role="system"), *messages("a")]},
            "a system prompt only in B",
            "messages[0]",
        ),
    ],
)
def test_what_the_models_were_asked_otherwise_is_named_the_most_telling_first(
    a: Wire, b: Wire, words: str, where: str
) -> None:
    (reason,) = compared(think(a), think(b)).reasons
    assert (reason.kind, reason.text) == ("question", f"the model was asked otherwise: {words}")
    assert (reason.a, reason.b, reason.where) == (1, 1, where)


def test_of_many_questions_the_first_that_differs_is_said() -> None:
    (reason,) = compared(think("a", "b", "c"), think("a", "x", "y")).reasons
    assert (reason.a, reason.b, reason.old, reason.new) == (2, 2, "b", "x")


def test_a_question_that_follows_from_another_result_is_no_reason() -> None:
    def both(result: str, question: str) -> Deed:
        return deed(tool(result=result), Call(3, 2, "llm", "m", "ok", args=question, result="yes"))

    assert explain_question(both("1", "a"), both("2", "b")) is None
    assert explain_question(both("1", "a"), both("1", "b")).text == "the model was asked otherwise: another question"
    before = [
        deed(Call(3, 1, "llm", "m", "ok", args=question, result="yes"), tool(result=question)) for question in "ab"
    ]
    assert explain_question(*before).text == "the model was asked otherwise: another question"
    clock = [deed(Call(3, 1, "clock", "time", "ok", result=n), Call(3, 2, "llm", "m", "ok", args=n)) for n in (1, 2)]
    assert explain_question(*clock).text == "the model was asked otherwise: another question"
    alone = deed(tool(), Call(3, 2, "llm", "m", "ok", args="a"))
    assert explain_question(alone, deed(Call(3, 1, "llm", "m", "ok", args="b"))) is None


# ---------------------------------------------------------------- in whole runs


def step(name: str, query: str = "", **rest: Any) -> Did:
    return Did("work", tool=name, args={"query": query}, result="ok", **rest)


A, B, C, D, E = (step(name) for name in ("look", "think", "ask", "book", "answer"))


def test_steps_that_changed_places_or_were_taken_elsewhere_are_told_by_their_numbers() -> None:
    (swapped,) = compared([A, B, C, D, E], [A, C, B, D, E]).reasons
    assert swapped.kind == "swapped"
    assert (swapped.a, swapped.b) == (swapped.old, swapped.new)
    assert (swapped.where, {swapped.a, swapped.b}) == ({2: "think", 3: "ask"}[swapped.a], {2, 3})
    (moved,) = compared([A, E, B, C, D], [A, B, C, D, E]).reasons
    assert moved == Reason("moved", "answer is step 2 in A, step 5 in B", 2, 5, "answer", 2, 5)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([A, B], [A], ("ending", "B ends after step 1", 2, 1)),
        ([A], [A, B], ("ending", "A ends after step 1", 1, 2)),
        ([], [A, B], ("ending", "A took no step", 0, 2)),
        ([A], [], ("ending", "B took no step", 1, 0)),
        ([A, B, C], [A, C], ("step", "only A took step 2, think", 2, None, "think", "work", None)),
    ],
)
def test_a_run_that_was_over_sooner_is_told_from_one_that_left_something_out(
    a: list[Did], b: list[Did], reason: tuple[Any, ...]
) -> None:
    assert compared(a, b).reasons == (Reason(*reason),)


def test_edits_count_where_they_are_the_last_thing_before_the_runs_parted() -> None:
    source = MemorySource()
    base = source.add("base", [A, B, C, D])
    one = source.add("one", [E, E], parent="base", fork_step=2, edits=(Edit("set", "goal", 2, 1),))
    deeper = source.add("deeper", [B], parent="one", fork_step=3, edits=(Edit("set", "mood", 2, 1),))

    def edits(a: Run, b: Run) -> list[tuple[str, Wire, Wire]]:
        found = compare_runs(source, a, source, b).reasons
        return [(each.where, each.old, each.new) for each in found if each.kind == "edit"]

    assert edits(base, one) == [("goal", 1, 2)]
    assert edits(one, base) == [("goal", 2, 1)]
    assert edits(base, deeper) == []
    assert edits(one, deeper) == [("mood", 1, 2)]
    same = source.add("same", [C, D], parent="base", fork_step=2, edits=(Edit("set", "goal", 2, 1),))
    assert edits(base, same) == []


def wrote(state: Wire) -> Comparison:
    source = MemorySource()
    base: Wire = {"goal": "x", "goals": 1, "list": [1]}
    a = source.add("a", [Did("plan", state={**base, "goal": "a"})], state=base)  # type: ignore[dict-item]
    b = source.add("b", [Did("plan", state=state)], state=base)
    return compare_runs(source, a, source, b)


@pytest.mark.parametrize(
    ("state", "places", "old", "new"),
    [
        ({"goal": "b", "goals": 1, "list": [1]}, "goal", "a", "b"),
        ({"goal": "x", "goals": 2, "list": [1]}, "goal, goals", "a", "x"),
        ({"goal": "a", "goals": 1, "list": [1, 2]}, "list", None, 2),
    ],
)
def test_what_was_written_otherwise_is_told_with_what_stands_there(
    state: Wire, places: str, old: Wire, new: Wire
) -> None:
    (reason,) = wrote(state).reasons
    assert reason.kind == "state"
    assert reason.text.startswith("plan wrote something else to ")
    assert (reason.old, reason.new) == (old, new)


def test_a_state_that_cannot_be_read_leaves_the_place_that_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    source = MemorySource()
    a, b = (source.add(name, [Did("plan", state={"goal": name})], state={"goal": "x"}) for name in "ab")
    whole = MemorySource.state

    def state(self: MemorySource, run_id: str, number: int) -> Wire:
        if number and not reading_changes:
            raise Damaged("a blob is missing")
        return whole(self, run_id, number)

    def changes(self: MemorySource, run_id: str, number: int) -> Any:
        reading_changes.append(True)
        try:
            return read_changes(self, run_id, number)
        finally:
            reading_changes.pop()

    reading_changes: list[bool] = []
    read_changes = MemorySource.changes
    monkeypatch.setattr(MemorySource, "state", state)
    monkeypatch.setattr(MemorySource, "changes", changes)
    monkeypatch.setattr(MemorySource, "digest", lambda *_: None)
    (reason,) = compare_runs(source, a, source, b).reasons
    assert reason == Reason("state", "plan wrote something else to goal", 1, 1, "goal", None, None)


SYSTEM, HELLO, BYE = (
    {"role": role, "content": text} for role, text in (("system", "Be kind."), ("user", "Hello."), ("user", "Goodbye."))
)
LOOK, BOOK = {"name": "look", "about": 1}, {"name": "book", "about": 2}


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({"tools": [LOOK, BOOK]}, {"tools": [BOOK, LOOK]}, ["the same tools in another order"]),
        ({"tools": [LOOK]}, {"tools": [LOOK, LOOK]}, ["look is offered once in A, 2 times in B"]),
        ({"tools": [LOOK, BOOK]}, {"tools": [BOOK]}, ["look is offered only in A"]),
        ({"messages": [SYSTEM, BYE]}, {"messages": [HELLO, SYSTEM, BYE]}, ["message 1 (user) only in B"]),
        ({"messages": [HELLO, SYSTEM, BYE]}, {"messages": [SYSTEM, BYE]}, ["message 1 (user) only in A"]),
        ({"messages": [SYSTEM, BYE]}, {"messages": [BYE]}, ["a system prompt only in A"]),
        ({"messages": [BYE]}, {"messages": [SYSTEM, BYE]}, ["a system prompt only in B"]),
        (
            {"body": {"messages": [SYSTEM, BYE]}},
            {"body": {"messages": [HELLO, {**SYSTEM, "content": "Be rude."}, BYE]}},
            ["another system prompt", "message 1 (user) only in B"],
        ),
        (
            {"messages": [HELLO, BYE]},
            {"messages": [BYE, HELLO]},
            ["message 1 (user) in B is message 2 in A"],
        ),
    ],
)
def test_parts_of_a_request_are_named_as_they_differ(a: Any, b: Any, said: list[str]) -> None:
    assert [part.said for part in parts_of_request(a, b, differences(a, b))] == said


SLOW, MANY = ErrorInfo("builtins:TimeoutError", "slow"), ErrorInfo("openai:RateLimitError", "too many")


@pytest.mark.parametrize(
    ("a", "b", "because"),
    [
        (
            Did("ask", failed=SLOW),
            Did("ask", failed=MANY),
            "model: TimeoutError: slow in A, RateLimitError: too many in B",
        ),
        (Did("ask", failed=SLOW), Did("ask", answer="hi"), "model: TimeoutError: slow in A, went well in B"),
        (Did("ask", answer="hi"), Did("ask", answer="ho"), "the model answered something else"),
        (
            Did("ask", failed=SLOW, tool="look"),
            Did("ask", answer="hi", tool="book"),
            "model: TimeoutError: slow in A, went well in B; it called look in A, book in B",
        ),
    ],
)
def test_a_model_that_failed_otherwise_is_no_equal_answer(a: Did, b: Did, because: str) -> None:
    source = MemorySource()
    found = compare_runs(source, source.add("a", [a]), source, source.add("b", [b]))
    assert (found.differs, found.diverged_at, found.because) == (True, 1, because)


def test_a_model_that_failed_alike_is_the_same() -> None:
    source = MemorySource()
    runs = [source.add(name, [Did("ask", failed=SLOW)]) for name in "ab"]
    assert not compare_runs(source, runs[0], source, runs[1]).differs


def test_a_run_that_goes_on_behind_an_edit_is_not_said_to_have_ended() -> None:
    class Edited(MemorySource):
        def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
            found = super().steps(run_id, start, stop)
            edit = StepFacts.source.entry("update")
            return [replace(step, extra=edit) if step.name == "edit" else step for step in found]

    source = Edited()
    first, last = Did("a", tool="look", result=1), Did("z", tool="book", result=2)
    a = source.add("a", [first, Did("edit", state={"n": 1}), Did("x", tool="think", result=3), last])
    found = compare_runs(source, a, source, source.add("b", [first, last]))
    assert [(row.a, row.b) for row in found.rows] == [(1, 1), (2, None), (3, None), (4, 2)]
    assert found.because == "only A took step 3, think"
