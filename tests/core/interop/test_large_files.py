"""Large files of other programs: read in parts, listed the next time without being read, followed while they grow."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.benchmarks.large_files import session_lines, trace_lines, write_lines
from tests.core.conformance.reading import check_source

from agent_tt.cache_files import cache_folder
from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts import contents, document, kept_list, otlp, pieces
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Run


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have lists of small files kept too, in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_list, "LEAST_BYTES", 1)


def listed(path: Path) -> list[Run]:
    with closing(open_source(path)) as opened:
        return opened.runs()


def unread(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The list of a file that nobody may read."""

    def read(_: Path) -> None:
        raise AssertionError("it was read")

    with monkeypatch.context() as patch:
        patch.setattr(contents, "read_document", read)
        return listed(path)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("lines", [session_lines(60, 100), trace_lines(40, 4, 10)], ids=["session", "traces"])
def test_a_file_that_did_not_change_is_listed_without_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: Any
) -> None:
    path = write_lines(tmp_path / "f.jsonl", lines)
    first = listed(path)
    assert unread(path, monkeypatch) == first
    with closing(open_source(path)) as opened:
        check_source(opened)


@pytest.mark.usefixtures("kept")
def test_a_file_that_changed_or_a_list_that_is_damaged_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "f.jsonl", trace_lines(40, 4, 10))
    first = listed(path)
    (place,) = cache_folder("lists").glob("*.list")
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    body = place.read_bytes()
    place.write_bytes(body[:-9] + bytes([body[-9] ^ 1]) + body[-8:])
    assert listed(path) == first
    assert place.read_bytes() == body
    path.write_bytes(path.read_bytes().replace(b"gpt-5-mini", b"gpt-5-maxi"))
    assert [run.model.model for run in listed(path) if run.model] == ["gpt-5-maxi"] * 4
    os.utime(path, ns=(1, 1))
    with pytest.raises(StoreUnreadable, match="it was read"):
        unread(path, monkeypatch)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("place", ["the program", "an error"])
def test_a_list_with_a_secret_is_not_kept(tmp_path: Path, place: str) -> None:
    request = next(trace_lines(4, 1, 4))
    secret = "sk-proj-" + "aB3dE5gH7jK9mN1p" * 3
    (spans,) = request["resourceSpans"][0]["scopeSpans"]
    if place == "an error":
        spans["spans"][0]["status"] = {"code": 2, "message": f"no more for {secret}"}
    text = json.dumps(request)
    path = tmp_path / "f.json"
    path.write_text(text.replace('"desk"', f'"{secret}"') if place == "the program" else text)
    assert listed(path)
    assert not list(cache_folder("lists").glob("*.list"))


def test_a_trace_that_nothing_was_added_to_is_not_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = trace_lines(30, 3, 10)
    path = write_lines(tmp_path / "f.jsonl", iter([first, second]))
    told: list[str] = []
    tell = otlp.tell_trace
    monkeypatch.setattr(otlp, "tell_trace", lambda trace, *more: told.append(trace) or tell(trace, *more))
    with closing(open_source(path)) as opened:
        before = opened.runs()
        assert (len(told), [run.steps for run in before]) == (2, [5, 5])
        with path.open("a") as file:
            file.write(json.dumps(third) + "\n" + json.dumps(next(trace_lines(40, 1, 12))) + "\n")
        after = opened.runs()
        assert (len(told), [run.steps for run in after]) == (4, [5, 5, 6])
        assert after[1] == before[0]
        path.write_text(json.dumps(second) + "\n")
        assert opened.runs() == [before[0]]
        path.write_text("gone")
        assert opened.runs() == [before[0]]
        assert [problem.what for problem in opened.verify() if problem.run is None] == [
            "it was changed and holds no runs now; shown is what it held"
        ]


def test_a_page_of_runs_costs_what_it_returns_and_steps_that_were_let_go_are_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "_STEPS_KEPT", 6)
    path = write_lines(tmp_path / "f.jsonl", trace_lines(80, 8, 10))
    told: list[str] = []
    tell = otlp.tell_trace
    monkeypatch.setattr(otlp, "tell_trace", lambda trace, *more: told.append(trace) or tell(trace, *more))
    with closing(open_source(path)) as opened:
        assert len(opened.runs(limit=2)) == len(told) == 2
        digests = {run.id: opened.digest(run.id, run.steps) for run in opened.runs()}
        assert len(told) > 8
        assert digests == {run.id: opened.digest(run.id, run.steps) for run in opened.runs()}
        check_source(opened)


@pytest.mark.parametrize("is_later", [True, False])
def test_a_trace_of_too_many_spans_is_shown_in_part_and_says_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_later: bool
) -> None:
    monkeypatch.setattr(otlp, "_MOST_SPANS", 11)
    monkeypatch.setattr(otlp, "_MOST_SPANS_LATER", 11)
    path = write_lines(tmp_path / "f.jsonl", trace_lines(20, 1, 20))
    if not is_later:  # which call a span of a tool is of, only its arguments say
        path.write_text(path.read_text().replace("gen_ai.tool.call.id", "id"))
    with closing(open_source(path)) as opened:
        (run,) = opened.runs()
        assert (run.steps, run.incomplete) == (5, "left out are 9 of 20 spans, which stand last in the file")
        assert "9 of 20 spans" in opened.verify()[0].what


