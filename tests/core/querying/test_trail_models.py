"""The way back through models, told in full: what they answered, what of that they had read, and who had said it."""

from __future__ import annotations

import json

from tests.core.memory_store import Did
from tests.core.querying.trails import OWN, answered, followed, note, tool


def test_a_common_word_that_is_all_a_model_said_in_its_step_is_that() -> None:
    assert followed([answered("ok", ("user", "say ok"))], "x") == [
        "value 1 :x 'ok': written at step 1, s",
        "answer 1.1 model:content 'ok': all that a model said in that step",
        (
            "candidates 1.1 model: 'ok': its own words, or one of these that it read: they have ok too "
            "(also 1.1 model:messages[0].content)"
        ),
        "that says too little to know which of them it took",
    ]


def test_an_answer_whose_request_is_not_recorded_is_the_end() -> None:
    assert followed([answered("zebras live here")], "x") == [
        "value 1 :x 'zebras live here': written at step 1, s",
        "answer 1.1 model:content 'zebras live here': the same value",
        "the model's own words, or what it read: what it was asked is not recorded",
    ]


def test_an_answer_that_has_nothing_of_its_request_is_the_models_own() -> None:
    assert followed([answered("zebras live here", ("user", "hi"))], "x") == [
        "value 1 :x 'zebras live here': written at step 1, s",
        "answer 1.1 model:content 'zebras live here': the same value",
        "the model's own words: nothing that it read has them",
    ]


def test_an_answer_without_words_is_the_end() -> None:
    assert followed([Did("s", answer={"done": True}, asked={"q": 1}, state={"done": True})], "done") == [
        "value 1 :done True: written at step 1, s",
        "answer 1.1 model:done True: the same value under the same name",
        "the answer has no words of which it could be said where they came from",
    ]


def test_a_number_of_an_answer_that_its_request_lacks_is_the_models_own() -> None:
    assert followed([Did("s", answer={"content": "", "n": 4711}, asked={"q": 1}, state={"x": 4711})], "x") == [
        "value 1 :x 4711: written at step 1, s",
        "answer 1.1 model:n 4711: the same value",
        "the model's own words: nothing that it read has them",
    ]


def test_an_answer_with_one_word_of_its_request_may_be_from_there() -> None:
    assert followed(
        [answered("zebras are striped", ("user", "Name an animal with stripes"), ("user", "zebras or horses"))], "x"
    ) == [
        "value 1 :x 'zebras are striped': written at step 1, s",
        "answer 1.1 model:content 'zebras are striped': the same value",
        (
            "candidates 1.1 model: 'zebras are striped': its own words, or one of these that it read: they "
            "have zebras too (also 1.1 model:messages[1].content)"
        ),
        "that says too little to know which of them it took",
    ]


def test_of_many_places_that_have_a_word_of_an_answer_some_are_named() -> None:
    assert followed([answered("zebras are striped", *(("user", f"zebras or {name}") for name in "abcdefg"))], "x") == [
        "value 1 :x 'zebras are striped': written at step 1, s",
        "answer 1.1 model:content 'zebras are striped': the same value",
        (
            "candidates 1.1 model: 'zebras are striped': its own words, or one of these that it read: they "
            "have zebras too (also 1.1 model:messages[6].content, 1.1 model:messages[5].content, 1.1 "
            "model:messages[4].content, 1.1 model:messages[3].content)"
        ),
        "that says too little to know which of them it took",
    ]


def test_what_a_model_read_that_no_call_brought_stands_in_its_request() -> None:
    assert followed([answered("It is QX7Z9A indeed", ("tool", "ref QX7Z9A found"))], "x") == [
        "value 1 :x 'It is QX7Z9A indeed': written at step 1, s",
        "answer 1.1 model:content 'It is QX7Z9A indeed': the same value",
        (
            "request 1.1 model:messages[0].content 'ref QX7Z9A found': it read messages[0].content, the "
            "same name [QX7Z9A]"
        ),
        "its request holds it, and no call is recorded that brought it",
    ]


def test_what_a_model_read_that_the_input_holds_is_from_there() -> None:
    assert followed(
        [answered("It is QX7Z9A indeed", ("tool", "ref QX7Z9A found"))], "x", state={"in": "ref QX7Z9A found"}
    ) == [
        "value 1 :x 'It is QX7Z9A indeed': written at step 1, s",
        "answer 1.1 model:content 'It is QX7Z9A indeed': the same value",
        "input 0 :in 'ref QX7Z9A found': it read messages[0].content, the same name [QX7Z9A]",
        "the input says it",
    ]


