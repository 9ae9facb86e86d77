"""What is said of a request is no more than is known: of words that are gone, and of what came from the cache."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.core.memory_store import Did, MemorySource
from tests.core.querying.compacted_session import write_session

from agent_tt.context.reading import read_contexts
from agent_tt.context.shown import Gone
from agent_tt.sources import open_source
from agent_tt_tui.cli.options import Options
from agent_tt_tui.cli.root import root
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.context.chosen import chosen_lines
from agent_tt_tui.viewmodel.context.folds import rows_of
from agent_tt_tui.viewmodel.context.listing import row_pieces

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.context.shown import CallContext, Item, RunContexts

LONG = "Please fix the parser of dates as soon as you can. Leave the public names of the module alone."
GONE = "Leave the public names of the module alone."


def shortened() -> MemorySource:
    """A run whose second request has the user's words shortened, and lacks no item of the first."""
    source = MemorySource()
    system = {"role": "system", "content": "You mend programs."}
    asked = [{"messages": [system, {"role": "user", "content": text}]} for text in (LONG, LONG[:60])]
    source.add("run", [Did("ask", answer="Yes.", asked=each) for each in asked])
    return source


def text_of(contexts: RunContexts, context: CallContext, item: Item) -> str:
    lines = chosen_lines(contexts, context, item, None, 120, UNICODE)
    return "\n".join("".join(text for text, _ in (*line.lead, *line.pieces)) for line in lines)


def test_words_that_are_gone_with_a_shorter_form_are_in_no_summary_that_there_is_not() -> None:
    contexts = read_contexts(shortened(), "run")
    said = text_of(contexts, contexts.calls[1], contexts.calls[1].items[1])
    assert f"your words that are gone: {GONE}" in said
    assert "summary" not in said


def test_of_a_summary_it_is_said_that_words_are_not_in_it(tmp_path: Path) -> None:
    source = open_source(write_session(tmp_path / "compacted.jsonl"))
    contexts = read_contexts(source, source.runs()[0].id)
    found = next(context for context in contexts.calls if context.summary is not None)
    context = replace(found, gone=(Gone(GONE, found.cuts[0].item),))
    assert context.summary is not None
    assert f"gone, and not in the summary: {GONE}" in text_of(contexts, context, context.summary)


def test_the_command_names_words_that_are_gone_where_nothing_was_cut(monkeypatch) -> None:
    @contextmanager
    def source(_options: Options, *_names: str):
        yield shortened()

    monkeypatch.setattr(Options, "source", source)
    done = CliRunner(env={"COLUMNS": "160", "LC_ALL": "C.UTF-8"}).invoke(root, ["context", "run", "2"])
    assert done.exit_code == 0, done.output
    assert f"your words that are gone: {GONE}" in done.output
    assert "CUT" not in done.output


@pytest.mark.parametrize(
    ("more", "unrecorded", "is_said"),
    [(-1, 0, False), (0, 0, True), (50, 0, True), (1_999, 2_000, False), (2_000, 2_000, True)],
)
def test_what_is_the_same_came_from_the_cache_only_where_all_of_it_did(
    *, more: int, unrecorded: int, is_said: bool
) -> None:
    calls = read_contexts(shortened(), "run").calls
    context = calls[1]
    assert context.same == 1
    cached = sum(item.tokens for item in context.items[: context.same]) + more
    context = replace(context, cached=cached, rest=unrecorded)
    rule = next(row for row in rows_of(context, 50, (), by_size=False) if row.is_rule)
    said = "".join(text for text, _ in row_pieces(rule, context, 120, UNICODE))
    assert "the same as in the last call" in said
    assert ("from the cache" in said) is is_said
