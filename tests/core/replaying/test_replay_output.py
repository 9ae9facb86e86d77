"""What an agent prints and the state that it ends in, recorded by real processes and compared by real replays."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import termios
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.agent_folder import AgentFolder
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.model import AgentCode, NewRun, Output
from agent_tt.recording.runs.output import MOST, OutputTap
from agent_tt.replaying.findings.changed_lines import changed_lines
from agent_tt.store import copy_run, open_store

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

TOOL = """
import os, subprocess, sys
import agent_tt

@agent_tt.tool(effect="read")
def look(word):
    return word.upper()

"""


class Programs(AgentFolder):
    """A folder whose programs are recorded from outside, as `agent-tt record -- python FILE` does."""

    def record(self, body: str, name: str = "program", **environment: str) -> subprocess.CompletedProcess[str]:
        self.put(f"{name}.py", TOOL + body)
        done = subprocess.run(
            [sys.executable, "-m", "agent_tt_tui", "record", "--name", name, "--", sys.executable, f"{name}.py"],
            cwd=self.folder,
            env={**os.environ, "AGENT_TT_STORE": str(self.store_path), **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert "recorded" in done.stderr, done.stderr
        return done

    def change(self, *words: tuple[str, str], name: str = "program") -> None:
        file = self.folder / f"{name}.py"
        source = file.read_text()
        for old, new in words:
            assert old in source
            source = source.replace(old, new)
        file.write_text(source)

    def output(self, run: str = "latest") -> Output | None:
        with closing(open_store(self.store_path, read_only=True)) as store:
            return store.output(store.run(run).id)


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


EVERY_WAY = """
import atexit, threading
print("first", look("a"))
sys.stdout.write("no end of line, ")
sys.stdout.buffer.write(b"bytes\\n")
sys.stdout.writelines(["two\\n", "lines\\n"])
print("to the errors", file=sys.stderr)
os.write(1, b"past Python\\n")
subprocess_free = sys.__stdout__.write("dunder\\n")
atexit.register(print, "at the end")
thread = threading.Thread(target=print, args=("in a thread",))
thread.start()
thread.join()
print("done \\N{SNOWMAN}")
"""


def test_all_that_python_prints_is_kept_and_compared(programs: Programs):
    done = programs.record(EVERY_WAY, PYTHONIOENCODING="utf-8")
    kept = programs.output()
    assert kept is not None
    assert kept.is_whole
    assert kept.text.splitlines() == [
        "first A",
        "no end of line, bytes",
        "two",
        "lines",
        "dunder",
        "in a thread",
        "done \N{SNOWMAN}",
        "at the end",
    ]
    assert "past Python" in done.stdout
    report = programs.replay()
    assert (report.verdict, report.output_compared) == ("as_recorded", True), report.divergences


TOOLS_THAT_PRINT = """
import asyncio, threading
@agent_tt.tool(effect="write")
def loud(x):
    print("inside", x)
    sys.stdout.flush()
    def helper():
        print("a thread inside")
    thread = threading.Thread(target=helper)
    thread.start()
    thread.join()
    look("nested")
    return x
@agent_tt.tool(effect="read")
async def patient(x):
    await asyncio.sleep(0)
    print("awaited", x)
    return x
@agent_tt.tool(effect="read")
def pieces(n):
    for i in range(n):
        print("piece", i)
        yield i
@agent_tt.llm(model="m")
def think(prompt):
    print("thinking", end="")
    return prompt
print("before, ", end="")
loud(1)
print("between")
print(asyncio.run(patient(2)), list(pieces(2)), think("p"))
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_a_tool_prints_is_no_part_of_what_the_agent_printed(programs: Programs, unbuffered: str):
    plain = "before, inside 1\na thread inside\nbetween\nawaited 2\npiece 0\npiece 1\nthinking2 [0, 1] p\n"
    assert programs.record(TOOLS_THAT_PRINT, PYTHONUNBUFFERED=unbuffered).stdout == plain
    kept = programs.output()
    assert kept is not None
    assert kept.text == "before, between\n2 [0, 1] p\n"
    report = programs.replay()
    assert (report.verdict, report.output_compared) == ("as_recorded", True), report.divergences


