"""The way back from a value, as data: places to go to, each with the reason why it is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.sameness import identical

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["Link", "LinkKind", "Source", "Trail"]

LinkKind: TypeAlias = Literal[
    "value", "result", "error", "answer", "argument", "request", "computed", "input", "edit", "candidates", "code",
    "unknown",
]  # fmt: skip
"""A value of the state; a tool's result, or its error; a model's answer; an argument; something in a model's request
that no recorded call brought; a figure worked out of what calls brought; the input; a person's edit; one of several
places, of which nobody knows which; the agent's own code; not known, as not all could be looked at."""


@dataclass(frozen=True, slots=True)
class Source:
    """Another place that a link may have come from as well: it holds the same, but is further away.

    Attributes:
        step: its step; 0 is the input.
        call: number of the call in it.
        name: the tool's name.
        path: where in its result, as people write it.
    """

    step: int
    call: int | None
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Link:
    """One place on the way back.

    Attributes:
        kind: what it is.
        step: the step to go to; 0 is the input.
        call: number of the call in it; None for a value of the state.
        name: the tool's or the model's name; empty for others.
        path: where in the state, result or arguments, as people write it.
        value: what is there.
        why: what leads from the link before to this one, in words.
        shared: the text that both have, where that is not all of it.
        others: further places that hold it too, nearest first; of `candidates` all that it may have come from; of a
            value of the state the steps that were open on it as well, and may have written it; of an `argument` where
            the call's other arguments came from.
    """

    kind: LinkKind
    step: int
    call: int | None
    name: str
    path: str
    value: Wire
    why: str
    shared: str = ""
    others: tuple[Source, ...] = ()

    def to_json(self) -> dict[str, Wire]:
        """`{step, call, kind, name, path, value, why, shared, others: [{step, call, name, path}]}`."""
        return {
            "step": self.step,
            "call": self.call,
            "kind": self.kind,
            "name": self.name,
            "path": self.path,
            "value": self.value,
            "why": self.why,
            "shared": self.shared,
            "others": [
                {"step": other.step, "call": other.call, "name": other.name, "path": other.path}
                for other in self.others
            ],
        }


@dataclass(frozen=True, slots=True)
class Trail:
    """The way back, from the value to what it began with.

    Attributes:
        links: the places, the value first.
        ends: why it goes no further, in words.
    """

    links: tuple[Link, ...]
    ends: str = ""

    @property
    def made(self) -> Link | None:
        """The earliest place that holds the value itself: the links after it lead to what it was made of.

        None where nobody knows which place it is.
        """
        made: Link | None = None
        for number, link in enumerate(self.links):
            if number and (link.kind == "argument" or link.shared or not identical(link.value, self.links[0].value)):
                break
            made = link
        return None if made is None or made.kind in ("value", "candidates", "unknown") else made