def test_an_answer_that_has_something_of_two_results_names_both() -> None:
    assert followed(
        [
            tool("one", "first question", {"ref": "QX7Z9A"}),
            tool("two", "second question", {"seat": "WK-4711"}),
            answered("QX7Z9A and WK-4711", ("tool", "QX7Z9A"), ("tool", "WK-4711")),
        ],
        "x",
    ) == [
        "value 3 :x 'QX7Z9A and WK-4711': written at step 3, s",
        "answer 3.1 model:content 'QX7Z9A and WK-4711': the same value",
        "result 2.1 two:seat 'WK-4711': it read messages[1].content, the same name [WK-4711] (also 1.1 one:ref)",
        "argument 2.1 two:q 'second question': it was asked with q",
        "no call up to step 2 brought it, and the input does not hold it",
    ]


def test_one_result_that_a_model_read_twice_is_named_once() -> None:
    assert followed(
        [
            tool("one", "first question", {"ref": "QX7Z9A", "seat": "WK-4711"}),
            answered("QX7Z9A and WK-4711", ("tool", "QX7Z9A"), ("tool", "WK-4711")),
        ],
        "x",
    ) == [
        "value 2 :x 'QX7Z9A and WK-4711': written at step 2, s",
        "answer 2.1 model:content 'QX7Z9A and WK-4711': the same value",
        "result 1.1 one:seat 'WK-4711': it read messages[1].content, the same name [WK-4711]",
        "argument 1.1 one:q 'first question': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_a_result_is_preferred_to_a_message_that_no_call_brought() -> None:
    assert followed(
        [
            tool("one", "first question", {"ref": "QX7Z9A"}),
            answered("QX7Z9A and WK-4711", ("tool", "WK-4711"), ("tool", "QX7Z9A")),
        ],
        "x",
    ) == [
        "value 2 :x 'QX7Z9A and WK-4711': written at step 2, s",
        "answer 2.1 model:content 'QX7Z9A and WK-4711': the same value",
        "result 1.1 one:ref 'QX7Z9A': it read messages[1].content, the same name [QX7Z9A]",
        "argument 1.1 one:q 'first question': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_words_of_a_result_that_a_user_says_too_are_the_users() -> None:
    assert followed(
        [
            tool("one", "first question", {"ref": "QX7Z9A", "b": 1}),
            answered("your ref is QX7Z9A", ("user", "I have QX7Z9A here")),
        ],
        "x",
    ) == [
        "value 2 :x 'your ref is QX7Z9A': written at step 2, s",
        "answer 2.1 model:content 'your ref is QX7Z9A': the same value",
        (
            "input 2.1 model:messages[0].content 'I have QX7Z9A here': a message of the user says it, the "
            "same name [QX7Z9A]"
        ),
        "a message of the user says it",
    ]


def test_a_whole_result_in_a_message_of_a_user_is_the_results() -> None:
    assert followed(
        [
            tool("one", "first question", "ref QX7Z9A is here"),
            answered("your ref is QX7Z9A", ("user", "ref QX7Z9A is here")),
        ],
        "x",
    ) == [
        "value 2 :x 'your ref is QX7Z9A': written at step 2, s",
        "answer 2.1 model:content 'your ref is QX7Z9A': the same value",
        "result 1.1 one: 'ref QX7Z9A is here': it read messages[0].content, the same name [QX7Z9A]",
        "argument 1.1 one:q 'first question': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_of_a_result_that_was_read_as_json_the_part_is_told_that_the_answer_has() -> None:
    assert followed(
        [
            tool("one", "first question", {"ref": "QX7Z9A", "city": "Oslo"}),
            answered("your ref is QX7Z9A", ("tool", json.dumps({"ref": "QX7Z9A", "city": "Oslo"}))),
        ],
        "x",
    ) == [
        "value 2 :x 'your ref is QX7Z9A': written at step 2, s",
        "answer 2.1 model:content 'your ref is QX7Z9A': the same value",
        "result 1.1 one:ref 'QX7Z9A': it read messages[0].content, the same name [QX7Z9A]",
        "argument 1.1 one:q 'first question': it was asked with q",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_another_part_of_what_was_read_does_not_bring_the_answer() -> None:
    assert followed(
        [
            tool("one", "first question", "Oslo in winter"),
            answered("your ref is QX7Z9A", ("tool", "Oslo in winter has QX7Z9A")),
        ],
        "x",
    ) == [
        "value 2 :x 'your ref is QX7Z9A': written at step 2, s",
        "answer 2.1 model:content 'your ref is QX7Z9A': the same value",
        (
            "request 2.1 model:messages[0].content 'Oslo in winter has QX7Z9A': it read "
            "messages[0].content, the same name [QX7Z9A]"
        ),
        "its request holds it, and no call is recorded that brought it",
    ]


def test_a_request_that_is_too_large_leaves_it_open() -> None:
    assert followed([answered("zebras are striped", ("user", "w" * 100_001))], "x") == [
        "value 1 :x 'zebras are striped': written at step 1, s",
        "answer 1.1 model:content 'zebras are striped': the same value",
        "not known: its request is so large that not all of it was looked at",
    ]


def test_an_argument_that_a_model_chose_is_followed_to_what_the_model_read() -> None:
    assert followed(
        [
            Did(
                "ask",
                answer={"tool_calls": [{"args": {"u": "nobody_4711"}}]},
                asked={"messages": [{"role": "tool", "content": "nobody_4711 is here"}]},
            ),
            Did("get", tool="get", args={"u": "nobody_4711"}, result=OWN),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 3 :x 'a text of its own': written at step 3, note",
        "result 2.1 get: 'a text of its own': the same value",
        "argument 2.1 get:u 'nobody_4711': it was asked with u",
        (
            "request 1.1 model:messages[0].content 'nobody_4711 is here': it read messages[0].content, the "
            "same name [nobody_4711]"
        ),
        "its request holds it, and no call is recorded that brought it",
    ]


def test_a_model_that_read_nothing_like_it_chose_the_argument() -> None:
    assert followed(
        [
            Did("ask", answer={"tool_calls": [{"args": {"u": "nobody_4711"}}]}),
            *[Did("idle") for _ in range(9)],
            Did("get", tool="get", args={"u": "nobody_4711"}, result=OWN),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 12 :x 'a text of its own': written at step 12, note",
        "result 11.1 get: 'a text of its own': the same value",
        "argument 11.1 get:u 'nobody_4711': it was asked with u",
        "model chose it at step 1: the model's own words, or what it read: what it was asked is not recorded",
    ]


def test_a_model_that_answered_long_before_did_not_choose_the_argument() -> None:
    assert followed(
        [
            Did("ask", answer={"tool_calls": [{"args": {"u": "nobody_4711"}}]}),
            *[Did("idle") for _ in range(10)],
            Did("get", tool="get", args={"u": "nobody_4711"}, result=OWN),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 13 :x 'a text of its own': written at step 13, note",
        "result 12.1 get: 'a text of its own': the same value",
        "argument 12.1 get:u 'nobody_4711': it was asked with u",
        "no call up to step 12 brought it, and the input does not hold it",
    ]


def test_a_model_that_answered_after_a_call_did_not_choose_its_argument() -> None:
    assert followed(
        [
            Did("get", tool="get", args={"u": "nobody_4711"}, result=OWN),
            Did("ask", answer={"tool_calls": [{"args": {"u": "nobody_4711"}}]}),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 3 :x 'a text of its own': written at step 3, note",
        "result 1.1 get: 'a text of its own': the same value",
        "argument 1.1 get:u 'nobody_4711': it was asked with u",
        "no call up to step 1 brought it, and the input does not hold it",
    ]


def test_the_last_model_that_said_it_chose_the_argument() -> None:
    assert followed(
        [
            *[
                Did("ask", answer={"said": said}, asked={"q": "?"})
                for said in ("nobody_4711 perhaps", "nobody_4711 surely", "somebody else")
            ],
            Did("get", tool="get", args={"u": "nobody_4711"}, result=OWN),
            note(x=OWN),
        ],
        "x",
    ) == [
        "value 5 :x 'a text of its own': written at step 5, note",
        "result 4.1 get: 'a text of its own': the same value",
        "argument 4.1 get:u 'nobody_4711': it was asked with u",
        "model chose it at step 2: the model's own words: nothing that it read has them",
    ]
