"""Goldens that run again when what they run is saved: which, what goes out, what is said, and how it ends."""

from __future__ import annotations

import os
import py_compile
import threading

import pytest
from tests.core.golden.asking import prompts_in, recorded, words
from tests.core.web_server import OPENAI_ANSWER, serving

from agent_tt.errors import NotFound
from agent_tt.golden.run_rules import AtMost, Ends
from agent_tt.golden.watching import Began, Ended, Saved, Unread, watch_goldens

pytestmark = pytest.mark.warm("httpx")


@pytest.fixture
def server(monkeypatch):
    with serving(OPENAI_ANSWER) as web:
        monkeypatch.setenv("MODEL_SERVER", web.url)
        yield web


@pytest.fixture
def watching():
    """Watch goldens as a program does: gives the events, which end with the test."""
    stop = threading.Event()
    began = []

    def watch(golden, **how):
        began.append(watch_goldens([golden.path], stop, store=golden.path.parent / "tests.db", **how))
        return began[-1]

    yield watch
    stop.set()
    assert [list(events) for events in began] == [[]] * len(began)


def ended(events):
    began, result = next(events), next(events)
    assert isinstance(began, Began)
    assert isinstance(result, Ended)
    return result


def test_exactly_the_changed_calls_go_out_once_and_what_was_saved_is_said(server, tmp_path, watching):
    golden = recorded(tmp_path, server.url, (Ends(), AtMost("steps", 2)))
    events = watching(golden, live=True)
    server.forget()
    first = ended(events)
    assert (first.result.outcome, first.change, server.asked) == ("passed", "", [])
    words(tmp_path, "one", "another", "three")
    saved = next(events)
    assert (saved.files, saved.goldens) == ((tmp_path / "words.py",), ("asking",))
    second = ended(events)
    assert (second.result.outcome, prompts_in(server.bodies)) == ("passed", ["another"])
    assert (second.result.live.answered, second.result.live.saved.tokens_in) == (4, 6)
    words(tmp_path, "one", "another", "three", "three")
    next(events)
    third = ended(events)  # what was answered before is given again; one question is asked once more than recorded
    assert (third.result.outcome, prompts_in(server.bodies)) == ("passed", ["another", "three"])
    assert [call.kind for call in third.result.live.made] == ["llm"]
    words(tmp_path, "one", "two", "three")
    next(events)
    assert (ended(events).result.live.made, len(server.bodies)) == ((), 2)


def test_without_leave_nothing_goes_out_and_what_breaks_and_is_mended_is_said(server, tmp_path, watching):
    golden = recorded(tmp_path, server.url, (Ends(),))
    events = watching(golden)
    server.forget()
    assert ended(events).result.live is None
    (tmp_path / "beside.py").write_text("no golden imports this")
    words(tmp_path, "one", "another", "three")
    assert next(events) == Saved((tmp_path / "words.py",), ("asking",))
    broken = ended(events)
    assert (broken.change, broken.result.outcome, server.asked) == ("broke", "failed", [])
    (tmp_path / "words.py").write_text("PROMPTS = [")
    next(events)
    unknown = ended(events)
    assert (unknown.change, unknown.result.outcome) == ("", "unknown")
    words(tmp_path, "one", "two", "three")
    next(events)
    assert ended(events).result.outcome == "passed"
    golden.path.write_text("# agent-tt golden 1\nname = 3\n")
    assert next(events).goldens == ("asking",)
    assert isinstance(next(events), Unread)


def test_what_is_saved_twice_in_one_second_is_run_as_it_is_now(server, tmp_path, watching):
    golden = recorded(tmp_path, server.url, (Ends(),))
    source = tmp_path / "words.py"
    events = watching(golden)
    assert ended(events).result.outcome == "passed"
    py_compile.compile(str(source))  # as it is kept where Python was not told to keep nothing
    at, text = source.stat().st_mtime, source.read_text()
    source.write_text(text.replace("two", "owt"))
    os.utime(source, (at, at))
    next(events)
    assert ended(events).change == "broke"


def test_where_there_is_no_golden_that_is_said(tmp_path):
    with pytest.raises(NotFound):
        next(watch_goldens([tmp_path], threading.Event()))
