"""Numbers, days and names in a text: the same however they are written, and which of them say something."""

from __future__ import annotations

import pytest

from agent_tt.querying.provenance.entities import (
    common_entity,
    content_words,
    entities,
    number_keys,
    only_entity,
    small_numbers,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10 200 0 1 2026 ok", []),
        ("1500", [(["n:1500"], "1500", "number", None)]),
        ("150", []),
        ("1000", []),
        ("1100", [(["n:1100"], "1100", "number", None)]),
        ("12", []),
        ("99", []),
        ("2000", []),
        ("1999", []),
        ("2100", [(["n:2100"], "2100", "number", None)]),
        ("1.5", []),
        ("12.5", [(["n:12.5"], "12.5", "number", None)]),
        ("12.50", [(["n:12.5", "n:1250"], "12.50", "number", None)]),
        ("1.299", [(["n:1.299", "n:1299"], "1.299", "number", None)]),
        ("1,299", [(["n:1299"], "1,299", "number", None)]),
        ("1,299.00", [(["n:1299", "n:129900"], "1,299.00", "number", None)]),
        ("1.299,00", [(["n:1299", "n:129900"], "1.299,00", "number", None)]),
        ("1'299", [(["n:1299"], "1'299", "number", None)]),
        ("1 299", [(["n:299"], "299", "number", None)]),
        ("-1500", [(["n:1500"], "-1500", "number", None)]),
        ("−1500", [(["n:1500"], "−1500", "number", None)]),
        ("5-1500", []),
        ("a1500", [(["w:a1500"], "a1500", "name", None)]),
        ("1500a", [(["w:1500a"], "1500a", "name", None)]),
        ("1500.", [(["n:1500"], "1500", "number", None)]),
        ("1500%", [(["n:15", "n:1500"], "1500", "number", None)]),
        ("12.5%", [(["n:0.125", "n:12.5"], "12.5", "number", None)]),
        ("12.5 %", [(["n:0.125", "n:12.5"], "12.5", "number", None)]),
        ("0.125", [(["n:0.125", "n:125"], "0.125", "number", None)]),
        ("136.84", [(["n:136.84", "n:13684"], "136.84", "number", None)]),
        ("13.68", [(["n:13.68", "n:1368"], "13.68", "number", None)]),
        ("1.2.3", []),
        ("1,2", []),
        ("1,23", [(["n:1.23"], "1,23", "number", None)]),
        ("12,345,678", [(["n:12345678"], "12,345,678", "number", None)]),
        ("12.345.678", [(["n:12345678"], "12.345.678", "number", None)]),
        ("1,2,3", []),
        ("1.299.00", []),
        ("€1,299", [(["n:1299"], "1,299", "number", None)]),
        ("14 May", [(["d:5-14"], "14 May", "date", None)]),
        ("May 14", [(["d:5-14"], "May 14", "date", None)]),
        ("May 14th", [(["d:5-14"], "May 14th", "date", None)]),
        ("14th of May 2026", [(["d:5-14"], "14th of May 2026", "date", 2026)]),
        ("14. May 2026", [(["d:5-14"], "14. May 2026", "date", 2026)]),
        ("May 14, 2026", [(["d:5-14"], "May 14, 2026", "date", 2026)]),
        ("2026-05-14", [(["d:5-14"], "2026-05-14", "date", 2026)]),
        ("2026-05-14T06:10", [(["d:5-14"], "2026-05-14", "date", 2026)]),
        ("2026-5-14", []),
        ("14.5.2026", [(["d:5-14"], "14.5.2026", "date", 2026)]),
        ("14.05.2026", [(["d:5-14"], "14.05.2026", "date", 2026)]),
        ("5/14/2026", [(["d:5-14"], "5/14/2026", "date", 2026)]),
        ("14/5/2026", [(["d:5-14"], "14/5/2026", "date", 2026)]),
        ("5/6/2026", []),
        ("31.2.2026", []),
        ("29 Feb", [(["d:2-29"], "29 Feb", "date", None)]),
        ("29 Feb 2025", []),
        ("29 Feb 2024", [(["d:2-29"], "29 Feb 2024", "date", 2024)]),
        ("Sept 3", [(["d:9-3"], "Sept 3", "date", None)]),
        ("sep 3", [(["d:9-3"], "sep 3", "date", None)]),
        ("june 5", [(["d:6-5"], "june 5", "date", None)]),
        ("mayor 5", []),
        ("HA312", [(["w:ha312"], "HA312", "name", None)]),
        ("ab1", []),
        ("abc1", [(["w:abc1"], "abc1", "name", None)]),
        ("a12", []),
        ("field-2023-114", [(["w:field-2023-114"], "field-2023-114", "name", None)]),
        ("v1.2.3", [(["w:v1.2.3"], "v1.2.3", "name", None)]),
        ("bob@example.com", [(["w:bob@example.com"], "bob@example.com", "name", None)]),
        ("@bob", []),
        ("abc:", []),
        ("AB12:-", [(["w:ab12"], "AB12", "name", None)]),
        ("x_y12", [(["w:x_y12"], "x_y12", "name", None)]),
        (
            "2026-05-14 and 2026 and 1,500",
            [(["d:5-14"], "2026-05-14", "date", 2026), (["n:1500"], "1,500", "number", None)],
        ),
        ("QX7Z9A qx7z9a", [(["w:qx7z9a"], "QX7Z9A", "name", None)]),
    ],
)
def test_the_entities_of_a_text(text: str, found: list[tuple[list[str], str, str, int | None]]) -> None:
    assert [(sorted(entity.keys), entity.text, entity.kind, entity.year) for entity in entities(text)] == found


