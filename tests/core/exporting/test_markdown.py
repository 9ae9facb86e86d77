"""Markdown of a run: what it says, and that nothing recorded takes effect in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.core.memory_store import Did, MemorySource

from agent_tt import samples
from agent_tt.exporting.markdown import Markdown, code, fence
from agent_tt.exporting.redacted import exported
from agent_tt.model import ErrorInfo
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource

HOSTILE = (
    "```\n</details><script>alert(1)</script> ````` [a](http://x.test) @somebody #12 `` \x1b[31m \u202e ~~~\n"
    "# a heading <img src=x onerror=alert(2)>"
)


def markdown(source: RunSource, name: str, folder: Path, step: int | None = None) -> str:
    path = folder / "run.md"
    path.unlink(missing_ok=True)
    Markdown().write(exported(source, [(source.run(name), step)]), path)
    return path.read_text(encoding="utf-8")


def test_markdown_tells_the_step_that_failed_its_diff_who_wrote_it_and_the_command(tmp_path: Path) -> None:
    samples.ensure("flaky-checkout", tmp_path / "runs.db")
    source = open_store(tmp_path / "runs.db")
    text = markdown(source, "flaky-checkout", tmp_path)
    source.close()
    assert text.startswith("## `flaky-checkout`: succeeded\n")
    assert "4,672 tok" in text
    assert "### Step 7 of 10: `charge card`" in text
    assert "PaymentError: 402 insufficient_funds" in text
    diff = text.partition("```diff\n")[2].partition("```")[0]
    assert '+ payment.refusals[0]: "insufficient_funds"' in diff
    who = text.partition("#### Who wrote it")[2]
    assert "  - step 7, " in who
    assert "agent-tt open flaky-checkout --at 7\n" in who


def test_markdown_of_a_named_step_says_what_changed_in_it_and_of_the_input_the_state(tmp_path: Path) -> None:
    source = MemorySource()
    source.add("desk", [Did("a", state={"n": 1, "old": "x"}), Did("b", state={"n": 2}), Did("c", state={"n": 2})])
    assert '- n: 1\n+ n: 2\n- old: "x"\n' in markdown(source, "desk", tmp_path, 2)
    assert "Nothing in the state.\n" in markdown(source, "desk", tmp_path, 3)
    assert "### The input\n" in markdown(source, "desk", tmp_path, 0)
    assert "--store memory.db" in markdown(source, "desk", tmp_path, 0)


def test_markdown_names_the_steps_that_may_have_changed_it_as_well(tmp_path: Path) -> None:
    source = MemorySource()
    lost = Did("lost", is_kept=False)
    source.add("desk", [Did("a", state={"n": 1}), lost, lost, Did("d", state={"n": 2}), lost, Did("f", state={"n": 2})])
    assert "Or the steps before it whose states were not kept: 2 to 3.\n" in markdown(source, "desk", tmp_path, 4)
    assert "not kept" not in markdown(source, "desk", tmp_path, 1)
    assert "not kept" not in markdown(source, "desk", tmp_path, 6)  # nothing was changed
    assert "The state after this step was not kept.\n" in markdown(source, "desk", tmp_path, 5)


def test_nothing_recorded_takes_effect_in_markdown(tmp_path: Path) -> None:
    source = MemorySource()
    error = ErrorInfo(f"builtins:{HOSTILE}", HOSTILE, f"Traceback\n{HOSTILE}")
    did = Did(
        name=HOSTILE, tool=HOSTILE, args={HOSTILE: HOSTILE}, result=[HOSTILE] * 20, error=error, status="error",
        decision=HOSTILE, agent=HOSTILE, state={HOSTILE: HOSTILE},
    )  # fmt: skip
    source.add("desk", [Did("a", state={}), did])
    text = markdown(source, "desk", tmp_path, 2)
    assert [character for character in text if not character.isprintable() and character != "\n"] == []
    tokens = MarkdownIt("commonmark", {"html": True}).enable("linkify").parse(text)
    raw = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert {line.partition("<summary>")[0] for line in raw} <= {"<details>", "</details>"}
    inline = [child for token in tokens for child in token.children or []]
    assert {child.type for child in inline} <= {"text", "code_inline", "softbreak", "strong_open", "strong_close"}
    assert not any("somebody" in child.content for child in inline if child.type == "text")
    assert [token.content for token in tokens if token.type == "heading_open"] == [""] * 5


@given(st.text(alphabet="`~ \nab<\\", max_size=40))
def test_a_fence_and_a_span_hold_any_text(text: str) -> None:
    parse = MarkdownIt("commonmark").parse
    fenced = parse("\n".join(fence(text)))
    assert [token.type for token in fenced] == ["fence"]
    assert fenced[0].content == f"{text}\n"
    spans = parse(f"- {code(text)}")[3].children or []
    assert [span.type for span in spans] == ["code_inline"]


def test_a_long_text_says_how_much_of_it_is_left_out() -> None:
    assert list(fence("x" * 5_000))[-2] == "… 1,000 more characters"


@pytest.mark.parametrize("name", ["plain", "two words", "new\nline"])
def test_the_command_names_the_run_so_that_a_shell_understands_it(name: str, tmp_path: Path) -> None:
    source = MemorySource()
    source.add(name, [Did("a")])
    command = markdown(source, name, tmp_path).partition("```sh\n")[2].partition("\n```")[0]
    quoted = {"plain": "plain", "two words": "'two words'"}.get(name)
    assert quoted is None or command.startswith(f"agent-tt open {quoted} --at 1")
