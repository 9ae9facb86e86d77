"""Tables of spans, as CSV and Parquet: the same runs as from JSON; what is too much or damaged is refused by name."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.test_trace_exports import observations

from agent_tt.errors import AgentTTError, NotAStore, StoreUnreadable, UsageError
from agent_tt.interop.transcripts import document
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path


def cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def as_csv(path: Path, rows: list[dict[str, Any]], quoting: int = csv.QUOTE_ALL) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=quoting)  # type: ignore[arg-type]
        writer.writerow(names)
        writer.writerows([[cell(row.get(name)) for name in names] for row in rows])
    return path


def said(path: Path) -> list[Any]:
    with closing(open_source(path)) as source:
        check_source(source)
        return [
            (run.id, run.status, run.tokens_in, run.tokens_out, run.cost_usd, source.state(run.id, run.steps),
             [(call.kind, call.name, call.status, call.result) for step in source.steps(run.id)
              for call in source.calls(run.id, step.number)])
            for run in source.runs()
        ]  # fmt: skip


@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_observations_as_csv_are_those_as_json(tmp_path: Path, quoting: int) -> None:
    rows = observations()
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert said(as_csv(tmp_path / "rows.csv", rows, quoting)) == said(tmp_path / "rows.json")


def test_a_field_may_be_longer_than_python_takes_by_itself(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    rows = observations()
    rows[0]["metadata"] = "x" * 200_000
    assert said(as_csv(tmp_path / "rows.csv", rows))
    assert csv.field_size_limit() == before


def test_other_tables_are_no_runs(tmp_path: Path) -> None:
    for number, text in enumerate(("id,name,price,count\n1,a,2,3\n", "id,traceId\n", '"id","traceId,\n', "a,b,c,d\n")):
        path = tmp_path / f"{number}.csv"
        path.write_text(text)
        with pytest.raises((NotAStore, StoreUnreadable)):
            open_source(path)


def test_a_table_of_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_csv(tmp_path / "rows.csv", observations())
    monkeypatch.setattr(document, "MOST_OBJECTS", 1)
    with pytest.raises(StoreUnreadable, match="1 rows are the most"):
        open_source(path)


RUNS: list[dict[str, Any]] = [
    {"id": "a" * 36, "trace_id": "t1", "name": "desk", "run_type": "chain", "parent_run_id": None, "error": None,
     "inputs": "{}", "outputs": "{}", "prompt_tokens": 5, "completion_tokens": 6},
    {"id": "b" * 36, "trace_id": "t1", "name": "ChatOpenAI", "run_type": "llm", "parent_run_id": "a" * 36,
     "error": None, "inputs": json.dumps({"messages": [[{"type": "human", "data": {"content": "Hi."}}]]}),
     "outputs": json.dumps({"generations": [[{"message": {"kwargs": {"content": "Yes.", "type": "ai"}}}]]}),
     "prompt_tokens": 5, "completion_tokens": 6},
]  # fmt: skip


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    began = datetime(2026, 3, 2, 10, tzinfo=UTC)
    write_table(arrow.Table.from_pylist([{**row, "start_time": began, "end_time": began} for row in rows]), path)
    return path


def test_a_bulk_export_in_parquet_is_the_same_runs_as_in_lines(tmp_path: Path) -> None:
    lines = [{**row, "start_time": "2026-03-02T10:00:00Z", "end_time": "2026-03-02T10:00:00Z"} for row in RUNS]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    of_lines = said(tmp_path / "runs.jsonl")
    assert of_lines[0][2:4] == (5, 6)
    assert said(parquet(tmp_path / "runs.parquet", RUNS)) == of_lines


def test_a_value_that_is_stored_once_and_repeated_often_fills_no_memory(tmp_path: Path) -> None:
    rows = [{**RUNS[0], "id": str(number), "inputs": "x" * 1_000_000} for number in range(200)]
    path = parquet(tmp_path / "runs.parquet", rows)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(StoreUnreadable, match="too large"):
        open_source(path)


def test_damaged_parquet_is_refused_by_name(tmp_path: Path) -> None:
    whole = parquet(tmp_path / "runs.parquet", RUNS).read_bytes()
    path = tmp_path / "damaged"
    for cut in (*range(4, 60), *range(60, len(whole), 97)):
        path.write_bytes(whole[:cut])
        with pytest.raises(AgentTTError, match="Parquet"):
            open_source(path)
    for at in range(4, len(whole), 53):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            open_source(path).close()
        except AgentTTError as error:
            assert " raised " not in error.message  # noqa: PT017  # most bytes are values, which may be any


def test_without_the_library_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.parquet"
    path.write_bytes(b"PAR1....PAR1")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match="not installed"):
        open_source(path)
