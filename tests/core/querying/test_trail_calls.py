"""The way back through calls, told in full: results, errors, arguments, and the input that they were taken from."""

from __future__ import annotations

from tests.core.memory_store import Did
from tests.core.querying.trails import OWN, Past, answered, followed, look, note, people_speak_in, tool

from agent_tt.model import ErrorInfo
from agent_tt.querying.provenance.blaming import blame_value

LAST_KNOWN = "which became known last; what else it was asked may have caused it as well"


def test_what_came_with_the_input_ends_there() -> None:
    assert followed([Did("a", state={"x": OWN})], "x", state={"x": OWN}) == [
        "value 0 :x 'a text of its own': it came with the input",
        "it came with the input",
    ]


def test_a_call_that_was_asked_with_an_empty_mapping_is_the_end() -> None:
    assert followed([look(args={"a": [], "k": {}}, result=OWN, state={"x": OWN})], "x") == [
        "value 1 :x 'a text of its own': written at step 1, look",
        "result 1.1 look: 'a text of its own': the same value",
        "look was asked with nothing",
    ]


def test_a_call_that_was_asked_with_nothing_is_the_end() -> None:
    assert followed([look(result=OWN, state={"x": OWN})], "x") == [
        "value 1 :x 'a text of its own': written at step 1, look",
        "result 1.1 look: 'a text of its own': the same value",
        "look was asked with nothing",
    ]


def test_null_true_false_and_empty_texts_are_no_arguments_to_follow() -> None:
    assert followed([look(args={"no": None, "yes": True, "off": False, "e": ""}, result=OWN), note(x=OWN)], "x") == [
        "value 2 :x 'a text of its own': written at step 2, note",
        "result 1.1 look: 'a text of its own': the same value",
        "look was asked with nothing that could be looked for",
    ]