@pytest.mark.cold
def test_a_program_finds_its_streams_as_without_a_recording(programs: Programs):
    body = """
out = sys.stdout
print(type(out).__name__, type(out.buffer).__name__, out is sys.__stdout__, out.isatty(), out.fileno(), out.encoding)
print(out.line_buffering, out.write_through, out.name, out.mode, out.errors, os.isatty(1))
look("a")
"""
    recorded = programs.record(body, "streams").stdout
    file = programs.folder / "streams.py"
    assert recorded == programs.run(str(file))


@pytest.mark.parametrize(
    ("change", "path", "old", "new"),
    [
        (('"one"', '"one!"'), "line 1", "one", "one!"),
        (('print("two")\n', ""), "line 2", "two", None),
        (('print("two")', 'print("two")\nprint("and a half")'), "line 3", None, "and a half"),
        (('print("two")', 'print("2")\nprint("and a half")'), "line 2", "two", "2\nand a half"),
    ],
)
def test_another_output_is_a_divergence_that_shows_the_line(
    programs: Programs, change: tuple[str, str], path: str, old: str | None, new: str | None
):
    programs.record('look("x")\nprint("one")\nprint("two")\nprint("three")\n')
    programs.change(change)
    report = programs.replay()
    assert report.verdict == "diverged"
    (found,) = report.divergences
    assert (found.kind, report.failure) == ("changed output", found)
    assert [(part.path, part.old, part.new) for part in found.changes] == [(path, old, new)]
    assert report.agent.as_recorded, "it ended as it did"


def test_output_that_differs_each_time_is_a_divergence_and_said_to_be_times_or_ids(programs: Programs):
    programs.record('import uuid\nlook("x")\nprint("request", uuid.uuid4())\n')
    (found,) = programs.replay().divergences
    assert found.kind == "changed output"
    assert "only ids or times differ" in found.hint


def test_of_a_long_output_the_ends_and_a_digest_are_kept(programs: Programs):
    line = "a line of forty characters for the test\n"
    count = MOST // len(line) + 3_000
    body = f"look('x')\nfor number in range({count}):\n    print('{line[:-1]}' if number != WHICH else 'another')\n"
    programs.record(body.replace("WHICH", "-1"))
    kept = programs.output()
    assert kept is not None
    assert (kept.size, kept.is_whole) == (count * len(line), False)
    assert len(kept.text) == len(kept.tail) == MOST // 2
    assert programs.replay().verdict == "as_recorded"
    programs.change(("!= -1", f"!= {count // 2}"))
    (found,) = programs.replay().divergences
    assert [part.path for part in found.changes] == ["between beginning and end"]
    programs.change((f"!= {count // 2}", "!= 2"))
    (found,) = programs.replay().divergences
    assert [(part.path, part.new) for part in found.changes] == [("line 3", "another")]
    programs.change(("!= 2 ", f"!= {count - 1} "))
    (found,) = programs.replay().divergences
    (part,) = found.changes
    assert (part.path, part.new) == ("line 1 from the end", "another")


def test_secrets_that_are_printed_are_not_kept_and_another_one_is_no_difference(programs: Programs):
    body = 'look("x")\nprint("the key is sk-proj-" + KEY)\n'
    first, second = "Zq8mN4vTx2LpKw7RbYc9" * 2, "Hd3sJ6uFgA1eQo5iPnMx" * 2
    programs.record(body.replace("KEY", repr(first)))
    kept = programs.output()
    assert kept is not None
    assert "the key is" in kept.text
    assert first not in kept.text
    assert first.encode() not in programs.store_path.read_bytes()
    programs.change((first, second))
    report = programs.replay()
    assert all(second not in str(part) for found in report.divergences for part in found.changes)


