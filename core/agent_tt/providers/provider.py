"""The base class of model providers: each knows one wire format, and what it means.

A package adds one by an entry point in the group `agent_tt.providers`; the ones beside this file come in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import quote

from agent_tt._dataclass import dataclass
from agent_tt._pattern import lazy_re
from agent_tt.providers.loose import dicts, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Json, Message, ModelAnswer, ModelCall, Reply

__all__ = ["CLOUD_PATHS", "Provider", "Request"]

_HOSTED: Final = lazy_re(r"/(?:serving-endpoints|endpoints|deployments)/([^/]+)/")
"""Where a path names the model: Databricks, SageMaker, Azure."""

_CLOUD: Final = lazy_re(
    r"/models/([^/:]+):(?:(?P<stream>streamR)|r)awPredict$|/model/([^/]+)/invoke(?P<pieces>-with-response-stream)?$"
)
"""Where a cloud names the model and hands on what its maker takes: Vertex, Bedrock."""

CLOUD_PATHS: Final = ("awPredict", "/invoke", "/invoke-with-response-stream")
"""What such paths end in."""

_COUNTING: Final = "count-tokens"
"""In the place of a model on Vertex: a question for a number of tokens, which no model answers."""

_MODEL_IN_ADDRESS: Final = lazy_re(r"(/(?:models|model|deployments)/)([^/:?]+)")


@dataclass(frozen=True, slots=True)
class Request:
    """A request that may ask a model, as providers see it. Hosts say nothing: proxies and models at home speak alike.

    Attributes:
        path: the path of its address, unquoted and without a slash at the end.
        body: its body; over a WebSocket a message.
        query: the parameters of its address, by name.
    """

    path: str
    body: dict[str, Json]
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def last(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The `messages` of the body; none where it has no such list."""
        return dicts(self.body.get("messages"))

    @property
    def hosted_model(self) -> str:
        """The model that a host names in the path; empty where none does."""
        found = _HOSTED.search(self.path)
        return "" if found is None else found[1]

    @property
    def cloud(self) -> tuple[str, bool] | None:
        """The model, and whether its answer comes in pieces, where a cloud hands on what its maker takes."""
        found = _CLOUD.search(self.path)
        if found is None or found[1] == _COUNTING:
            return None
        return found[1] or found[3], bool(found["stream"] or found["pieces"])


class Provider(ABC):
    """One provider's wire format: how its requests are recognised, read and changed, and its answers read and written.

    A provider is made once, without arguments, and keeps nothing between calls. `read_request` and `read_answer` are
    enough to show what was said and counted; each other method has a default, which says that the format does not have
    that. What a method is given was sent by anybody: JSON that may be anything (`agent_tt.providers.loose` helps). One
    that raises has nothing to say. `docs/contributing.md` has one of ten lines.
    """

    PATHS: ClassVar[tuple[str, ...]]
    """What the paths of its requests end in: `("/v2/chat",)`. Only bodies sent there are read."""

    MEASURES: ClassVar[Mapping[str, tuple[frozenset[str], ...]]] = {}
    """Requests that only have something worked out (vectors, counts, checks, rankings) and change nothing: by what
    their paths end in (`"/embeddings"`) the groups of fields of which a body must have all of one."""

    STREAM_END: ClassVar[str] = ""
    """What stands behind the last event of a stream."""

    ENDS: ClassVar[frozenset[str]] = frozenset()
    """Over a WebSocket: the `type` of the events that end an answer."""

    TALKS: ClassVar[frozenset[str]] = frozenset()
    """Over a WebSocket: the `type` of messages that ask no model and change nothing but the conversation with one."""

    GATHERED: ClassVar[frozenset[str]] = frozenset()
    """Over a WebSocket: the `type` of messages that belong to the next one that asks a model, which has them as the
    list `said` of its body."""

    # ------------------------------------------------------------ reading

    @abstractmethod
    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request; None where it is not in this format. The first provider that reads a request has it.

        `ModelCall.api` is left empty: it becomes the name of the entry point.
        """

    def read_message(self, request: Request) -> ModelCall | None:
        """Read a message over a WebSocket; None where it does not ask a model, or is not in this format.

        `PATHS` holds for its address, too. Its answer are the events up to one of `ENDS`.
        """
        del request
        return None

    @abstractmethod
    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: `pieces.whole`, or of a stream its `pieces.events`, put together.

        Its cost is worked out from its model, tokens and tier where it does not say `cost_usd` itself.
        """

    def read_turn(self, turn: dict[str, Json]) -> Sequence[Message] | None:
        """Read one turn of a conversation of a form that no other provider has; None for any other."""
        del turn
        return None

    def measures(self, request: Request) -> bool:
        """Whether a request only computes something, and changes nothing; see `MEASURES`."""
        ends = [groups for end, groups in self.MEASURES.items() if request.path.endswith(end)]
        return any(group <= request.body.keys() for groups in ends for group in groups)

    # ------------------------------------------------------------ changing requests

    def with_system(self, body: Mapping[str, Json], prompt: str) -> dict[str, Json] | None:
        """Give a request another system prompt; None where the format has none."""
        del body, prompt
        return None

    def with_model(self, url: str, body: Mapping[str, Json], model: str) -> tuple[str, dict[str, Json]]:
        """Send a request to another model: give its address, which may name the model, and its body."""
        named = _MODEL_IN_ADDRESS.sub(lambda found: found[1] + quote(model, safe="@.-_"), url)
        return named, {**body, "model": model} if "model" in body or named == url else dict(body)

    def parameter(self, body: Mapping[str, Json], name: str) -> tuple[str, ...]:
        """Say where in a body the parameter stands that people call `name` (`temperature`, `max_tokens`)."""
        del body
        return (name,)

    def with_parameter(self, body: Mapping[str, Json], name: str, value: Json) -> dict[str, Json]:
        """Give a request another value of a parameter; null leaves the parameter out.

        Args:
            body: the request.
            name: as people or the format say it, or the way to it: `reasoning.effort`.
            value: the value.
        """
        *holders, last = name.split(".") if "." in name else self.parameter(body, name)
        changed = dict(body)
        holder = changed
        for key in holders:
            inner: dict[str, Json] = dict(mapping(holder.get(key)))
            holder[key] = inner
            holder = inner
        if value is None:
            holder.pop(last, None)
        else:
            holder[last] = value
        return changed

    def with_conversation(
        self, body: Mapping[str, Json], before: Mapping[str, Json], after: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Give a request another conversation.

        Args:
            body: the request.
            before: its conversation, as `ModelCall.conversation` has it.
            after: the same, changed; a key that is gone is left out.
        """
        changed = dict(body)
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) == after.get(key):
                continue
            if key in after:
                changed[key] = after[key]
            else:
                changed.pop(key, None)
        return changed

    # ------------------------------------------------------------ writing answers

    def write_answer(
        self, call: ModelCall, recorded: dict[str, Json], answer: ModelAnswer, reply: Reply
    ) -> dict[str, Json] | None:
        """Write an answer in one piece that a person changed; None where the format is only read.

        Args:
            call: the request.
            recorded: the answer as it came, of which what was counted and named stays; empty where it was a stream.
            answer: what was read of it.
            reply: what the model is to have said.
        """
        del call, recorded, answer, reply
        return None

    def write_stream(self, call: ModelCall, answer: ModelAnswer, reply: Reply) -> Sequence[dict[str, Json]] | None:
        """Write the events of a streamed answer that a person changed; None where streams are only read.

        An event is named by its `type`, where it has one. Args as of `write_answer`.
        """
        whole = self.write_answer(call, {}, answer, reply)
        return None if whole is None else [whole]
