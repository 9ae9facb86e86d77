"""Where the texts of requests came from: laws of the tiles, for any texts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agent_tt.context.index import LEAST, TextIndex
from agent_tt.context.shown import Origin
from agent_tt.context.tiling import Entered

WORDS = st.text(alphabet="ab \n{\u00e9", max_size=80)


def parted(entered: Entered, text: str) -> list[str]:
    tiles = entered.tiles(text, None)
    assert all(one.end == two.start for one, two in pairwise(tiles))
    assert not tiles or (tiles[0].start, tiles[-1].end) == (0, len(text))
    return [text[tile.start : tile.end] for tile in tiles]


@given(st.lists(WORDS, max_size=6), WORDS)
def test_tiles_partition_any_text_and_each_origin_holds_its_tile(sources, text):
    entered = Entered()
    for number, source in enumerate(sources):
        entered.add(Origin("result", number, 1), [source])
    assert "".join(parted(entered, text)) == text
    for tile in entered.tiles(text, None):
        part = text[tile.start : tile.end]
        for origin in tile.origins:
            assert part[LEAST - 1 : len(part) - LEAST + 1] in sources[origin.step]
        assert not tile.origins or any(part in sources[origin.step] for origin in tile.origins)


@given(st.lists(WORDS, max_size=6), WORDS)
def test_whatever_24_characters_stand_in_a_source_are_in_a_tile_that_names_one(sources, text):
    index = TextIndex()
    for source in sources:
        index.add(source)
    open_text = [True] * len(text)
    for found in index.parts(text):
        open_text[found.start : found.end] = [False] * (found.end - found.start)
    for at in range(len(text) - LEAST + 1):
        if all(open_text[at : at + LEAST]):
            assert not any(text[at : at + LEAST] in source for source in sources)


def marked(alphabet: str) -> st.SearchStrategy[str]:
    return st.text(alphabet=alphabet, min_size=LEAST, max_size=200)


@given(marked("abc "), marked("def\n"), marked("ghi{"), st.text("xyz", max_size=60), st.text("uvw", max_size=60))
def test_planted_spans_are_attributed_exactly(system, file, result, before, between):
    planted = {"system": system, "file": file, "result": result}
    entered = Entered()
    for step, (kind, text) in enumerate(planted.items()):
        entered.add(Origin(kind, step, 1), [text])
    text = before + system + between + file + result
    tiles = entered.tiles(text, None)
    found = {tile.origins[0].kind: text[tile.start : tile.end] for tile in tiles if tile.origins}
    assert found == planted
    assert all(len(tile.origins) <= 1 for tile in tiles)


BESIDE = st.text("xyz ", max_size=20)


@given(
    st.text("abcd ", min_size=2 * LEAST, max_size=120),
    st.lists(st.tuples(BESIDE, BESIDE), min_size=2, max_size=5, unique=True),
    st.text("pqr ", max_size=20),
    st.text("mno ", max_size=20),
)
def test_a_planted_duplicate_names_every_source_that_holds_it(span, around, before, after):
    entered = Entered()
    for step, (left, right) in enumerate(around):
        entered.add(Origin("result", step, 1), [f"<{left}{span}{right}"])
    text = before + span + after
    named = [
        {origin.step for origin in tile.origins}
        for tile in entered.tiles(text, None)
        if tile.end - tile.start >= len(span)
    ]
    assert named == [set(range(len(around)))]


def test_a_text_under_24_characters_is_found_whole_or_not_at_all():
    entered = Entered()
    entered.add(Origin("result", 1, 1), ["4711"])
    entered.add(Origin("result", 2, 1), ["the order 4711 is late, says the warehouse"])
    assert [tile.origins for tile in entered.tiles("4711", None)] == [(Origin("result", 1, 1),)]
    assert [tile.origins for tile in entered.tiles("order 4711", None)] == [()]


def test_a_text_that_is_in_very_many_sources_is_still_parted_quickly_and_wholly():
    entered = Entered()
    for step in range(300):
        entered.add(Origin("result", step, 1), [f'{{"status": "the same for all of them", "number": "{step:06}"}}'])
    text = '{"status": "the same for all of them", "number": "000299"}'
    assert entered.tiles(text, None)[0].origins == (Origin("result", 299, 1),)
    assert "".join(parted(entered, "x" * 40 + text[:44])) == "x" * 40 + text[:44]
