"""A fork whose request lacks an item: what is taken out of the state before it, or why nothing can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.core.memory_store import Did, MemorySource

from agent_tt.context.reading import read_contexts
from agent_tt.context.without import Without, without_item
from agent_tt.forking.editing.edits import apply_edits

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

SYSTEM: Wire = {"role": "system", "content": "You answer for a shop that sells lamps and nothing else."}
QUESTION: Wire = {"role": "user", "content": "Is the brass lamp in stock today?"}


def asks(*ids: str) -> Wire:
    calls: list[Wire] = [{"id": each, "name": "stock", "args": {"sku": f"lamp-{each}"}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def gave(id_: str, text: str = "none is left of these") -> Wire:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def without(number: int, messages: list[Wire], state: list[Wire], **asked: Wire) -> tuple[Without, list[Wire]]:
    """What a fork without an item is, and the messages that its state then has."""
    source = MemorySource()
    answer: Wire = {"role": "assistant", "content": "Yes."}
    steps = [
        Did("before", state={"messages": state, "n": 1}),
        Did("ask", answer=answer, asked={"messages": messages, **asked}),
    ]
    source.add("run", steps, state={"messages": []})
    context = read_contexts(source, "run").calls[0]
    found = without_item(source, "run", context, context.items[number])
    edited = apply_edits(source.state("run", found.step), [e for e in found.edits if e.target == "state"])
    left = edited["messages"] if isinstance(edited, dict) else None
    assert isinstance(left, list)
    return found, left


def test_a_message_is_deleted_from_the_state_before_the_call():
    messages = [SYSTEM, QUESTION]
    found, left = without(1, messages, messages)
    assert (found.step, found.why_not, left) == (1, "", [SYSTEM])


def test_a_result_goes_with_its_call_and_with_what_that_call_asked_for_beside_it():
    messages = [QUESTION, asks("1", "2"), gave("1"), gave("2"), asks("3"), gave("3")]
    # items: the question, two calls, two results, a call, a result
    assert without(4, messages, messages)[1] == [QUESTION, asks("3"), gave("3")]
    assert without(5, messages, messages)[1] == [QUESTION, asks("1", "2"), gave("1"), gave("2")]
    assert "go with it" in without(4, messages, messages)[0].also


def test_of_messages_that_say_the_same_the_one_that_is_meant_goes():
    messages = [QUESTION, SYSTEM, QUESTION]
    found, _ = without(2, messages, messages)
    assert [edit.path for edit in found.edits] == ["messages[2]"]


def test_a_system_text_that_is_in_no_state_is_left_empty_and_a_tool_cannot_be_taken_away():
    beside = {"system": "You answer briefly, and in the language of the question.", "tools": ["stock"]}
    found, left = without(0, [QUESTION], [QUESTION], **beside)
    assert [(edit.target, edit.value) for edit in found.edits] == [("system", "")]
    assert left == [QUESTION]
    assert "no edit takes one away" in without(1, [QUESTION], [QUESTION], **beside)[0].why_not


def test_what_no_state_holds_is_said_to_be_the_programs():
    found, _ = without(0, [QUESTION], [SYSTEM])
    assert (found.edits, found.why_not) == (
        (),
        "no message of the state before this step is this item: the program adds it by itself",
    )


def test_of_a_state_that_was_not_kept_it_is_not_said_that_the_program_adds_the_item_by_itself():
    source = MemorySource()
    steps = [Did("before", is_kept=False), Did("ask", answer={"content": "Yes."}, asked={"messages": [QUESTION]})]
    source.add("run", steps, state={"messages": []})
    context = read_contexts(source, "run").calls[0]
    found = without_item(source, "run", context, context.items[0])
    assert (found.edits, found.why_not) == (
        (),
        "no checkpoint is kept of step 1: whether the state has it is not known",
    )
