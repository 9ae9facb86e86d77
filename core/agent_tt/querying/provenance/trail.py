"""The way back from a value to what caused it: the call that brought it, what that was asked, who had said that.

Each link is a place to go to, with the reason why it is one: from a final answer to the model's words, from there to
the tool result that it read, from that to the argument that the tool was called with, and on to the result that the
argument was taken from, until the first words in the input. A tool that only says again what it was asked has not
brought anything, and is passed over. Where the way ends, the trail says why.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path, get
from agent_tt.errors import Damaged
from agent_tt.history.changes.ops import op_path
from agent_tt.querying.places import leads_to, text_path
from agent_tt.querying.provenance.arithmetic import computed
from agent_tt.querying.provenance.edits import UPDATED, edited_calls, edited_states, is_updated
from agent_tt.querying.provenance.links import Link, LinkKind, Source, Trail
from agent_tt.querying.provenance.model_reading import answer_text, best_part, places_in_common, places_read
from agent_tt.querying.provenance.open_steps import OpenSteps, value_link
from agent_tt.querying.provenance.origins import (
    OTHERWISE,
    PART,
    Likeness,
    is_telling,
    key_of,
    leaves,
    likeness,
    scalar,
    weight,
)
from agent_tt.querying.provenance.searching import MOST_OTHERS, Origin, Search, place_of
from agent_tt.querying.provenance.summaries import results_link, summary_link
from agent_tt.querying.provenance.writes import first_place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call, Edit
    from agent_tt.protocols import RunSource
    from agent_tt.querying.provenance.model_reading import Read

__all__ = ["trail_of"]

_MOST_LINKS: Final = 12
_MOST_STEPS_ASKED: Final = 10
"""Steps between a model's asking for a call and the call."""

_MOST_WAYS: Final = 3
"""Ways to work out a number that are named where several give it."""

_SHORT: Final = 8
"""Characters of a text up to which other places that hold it are named, however particular it looks."""

_MOST_ARGUMENTS: Final = 48
"""Arguments of one call that are looked at."""


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
    walk = _Walk(source, run_id, cancelled)
    links = tuple(walk.links(path, step, value))
    return Trail(links, "it was called off" if cancelled() else walk.ends)