def test_where_nothing_was_kept_nothing_is_compared(programs: Programs):
    programs.record("look('x')\nprint('killed')\nsys.stdout.flush()\nos.kill(os.getpid(), 9)\n")
    assert programs.output() is None
    programs.change(("os.kill(os.getpid(), 9)\n", ""), ("killed", "something else"))
    report = programs.replay()
    assert not report.output_compared
    assert "changed output" not in {found.kind for found in report.divergences}
    assert report.verdict == "reserved"
    assert [note.kind for note in report.reservations] == ["end not recorded"]


BLOCK = """
import agent_tt

def main(state=None):
    state = state or {"said": []}
    print("before")
    with agent_tt.record("block", state=state) as run:
        print("inside", end="")
        with run.step("say"):
            state["said"].append("hello")
        print("!")
    print("after")

if __name__ == "__main__":
    main()
"""


def test_of_a_block_only_what_is_printed_inside_it_counts(programs: Programs):
    programs.write(BLOCK)
    programs.run()
    kept = programs.output()
    assert kept is not None
    assert kept.text == "inside!\n"
    programs.write(BLOCK.replace("before", "earlier").replace("after", "later"))
    report = programs.replay()
    assert (report.output_compared, report.divergences) == (True, ())
    programs.write(BLOCK.replace('"inside"', '"within"'))
    assert [found.kind for found in programs.replay().divergences] == ["changed output"]


def test_another_last_state_is_a_divergence_that_shows_the_path(programs: Programs):
    programs.write(BLOCK)
    programs.run()
    programs.write(BLOCK.replace('"hello"', '"bye"'))
    report = programs.replay()
    (found,) = report.divergences
    assert (report.verdict, report.state_compared, found.kind, found.step) == ("diverged", True, "changed state", 1)
    assert [(part.path, part.old, part.new) for part in found.changes] == [("said[0]", "hello", "bye")]
    shape = report.to_json()
    assert (shape["state_compared"], shape["failure"]) == (True, 0)


def test_another_state_on_the_way_to_the_same_one_is_a_reservation(programs: Programs):
    two = BLOCK.replace(
        'print("!")',
        'with run.step("more"):\n            state["said"][:] = ["x"]\n        look(1)\n        print("!")',
    ).replace("def main", "@agent_tt.tool\ndef look(n): return n\n\ndef main")
    programs.write(two)
    programs.run()
    programs.write(two.replace('"hello"', '"bye"'))
    report = programs.replay()
    assert report.verdict == "reserved", report.divergences
    assert [note.kind for note in report.reservations] == ["state differs"]


def test_a_fork_keeps_what_its_own_process_printed(programs: Programs):
    programs.write(BLOCK)
    programs.run()
    with agent_tt.fork("block", 0, {}, store=programs.store_path) as fork:
        fork.wait(PATIENCE_SECONDS)
    kept = programs.output("block/fork-1")
    assert kept is not None
    assert kept.text == "inside!\n"
    report = programs.replay("block/fork-1")
    assert (report.output_compared, report.divergences) == (True, ())


# ---------------------------------------------------------------- the tap itself


class _Broken(io.StringIO):
    def write(self, text: str, /) -> int:
        raise OSError(5, "no")


class _Slotted:
    __slots__ = ("written",)

    def __init__(self) -> None:
        self.written = ""

    def write(self, text: str) -> int:
        self.written += text
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        return False


def tapped(monkeypatch: pytest.MonkeyPatch, stream: Any, *texts: str) -> Output | None:
    monkeypatch.setattr(sys, "stdout", stream)
    tap = OutputTap()
    tap.open()
    for text in texts:
        print(text)
    return tap.close()


