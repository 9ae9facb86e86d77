"""A search that passes over threads finds what one finds that reads them all."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import re
import sqlite3
import sys
import tempfile
import time
import uuid
from collections import defaultdict
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.interop.test_langgraph_large_and_hostile import TABLES, database, ident, lengths

from agent_tt.codec.folding import fold
from agent_tt.errors import InvalidExpression, UsageError
from agent_tt.interop.langgraph import source as source_module
from agent_tt.interop.langgraph.sieve import Sieve
from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.interop.langgraph.stored_words import StoredWords
from agent_tt.querying.search import newest as newest_module
from agent_tt.querying.search.finder import Finder
from agent_tt.querying.search.query import parse
from agent_tt.querying.search.read import steps_of
from agent_tt.querying.search.recorded import RunTexts
from agent_tt.querying.unread import unread_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt.querying.search.hits import By

ALPHABET = [*"needlfux019 _-", "é", "K", "ſ", "İ", "Σ", "\n", "\x1f", "\0", '"', "\\", "\\u006e", "\\x6e", "日"]
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=9).map("".join) | st.sampled_from(
    ["needle", "sk-proj-AbCdEf0123456789AbCdEf0123456789", "a\nneedle", "(redacted)", "2 needles"]
)
SCALARS = st.one_of(
    TEXTS,
    st.none(),
    st.booleans(),
    st.integers(-99, 1 << 40),
    st.floats(),
    st.binary(max_size=4),
    st.uuids(),
    st.datetimes(),
    st.dates(),
    st.decimals(allow_nan=True),
    st.frozensets(TEXTS, max_size=2),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.fixed_dictionaries(
    {"type": st.sampled_from(["ai", "tool", "human"]), "content": TEXTS | st.lists(TEXTS, max_size=2)},
    optional={"name": TEXTS, "status": st.just("error"), "tool_call_id": TEXTS, "id": TEXTS},
)
CHANNELS = st.dictionaries(
    st.sampled_from(["topic", "messages", "needle", "branch:to:plan", "__start__"]),
    VALUES | st.lists(MESSAGES, max_size=2),
    max_size=3,
)
WRITES = st.lists(
    st.tuples(
        st.sampled_from(["topic", "messages", "__error__", "__interrupt__", "__resume__"]),
        VALUES | MESSAGES | TEXTS.map(lambda text: repr(ValueError(text))),
        st.sampled_from(["~__pregel_pull, plan", "~__pregel_pull, review", "~__pregel_push, 0000000000", ""]),
        st.integers(1, 2),
    ),
    max_size=3,
)
FACTS = st.fixed_dictionaries(
    {"source": st.sampled_from(["input", "loop", "update"]), "step": st.integers(-1, 3)},
    optional={"who": TEXTS, "writes": st.dictionaries(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=1), max_size=1)},
)
THREADS = st.lists(st.lists(st.tuples(CHANNELS, WRITES, FACTS), min_size=1, max_size=3), min_size=1, max_size=3)


def stored(value: Any, *, as_json: bool) -> tuple[str, bytes]:
    """A value as LangGraph's serializer writes it, or as its JSON was written by older ones."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    if as_json:
        return "json", json.dumps(value, default=str).encode()
    return JsonPlusSerializer().dumps_typed(value)


def made(path: Path, threads: Sequence[Sequence[tuple[Any, Any, Any]]], *, as_json: bool) -> Path:
    """A database of threads, each a chain of checkpoints with what was written on top of them."""
    number = 0
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        for thread, chain in enumerate(threads):
            before = None
            for values, writes, facts in chain:
                number += 1
                name = ident(number)
                document = {"v": 4, "channel_values": values, "channel_versions": {}, "versions_seen": {}}
                kind, blob = stored(document, as_json=as_json)
                row = (f"t{thread}", "", name, before, kind, blob, json.dumps(facts))
                connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                for index, (channel, value, task_path, *task) in enumerate(writes):
                    written = (
                        f"t{thread}",
                        name,
                        str(uuid.UUID(int=(sum(task) or 9) << 120)),
                        task_path,
                        index,
                        channel,
                    )
                    connection.execute(
                        "INSERT INTO writes VALUES (?, '', ?, ?, ?, ?, ?, ?, ?)",
                        (*written, *stored(value, as_json=as_json)),
                    )
                before = name
        connection.commit()
    return path


def texts_of(source: LangGraphSource, run: Run) -> Iterator[str]:
    """All texts of a run that a search looks at."""
    texts = RunTexts(source, run)
    yield from (text.text for text in texts.begin())
    for step in steps_of(texts, texts.first + 1, None):
        yield from (text.text for text in texts.step(step)[0])