class _Walk:
    """One way back.

    Attributes:
        ends: why it ended.
    """

    def __init__(self, source: RunSource, run_id: str, cancelled: Callable[[], bool]) -> None:
        self.ends = ""
        self._source, self._run_id, self._cancelled = source, run_id, cancelled
        self._run = source.run(run_id)
        self._search = Search(source, run_id, cancelled)

    def links(self, path: Path, step: int, value: Wire) -> Iterator[Link]:
        try:
            wrote, where, old = first_place(self._source, self._run_id, path, step)
        except Damaged as error:
            yield Link("value", step, None, "", text_path(self._source, self._run_id, step, path), value, "it is there")
            self.ends = f"who wrote it cannot be read: {error.message}"
            return
        opened = OpenSteps(self._source, self._run_id)
        written, meanwhile = opened.step(wrote), opened.beside(wrote)
        shown = text_path(self._source, self._run_id, wrote, where)
        writers = {wrote: written} | {each.number: each for each in meanwhile}
        until = None if written is None else written.ended_us
        origin: Origin | None = None
        if written is not None and not self._is_given(wrote, shown):
            asked = self._written_part(where, wrote, value)
            origin = self._brought(value, asked, key_of(where), wrote, writers.keys(), until)
        yield value_link(wrote, writers, origin, shown, value)
        if not wrote:
            self.ends = "it came with the input"
            return
        for edit, fork in edited_states(self._source, self._run_id).get(wrote, ()):
            if leads_to(edit.path, shown):
                yield Link("edit", wrote, None, "", edit.path, edit.value, f"a person changed it for {fork}")
                self.ends = f"a person wrote it, for the fork {fork}"
                return
        if is_updated(self._source, self._run_id, wrote):
            yield Link("edit", wrote, None, "", shown, value, f"somebody called {UPDATED}")
            self.ends = f"no node of the graph wrote it: somebody called {UPDATED}"
            return
        if origin is not None:
            yield from self._from_call(origin, _MOST_LINKS - 1, value)
        elif not self._cancelled():
            yield from self._end(value, wrote, old, writers.keys())

    def _is_given(self, wrote: int, shown: str) -> bool:
        """Whether a person wrote a value, so that no call is looked for."""
        edits = edited_states(self._source, self._run_id).get(wrote, ())
        return any(leads_to(edit.path, shown) for edit, _ in edits) or is_updated(self._source, self._run_id, wrote)

    def _brought(
        self, value: Wire, asked: Wire, name: str, wrote: int, writers: Collection[int], until_us: int | None
    ) -> Origin | None:
        """The call that brought what was written, if one can be told; what is common may have come from others too."""
        if not is_telling(value):
            whole = self._search.whole_results(value, writers, until_us)
            if whole:
                others = dict.fromkeys(place_of(each) for each in whole[1:])
                return None if others else whole[0]
        origin = self._search.origin(asked, wrote, name=name, near=writers, until_us=until_us)
        if origin is None or (is_telling(asked) and not (isinstance(asked, str) and len(asked) <= _SHORT)):
            return origin
        others = dict.fromkeys([*origin.others, *self._search.candidates(value, wrote)])
        others.pop(place_of(origin), None)
        return Origin(origin.call, origin.like, tuple(others)[:MOST_OTHERS])

    def _from_call(self, origin: Origin, left: int, wanted: Wire) -> Iterator[Link]:
        """The link to a call, and those that lead on from it."""
        while left > 0:
            call, like = origin.call, origin.like
            if call.kind == "human" and call.error is None:
                said = call.args if call.result is None else call.result
                held = get(said, like.path)
                path = format_path(like.path)
                yield Link("input", call.step, call.number, call.name, path, held, like.why, like.shared)
                self.ends = "a person said it"
                return
            kind: LinkKind = "error" if call.error is not None else "answer" if call.kind == "llm" else "result"
            value = call.error.short if call.error is not None else get(call.result, like.path)
            path = format_path(like.path)
            yield Link(kind, call.step, call.number, call.name, path, value, like.why, like.shared, origin.others)
            left -= 1
            edit = self._edited.get((call.step, call.number))
            if edit is not None and left > 0:
                made, fork = edit
                why = f"a person changed it for {fork}"
                yield Link("edit", call.step, call.number, call.name, made.path, made.value, why)
                self.ends = f"a person wrote it, for the fork {fork}"
                return
            if kind == "answer":
                following = self._from_request(call, wanted if is_telling(wanted) else value)
            else:
                argument, following = self._argument(call)
                if argument is None or left <= 0:
                    break
                yield argument
                left -= 1
                wanted = argument.value
                following = following or self._in_input(argument.value, call.step) or self._thought_of(call, argument)
                if following is None and not self.ends and not is_telling(argument.value):
                    following = self._one_of(argument.value, call.step, call)
            if following is None:
                self.ends = self.ends or self._search.unknown(wanted, call.step)
                return
            if isinstance(following, Link):
                if left > 0:
                    yield following
                self.ends = self.ends or _said(following)
                return
            origin = following
        self.ends = self.ends or f"after {_MOST_LINKS} places no more are looked for; ask about the last one"

    def _written_part(self, path: Path, step: int, value: Wire) -> Wire:
        """Of a list or mapping, what a step put into it; all of any other value."""
        if not isinstance(scalar(value), dict | list):
            return value
        parts: list[Wire] = []
        for op in self._source.changes(self._run_id, step):
            own = op_path(op)
            if own[: len(path)] != path or (own == path and op[0] == "s"):
                continue
            match op:
                case ["s", _, part]:
                    parts.append(part)
                case ["a", _, _, list(items)] | ["x", _, _, _, list(items)]:
                    parts += items
                case ["t", _, _, str(text)]:
                    parts.append(text)
        return value if not parts else parts[-1] if len(parts) == 1 else parts

    # ---------------------------------------------------------------- where something came from

    def _from_request(self, call: Call, answer: Wire) -> Origin | Link | None:
        """What a model took its answer from: something in its request, and the call that brought that."""
        text = answer_text(answer)
        if not text:
            self.ends = "the answer has no words of which it could be said where they came from"
            return None
        if call.args is None:
            self.ends = "the model's own words, or what it read: what it was asked is not recorded"
            return None
        found: list[Origin] = []
        said: Link | None = None
        for read in places_read(call.args, text):
            if self._cancelled():
                return None
            origin = self._read_from(call, read, text)
            if origin is not None:
                found.append(origin)
            elif said is None and not found:
                said = self._read_in(call, read)
        if found:
            others = dict.fromkeys(place_of(other) for other in found[1:] if other.call != found[0].call)
            more = dict.fromkeys([*found[0].others, *others])
            return Origin(found[0].call, found[0].like, tuple(more)[:MOST_OTHERS])
        return said or self._something_read(call, text)

    def _read_in(self, call: Call, read: Read) -> Link:
        """The link to a place of a request that no recorded call brought: the input holds it, or the request alone."""
        held = self._in_input(read.value, call.step)
        where, why = format_path(read.path), f"it read {format_path(read.path)}, {read.why}"
        if held is not None:
            return Link("input", held.step, held.call, held.name, held.path, held.value, why, read.shared)
        if read.is_person and (told := summary_link(self._source, self._run_id, self._search, read, call)) is not None:
            summary, self.ends = told
            return summary
        if read.is_person:
            self.ends = "a message of the user says it"
            why = f"a message of the user says it, {read.why}"
            return Link("input", call.step, call.number, call.name, where, read.value, why, read.shared)
        self.ends = "its request holds it, and no call is recorded that brought it"
        return Link("request", call.step, call.number, call.name, where, read.value, why, read.shared)

    def _something_read(self, call: Call, text: str) -> Link | None:
        """What an answer has in common with its request where that is too little to say that it came from there."""
        places, is_all = places_in_common(call.args, text)
        if not places and (told := results_link(self._search, call, text)) is not None:
            results, self.ends = told
            return results
        if not places:
            self.ends = "the model's own words: nothing that it read has them"
            if not is_all:
                self.ends = "not known: its request is so large that not all of it was looked at"
            return None
        others = tuple(Source(call.step, call.number, call.name, format_path(read.path)) for read in places)
        shared = ", ".join(dict.fromkeys(read.shared for read in places[:MOST_OTHERS]))
        why = f"its own words, or one of these that it read: they have {shared} too"
        self.ends = "that says too little to know which of them it took"
        return Link("candidates", call.step, call.number, call.name, "", text, why, others=others[:MOST_OTHERS])

    def _one_of(self, value: Wire, step: int, asker: Call | None = None) -> Link | None:
        """Where a value that is found in many places may have come from; None where nothing that is recorded has it."""
        others = self._search.candidates(value, step, asker)
        if not others:
            return None
        more = len(others) > MOST_OTHERS
        self.ends = "such a value is so common that nothing says which it was"
        if is_telling(value):
            self.ends = "that it stands there too does not say that it came from there"
        one = "this" if len(others) == 1 else f"one of these{' and more' if more else ''}"
        why = f"{one} brought it, or the agent's own code made it"
        return Link("candidates", step, None, "", "", value, why, others=tuple(others)[:MOST_OTHERS])

    def _read_from(self, call: Call, read: Read, text: str) -> Origin | None:
        """The call that brought what a model read, and the part of its result that the answer has."""
        origin = self._search.before_call(read.value, call, name=key_of(read.path))
        if origin is None:
            return None
        if read.is_person and origin.like.score < PART + 0.5:
            return None  # a person too may say some words of a result
        path, shared = origin.like.path, read.shared
        if origin.call.error is None:
            brought = get(origin.call.result, path)
            inside, words = best_part(brought, text)
            path, shared = (*path, *inside), words or shared
            if origin.like.score < OTHERWISE and likeness(brought, read.shared or text, words=True) is None:
                return None  # it brought another part of what was read
        why = f"it read {format_path(read.path)}, {read.why}"
        return Origin(origin.call, Likeness(origin.like.score, path, why, shared), origin.others)

    def _argument(self, call: Call) -> tuple[Link | None, Origin | None]:
        """The argument of a call that was found out last, and the call that it was taken from.

        What an agent knew long ago it has used before; what went wrong most often came in with the newest value. Where
        its other arguments came from stands beside it.
        """
        best: tuple[Link, Origin] | None = None
        first: Link | None = None
        brought: list[Origin] = []
        for path, leaf in [*leaves(call.args)][:_MOST_ARGUMENTS]:
            if leaf is None or isinstance(leaf, bool) or leaf == "":
                continue
            name = format_path(path)
            link = Link("argument", call.step, call.number, call.name, name, leaf, f"it was asked with {name}")
            if first is None or weight(leaf) > weight(first.value):
                first = link
            origin = self._search.before_call(leaf, call, name=key_of(path))
            if origin is not None:
                brought.append(origin)
                if best is None or origin.call.step > best[1].call.step:
                    best = link, origin
        if best is not None:
            return _among_others(best[0], best[1], brought), best[1]
        if first is None:
            nothing = call.args is None or not [*leaves(call.args)]
            self.ends = f"{call.name} was asked with nothing{'' if nothing else ' that could be looked for'}"
        return first, None

    def _thought_of(self, asker: Call, argument: Link) -> Origin | Link | None:
        """Where nothing before a call holds its argument: the model that asked for the call, and what that had read."""
        steps = range(max(1, asker.step - _MOST_STEPS_ASKED), asker.step + 1)
        for call in reversed([call for step in steps for call in self._search.of_step(step)]):
            if call.kind != "llm" or (call.step, call.number) >= (asker.step, asker.number) or call.result is None:
                continue
            like = likeness(call.result, argument.value, name=argument.path)
            if like is None:
                continue
            found = self._from_request(call, argument.value)
            if found is not None:
                return found
            self.ends = f"{call.name} chose it at step {call.step}: {self.ends}"
            return None
        return None

    def _in_input(self, value: Wire, until: int) -> Link | None:
        """Where the input, or something that a person said up to a step, holds a value, or its words."""
        if not is_telling(value):
            return None
        best: tuple[Likeness, int, int | None, str, Wire] | None = None
        for step, call, name, said in self._search.said():
            like = likeness(said, value, words=True) if step <= until else None
            if like is not None and (best is None or like.score > best[0].score):
                best = like, step, call, name, said
        if best is None:
            return None
        like, step, call, name, said = best
        held, why = get(said, like.path), f"first said there, {like.why}"
        return Link("input", step, call, name, format_path(like.path), held, why, like.shared)

    def _end(self, value: Wire, step: int, old: Wire, writers: Collection[int]) -> Iterator[Link]:
        """End the trail where no call is known to have brought a value: computed, common, in the input, or made."""
        ways = computed(scalar(value), self._search.numbers(step), old)
        if len(ways) == 1:
            (call, path), *rest = sorted(ways[0].origins, key=lambda origin: origin[0] is None)
            _, *others = dict.fromkeys(
                Source(0, None, "input", format_path(at)) if by is None
                else Source(by.step, by.number, by.name, format_path(at))
                for by, at in [(call, path), *rest]
            )  # fmt: skip
            yield Link("computed", step, None, "", "", value, ways[0].why, others=tuple(others))
            if call is None:
                held = get(self._source.state(self._run_id, 0), path)
                self.ends = "the input says it"
                yield Link("input", 0, None, "", format_path(path), held, "a part of it")
                return
            part = Likeness(1.0, path, "a part of it")
            yield from self._from_call(Origin(call, part), _MOST_LINKS - 2, get(call.result, path))
            return
        found = self._in_input(value, step) or self._one_of(value, step)
        if found is not None:
            self.ends = self.ends or _said(found)
            yield found
            return
        missed = self._search.missed(step)
        perhaps = [f"perhaps {' or '.join(way.words for way in ways[:_MOST_WAYS])}"] if ways else []
        drawn = self._search.drawn(writers)
        perhaps += [f"its step also asked {', '.join(drawn[:_MOST_WAYS])}"] if drawn else []
        if missed or ways:
            why = f"not known: {missed}" if missed else "not known: several ways of working it out give it"
            yield Link("unknown", step, None, "", "", value, "; ".join([why, *perhaps]))
            self.ends = missed or "which of them it was is not recorded"
            return
        why = "no recorded call brought it as it is: the agent's own code made it, or took it from elsewhere"
        yield Link("code", step, None, "", "", value, "; ".join([why, *perhaps]))
        self.ends = self._search.unknown(value, step)

    @cached_property
    def _edited(self) -> dict[tuple[int, int], tuple[Edit, str]]:
        """What people changed in what came back of calls, by step and call."""
        return edited_calls(self._source, self._run_id)


def _among_others(argument: Link, origin: Origin, brought: Sequence[Origin]) -> Link:
    """The link to an argument, with the calls that brought the others: a tool makes its result of all of them."""
    newest_first = sorted(brought, key=lambda each: (each.call.step, each.call.number), reverse=True)
    others = {(each.call.step, each.call.number): place_of(each) for each in reversed(newest_first)}
    others.pop((origin.call.step, origin.call.number), None)
    if not others:
        return argument
    why = f"{argument.why}, which became known last; what else it was asked may have caused it as well"
    return replace(argument, why=why, others=tuple(reversed(others.values()))[:MOST_OTHERS])


def _said(link: Link) -> str:
    if link.kind in ("candidates", "request"):
        return ""
    return "a person said it" if link.step else "the input says it"