def test_a_stream_without_a_buffer_is_looked_at_itself(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    kept = tapped(monkeypatch, stream, "one", "two")
    assert kept is not None
    assert (kept.text, stream.getvalue()) == ("one\ntwo\n", "one\ntwo\n")
    assert "write" not in vars(stream)


def test_a_stream_that_cannot_be_looked_at_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    stream = _Slotted()
    assert tapped(monkeypatch, stream, "one") is None
    assert stream.written == "one\n"
    assert tapped(monkeypatch, None) is None


def test_of_an_output_that_cannot_be_read_as_a_whole_nothing_is_said(monkeypatch: pytest.MonkeyPatch):
    taken: list[object] = []
    stream = io.StringIO()
    stream.write = taken.append  # type: ignore[assignment, method-assign]  # a stream that takes any object
    monkeypatch.setattr(sys, "stdout", stream)
    tap = OutputTap()
    tap.open()
    stream.write("one")
    stream.write(None)  # type: ignore[arg-type]
    stream.write("two")
    assert tap.close() is None
    assert taken == ["one", None, "two"]


def test_a_stream_that_fails_fails_as_ever(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(OSError, match="no"):
        tapped(monkeypatch, _Broken(), "one")


def test_what_waits_in_a_stream_that_was_put_aside_meanwhile_counts(monkeypatch: pytest.MonkeyPatch):
    below = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(below, encoding="utf-8"))
    print("before")
    tap = OutputTap()
    tap.open()
    print("waits")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    kept = tap.close()
    assert kept is not None
    assert (kept.text, below.getvalue()) == ("waits\n", b"before\nwaits\n")


def test_two_taps_in_any_order_of_ending_keep_their_own(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    outer, inner = OutputTap(), OutputTap()
    outer.open()
    print("a")
    inner.open()
    print("b")
    first = outer.close()
    print("c")
    second = inner.close()
    print("d")
    assert first is not None
    assert second is not None
    assert (first.text, second.text, stream.getvalue()) == ("a\nb\n", "b\nc\n", "a\nb\nc\nd\n")


def test_what_is_printed_inside_a_call_goes_past_what_is_kept_and_is_flushed_no_sooner(monkeypatch: pytest.MonkeyPatch):
    below = io.BytesIO()
    buffer = io.BufferedWriter(below)  # type: ignore[type-var]  # the checker wants a raw stream
    stream = io.TextIOWrapper(buffer, encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    inside: list[bool] = []
    outer, inner = OutputTap(), OutputTap()
    outer.open(lambda: bool(inside))
    inner.open()
    print("one")
    inside.append(True)
    print("two")
    inside.clear()
    print("three")
    assert below.getvalue() == b""
    second, first = inner.close(), outer.close()
    assert first is not None
    assert second is not None
    assert (first.text, second.text) == ("one\nthree\n", "one\ntwo\nthree\n")
    stream.flush()
    assert below.getvalue() == b"one\ntwo\nthree\n"
    assert not {"write", "flush"} & (vars(stream).keys() | vars(buffer).keys())


def test_a_line_that_a_tool_prints_on_a_terminal_is_there_at_once(monkeypatch: pytest.MonkeyPatch):
    below = io.BytesIO()
    buffer = io.BufferedWriter(below)  # type: ignore[type-var]  # as above
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="utf-8", line_buffering=True))
    tap = OutputTap()
    tap.open(lambda: True)
    sys.stdout.write("half")
    assert below.getvalue() == b""
    print(" a line")
    assert below.getvalue() == b"half a line\n"
    tap.close()


def test_tools_that_print_in_threads_at_once_leave_the_stream_as_it_was(monkeypatch: pytest.MonkeyPatch):
    below = io.BytesIO()
    stream = io.TextIOWrapper(io.BufferedWriter(below), encoding="utf-8")  # type: ignore[type-var]  # as above
    monkeypatch.setattr(sys, "stdout", stream)
    tap, inside = OutputTap(), threading.local()
    both = threading.Barrier(2)

    class Slow(str):
        """A text that another thread prints beside."""

        __slots__ = ()

    write = stream.write

    def slowly(text: str) -> int:
        if isinstance(text, Slow):
            both.wait(PATIENCE_SECONDS)
        return write(text)

    stream.write = slowly  # type: ignore[method-assign]
    tap.open(lambda: getattr(inside, "a_tool", False))

    def tool() -> None:
        inside.a_tool = True
        for _ in range(20):
            stream.write(Slow("x"))

    threads = [threading.Thread(target=tool) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("after", flush=True)
    assert below.getvalue() == b"x" * 40 + b"after\n"
    kept = tap.close()
    assert kept is not None
    assert kept.text == "after\n"


def test_in_a_stream_without_a_buffer_too(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    tap = OutputTap()
    tap.open(lambda: True)
    print("inside")
    kept = tap.close()
    assert kept is not None
    assert (kept.text, stream.getvalue()) == ("", "inside\n")


@pytest.mark.parametrize("size", [1, 1000, 70_000, 300_000])
def test_how_it_is_written_makes_no_difference(monkeypatch: pytest.MonkeyPatch, size: int):
    text = "".join(f"{number} of many lines\n" for number in range(70_000)) + "x" * 1_200_000

    def printed(pieces: list[str]) -> Output | None:
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stdout", stream)
        tap = OutputTap()
        tap.open()
        for piece in pieces:
            sys.stdout.write(piece)
        return tap.close()

    step = size if size > 1 else 997
    assert printed([text]) == printed([text[at : at + step] for at in range(0, len(text), step)])


def output(text: str) -> Output:
    return Output(len(text), text, "", "")


def test_lines_are_aligned_and_the_rest_is_left_out():
    old = output("".join(f"{number}\n" for number in range(100)))
    new = output("".join(f"{number}\n" for number in range(100) if number != 40).replace("70\n", "seventy\n"))
    assert [(part.path, part.old, part.new) for part in changed_lines(old, new)] == [
        ("line 41", "40", None),
        ("line 71", "70", "seventy"),
    ]


def test_the_newest_output_of_a_run_holds_and_is_no_note_and_is_copied_with_it(tmp_path: Path):
    with closing(open_store(tmp_path / "a.db", create=True)) as store:
        writer = store.begin_run(NewRun("run", AgentCode()), {})
        writer.finish("succeeded")
        assert store.output(writer.run_id) is None
        store.keep_output(writer.run_id, output("first"))
        store.keep_output(writer.run_id, Output(9, "key sk-proj-" + "Zq8mN4vTx2LpKw7RbYc9" * 2, "", "00", 80, 24))
        kept = store.output(writer.run_id)
        assert kept is not None
        assert "Zq8mN4vT" not in kept.text
        assert (kept.columns, kept.lines, kept.digest) == (80, 24, "00")
        assert store.notes(writer.run_id) == []
        assert store.verify() == []
        with closing(open_store(tmp_path / "b.db", create=True)) as other:
            copy_run(store, other, writer.run_id)
            (copied,) = other.runs()
            assert other.output(copied.id) == kept


SCREEN = """
import os, sys
import agent_tt

@agent_tt.tool
def look(n): return n

with agent_tt.record("screen") as run:
    look(1)
    print(sys.stdout.isatty(), *(os.get_terminal_size() if sys.stdout.isatty() else ()))
"""


def test_a_program_that_was_recorded_on_a_terminal_finds_one_of_that_size_in_its_replay(programs: Programs):
    programs.write(SCREEN)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (33, 101))
    done = subprocess.Popen(
        [sys.executable, "agent.py"],
        cwd=programs.folder,
        env={**os.environ, "AGENT_TT_STORE": str(programs.store_path)},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
    )
    assert done.wait(PATIENCE_SECONDS) == 0
    os.close(theirs)
    os.close(ours)
    kept = programs.output()
    assert kept is not None
    assert (kept.text, kept.columns, kept.lines) == ("True 101 33\n", 101, 33)
    report = programs.replay()
    assert (report.verdict, report.output) == ("as_recorded", "True 101 33\n"), report.divergences
