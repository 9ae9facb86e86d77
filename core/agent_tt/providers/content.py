"""The parts of a message as text for people: what is not text becomes a short note of what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.loose import first_line, mapping, size, text

if TYPE_CHECKING:
    from agent_tt.providers.shapes import Json

__all__ = ["note", "text_of"]

_MOST_DEPTH: Final = 8
_KINDS: Final = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "input_file": "file",
    "output_image": "image",
}
_OMITTED: Final = frozenset(
    {"tool_use", "toolUse", "thinking", "redacted_thinking", "reasoning", "server_tool_use", "mcp_tool_use"}
)
"""Parts that are shown as calls or as reasoning, not as text."""


def text_of(content: Json, depth: int = 0) -> str:
    """What the content of a message says: a text, a list of parts, or anything else."""
    if isinstance(content, str):
        return content
    if content is None or depth > _MOST_DEPTH:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, (_part(part, depth) for part in content)))
    return _part(content, depth)


def _part(part: Json, depth: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return "" if part is None else str(part)
    kind = text(part.get("type"))
    if kind in _OMITTED:
        return ""
    for key in ("text", "refusal", "output_text"):
        if isinstance(part.get(key), str):
            return text(part[key])
    if kind.endswith("tool_result") or kind == "document":
        return text_of(part.get("content", part.get("document")), depth + 1)
    printed = [text(part.get(name)) for name in ("stdout", "stderr", "logs")]
    if any(printed):
        return "\n".join(filter(None, (said.rstrip("\n") for said in printed)))
    return note(kind or next(iter(part), "part"), part)


def note(kind: str, part: dict[str, Json]) -> str:
    """A part that is not text, in brackets: `[image image/png, 12 kB]`, `[file report.pdf]`, `[image https://…]`."""
    name = _KINDS.get(kind, kind.replace("_", " "))
    inner = mapping(part.get("source")) or mapping(part.get(kind)) or part
    facts = [text(inner.get(key)) for key in ("media_type", "mime_type", "mimeType", "format", "filename", "title")]
    where = [inner.get(key) for key in ("url", "image_url", "file_url", "file_uri", "fileUri", "file_id", "uri")]
    for place in where:
        given = text(place) or text(mapping(place).get("url"))
        if given.startswith("data:"):
            head, _, data = given.partition(",")
            facts += [head[5:].partition(";")[0], size(len(data))]
        elif given:
            facts.append(first_line(given, 120))
    data = text(inner.get("data")) or text(inner.get("file_data")) or text(inner.get("bytes"))
    if data:
        facts.append(size(len(data)))
    said = ", ".join(dict.fromkeys(fact for fact in facts if fact))
    return f"[{name} {said}]" if said else f"[{name}]"