def check(path: Path) -> int:
    """Check that no run is passed over that has a text, or a part that cannot be read; say how many were passed."""
    passed = 0
    with pytest.MonkeyPatch.context() as patch, closing(LangGraphSource(path)) as source:
        patch.setattr(source_module, "_FEWEST_SIFTED", 0)
        has: defaultdict[str, set[str]] = defaultdict(set)  # by what is asked, as JSON: each is asked once
        for run in source.runs():
            for text in {fold(text) for text in texts_of(source, run)}:
                words = re.findall(r"\w+", text)
                parts = [*words, *(word[1:] for word in words), *(word[:-1] for word in words), text[1:-1]]
                for asked in [text, ["AND", *words], ["OR", "qzxwv", text], *parts]:
                    has[json.dumps(asked)].add(run.id)
        for asked, runs in has.items():
            assert runs <= {*(source.may_hold([json.loads(asked)]) or ())}, asked
        for run in source.runs():
            if run.id not in (source.may_hold(["qzxwv"]) or ()):
                passed += 1
                assert unread_in(source, run) == ()
    return passed


@settings(max_examples=60)
@given(THREADS, st.booleans())
def test_no_thread_is_passed_over_that_holds_a_word(threads: list[list[tuple[Any, Any, Any]]], as_json: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(made(Path(folder) / "made.db", threads, as_json=as_json))


QUERIES = st.one_of(
    st.lists(TEXTS.filter(str.strip), min_size=1, max_size=2).map(" ".join),
    st.sampled_from(["input", "loop", "task", "ValueError", "toolerror", "7", "true", "not database", "plan review"]),
    st.sampled_from(["in:name plan", "in:error needle", "tool:needle fu", "agent:plan needle", "step:2- needle"]),
)
PATTERNS = st.sampled_from(
    ["need(le)?s?", "(needle|bead)", "[0-9]{2}", "^a", "le$", "(?i)NEEDLE", "n.*le", "2 needles"]
)


@settings(max_examples=60)
@given(THREADS, st.booleans(), QUERIES, st.none() | PATTERNS, st.sampled_from(["rank", "step"]))
def test_a_search_that_passes_over_threads_finds_all_that_reading_everything_does(
    threads: list[list[tuple[Any, Any, Any]]], as_json: bool, words: str, pattern: str | None, by: By
) -> None:
    try:
        query = parse(pattern or words, regex=pattern is not None)
    except (InvalidExpression, UsageError):
        return
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = made(Path(folder) / "made.db", threads, as_json=as_json)
        with closing(LangGraphSource(path)) as source:
            everything = Finder(source, use_index=False).found(query, by=by)
            patch.setattr(source_module, "_FEWEST_SIFTED", 0)
            sifted = Finder(source, use_index=True, folder=Path(folder) / "none").found(query, by=by)
            assert sifted == everything
            assert not (Path(folder) / "none").exists()


def test_of_a_question_that_is_a_typed_value_its_value_alone_is_a_text(tmp_path: Path) -> None:
    asked = [("__interrupt__", uuid.UUID(int=7), "~__pregel_pull, plan", 1)]
    path = made(tmp_path / "asked.db", [[({}, asked, {"source": "input"})]], as_json=False)
    check(path)
    with closing(LangGraphSource(path)) as source:
        shown = {text for run in source.runs() for text in texts_of(source, run)}
    assert str(uuid.UUID(int=7)) in shown
    assert not {"uuid", "$type", "$v"} & shown


def test_what_a_step_puts_together_of_several_tasks_is_found(tmp_path: Path) -> None:
    said = [("messages", {"type": "ai", "content": word}, f"~__pregel_pull, {word}", number)
            for number, word in ((1, "alpha"), (2, "omega"))]  # fmt: skip
    nameless = [("first", 1, "", 1), ("second", 2, "", 2)]
    chains: list[Any] = [
        [({}, said, {"source": "input"}), ({"topic": 1}, [], {"source": "loop"})],
        [({"branch:to:first": None, "branch:to:second": None}, nameless, {"source": "input"}), ({}, [], {})],
    ]
    path = made(tmp_path / "tasks.db", chains, as_json=False)
    check(path)
    with closing(LangGraphSource(path)) as source:
        shown = {text for run in source.runs() for text in texts_of(source, run)}
    assert {"alpha; omega", "alpha, omega", "first, second"} <= shown


def test_what_is_stored_plainly_is_passed_over(tmp_path: Path) -> None:
    chain = [({"messages": [{"type": "ai", "content": "a\nfound"}]}, [("topic", "Found", "")], {"source": "loop"})]
    assert check(made(tmp_path / "plain.db", [chain], as_json=False)) == 1


@pytest.mark.parametrize(
    "value",
    [
        dt.date(2026, 1, 2), Decimal("1.50"), uuid.UUID(int=1), "\\u006eeedle", b"bytes", Path("a/b"), 1.5e-7, 0.00001,
        float("-inf"), (1 << 64) - 1, {7: "seven"}, {"$type": "x"}, dt.timedelta(days=2), {Decimal("2.5")},
    ],
    ids=str,
)  # fmt: skip
def test_typed_values_and_numbers_are_looked_for_as_they_are_shown(tmp_path: Path, value: Any) -> None:
    chain = [({"topic": value}, [], {"source": "loop"})]
    assert check(made(tmp_path / "typed.db", [chain], as_json=False)) == 1


def test_texts_that_are_shown_with_escapes_or_without_are_found(tmp_path: Path) -> None:
    failed = {"type": "tool", "content": ["a\nneedle\x1fbead"], "status": "error"}
    writes = [("messages", failed, "~__pregel_pull, plan")]
    errors = [
        ("__error__", "ValueError('\\156eedle')", "~__pregel_pull, plan")
    ]  # as nobody writes it, but Python reads it
    chains = [[({"topic": 1}, writes, {"source": "input"}), ({"topic": 1}, [], {"source": "loop"})]]
    chains.append([({"topic": 1}, errors, {"source": "input"})])
    path = made(tmp_path / "escaped.db", chains, as_json=False)
    check(path)
    with closing(LangGraphSource(path)) as source:
        found = [text for run in source.runs() for text in texts_of(source, run) if "needle" in text]
    assert 'ToolError: ["a\\nneedle\\u001fbead"]' in found
    assert "ValueError: needle" in found


def test_a_thread_with_damaged_metadata_is_not_passed_over(tmp_path: Path) -> None:
    path = made(tmp_path / "flaw.db", [[({"topic": 1}, [], {"source": "input"})]], as_json=False)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE checkpoints SET metadata = 'no JSON'")
        connection.commit()
    assert check(path) == 0


def test_what_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    assert check(database(tmp_path / "hostile.db", lengths())) == 0


def test_every_letter_that_becomes_one_of_ascii_is_known() -> None:
    words = StoredWords(["k", "s"])
    letters = [chr(number) for number in range(128, sys.maxunicode + 1) if fold(chr(number)).isascii()]
    assert letters
    for letter in letters:
        mask = words.in_value(*stored(letter, as_json=False))
        assert mask == 1 << ["k", "s"].index(fold(letter)), hex(ord(letter))


@pytest.mark.parametrize("word", ["redacted", "redactedaaa", "eyj", "->", "..."])
def test_marks_of_secrets_and_signs_tell_nothing(word: str) -> None:
    assert not Sieve([word]).tells
    assert not Sieve([["OR", word, "needle"]]).tells
    assert Sieve([["AND", word, "needle"]]).tells


def test_a_search_of_many_threads_reads_those_that_may_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chains = [[({"topic": f"topic {number}"}, [], {"source": "loop"})] for number in range(40)]
    chains[7][0][0]["topic"] = "The Needle"
    path = made(tmp_path / "many.db", chains, as_json=False)
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 40)
    read: list[str] = []
    state = LangGraphSource._shared_state  # what every text of a state comes by
    monkeypatch.setattr(
        LangGraphSource, "_shared_state", lambda self, run, step: read.append(run) or state(self, run, step)
    )
    with closing(LangGraphSource(path)) as source, closing(Finder(source, folder=tmp_path / "index")) as finder:
        assert [(hit.run, hit.step) for hit in finder.found(parse("needle")).hits] == [("t7", 1)]
        assert finder.found(parse("thread needles")).hits == ()
        assert finder.unread() == []
    assert set(read) == {"t7"}
    assert not (tmp_path / "index").exists()


