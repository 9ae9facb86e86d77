"""Compressed content and the dictionaries that it shares: whole, or refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from tests.core.history.logs import MemoryLog, MemoryRows
from tests.core.store.rows import insert

from agent_tt.errors import Damaged, StoreUnreadable
from agent_tt.history.payloads import frames
from agent_tt.history.payloads.frames import DICTIONARY_SIZE, MOST_PLAIN, Frames, dictionary_content, newest_dictionary
from agent_tt.history.payloads.training import DictionaryTrainer

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = b"some content " * 20


def refused(ask: Callable[[], Any]) -> str:
    with pytest.raises(Damaged) as caught:
        ask()
    assert caught.value.hint == "Run `agent-tt verify` to see what else is affected."
    return caught.value.message


def test_what_was_compressed_comes_back() -> None:
    made = Frames(MemoryRows())
    for plain in (b"", b"x", PLAIN):
        assert made.decompress(made.compress(plain), len(plain), "it") == plain


@pytest.mark.parametrize("data", [None, "text", 7])
def test_what_is_not_bytes_is_no_frame(data: object) -> None:
    made = Frames(MemoryRows())
    assert refused(lambda: made.decompress(data, 0, "row 7")) == "row 7 is damaged: it is not a compressed frame"


def test_a_frame_that_is_not_as_long_as_its_row_says_is_refused() -> None:
    made = Frames(MemoryRows())
    frame = made.compress(b"four")
    for size in (3, None, "4"):
        message = refused(lambda size=size: made.decompress(frame, size, "row 7"))
        assert message == f"row 7 is damaged: it holds 4 bytes where {size} are named"
    assert refused(lambda: made.decompress(frame[:-1] + b"x", 4, "row 7")).startswith("row 7 is damaged: ")
    assert refused(lambda: made.decompress(b"none", 4, "row 7")).startswith("row 7 is damaged: ")


def test_a_frame_that_says_to_hold_more_than_any_does_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Frames(MemoryRows())
    assert MOST_PLAIN == 256 << 20
    monkeypatch.setattr(frames, "MOST_PLAIN", 2_000)
    frame = made.compress(b"x" * 2_000)
    assert made.decompress(frame, 2_000, "it") == b"x" * 2_000
    more = zstandard.ZstdCompressor().compress(b"x" * 2_001)
    message = refused(lambda: made.decompress(more, 2_001, "row 7"))
    assert message == "row 7 is damaged: it says to hold 2,001 bytes, more than any does"
    with pytest.raises(StoreUnreadable, match="a value of 2,001 bytes is more than a store takes, which is 2,000"):
        made.compress(b"x" * 2_001)


def test_a_frame_with_a_dictionary_is_read_with_it_alone() -> None:
    rows = MemoryRows()
    made = Frames(rows)
    number = frames.store_dictionary(rows.tx, made, PLAIN, "agent")
    frame = made.compress(PLAIN, number)
    assert len(frame) < len(made.compress(PLAIN))
    for reader in (made, Frames(rows)):
        assert reader.decompress(frame, len(PLAIN), "it", number) == PLAIN
        assert reader.decompress(frame, len(PLAIN), "it", number) == PLAIN
    refused(lambda: Frames(rows).decompress(frame, len(PLAIN), "it"))
    message = refused(lambda: Frames(rows).decompress(frame, len(PLAIN), "it", number + 1))
    assert message == f"dictionary {number + 1} is missing or damaged in all its copies"
    assert refused(lambda: Frames(rows).compress(PLAIN, 5)) == "dictionary 5 is missing or damaged in all its copies"


@pytest.mark.parametrize("copies", [[0], [1], [0, 1]])
def test_one_whole_copy_of_a_dictionary_is_enough(copies: list[int]) -> None:
    rows = MemoryRows()
    number = frames.store_dictionary(rows.tx, Frames(rows), PLAIN, "agent")
    frame = Frames(rows).compress(PLAIN, number)
    assert rows.query("SELECT id, copy, agent FROM dicts ORDER BY copy") == [(number, n, "agent") for n in (0, 1)]
    for copy in copies:
        rows.connection.execute("UPDATE dicts SET data = zeroblob(9) WHERE copy = ?", (copy,))
    if len(copies) == 1:
        assert Frames(rows).decompress(frame, len(PLAIN), "it", number) == PLAIN
    else:
        refused(lambda: Frames(rows).decompress(frame, len(PLAIN), "it", number))


def test_a_copy_of_a_dictionary_is_known_by_its_content() -> None:
    rows = MemoryRows()
    number = frames.store_dictionary(rows.tx, Frames(rows), PLAIN, "agent")
    ((data,), _) = rows.query("SELECT data FROM dicts")
    assert dictionary_content(data, number) == PLAIN
    assert dictionary_content(data, number + 1) is None
    compress = zstandard.ZstdCompressor().compress
    large = zstandard.ZstdCompressor().compress(bytes(1 << 21))
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(PLAIN)
    for odd in (None, "text", b"", b"none", data[:-1], compress(PLAIN + b"x"), large, unsized):
        assert dictionary_content(odd, number) is None


def test_the_runs_of_an_agent_share_its_first_dictionary() -> None:
    rows = MemoryRows()
    made = Frames(rows)
    assert newest_dictionary(rows, "agent") == 0
    numbers = [frames.store_dictionary(rows.tx, made, PLAIN * n, "agent") for n in (1, 2)]
    other = frames.store_dictionary(rows.tx, made, b"other", "other")
    assert newest_dictionary(rows, "agent") == min(numbers)
    assert newest_dictionary(rows, "other") == other
    assert frames.store_dictionary(rows.tx, made, PLAIN, "third") == numbers[0]
    assert rows.query("SELECT count(*) FROM dicts") == [(6,)]


def test_a_dictionary_is_made_of_the_last_rows_once_there_are_enough_and_used_from_then_on() -> None:
    log = MemoryLog()
    rows, made = log.rows, log.log.frames
    trainer = DictionaryTrainer(rows, "agent")
    samples = [bytes([n]) * 2_000 for n in range(6)]
    for sample in samples:
        assert trainer.dictionary == 0
        trainer.add(log.tx, made, b"dropped" + sample)  # only the end of a large row counts
    assert trainer.dictionary == 0
    assert DICTIONARY_SIZE > 6 * 2_000
    trainer.add(log.tx, made, b"y" * 2_000)
    assert trainer.dictionary == newest_dictionary(rows, "agent") != 0
    ((data,), _) = rows.query("SELECT data FROM dicts")
    content = b"".join([*samples, b"y" * 2_000])[-DICTIONARY_SIZE:]
    assert dictionary_content(data, trainer.dictionary) == content
    trainer.add(log.tx, made, b"z" * 60_000)
    assert rows.query("SELECT count(*) FROM dicts") == [(2,)]
    assert DictionaryTrainer(rows, "agent").dictionary == trainer.dictionary
    assert DictionaryTrainer(rows, "other").dictionary == 0


def test_a_trainer_begins_again_with_what_the_file_holds() -> None:
    rows = MemoryRows()
    made, trainer = Frames(rows), DictionaryTrainer(rows, "agent")
    for _ in range(6):
        trainer.add(rows.tx, made, b"x" * 2_000)
    trainer.restart()
    assert trainer.dictionary == 0
    for _ in range(6):
        trainer.add(rows.tx, made, b"y" * 2_000)
    assert trainer.dictionary == 0  # what was collected before counts no more
    trainer.add(rows.tx, made, b"y" * 2_000)
    kept = trainer.dictionary
    assert kept != 0
    rows.connection.execute("DELETE FROM dicts")
    trainer.restart()
    assert trainer.dictionary == 0
    insert(rows.tx, "dicts", id=77, copy=0, agent="agent", data=b"x")
    trainer.restart()
    assert trainer.dictionary == 77