@pytest.mark.parametrize("damage", ["", "broken off", "no text"])
def test_one_large_value_is_read_in_pieces_and_says_what_of_it_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(document, "MOST_VALUE_BYTES", 1000)
    monkeypatch.setattr(pieces, "_LARGEST", 4000)
    monkeypatch.setattr(pieces, "_WINDOW", 6000)
    monkeypatch.setattr(pieces, "_BATCH", 2000)
    requests = [line["resourceSpans"][0] for line in trace_lines(60, 6, 30)]
    path = tmp_path / "f.json"
    whole = json.dumps({"resourceSpans": requests}, indent=1).encode()
    whole = whole[:-40] if damage == "broken off" else whole
    path.write_bytes(whole.replace(b"search", b"\xff", 1) if damage == "no text" else whole)
    with closing(open_source(path)) as opened:
        runs = opened.runs()
        said = [problem.what for problem in opened.verify()]
    if damage == "no text":
        assert said == ["piece 2 of 60 is not valid JSON"]
        return
    assert [run.steps for run in runs] == [5] * 6
    assert {run.origin["system"] for run in runs} == {"OpenTelemetry, desk"}
    assert said == (["it breaks off"] if damage else [])


def test_a_line_in_the_middle_that_is_no_json_is_named_in_every_format(tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in trace_lines(30, 3, 10)]
    path = tmp_path / "f.jsonl"
    path.write_text("\n".join([lines[0], lines[1][:99], lines[2]]) + "\n")
    with closing(open_source(path)) as opened:
        assert len(opened.runs()) == 2
        assert [problem.what[:29] for problem in opened.verify()] == ["line 2: it is not valid JSON:"]


def test_a_file_of_a_gigabyte_and_more_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    with path.open("wb") as file:
        file.write(b'{"role": "user"}\n')
        file.truncate((1 << 30) + 1)  # sparse: it takes no room
    with pytest.raises(StoreUnreadable, match="1024 MB"):
        open_source(path)


def test_a_small_value_of_very_many_messages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MOST_OBJECTS", 50)
    path = tmp_path / "f.json"
    path.write_text(json.dumps([{"role": "user", "content": "Hi."}] * 51))
    with pytest.raises(StoreUnreadable, match="50 entries"):
        open_source(path)


@pytest.mark.parametrize("most", ["MOST_BYTES", "MOST_LINES"])
def test_of_a_session_that_is_too_large_the_beginning_opens_and_the_run_says_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    lines = [json.dumps(line) + "\n" for line in session_lines(60, 100)]
    beginning = tmp_path / "beginning.jsonl"
    beginning.write_text("".join(lines[:40]))
    with closing(open_source(beginning)) as source:
        (whole,) = source.runs()
        steps = source.steps(whole.id)
        states = [source.state(whole.id, step) for step in range(whole.steps + 1)]
    monkeypatch.setattr(document, most, 40 if most == "MOST_LINES" else beginning.stat().st_size)
    path = tmp_path / "f.jsonl"
    path.write_text("".join(lines))
    with closing(open_source(path)) as source:
        check_source(source)
        (run,) = source.runs()
        assert run.incomplete == "left out are 20 of 60 lines of its file, which stand last"
        assert (run.steps, run.tokens_in, run.cost_usd) == (whole.steps, whole.tokens_in, whole.cost_usd)
        assert source.steps(run.id) == steps
        assert [source.state(run.id, step) for step in range(run.steps + 1)] == states
        assert [problem.what for problem in source.verify()] == [
            "line 41: it and what stands behind it is left out: it would be held in memory"
        ]
        with path.open("a") as file:
            file.write(lines[-1])
        assert source.runs()[0].incomplete == "left out are 21 of 61 lines of its file, which stand last"


def test_a_session_whose_first_line_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MOST_BYTES", 10)
    with pytest.raises(StoreUnreadable, match="too large"):
        open_source(write_lines(tmp_path / "f.jsonl", session_lines(6, 100)))


ALIKE = st.recursive(
    st.integers() | st.sampled_from(["", 'a, {"resource": {"at"', "}, {", '{"resource"']),
    lambda inner: st.lists(st.fixed_dictionaries({"resource": inner}), max_size=4) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(st.fixed_dictionaries({"resource": ALIKE}), min_size=1, max_size=6), st.sampled_from([None, 1]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_are_the_same_whether_elements_that_begin_alike_are_looked_for_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elements: list[Any], indent: int | None
) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"resourceSpans": elements}, indent=indent))
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(pieces, "_BATCH", 40)
        for spare in (0, 1 << 20):
            patch.setattr(pieces, "_SPARE", spare)
            cut, flaw = pieces.cut(pieces.PieceFile(path))
            found.append((cut.where(), flaw))
    assert found[0] == found[1]