def many(path: Path, count: int, word: str = "needle") -> Path:
    """A database of threads that all hold a word."""
    chains = [[({"topic": f"{word} {number}"}, [], {"source": "loop"})] for number in range(count)]
    return made(path, chains, as_json=False)


def test_of_many_threads_the_newest_are_read_where_they_fill_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = many(tmp_path / "newest.db", 9)
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 0)
    monkeypatch.setattr(newest_module, "_FEWEST_STEPS", 4)
    with closing(LangGraphSource(path)) as source, closing(Finder(source, folder=tmp_path / "index")) as finder:
        newest = [run.id for run in source.runs()]
        for limit, seen in ((3, 4), (5, 5)):
            hits = finder.found(parse("needle"), limit=limit)
            assert [hit.run for hit in hits.hits] == newest[:limit]
            assert (hits.total, hits.newest, hits.of, hits.is_complete, hits.searched) == (seen, seen, 9, False, 1.0)
        whole = finder.found(parse("needle"))
        assert (whole.total, whole.newest, whole.is_complete) == (9, None, True)
        assert not (tmp_path / "index").exists()


def test_the_first_runs_are_read_before_it_is_told_which_may_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chains = [[({"topic": f"needle {number}" if number in (3, 18, 19) else "hay"}, [], {})] for number in range(20)]
    path = made(tmp_path / "first.db", chains, as_json=False)
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 0)
    monkeypatch.setattr(newest_module, "_MANY", 5)
    monkeypatch.setattr(newest_module, "_AT_ONCE", 3)
    monkeypatch.setattr(newest_module, "_FULL_AFTER", 4)
    monkeypatch.setattr(newest_module, "_FEWEST_STEPS", 2)
    with closing(LangGraphSource(path)) as source, closing(Finder(source)) as finder:
        full = finder.found(parse("needle"), limit=2)
        assert ([hit.run for hit in full.hits], full.newest, full.of) == (["t19", "t18"], 2, 20)
        whole = finder.found(parse("needle"), limit=4)
        assert ([hit.run for hit in whole.hits], whole.newest) == (["t19", "t18", "t3"], None)
        one = finder.found(parse("needle|sewing", regex=True), limit=3, by="step")
        assert ([hit.run for hit in one.hits], one.newest) == (["t19", "t18", "t3"], None)


