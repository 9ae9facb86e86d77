"""Recorded runs of other programs as contexts: whatever they hold, the laws of tiles and tokens are kept."""

from __future__ import annotations

import pytest
from tests.recordings import MISSING, recordings

from agent_tt.context.reading import read_contexts
from agent_tt.sources import open_source

KINDS = ("claude_code", "claude_agent_sdk_stream", "openhands", "swe_agent", "chat", "vcr", "inspect")
MOST_RUNS = 3


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_is_parted_wholly_and_its_tokens_add_up(kind: str) -> None:
    files = [
        path for path in sorted(recordings(kind).glob("*")) if path.suffix in (".json", ".jsonl", ".yaml", ".traj")
    ]
    if not files:
        pytest.skip(MISSING)
    found = 0
    for path in files:
        source = open_source(path)
        for run in source.runs(limit=MOST_RUNS):
            for context in read_contexts(source, run.id).calls:
                found += 1
                assert context.items or context.why_empty
                assert sum(share.tokens for share in context.shares) == context.tokens
                assert sum(item.tokens for item in context.items) + context.rest == context.tokens
                for item in context.items:
                    text = item.part.text
                    assert "".join(text[tile.start : tile.end] for tile in item.tiles) == text
    assert found
