"""The way back where not all is known, told in full: edits, sums, steps open together, what is not looked at."""

from __future__ import annotations

import json

from tests.core.memory_store import Did
from tests.core.querying.trails import (
    OWN,
    Broken,
    Past,
    answered,
    at_once,
    chain,
    followed,
    look,
    note,
    three_at_once,
    told,
    tool,
)

from agent_tt.model import Edit, ErrorInfo
from agent_tt.querying.provenance.trail import trail_of


def test_a_way_of_twelve_places_is_told_to_its_end() -> None:
    assert followed([*chain(5), note(x="KEY-0005")], "x", state={"t": "start with KEY-0000"}) == [
        "value 6 :x 'KEY-0005': written at step 6, note",
        "result 5.1 t4:k 'KEY-0005': the same value",
        "argument 5.1 t4:k 'KEY-0004': it was asked with k",
        "result 4.1 t3:k 'KEY-0004': the same value",
        "argument 4.1 t3:k 'KEY-0003': it was asked with k",
        "result 3.1 t2:k 'KEY-0003': the same value",
        "argument 3.1 t2:k 'KEY-0002': it was asked with k",
        "result 2.1 t1:k 'KEY-0002': the same value",
        "argument 2.1 t1:k 'KEY-0001': it was asked with k",
        "result 1.1 t0:k 'KEY-0001': the same value",
        "argument 1.1 t0:k 'KEY-0000': it was asked with k",
        "input 0 :t 'start with KEY-0000': first said there, a part of it [KEY-0000]",
        "the input says it",
    ]


def test_after_twelve_places_no_more_are_told() -> None:
    assert followed([*chain(6), note(x="KEY-0006")], "x", state={"t": "start with KEY-0000"}) == [
        "value 7 :x 'KEY-0006': written at step 7, note",
        "result 6.1 t5:k 'KEY-0006': the same value",
        "argument 6.1 t5:k 'KEY-0005': it was asked with k",
        "result 5.1 t4:k 'KEY-0005': the same value",
        "argument 5.1 t4:k 'KEY-0004': it was asked with k",
        "result 4.1 t3:k 'KEY-0004': the same value",
        "argument 4.1 t3:k 'KEY-0003': it was asked with k",
        "result 3.1 t2:k 'KEY-0003': the same value",
        "argument 3.1 t2:k 'KEY-0002': it was asked with k",
        "result 2.1 t1:k 'KEY-0002': the same value",
        "argument 2.1 t1:k 'KEY-0001': it was asked with k",
        "result 1.1 t0:k 'KEY-0001': the same value",
        "after 12 places no more are looked for; ask about the last one",
    ]


def test_what_a_person_changed_for_a_fork_ends_the_way() -> None:
    assert followed(
        [look(args={"q": "zebras"}, result="Oslo in winter", state={"x": "Oslo in winter"})],
        "x",
        edits=(Edit("set", "x", "Oslo in winter", "Rome"),),
        fork_step=1,
    ) == [
        "value 1 :x 'Oslo in winter': written at step 1, look",
        "edit 1 :x 'Oslo in winter': a person changed it for run",
        "a person wrote it, for the fork run",
    ]


def test_what_a_person_changed_around_it_ends_the_way() -> None:
    assert followed(
        [look(args={"q": "zebras"}, result="Oslo in winter", state={"x": ["Oslo in winter"]})],
        "x[0]",
        edits=(Edit("set", "x", ["Oslo in winter"], "Rome"),),
        fork_step=1,
    ) == [
        "value 1 :x[0] 'Oslo in winter': written at step 1, look",
        "edit 1 :x ['Oslo in winter']: a person changed it for run",
        "a person wrote it, for the fork run",
    ]