def test_an_index_that_is_not_made_in_time_is_said_and_goes_on_later(tmp_path: Path) -> None:
    path = many(tmp_path / "small.db", 9)
    with closing(LangGraphSource(path)) as source, closing(Finder(source, folder=tmp_path / "index")) as finder:
        hits = finder.found(parse("needle"), seconds=0)
        assert hits.searched < 1
        assert hits.seconds is not None
        assert finder.uses_index
        assert (tmp_path / "index").exists()
        assert finder.found(parse("needle"), seconds=1_000).total == 9


def test_a_machine_however_busy_lets_a_search_read_a_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many(tmp_path / "busy.db", 9)
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 0)
    monkeypatch.setattr(newest_module, "_LEAST_S", 1_000)
    with closing(LangGraphSource(path)) as source, closing(Finder(source)) as finder:
        hits = finder.found(parse("needle"), seconds=0)
        assert (hits.total, hits.seconds, hits.searched) == (9, None, 1)


def test_few_checkpoints_with_large_values_are_not_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many(tmp_path / "large.db", 3)
    monkeypatch.setattr(source_module, "_LEAST_SIFTED", path.stat().st_size)
    with closing(LangGraphSource(path)) as source, closing(Finder(source, folder=tmp_path / "index")) as finder:
        assert not finder.indexes(None)
        assert finder.indexes(["t1"])
        assert finder.found(parse("needle")).total == 3
        monkeypatch.setattr(source_module, "_LEAST_SIFTED", path.stat().st_size + 1)
        assert finder.indexes(None)


def test_a_search_whose_time_is_over_says_what_it_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many(tmp_path / "timed.db", 9, "hay")
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 0)
    monkeypatch.setattr(newest_module, "_LEAST_S", 0)
    clock = itertools.count()
    with closing(LangGraphSource(path)) as source, closing(Finder(source, use_index=False)) as finder:
        monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
        hits = finder.found(parse("needle|hay$", regex=True), seconds=20)  # nothing literal is needed
        assert hits.hits == ()
        assert hits.of == 9
        assert 0 < (hits.newest or 0) < 9
        assert 0 < hits.searched < 1
        assert (hits.seconds or 0) >= 20
        assert finder.found(parse("needle|hay$", regex=True)).searched == 1
        assert finder.found(parse("needle"), seconds=1_000).searched == 1


@pytest.mark.skipif("AGENT_TT_RECORDINGS" not in os.environ, reason="AGENT_TT_RECORDINGS does not say where they are")
def test_recorded_databases_are_sifted_as_they_are_read() -> None:
    paths = sorted(Path(os.environ["AGENT_TT_RECORDINGS"]).glob("langgraph*/**/checkpoints.db"))
    assert sum(map(check, paths)) > 5
