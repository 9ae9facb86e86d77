"""Which requests have a model's provider work something out, and change nothing: vectors, counts, checks, rankings.

They are no model calls in words, but a fork that may ask models may ask these. Told by the end of the path *and* the
shape of the body, as `recognise` does: somebody's own `/embeddings` that takes something else counts as writing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.providers.recognise import parsed_body, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.providers.shapes import Json

    Headers = Mapping[str, str] | Iterable[tuple[str, str]]

__all__ = ["only_measures"]

_VECTORS: Final = (frozenset({"input", "model"}), frozenset({"texts", "model"}))

_NEEDED: Final[Mapping[str, tuple[frozenset[str], ...]]] = {
    "embeddings": _VECTORS,  # OpenAI and those who speak like it, Azure, Voyage, Mistral
    "embed": _VECTORS,  # Cohere, Ollama
    "moderations": (frozenset({"input"}),),  # OpenAI, Mistral
    "count_tokens": (frozenset({"messages", "model"}),),  # Anthropic
    "input_tokens": (frozenset({"input"}),),  # OpenAI: /responses/input_tokens
    "rerank": (frozenset({"query", "documents", "model"}),),  # Cohere, Voyage, Jina
}
"""The last part of a path, and the fields of which a body must have all of one group."""

_HOSTED: Final = re.compile(r"/deployments/[^/]+/embeddings$")
"""Where the path names the model, so that the body need not: Azure."""

_GEMINI: Final = re.compile(r"/models/[^/:]+:(?:embedContent|batchEmbedContents|countTokens)$")
_GEMINI_FIELDS: Final = frozenset({"content", "contents", "requests", "generateContentRequest"})


def only_measures(method: str, url: str, headers: Headers, body: bytes | str | Json) -> bool:
    """Whether a request asks a provider for vectors, a count, a check or a ranking. Never raises, whatever the body is.

    Args:
        method: the request's method.
        url: its whole address, or just the path.
        headers: its headers.
        body: its body as sent, or as parsed JSON.
    """
    if method.upper() != "POST":
        return False
    path = path_of(url)
    groups = _NEEDED.get(path.rpartition("/")[2], ())
    is_gemini = _GEMINI.search(path) is not None
    if not groups and not is_gemini:
        return False
    asked = parsed_body(body, headers)
    if not isinstance(asked, dict):
        return False
    if is_gemini:
        return not _GEMINI_FIELDS.isdisjoint(asked)
    if _HOSTED.search(path) is not None and "input" in asked:
        return True
    return any(group <= asked.keys() for group in groups)
