"""Requests that have a provider work something out, and change nothing, are told from those that write."""

from __future__ import annotations

import json

import pytest

from agent_tt.providers import only_measures

WORDS = {"model": "m", "input": "hi"}


@pytest.mark.parametrize(
    ("url", "body", "measures"),
    [
        ("https://api.openai.com/v1/embeddings", WORDS, True),
        ("https://x.openai.azure.com/openai/deployments/e/embeddings?api-version=1", {"input": "hi"}, True),
        ("https://api.cohere.com/v2/embed", {"model": "m", "texts": ["hi"]}, True),
        ("https://api.cohere.com/v2/rerank", {"model": "m", "query": "q", "documents": ["d"]}, True),
        ("https://api.openai.com/v1/moderations", {"input": "hi"}, True),
        ("https://api.anthropic.com/v1/messages/count_tokens", {"model": "m", "messages": []}, True),
        ("https://h/v1beta/models/e:embedContent", {"content": {"parts": []}}, True),
        ("https://h/v1beta/models/g:countTokens", {"contents": []}, True),
        ("https://shop/embeddings", {"vector": [1, 2], "id": 7}, False),
        ("https://shop/embeddings", [WORDS], False),
        ("https://api.openai.com/v1/files", WORDS, False),
        ("https://h/v1beta/models/g:tune", {"contents": []}, False),
    ],
)
def test_a_request_that_only_measures_is_told_by_path_and_body(url, body, measures):
    assert only_measures("POST", url, {}, json.dumps(body).encode()) is measures
    assert only_measures("POST", url, {}, body) is measures
    assert not only_measures("DELETE", url, {}, body)


def test_bodies_that_are_no_json_write():
    for body in (b"\xff\x00", b"", "{", None, b"[" * 100_000):
        assert not only_measures("POST", "https://api.openai.com/v1/embeddings", {}, body)