def test_an_argument_of_which_nothing_is_known_is_the_end() -> None:
    assert followed([look(args={"no": None, "yes": True, "e": "", "q": "zebras"}, result=OWN), note(x=OWN)], "x") == [
        "value 2 :x 'a text of its own': written at step 2, note",
        "result 1.1 look: 'a text of its own': the same value",
        "argument 1.1 look:q 'zebras': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_a_common_argument_that_nothing_has_is_the_end() -> None:
    assert followed([look(args={"n": 7}, result=OWN), note(x=OWN)], "x") == [
        "value 2 :x 'a text of its own': written at step 2, note",
        "result 1.1 look: 'a text of its own': the same value",
        "argument 1.1 look:n 7: it was asked with n",
        "no call up to step 1 that is recorded has such a value, nor has the input",
    ]


def test_a_common_argument_that_one_call_brought_may_be_from_there() -> None:
    assert followed([tool("one", "wild horses", {"n": 7}), look(args={"k": 7}, result=OWN), note(x=OWN)], "x") == [
        "value 3 :x 'a text of its own': written at step 3, note",
        "result 2.1 look: 'a text of its own': the same value",
        "argument 2.1 look:k 7: it was asked with k",
        "candidates 2 : 7: this brought it, or the agent's own code made it (also 1.1 one:n)",
        "such a value is so common that nothing says which it was",
    ]


def test_a_common_argument_that_several_brought_is_from_one_of_them() -> None:
    assert followed(
        [
            tool("one", "wild horses", {"n": 7}),
            tool("two", "wild geese", [7, 8]),
            look(args={"k": 7}, result=OWN),
            note(x=OWN),
        ],
        "x",
        state={"n": 7},
    ) == [
        "value 4 :x 'a text of its own': written at step 4, note",
        "result 3.1 look: 'a text of its own': the same value",
        "argument 3.1 look:k 7: it was asked with k",
        (
            "candidates 3 : 7: one of these brought it, or the agent's own code made it (also 2.1 two:[0], "
            "1.1 one:n, 0 input:n)"
        ),
        "such a value is so common that nothing says which it was",
    ]


def test_of_many_places_that_have_a_common_argument_some_are_named() -> None:
    assert followed(
        [*[tool(f"t{n}", "wild horses", {"n": 7}) for n in range(9)], look(args={"k": 7}, result=OWN), note(x=OWN)], "x"
    ) == [
        "value 11 :x 'a text of its own': written at step 11, note",
        "result 10.1 look: 'a text of its own': the same value",
        "argument 10.1 look:k 7: it was asked with k",
        (
            "candidates 10 : 7: one of these and more brought it, or the agent's own code made it (also 9.1 "
            "t8:n, 8.1 t7:n, 7.1 t6:n, 6.1 t5:n)"
        ),
        "such a value is so common that nothing says which it was",
    ]


def test_a_common_argument_under_the_same_name_is_taken_from_there() -> None:
    assert followed(
        [tool("one", "wild horses", {"count": 7}), look(args={"count": 7}, result=OWN), note(x=OWN)], "x"
    ) == [
        "value 3 :x 'a text of its own': written at step 3, note",
        "result 2.1 look: 'a text of its own': the same value",
        "argument 2.1 look:count 7: it was asked with count",
        "result 1.1 one:count 7: the same value under the same name",
        "argument 1.1 one:q 'wild horses': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_an_argument_that_the_input_has_among_other_words_is_from_there() -> None:
    assert followed(
        [look(args={"q": "zebras"}, result=OWN), note(x=OWN)], "x", state={"task": "Tell me all about zebras please"}
    ) == [
        "value 2 :x 'a text of its own': written at step 2, note",
        "result 1.1 look: 'a text of its own': the same value",
        "argument 1.1 look:q 'zebras': it was asked with q",
        "input 0 :task 'Tell me all about zebras please': first said there, a part of it [zebras]",
        "the input says it",
    ]


def test_an_argument_that_the_input_says_is_from_there() -> None:
    assert followed(
        [look(args={"q": "zebras in Kenya"}, result=OWN), note(x=OWN)], "x", state={"task": "zebras in Kenya"}
    ) == [
        "value 2 :x 'a text of its own': written at step 2, note",
        "result 1.1 look: 'a text of its own': the same value",
        "argument 1.1 look:q 'zebras in Kenya': it was asked with q",
        "input 0 :task 'zebras in Kenya': first said there, the same value",
        "the input says it",
    ]


def test_of_several_places_of_the_input_the_one_most_like_it_is_taken() -> None:
    assert followed(
        [look(args={"q": "zebras in Kenya"}, result=OWN), note(x=OWN)],
        "x",
        state={"a": "all zebras in Kenya live", "b": "zebras in Kenya", "c": "the zebras in Kenya"},
    ) == [
        "value 2 :x 'a text of its own': written at step 2, note",
        "result 1.1 look: 'a text of its own': the same value",
        "argument 1.1 look:q 'zebras in Kenya': it was asked with q",
        "input 0 :b 'zebras in Kenya': first said there, the same value",
        "the input says it",
    ]


def test_the_argument_that_was_found_out_last_is_followed_and_the_others_are_named() -> None:
    assert followed(
        [
            tool("one", "wild horses", {"id": "AB-1001"}),
            tool("two", "wild geese", {"id": "CD-2002"}),
            look(args={"old": "AB-1001", "new": "CD-2002", "older": "AB-1001"}, result=OWN),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 4 :x 'a text of its own': written at step 4, note",
        "result 3.1 look: 'a text of its own': the same value",
        f"argument 3.1 look:new 'CD-2002': it was asked with new, {LAST_KNOWN} (also 1.1 one:id)",
        "result 2.1 two:id 'CD-2002': the same value",
        "argument 2.1 two:q 'wild geese': it was asked with q",
        "no call up to step 2 brought it, and the input does not hold it",
    ]


def test_of_arguments_that_came_from_nowhere_the_most_particular_one_is_shown() -> None:
    assert followed(
        [look(args={"a": "zebra", "b": "zebra crossing", "c": "ZX-9001", "d": "lion"}, result=OWN), note(x=OWN)], "x"
    ) == [
        "value 2 :x 'a text of its own': written at step 2, note",
        "result 1.1 look: 'a text of its own': the same value",
        "argument 1.1 look:c 'ZX-9001': it was asked with c",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_only_so_many_arguments_of_a_call_are_looked_at() -> None:
    assert followed(
        [
            tool("one", "wild horses", {"id": "AB-1001"}),
            look(args=[*["zebra"] * 48, "AB-1001"], result=OWN),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 3 :x 'a text of its own': written at step 3, note",
        "result 2.1 look: 'a text of its own': the same value",
        "argument 2.1 look:[0] 'zebra': it was asked with [0]",
        "no call up to step 2 brought it, and the input does not hold it",
    ]


def test_the_last_of_so_many_arguments_is_looked_at() -> None:
    assert followed(
        [
            tool("one", "wild horses", {"id": "AB-1001"}),
            look(args=[*["zebra"] * 47, "AB-1001"], result=OWN),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 3 :x 'a text of its own': written at step 3, note",
        "result 2.1 look: 'a text of its own': the same value",
        "argument 2.1 look:[47] 'AB-1001': it was asked with [47]",
        "result 1.1 one:id 'AB-1001': the same value",
        "argument 1.1 one:q 'wild horses': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_the_words_of_an_error_lead_to_the_call_that_failed() -> None:
    assert followed(
        [Did("pay", tool="pay", args={"card": "card-77"}), note(x="bank refused the payment")],
        "x",
        past=Past(
            calls_are={
                (1, 1): {"status": "error", "error": ErrorInfo("bank:Refused", "bank refused the payment\nsecond line")}
            }
        ),
    ) == [
        "value 2 :x 'bank refused the payment': written at step 2, note",
        "error 1.1 pay: 'Refused: bank refused the payment': a part of it [bank refused the payment]",
        "argument 1.1 pay:card 'card-77': it was asked with card",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_what_a_person_answered_ends_the_way() -> None:
    assert followed(
        [
            Did("ask", tool="ask", args={"q": "which one"}, result={"said": "the red one please"}),
            note(x="the red one please"),
        ],
        "x",
        past=people_speak_in(1),
    ) == [
        "value 2 :x 'the red one please': written at step 2, note",
        "input 1.1 ask:said 'the red one please': the same value",
        "a person said it",
    ]


def test_what_a_person_said_by_itself_ends_the_way() -> None:
    assert followed(
        [Did("ask", tool="ask", args={"said": "the red one please"}), note(x="the red one please")],
        "x",
        past=people_speak_in(1),
    ) == [
        "value 2 :x 'the red one please': written at step 2, note",
        "input 1.1 ask:said 'the red one please': first said there, the same value",
        "a person said it",
    ]


def test_an_argument_that_a_person_said_before_is_from_there() -> None:
    assert followed(
        [
            Did("ask", tool="ask", args={"said": "I like zebras in Kenya"}),
            look(args={"q": "zebras in Kenya"}, result="many of them"),
            note(x="many of them"),
        ],
        "x",
        past=people_speak_in(1),
    ) == [
        "value 3 :x 'many of them': written at step 3, note",
        "result 2.1 look: 'many of them': the same value",
        "argument 2.1 look:q 'zebras in Kenya': it was asked with q",
        "input 1.1 ask:said 'I like zebras in Kenya': first said there, a part of it [zebras in Kenya]",
        "a person said it",
    ]


def test_an_argument_that_a_person_said_only_later_is_not() -> None:
    assert followed(
        [
            look(args={"q": "zebras in Kenya"}, result="many of them"),
            Did("ask", tool="ask", args={"said": "zebras in Kenya"}),
            note(x="many of them"),
        ],
        "x",
        past=people_speak_in(2),
    ) == [
        "value 3 :x 'many of them': written at step 3, note",
        "result 1.1 look: 'many of them': the same value",
        "argument 1.1 look:q 'zebras in Kenya': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_a_common_value_that_is_the_whole_result_in_its_step_is_that() -> None:
    assert followed([look(args={"q": "zebras"}, result=7, state={"x": 7})], "x") == [
        "value 1 :x 7: written at step 1, look",
        "result 1.1 look: 7: the whole result of a call of that step",
        "argument 1.1 look:q 'zebras': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_a_common_value_that_two_calls_of_its_step_gave_is_from_one_of_them() -> None:
    assert followed([answered("ok", ("user", "say it"), tool="say", args={"q": "zebras"}, result="ok")], "x") == [
        "value 1 :x 'ok': written at step 1, s",
        (
            "candidates 1 : 'ok': one of these brought it, or the agent's own code made it (also 1.2 say:, "
            "1.1 model:content)"
        ),
        "such a value is so common that nothing says which it was",
    ]


def test_a_value_is_made_where_nothing_before_holds_it() -> None:
    """What a tool made of what it was asked is not made by what that was taken from."""
    source = Past()
    source.add(
        "run", [tool("one", "wild horses", {"id": "AB-1001"}), look(args={"q": "AB-1001"}, result=OWN), note(x=OWN)]
    )
    trail = blame_value(source, "run", "x", 3).trail
    assert trail.made is not None
    assert (trail.made.step, trail.made.kind, trail.made.name) == (2, "result", "look")


def test_where_a_common_value_was_made_is_not_said() -> None:
    source = Past()
    source.add("run", [look(result={"a": 0}), look(result={"b": 0}), note(x=0)])
    trail = blame_value(source, "run", "x", 3).trail
    assert trail.links[-1].kind == "candidates"
    assert trail.made is None
