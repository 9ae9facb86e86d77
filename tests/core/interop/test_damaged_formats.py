"""Files of each format that are damaged, or made to harm their reader: data or a named error, and nothing else."""

from __future__ import annotations

import copy
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.interop.format_samples import PACKED, SAMPLES, Lines, as_bytes

from agent_tt.errors import AgentTTError
from agent_tt.interop.transcripts import document as documents
from agent_tt.interop.transcripts import pieces
from agent_tt.interop.transcripts.formats import FORMATS
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import RunSource

CODES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e[bold red]"
RAW = '"RAW-%d"'
UNWRITABLE = ["NaN", "-Infinity", "1e999", "9" * 5000, '"\\ud800"', "[" * 100_000, "[" * 900 + "]" * 900, '"\\u0000"']
"""JSON, or what looks like it, that `json.dumps` does not write."""

VALUES = st.sampled_from([
    None, True, -1, 0, 10**18, -(10**18), 1e308, 5e-324, "", " ", CODES, "x" * 3000, [], {}, [[]], [{}], {"": {}},
    {"$type": "set", "$v": 7}, {"$type": "damaged"}, {"role": 1}, "2026-02-30T99:00:00Z", "9999-12-31T23:59:59-12:00",
])  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder in a value with each of its keys or numbers."""
    for key, inner in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


def read_all(source: RunSource) -> None:
    """Ask everything; what is counted is what is there."""
    for run in source.runs():
        assert source.step_count(run.id) == run.steps == len(source.steps(run.id))
        for step in source.steps(run.id):
            assert len(source.calls(run.id, step.number)) == step.calls
            json.dumps([source.state(run.id, step.number), source.changes(run.id, step.number)])
            source.digest(run.id, step.number)
        source.call_page(run.id, 1, run.steps + 1)
    source.verify()


def opens_or_is_refused(path: Path) -> None:
    try:
        source = open_source(path)
    except AgentTTError as error:
        said = error.message
        assert " raised " not in said
        return
    with closing(source):
        read_all(source)


def are_large(patch: pytest.MonkeyPatch, most_of_a_line: int) -> None:
    """Have small files count as large ones."""
    patch.setattr(documents, "MOST_BYTES", 100)
    patch.setattr(documents, "MOST_VALUE_BYTES", most_of_a_line)
    patch.setattr(pieces, "_LARGEST", 2000)
    patch.setattr(pieces, "_WINDOW", 3000)
    patch.setattr(pieces, "_BATCH", 1500)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_is_read_by_its_format_and_no_other_before_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(as_bytes(SAMPLES[name]))
    found = documents.read_document(path)
    assert found is not None
    assert next(known for known, read in FORMATS.all() if read(found)) == name.partition(",")[0]
    with closing(open_source(path)) as source:
        assert sum(run.steps for run in source.runs())
        read_all(source)


def test_every_format_has_a_sample_here() -> None:
    assert {name for name, _ in FORMATS.ours()} == {name.partition(",")[0] for name in SAMPLES}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_ends_anywhere_is_data_or_a_named_error(tmp_path: Path, name: str) -> None:
    whole, path = as_bytes(SAMPLES[name]), tmp_path / "f"
    for cut in sorted({0, 1, *range(2, len(whole), max(1, len(whole) // 40)), len(whole) - 2, len(whole) - 1}):
        path.write_bytes(whole[:cut])
        opens_or_is_refused(path)


@pytest.mark.parametrize("name", PACKED)
def test_a_container_that_ends_anywhere_or_has_a_changed_byte_is_data_or_a_named_error(
    tmp_path: Path, name: str
) -> None:
    path = PACKED[name](tmp_path)
    whole = path.read_bytes()
    with closing(open_source(path)) as source:
        assert source.runs()
        read_all(source)
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:at])
        opens_or_is_refused(path)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        opens_or_is_refused(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_bytes_that_are_cut_or_changed_are_data_or_a_named_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = bytearray(as_bytes(SAMPLES[data.draw(st.sampled_from(list(SAMPLES)))]))
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=4)):
        whole[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("bytes") / "f"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else whole)
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            are_large(patch, 100)
        opens_or_is_refused(path)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_values_of_other_types_and_ids_in_circles_are_data_or_a_named_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sample = copy.deepcopy(SAMPLES[data.draw(st.sampled_from(list(SAMPLES)))])
    raw: list[str] = []
    for _ in range(data.draw(st.integers(1, 5))):
        found = list(places(sample))
        if not found:
            break
        at, kind = st.integers(0, len(found) - 1), data.draw(st.integers(0, 3))
        holder, key = found[data.draw(at)]
        if kind == 0:
            other, its = found[data.draw(at)]
            holder[key] = copy.deepcopy(other[its])
        elif kind == 1:
            holder[key] = RAW.strip('"') % len(raw)
            raw.append(data.draw(st.sampled_from(UNWRITABLE)))
        elif kind == 2 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = copy.deepcopy(data.draw(VALUES))
    whole = as_bytes(sample)
    for number, text in enumerate(raw):
        whole = whole.replace((RAW % number).encode(), text.encode())
    path = tmp_path_factory.mktemp("values") / "f"
    path.write_bytes(whole)
    opens_or_is_refused(path)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_is_too_large_is_read_in_parts_or_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(as_bytes(SAMPLES[name]))
    are_large(monkeypatch, 50_000 if isinstance(SAMPLES[name], Lines) else 100)
    if name.startswith("otlp") or name in ("exchanges", "exchanges, of Anthropic"):
        with closing(open_source(path)) as source:
            parted = [(run.id, run.steps, run.tokens_in, run.status) for run in source.runs()]
        monkeypatch.undo()
        with closing(open_source(path)) as source:
            assert parted == [(run.id, run.steps, run.tokens_in, run.status) for run in source.runs()]
    else:
        with pytest.raises(AgentTTError, match="too large"):
            open_source(path)
