"""The way back from a value to what caused it: the call that brought it, what that was asked, who had said that.

Each link is a place to go to, with the reason why it is one: from a final answer to the model's words, from there to
the tool result that it read, from that to the argument that the tool was called with, and on to the result that the
argument was taken from, until the first words in the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt.codec.paths import format_path, get
from agent_tt.errors import AgentTTError
from agent_tt.model import ACTING
from agent_tt.querying.origins import WORDS, Likeness, is_telling, leaves, likeness, said_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call
    from agent_tt.protocols import RunSource

__all__ = ["Link", "LinkKind", "Trail", "trail_of"]

LinkKind: TypeAlias = Literal["value", "result", "error", "answer", "argument", "input", "edit", "code"]
"""A value of the state; a tool's result, or its error; a model's answer; an argument; the input; a person's edit; the
agent's own code."""

_MOST_LINKS: Final = 12
_MOST_STEPS_BACK: Final = 300
"""Steps whose calls are looked at for one link."""

_MOST_ARGUMENTS: Final = 12

_MOST_LOOKS: Final = 5_000
"""Results that are compared with something on the whole way."""


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
    """

    kind: LinkKind
    step: int
    call: int | None
    name: str
    path: str
    value: Wire
    why: str
    shared: str = ""


@dataclass(frozen=True, slots=True)
class Trail:
    """The way back, from the value to what it began with."""

    links: tuple[Link, ...]


def trail_of(
    source: RunSource,
    run_id: str,
    path: Path,
    step: int,
    value: Wire,
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> Trail:
    """Follow a value back.

    Args:
        source: where the run is.
        run_id: the run.
        path: where the value is, in wire coordinates.
        step: the checkpoint that it is in.
        value: the value.
        cancelled: asked for each step that is looked at; where it says yes, the trail ends.
    """
    return Trail(tuple(_Walk(source, run_id, cancelled).links(path, step, value)))


@dataclass(frozen=True, slots=True)
class _Origin:
    call: Call
    like: Likeness


class _Walk:
    def __init__(self, source: RunSource, run_id: str, cancelled: Callable[[], bool]) -> None:
        self._source, self._run_id, self._cancelled = source, run_id, cancelled
        self._run = source.run(run_id)
        self._calls: dict[int, list[Call]] = {}
        self._input: Wire = None
        self._has_input = False
        self._looks = 0

    def links(self, path: Path, step: int, value: Wire) -> Iterator[Link]:
        from agent_tt.querying.blaming import written_at

        found = written_at(self._source, self._run_id, step, path)
        wrote = 0 if found is None else found[0]
        where = path if found is None else found[1]
        why = "it came with the input" if not wrote else f"written at step {wrote}"
        yield Link("value", wrote, None, "", format_path(where), value, why)
        if not wrote:
            return
        if wrote == self._run.fork_step and any(edit.target == "state" for edit in self._run.edits):
            for edit in self._run.edits:
                if edit.target == "state" and format_path(where).startswith(edit.path):
                    yield Link("edit", wrote, None, "", edit.path, edit.value, "a person changed it for this fork")
                    return
        origin = self._origin(value, wrote, None)
        if origin is None:
            if not self._cancelled():
                yield self._end(value, wrote)
            return
        yield from self._from_call(origin, _MOST_LINKS - 1)

    def _from_call(self, origin: _Origin, left: int) -> Iterator[Link]:
        """The link to a call, and those that lead on from it."""
        while left > 0:
            call, like = origin.call, origin.like
            kind: LinkKind = "error" if call.error is not None else "answer" if call.kind == "llm" else "result"
            value = call.error.short if call.error is not None else get(call.result, like.path)
            yield Link(kind, call.step, call.number, call.name, format_path(like.path), value, like.why, like.shared)
            left -= 1
            if kind == "answer":
                following = self._from_request(call, value)
                if following is None:  # the model's own words: the way ends with them
                    return
                if isinstance(following, Link):
                    yield following
                    return
                origin = following
                continue
            argument, following = self._argument(call)
            if argument is None:
                return
            if left > 0:
                yield argument
                left -= 1
            if following is None:
                found = self._in_input(argument.value)
                if found is not None and left > 0:
                    yield found
                return
            origin = following

    # ---------------------------------------------------------------- where something came from

    def _origin(self, value: Wire, step: int, before: int | None, *, acting: bool = False) -> _Origin | None:
        """The call that a value was most likely copied from.

        The best of the step itself, else that of the nearest step before it that has one.

        Args:
            value: the value.
            step: the step up to which is looked.
            before: only calls of that step with a smaller number; None for all.
            acting: leave models' answers out: they pass on what they read.
        """
        if not is_telling(value):
            return None
        for number in range(step, max(0, step - _MOST_STEPS_BACK), -1):
            if self._cancelled():
                return None
            best: _Origin | None = None
            for call in reversed(self._of_step(number)):
                if (before is not None and number == step and call.number >= before) or call.status == "pending":
                    continue
                if call.kind not in ACTING and (acting or call.kind != "llm"):
                    continue
                self._looks += 1
                if self._looks > _MOST_LOOKS:
                    return best
                like = said_by(call, value)
                if like is not None and (best is None or like.score > best.like.score):
                    best = _Origin(call, like)
            if best is not None:
                return best
        if isinstance(value, dict | list):
            return self._origin_of_parts(value, step, before, acting=acting)
        return None

    def _origin_of_parts(self, value: Wire, step: int, before: int | None, *, acting: bool) -> _Origin | None:
        """The origin of the longest text in a value that came from nowhere as a whole."""
        parts = [leaf for _, leaf in leaves(value) if is_telling(leaf)]
        for part in sorted(parts, key=lambda leaf: -len(str(leaf)))[:4]:
            found = self._origin(part, step, before, acting=acting)
            if found is not None:
                return found
        return None

    def _from_request(self, call: Call, answer: Wire) -> _Origin | Link | None:
        """What a model took its answer from: something in its request, and the call that brought that."""
        if not isinstance(answer, str | int | float) or isinstance(answer, bool):
            answer = max((leaf for _, leaf in leaves(answer) if isinstance(leaf, str)), key=len, default=None)
        if answer is None or call.args is None:
            return None
        like = likeness(call.args, answer, words=True)
        if like is None:
            return None
        read = get(call.args, like.path)
        where = f"it read {format_path(like.path)}"
        origin = self._origin(read, call.step, call.number, acting=True)
        if origin is not None:
            why = f"{where}, {like.why}" if like.score < 2 * WORDS else where
            return _Origin(origin.call, Likeness(origin.like.score, origin.like.path, why, like.shared))
        found = self._in_input(read)
        if found is None:
            return None
        return Link(found.kind, 0, None, "", found.path, found.value, f"{where}, {like.why}", like.shared)

    def _argument(self, call: Call) -> tuple[Link | None, _Origin | None]:
        """The argument of a call that was found out last, and the call that it was taken from.

        What an agent knew long ago it has used before; what went wrong most often came in with the newest value.
        """
        best: tuple[Link, _Origin] | None = None
        first: Link | None = None
        candidates = [(path, leaf) for path, leaf in leaves(call.args) if is_telling(leaf)]
        for path, leaf in candidates[:_MOST_ARGUMENTS]:
            name = format_path(path)
            link = Link("argument", call.step, call.number, call.name, name, leaf, f"it was asked with {name}")
            first = first or link
            origin = self._origin(leaf, call.step, call.number, acting=True)
            if origin is not None and (best is None or origin.call.step > best[1].call.step):
                best = link, origin
        if best is not None:
            return best
        return first, None

    def _in_input(self, value: Wire) -> Link | None:
        """Where the input holds a value, or its words."""
        if not is_telling(value):
            return None
        if not self._has_input:
            self._has_input = True
            try:
                self._input = self._source.state(self._run_id, 0)
            except AgentTTError:
                self._input = None
        like = likeness(self._input, value, words=True)
        if like is None:
            return None
        held = get(self._input, like.path)
        return Link("input", 0, None, "", format_path(like.path), held, f"first said there, {like.why}", like.shared)

    def _end(self, value: Wire, step: int) -> Link:
        """The last link where no call brought a value: it was in the input, or the agent's code made it."""
        found = self._in_input(value)
        return found or Link("code", step, None, "", "", value, "no call brought it: the agent's own code made it")

    def _of_step(self, number: int) -> list[Call]:
        known = self._calls.get(number)
        if known is None:
            try:
                known = self._source.calls(self._run_id, number)
            except AgentTTError:
                known = []
            self._calls[number] = known
        return known