def test_a_text_is_searched_as_far_as_entities_go() -> None:
    text = " ".join(f"AB{n:04}" for n in range(3_000))
    assert len(entities(text)) == 2_000
    assert len(entities(text[:19_999])) == 2_000
    assert len(entities(text[:7_000])) == 1_000
    dates = " ".join(f"{day} May" for day in range(1, 29))
    assert len(entities(dates)) == 28


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("14", [(["s:14"], "14")]),
        ("2026", [(["s:2026"], "2026")]),
        ("1500", []),
        ("1,5", [(["s:1.5"], "1,5")]),
        ("0", [(["s:0"], "0")]),
        ("10 and 10 and 20", [(["s:10"], "10"), (["s:20"], "20")]),
        ("a14", []),
        ("-14", [(["s:14"], "-14")]),
        ("12.5", []),
        ("1999 1899", [(["s:1999"], "1999")]),
        ("14%", [(["s:14"], "14")]),
    ],
)
def test_the_numbers_that_say_nothing_by_themselves(text: str, found: list[tuple[list[str], str]]) -> None:
    assert [(sorted(entity.keys), entity.text) for entity in small_numbers(text)] == found
    assert all(entity.kind == "number" for entity in small_numbers(text))


def test_beyond_the_first_characters_no_small_number_is_looked_for() -> None:
    assert small_numbers(" " * 19_998 + "14")
    assert not small_numbers(" " * 20_000 + "14")
    assert len(small_numbers("1" * 31)) == 0


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("1500", "1500"),
        ("1500 EUR", "1500"),
        ("1500 euros", None),
        ("€1,500.00", "1,500.00"),
        ("about 1500", None),
        ("14 May 2026", "14 May 2026"),
        ("HA312", None),
        ("1500 1600", None),
        ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", None),
        ("(1500)", "1500"),
        ("1500 km/h", None),
        ("1500 a.b", "1500"),
        ("1500 abc", "1500"),
        ("1500 abcd", None),
        ("1500                                                        ", "1500"),
        ("1500                                                         ", None),
    ],
)
def test_a_text_that_is_one_number_or_day_up_to_a_unit(text: str, entity: str | None) -> None:
    found = only_entity(text)
    assert (None if found is None else found.text) == entity


@pytest.mark.parametrize(
    ("ours", "theirs", "entity"),
    [
        ("1,500", "1500.00", "1,500"),
        ("14 May 2026", "2026-05-14", "14 May 2026"),
        ("14 May 2026", "2025-05-14", None),
        ("14 May", "2025-05-14", "14 May"),
        ("2025-05-14", "14 May", "2025-05-14"),
        ("1500 and HA312X", "HA312X or 1500", "HA312X"),
        ("HA312X and 1500", "HA312X or 1500", "HA312X"),
        ("HA312 or HA313", "HA313 HA312", "HA312"),
        ("14 May 2025, HA312", "2026-05-14 HA312", "HA312"),
        ("nothing", "1500", None),
        ("1500", "nothing", None),
        ("12.5%", "0.125", "12.5"),
    ],
)
def test_the_most_particular_entity_that_two_texts_have(ours: str, theirs: str, entity: str | None) -> None:
    found = common_entity(ours, theirs)
    assert (None if found is None else found.text) == entity


@pytest.mark.parametrize(
    ("number", "keys"),
    [
        (0, []),
        (1, []),
        (10, []),
        (99, []),
        (100, []),
        (101, ["n:101"]),
        (200, []),
        (999, ["n:999"]),
        (1000, []),
        (1100, ["n:1100"]),
        (1010, ["n:1010"]),
        (12345, ["n:12345"]),
        (0.5, []),
        (12.5, ["n:12.5"]),
        (0.125, ["n:0.125"]),
        (1e39, []),
        (1e40, []),
        (1e41, []),
        (-1234, ["n:1234"]),
        (1.1, []),
        (1.23e-38, ["n:0.0000000000000000000000000000000000000123"]),
        (float("inf"), []),
        (float("nan"), []),
    ],
)
def test_what_a_number_is_known_by(number: float, keys: list[str]) -> None:
    assert sorted(number_keys(number)) == keys


def test_the_words_that_are_not_in_every_text() -> None:
    assert content_words("with zebras about AND Lions, Lions") == {"lions", "zebras"}
    assert content_words("abc abcd ab1cd under_score éléphants") == {"abcd", "score", "éléphants"}
    assert content_words("x" * 19_996 + " zebra lions") == {"x" * 19_996}