def test_what_a_person_changed_elsewhere_does_not() -> None:
    assert followed(
        [look(args={"q": "zebras"}, result="Oslo in winter", state={"x": "Oslo in winter"})],
        "x",
        edits=(Edit("set", "xy", "Oslo in winter", "Rome"),),
        fork_step=1,
    ) == [
        "value 1 :x 'Oslo in winter': written at step 1, look",
        "result 1.1 look: 'Oslo in winter': the same value",
        "argument 1.1 look:q 'zebras': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_a_result_that_a_person_changed_for_a_fork_is_theirs() -> None:
    assert followed(
        [look(args={"q": "aaa"}, result="Oslo in winter"), note(x="Oslo in winter")],
        "x",
        edits=(Edit("set", "", "Oslo in winter", None, target="result", step=1, call=1),),
        fork_step=1,
    ) == [
        "value 2 :x 'Oslo in winter': written at step 2, note",
        "result 1.1 look: 'Oslo in winter': the same value",
        "edit 1.1 look: 'Oslo in winter': a person changed it for run",
        "a person wrote it, for the fork run",
    ]


def test_an_answer_that_a_person_changed_for_a_fork_is_theirs() -> None:
    assert followed(
        [answered("Oslo in winter", ("user", "Where to?")), note(x="Oslo in winter")],
        "x",
        edits=(Edit("set", "content", "Oslo in winter", None, target="answer", step=1, call=1),),
        fork_step=1,
    ) == [
        "value 1 :x 'Oslo in winter': written at step 1, s",
        "answer 1.1 model:content 'Oslo in winter': the same value",
        "edit 1.1 model:content 'Oslo in winter': a person changed it for run",
        "a person wrote it, for the fork run",
    ]


def test_an_error_that_a_person_made_for_a_fork_is_theirs() -> None:
    assert followed(
        [Did("pay", tool="pay", args={"card": "card-77"}), note(x="bank refused it")],
        "x",
        past=Past(calls_are={(1, 1): {"status": "error", "error": ErrorInfo("bank:Refused", "bank refused it")}}),
        edits=(Edit("set", "", "bank refused it", None, target="error", step=1, call=1),),
        fork_step=1,
    ) == [
        "value 2 :x 'bank refused it': written at step 2, note",
        "error 1.1 pay: 'Refused: bank refused it': the same text",
        "edit 1.1 pay: 'bank refused it': a person changed it for run",
        "a person wrote it, for the fork run",
    ]


def test_a_number_that_a_result_and_the_input_give_is_computed() -> None:
    assert followed(
        [tool("price", "lamp-07", {"cents": 129_950}), note(total=138_425)], "total", state={"shipping": 8_475}
    ) == [
        "value 2 :total 138425: written at step 2, note",
        "computed 2 : 138425: 129950 + 8475; no other numbers that are recorded give it (also 0 input:shipping)",
        "result 1.1 price:cents 129950: a part of it",
        "argument 1.1 price:q 'lamp-07': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_a_number_that_the_input_gives_is_computed() -> None:
    assert followed([note(total=138_425, a=129_950, b=8_475)], "total", state={"a": 129_950, "b": 8_475}) == [
        "value 1 :total 138425: written at step 1, note",
        "computed 1 : 138425: 129950 + 8475; no other numbers that are recorded give it (also 0 input:b)",
        "input 0 :a 129950: a part of it",
        "the input says it",
    ]


def test_a_number_that_two_results_give_is_computed_of_the_newer() -> None:
    assert followed(
        [tool("price", "lamp-07", {"cents": 129_950}), tool("ship", "Oslo-1", [{"cents": 8_475}]), note(total=138_425)],
        "total",
    ) == [
        "value 3 :total 138425: written at step 3, note",
        "computed 3 : 138425: 8475 + 129950; no other numbers that are recorded give it (also 1.1 price:cents)",
        "result 2.1 ship:[0].cents 8475: a part of it",
        "argument 2.1 ship:q 'Oslo-1': it was asked with q",
        "no call up to step 2 brought it, and the input does not hold it",
    ]


def test_a_number_that_may_be_worked_out_in_several_ways_is_not_known() -> None:
    assert followed([tool("t", "x", [3, 4, 5, 6, 7, 11]), note(total=18)], "total") == [
        "value 2 :total 18: written at step 2, note",
        "unknown 2 : 18: not known: several ways of working it out give it; perhaps 3 × 6 or 7 + 11 or 3 × 4 + 6",
        "which of them it was is not recorded",
    ]


def test_what_the_step_drew_is_said_where_nothing_is_known_to_have_brought_it() -> None:
    assert followed(
        [look(args={"q": "x"}, result=3), tool("c", "x", 1234567.5, {"x": OWN})],
        "x",
        past=Past(calls_are={(2, 1): {"kind": "clock", "name": "time.time"}}),
    ) == [
        "value 2 :x 'a text of its own': written at step 2, c",
        (
            "code 2 : 'a text of its own': no recorded call brought it as it is: the agent's own code made "
            "it, or took it from elsewhere; its step also asked time.time"
        ),
        "no call up to step 2 brought it, and the input does not hold it",
    ]


def test_what_the_clock_said_is_its_result() -> None:
    assert followed(
        [look(args={"q": "x"}, result=3), Did("n", tool="c", result=1234567.5, state={"x": 1234567.5})],
        "x",
        past=Past(calls_are={(2, 1): {"kind": "clock", "name": "time.time"}}),
    ) == [
        "value 2 :x 1234567.5: written at step 2, n",
        "result 2.1 time.time: 1234567.5: the same value",
        "time.time was asked with nothing",
    ]


def test_what_no_call_brought_is_the_agents_own() -> None:
    assert followed([look(args={"q": "x"}, result=3), note(x=OWN)], "x") == [
        "value 2 :x 'a text of its own': written at step 2, note",
        (
            "code 2 : 'a text of its own': no recorded call brought it as it is: the agent's own code made "
            "it, or took it from elsewhere"
        ),
        "no call up to step 2 brought it, and the input does not hold it",
    ]


def test_a_common_value_that_nothing_has_is_the_agents_own() -> None:
    assert followed([look(args={"q": "x"}, result="words"), note(x=9)], "x") == [
        "value 2 :x 9: written at step 2, note",
        "code 2 : 9: no recorded call brought it as it is: the agent's own code made it, or took it from elsewhere",
        "no call up to step 2 that is recorded has such a value, nor has the input",
    ]


def test_a_result_that_is_too_large_leaves_it_open() -> None:
    assert followed([look(args={"q": "x"}, result=["x" * 100_001]), note(x=OWN)], "x") == [
        "value 2 :x 'a text of its own': written at step 2, note",
        (
            "unknown 2 : 'a text of its own': not known: the result of look at step 1 is so large that not "
            "all of it was looked at"
        ),
        "the result of look at step 1 is so large that not all of it was looked at",
    ]


def test_calls_that_cannot_be_read_leave_it_open() -> None:
    assert followed([look(args={"q": "x"}, result=3), note(x=OWN)], "x", past=Broken()) == [
        "value 2 :x 'a text of its own': written at step 2, note",
        (
            "unknown 2 : 'a text of its own': not known: no call that could be read brought it; step 1 "
            "cannot be read: its page is gone"
        ),
        "no call that could be read brought it; step 1 cannot be read: its page is gone",
    ]


def test_calls_that_cannot_be_read_leave_an_argument_open() -> None:
    assert followed(
        [look(args={"q": "x"}, result=3), look(args={"q": "zebras live"}, result=OWN), note(x=OWN)], "x", past=Broken()
    ) == [
        "value 3 :x 'a text of its own': written at step 3, note",
        "result 2.1 look: 'a text of its own': the same value",
        "argument 2.1 look:q 'zebras live': it was asked with q",
        "no call that could be read brought it; step 1 cannot be read: its page is gone",
    ]


def test_calls_too_far_back_leave_it_open() -> None:
    assert followed(
        [look(args={"q": "zebras in Kenya"}, result=OWN), *[Did("s") for _ in range(299)], note(x=OWN)], "x"
    ) == [
        "value 301 :x 'a text of its own': written at step 301, note",
        (
            "unknown 301 : 'a text of its own': not known: no call of the 300 steps up to 301 brought it; "
            "those before were not looked at"
        ),
        "no call of the 300 steps up to 301 brought it; those before were not looked at",
    ]


def test_the_farthest_call_that_is_looked_at_is_found() -> None:
    assert followed(
        [look(args={"q": "zebras in Kenya"}, result=OWN), *[Did("s") for _ in range(298)], note(x=OWN)], "x"
    ) == [
        "value 300 :x 'a text of its own': written at step 300, note",
        "result 1.1 look: 'a text of its own': the same value",
        "argument 1.1 look:q 'zebras in Kenya': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_of_steps_that_were_open_together_the_one_whose_call_brought_it_wrote_it() -> None:
    assert followed(three_at_once("Oslo in winter", 2), "x", past=at_once()) == [
        (
            "value 2 :x 'Oslo in winter': most likely written by step 2, b, whose call brought it; it is "
            "there since step 1 ended (also 1 a:x, 3 c:x)"
        ),
        "result 2.1 t2: 'Oslo in winter': the same value",
        "argument 2.1 t2:q 'bbb': it was asked with q",
        "no call up to step 2 that is recorded has such a value, nor has the input",
    ]


def test_of_steps_that_were_open_together_the_first_wrote_it_where_its_call_brought_it() -> None:
    assert followed(three_at_once("Oslo in winter", 1), "x", past=at_once()) == [
        (
            "value 1 :x 'Oslo in winter': most likely written by step 1, a, whose call brought it; 2 b, 3 c "
            "were open as well (also 2 b:x, 3 c:x)"
        ),
        "result 1.1 t1: 'Oslo in winter': the same value",
        "argument 1.1 t1:q 'aaa': it was asked with q",
        "no call up to step 1 that is recorded has such a value, nor has the input",
    ]


def test_of_steps_that_were_open_together_any_may_have_written_it() -> None:
    assert followed(three_at_once("Oslo in winter"), "x", past=at_once()) == [
        (
            "value 1 :x 'Oslo in winter': written by step 1, a, or by 2 b, 3 c; 2 b, 3 c were open as well "
            "(also 2 b:x, 3 c:x)"
        ),
        (
            "code 1 : 'Oslo in winter': no recorded call brought it as it is: the agent's own code made it, "
            "or took it from elsewhere"
        ),
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_of_steps_that_were_open_together_two_may_have_brought_it() -> None:
    assert followed(three_at_once("Oslo in winter", 1, 2), "x", past=at_once()) == [
        (
            "value 1 :x 'Oslo in winter': written by step 1, a, or by 2 b, 3 c; 2 b, 3 c were open as well "
            "(also 2 b:x, 3 c:x)"
        ),
        "result 2.1 t2: 'Oslo in winter': the same value (also 1.1 t1:)",
        "argument 2.1 t2:q 'bbb': it was asked with q",
        "no call up to step 2 that is recorded has such a value, nor has the input",
    ]


def test_other_places_of_a_short_text_are_named_the_input_among_them() -> None:
    assert followed(
        [tool("one", "aaa", {"r": "AB123456"}), tool("two", "bbb", {"r": "AB123456"}), note(x="AB123456")],
        "x",
        state={"z": "AB123456"},
    ) == [
        "value 3 :x 'AB123456': written at step 3, note",
        "result 2.1 two:r 'AB123456': the same value (also 1.1 one:r, 0 input:z)",
        "argument 2.1 two:q 'bbb': it was asked with q",
        "no call up to step 2 that is recorded has such a value, nor has the input",
    ]


def test_other_places_of_a_longer_one_are_calls() -> None:
    assert followed(
        [tool("one", "aaa", {"r": "AB1234567"}), tool("two", "bbb", {"r": "AB1234567"}), note(x="AB1234567")],
        "x",
        state={"z": "AB1234567"},
    ) == [
        "value 3 :x 'AB1234567': written at step 3, note",
        "result 2.1 two:r 'AB1234567': the same value (also 1.1 one:r)",
        "argument 2.1 two:q 'bbb': it was asked with q",
        "no call up to step 2 that is recorded has such a value, nor has the input",
    ]


def test_only_the_nearest_other_places_are_named() -> None:
    assert followed([*[tool(f"t{n}", "aaa", {"r": "AB12"}) for n in range(8)], note(x="AB12")], "x") == [
        "value 9 :x 'AB12': written at step 9, note",
        "result 8.1 t7:r 'AB12': the same value (also 7.1 t6:r, 6.1 t5:r, 5.1 t4:r, 4.1 t3:r)",
        "argument 8.1 t7:q 'aaa': it was asked with q",
        "no call up to step 8 that is recorded has such a value, nor has the input",
    ]


def test_of_a_list_that_grew_what_was_added_is_followed() -> None:
    assert followed(
        [
            look(args={"q": "aaa"}, result=["first thing", "second thing"], state={"l": ["zero"]}),
            look(args={"q": "bbb"}, result=["third thing"], state={"l": ["zero", "first thing", "second thing"]}),
        ],
        "l",
    ) == [
        "value 2 :l ['zero', 'first thing', 'second thing']: written at step 2, look",
        "result 1.1 look: ['first thing', 'second thing']: the same value",
        "argument 1.1 look:q 'aaa': it was asked with q",
        "no call up to step 1 that is recorded has such a value, nor has the input",
    ]


def test_of_a_list_in_which_something_was_replaced_that_is_followed() -> None:
    assert followed(
        [
            look(args={"q": "aaa"}, result="second thing", state={"l": ["zero", "one", "two"]}),
            look(args={"q": "bbb"}, result="third thing", state={"l": ["second thing", "one", "two"]}),
        ],
        "l",
    ) == [
        "value 2 :l ['second thing', 'one', 'two']: written at step 2, look",
        "result 1.1 look: 'second thing': the same value",
        "argument 1.1 look:q 'aaa': it was asked with q",
        "no call up to step 1 that is recorded has such a value, nor has the input",
    ]


def test_of_a_mapping_that_got_a_key_its_value_is_followed() -> None:
    assert followed(
        [
            look(args={"q": "aaa"}, result="second thing", state={"l": {"a": "zero"}}),
            look(args={"q": "bbb"}, result="third thing", state={"l": {"a": "zero", "b": "second thing"}}),
        ],
        "l",
    ) == [
        "value 2 :l {'a': 'zero', 'b': 'second thing'}: written at step 2, look",
        "result 1.1 look: 'second thing': the same value",
        "argument 1.1 look:q 'aaa': it was asked with q",
        "no call up to step 1 that is recorded has such a value, nor has the input",
    ]


def test_of_a_mapping_that_is_new_all_is_followed() -> None:
    assert followed(
        [look(args={"q": "aaa"}, result={"name": "Ada", "age": 36}, state={"p": {"name": "Ada", "age": 36}})], "p"
    ) == [
        "value 1 :p {'name': 'Ada', 'age': 36}: written at step 1, look",
        "result 1.1 look: {'name': 'Ada', 'age': 36}: the same value",
        "argument 1.1 look:q 'aaa': it was asked with q",
        "no call up to step 1 that is recorded has such a value, nor has the input",
    ]


def test_of_a_text_in_a_list_that_grew_its_end_is_followed() -> None:
    assert followed(
        [
            look(args={"q": "aaa"}, result="there was a queen", state={"l": ["A story: "]}),
            look(args={"q": "bbb"}, result="third thing", state={"l": ["A story: there was a queen"]}),
        ],
        "l",
    ) == [
        "value 2 :l ['A story: there was a queen']: written at step 2, look",
        "result 1.1 look: 'there was a queen': it holds the words [there was a queen]",
        "argument 1.1 look:q 'aaa': it was asked with q",
        "no call up to step 1 that is recorded has such a value, nor has the input",
    ]


def test_a_text_that_grew_is_followed_by_its_words() -> None:
    assert followed(
        [
            look(args={"q": "aaa"}, result="Once upon a time", state={"t": "A story: "}),
            look(args={"q": "bbb"}, result="there was a queen", state={"t": "A story: there was a queen"}),
        ],
        "t",
    ) == [
        "value 2 :t 'A story: there was a queen': written at step 2, look",
        "result 2.1 look: 'there was a queen': it holds the words [there was a queen]",
        "argument 2.1 look:q 'bbb': it was asked with q",
        "no call up to step 2 that is recorded has such a value, nor has the input",
    ]


def test_values_that_stand_together_elsewhere_too_may_be_from_there() -> None:
    assert followed(
        [
            look(args={"q": "aaa"}, result={"name": "Ada", "age": 36}, state={"p": {}}),
            look(args={"q": "bbb"}, result=1, state={"p": {"name": "Ada", "age": 36}}),
        ],
        "p",
    ) == [
        "value 2 :p {'name': 'Ada', 'age': 36}: written at step 2, look",
        (
            "candidates 2 : {'name': 'Ada', 'age': 36}: this brought it, or the agent's own code made it "
            "(also 1.1 look:)"
        ),
        "that it stands there too does not say that it came from there",
    ]


def test_a_way_that_was_called_off_says_so() -> None:
    source = Past()
    source.add("run", [look(args={"q": "zebras"}, result=OWN), note(x=OWN)], state={})
    found = trail_of(source, "run", ("x",), 2, OWN, cancelled=lambda: True)
    assert told(found) == [f"value 2 :x {OWN!r}: written at step 2, note", "it was called off"]


def test_of_a_mapping_that_came_from_nowhere_its_longest_text_is_followed() -> None:
    held = {"who": "Ada Lovelace of London"}
    kept = {"id": "zebra", "name": "Ada Lovelace of London", "role": "a role that is longer than all others"}
    lines = followed([tool("t", "zebras", held), tool("u", "lions", {"id": "zebra"}), note(p=kept)], "p")
    assert lines[1] == "result 1.1 t:who 'Ada Lovelace of London': the same value"


def test_numbers_in_a_text_of_json_are_counted_once() -> None:
    for result, path in (
        (json.dumps([10_001, 10_008, 10_015]), ""),
        ({"j": json.dumps({"rows": [{"c": 10_001}, {"c": 10_008}, {"c": 10_015}]})}, "j"),
    ):
        lines = followed([tool("t", "zebras", result), note(total=30_024)], "total")
        assert lines[1].startswith(
            "computed 2 : 30024: 10001 + 10008 + 10015; no other numbers that are recorded give it"
        )
        assert lines[2].startswith(f"result 1.1 t:{path} ")
