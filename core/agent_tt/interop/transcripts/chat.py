"""Lists of messages in the forms of providers, alone or in the wrapping of benchmarks and exports.

| wrapping | the messages stand in |
|---|---|
| none | the value itself, or the lines of the file |
| an object, or a list of them (tau-bench, batches, training data, demonstrations) | `messages`, `traj` or `history` |
| an object with a list of them (tau2) | `simulations` |

What else such an object says of itself stands in the run's metadata, but for what is as long as a conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.providers.loose import dicts, items, mapping, text
from agent_tt.providers.reading import messages_of_turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["beside", "read_chat", "tell_turns"]

_LISTS: Final = "messages", "traj", "history"
_MANY: Final = "simulations"
_MOST_BESIDE: Final = 2_000
"""Characters of what an object says beside its messages, by key; what is longer is left to the file."""


def read_chat(document: Document) -> Sequence[Transcript] | None:
    """Read lists of messages as runs, one for each conversation; None where the document has another format."""
    stem = document.path.stem
    named = [(text(holder.get("id")) or text(holder.get("custom_id")), holder, turns)
             for holder, turns in _conversations(document)]  # fmt: skip
    if not named:
        return None
    alone, taken = len(named) == 1, set[str]()
    found: list[Transcript] = []
    for number, (own, holder, turns) in enumerate(named, 1):
        name = own if own and own not in taken else stem if alone else f"{stem}-{number}"
        taken.add(name)
        found.append(_transcript(name, holder, turns))
    return found


def _conversations(document: Document) -> Iterator[tuple[Mapping[str, Json], list[dict[str, Json]]]]:
    """Each list of messages, with the object around it; none at all where what is there is no conversation."""
    value: Json = document.value
    if value is None:
        value = [line.value for line in document.lines]
    if isinstance(value, dict):
        value = items(value[_MANY]) if _MANY in value else [value]
    turns = dicts(value)
    if turns and _are_turns(turns):
        yield {}, turns
        return
    for holder in turns:
        body = mapping(holder.get("body")) or holder  # a line of a batch wraps the request
        inner = next((dicts(body[key]) for key in _LISTS if isinstance(body.get(key), list)), [])
        if inner and _are_turns(inner):
            yield holder, inner


def _are_turns(turns: Sequence[dict[str, Json]]) -> bool:
    """Whether objects are a conversation: each has a role or is an item of one, and somebody says something."""
    return all("role" in turn or "type" in turn for turn in turns) and any(
        message.role in ("user", "assistant", "system") for turn in turns[:3] for message in messages_of_turn(turn)
    )


def _transcript(name: str, holder: Mapping[str, Json], turns: Sequence[dict[str, Json]]) -> Transcript:
    told = tell_turns(name, turns)
    told.metadata = beside(holder, *_LISTS)
    told.model = text(holder.get("model")) or text(mapping(holder.get("body")).get("model")) or None
    return told


def tell_turns(name: str, turns: Sequence[dict[str, Json]]) -> Transcript:
    """Tell a list of messages in the form of any provider."""
    teller = Teller(name, "messages")
    for turn in turns:
        teller.main.turn(turn, micros(turn.get("timestamp")))
    return teller.done()


def beside(holder: Mapping[str, Json], *without: str) -> dict[str, Wire]:
    """What an object says beside its conversation, as metadata of a run; what is long stays in the file."""
    said = {key: wire(value) for key, value in holder.items() if key not in without}
    return {key: value for key, value in said.items() if len(str(value)) <= _MOST_BESIDE}
