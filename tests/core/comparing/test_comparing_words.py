"""Differences of texts by word."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.effort import Effort

from agent_tt.comparing.sequences.tokens import split_words
from agent_tt.comparing.values.words import Segment, compare_words

texts = st.text(alphabet="ab .\n漢é\u0301\U0001f44d\u200d\U0001f1e9", max_size=40)


@given(texts, texts)
@example("a", "")
@settings(max_examples=100)
def test_the_segments_read_as_the_old_text_and_as_the_new_one(old: str, new: str) -> None:
    segments = compare_words(old, new)
    assert "".join(segment.text for segment in segments if segment.kind != "added") == old
    assert "".join(segment.text for segment in segments if segment.kind != "removed") == new
    assert all(segment.text for segment in segments)
    assert all(one.kind != next_.kind for one, next_ in itertools.pairwise(segments))


def test_whole_words_are_changed_not_letters() -> None:
    assert compare_words("Search 12 of 20", "Search 13 of 20") == [
        Segment("same", "Search "),
        Segment("removed", "12"),
        Segment("added", "13"),
        Segment("same", " of 20"),
    ]


def test_words_beside_each_other_that_all_became_others_are_one_change() -> None:
    assert compare_words("no search yet", "1 of 20 searches") == [
        Segment("removed", "no search yet"),
        Segment("added", "1 of 20 searches"),
    ]


def test_a_word_put_between_others_leaves_them_and_their_spaces_alone() -> None:
    assert compare_words("try again now", "try again right now") == [
        Segment("same", "try again "),
        Segment("added", "right "),
        Segment("same", "now"),
    ]


def test_equal_texts_are_one_segment_and_empty_ones_none() -> None:
    assert compare_words("as it was", "as it was") == [Segment("same", "as it was")]
    assert compare_words("", "") == []


def test_a_word_changed_in_a_megabyte_is_found_quickly() -> None:
    old = " ".join(f"word{index}" for index in range(120_000))
    new = old.replace("word60000 ", "other ")
    with Effort() as effort:
        changed = [segment for segment in compare_words(old, new) if segment.kind != "same"]
        assert changed == [Segment("removed", "word60000"), Segment("added", "other")]
    assert effort.lines < 5_000


def test_two_megabytes_with_nothing_in_order_end_with_bounded_work() -> None:
    chance = random.Random(1)
    words = [chance.choice("abcdefgh") for _ in range(200_000)]
    old, new = " ".join(words), " ".join(chance.sample(words, len(words)))
    with Effort() as effort:
        segments = compare_words(old, new)
    assert effort.lines < 20_000_000
    assert "".join(segment.text for segment in segments if segment.kind != "added") == old


def test_words_are_words_in_any_script() -> None:
    assert split_words("cafe\u0301 ok") == ["cafe\u0301", " ", "ok"]
    assert split_words("हिन्दी में") == ["हिन्दी", " ", "में"]
    assert split_words("我喜欢猫。") == ["我", "喜", "欢", "猫", "。"]
    family, thumb, flags = (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
    )
    assert split_words(f"{family} {thumb}{flags}") == [family, " ", thumb, flags[:2], flags[2:]]


def test_marks_and_letters_that_stand_alone_are_told_apart_whatever_else_the_text_holds() -> None:
    assert split_words("กขคฉ ab") == ["ก", "ข", "ค", "ฉ", " ", "ab"]
    assert split_words("aの\u0301b") == ["a", "の\u0301", "b"]
    assert split_words("жук — 漢字") == ["жук", " ", "—", " ", "漢", "字"]


def test_what_changed_in_long_texts_is_found_word_by_word() -> None:
    sentences = [f"sentence number {n} has no more than a few plain words." for n in range(120)]
    old = " ".join(sentences)
    new = old.replace("number 60 has", "number 61 had").replace("number 90 has", "number 90, as it was, has")
    changed = [(each.kind, each.text) for each in compare_words(old, new) if each.kind != "same"]
    assert changed == [("removed", "60 has"), ("added", "61 had"), ("added", ", as it was,")]


@pytest.mark.parametrize(
    ("old", "new", "segments"),
    [
        ("a b", "c d", ["-a b", "+c d"]),
        ("a  b c", "d  e c", ["-a  b", "+d  e", "= c"]),
        ("a-b", "c-d", ["-a-b", "+c-d"]),
        ("a x b", "c x d", ["-a", "+c", "= x ", "-b", "+d"]),
        ("a.....b", "c.....d", ["-a", "+c", "=.....", "-b", "+d"]),
        ("a b", "a, b!", ["=a", "+,", "= b", "+!"]),
        ("a, b", "a b c", ["=a", "-,", "= b", "+ c"]),
        ("x, y", "x y, z", ["=x", "-,", "= y", "+, z"]),
        ("a\n\n\n\n\nb", "c\n\n\n\n\nd", ["-a\n\n\n\n\nb", "+c\n\n\n\n\nd"]),
    ],
)
def test_only_between_two_words_that_became_others_a_few_signs_are_part_of_the_change(
    old: str, new: str, segments: list[str]
) -> None:
    signs = {"same": "=", "removed": "-", "added": "+"}
    assert [signs[each.kind] + each.text for each in compare_words(old, new)] == segments


def test_one_character_of_a_chinese_sentence_is_one_word() -> None:
    changed = [segment for segment in compare_words("我喜欢猫。", "我喜欢狗。") if segment.kind != "same"]
    assert changed == [Segment("removed", "猫"), Segment("added", "狗")]


def test_signs_between_two_changed_words_are_no_islands() -> None:
    changed = list(compare_words('{"day": "2026-01-02"}', '{"day": "2025-03-04"}'))
    assert [segment.text for segment in changed] == ['{"day": "', "2026-01-02", "2025-03-04", '"}']


def test_a_megabyte_of_other_words_is_one_change_and_a_fifth_of_changed_lines_are_found() -> None:
    words = [f"w{index * 7919 % 5003}" for index in range(150_000)]
    old = " ".join(words)
    with Effort() as effort:
        changed = compare_words(old, " ".join(f"q{word}" for word in words))
        assert [segment.kind for segment in changed] == ["removed", "added"]
        lines = [" ".join(words[at : at + 10]) for at in range(0, 150_000, 10)]
        edited = [line.replace(" ", " new ", 1) if index % 5 == 0 else line for index, line in enumerate(lines)]
        added = [segment for segment in compare_words("\n".join(lines), "\n".join(edited)) if segment.kind == "added"]
        assert len(added) == 3_000
    assert effort.lines < 20_000_000
