"""Edits of a conversation that an agent keeps to itself.

Of an agent that names no steps only what it sends to a model is known. When it sends the conversation that was edited,
its own list is looked for: in the variables of the functions that are running, and one level into the dicts and objects
there. Each list that is the conversation is changed once, so that the agent's own memory carries the edit on. Where
none is found, this request and every later one that begins with the unedited conversation is rewritten.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path, parse_path
from agent_tt.errors import AgentTTError
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.providers.reading import asked_ids, results_only
from agent_tt.recording.calls.site import is_agent_file, shown_path
from agent_tt.recording.steps.in_place import CannotChange, change_in_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit
    from agent_tt.providers import ModelCall
    from agent_tt.providers.shapes import Json

__all__ = ["ConversationEdit"]

_REWRITTEN: Final = (
    "no list of the agent's was found that is the conversation: each request that begins with it is rewritten"
)
_OURS: Final = str(Path(__file__).parents[1])


@dataclass(frozen=True, slots=True)
class _Found:
    """A list of the agent's that is the conversation, and where it was found."""

    turns: list[Any]
    place: str
    is_agents: bool


class ConversationEdit:
    """The edits of one conversation.

    Attributes:
        is_applied: whether a request has carried it.
    """

    def __init__(self, before: Mapping[str, Wire], edits: Sequence[Edit], root: str | None, answer: str = "") -> None:
        """Prepare.

        Args:
            before: the conversation as it was recorded.
            edits: its edits.
            root: the project root, relative to which files are named.
            answer: the id under which the provider keeps all of it, the last answer's; "" where it does not.

        Raises:
            InvalidEdit: they do not fit.
        """
        self.is_applied = False
        self._before = dict(before)
        self._edits = tuple(edits)
        self._carried: list[list[Any]] = []
        self._only_passed_on: str | None = None
        self._times = 0
        self._root = root
        self._answer = answer
        after = apply_edits(self._before, edits)
        self._after: dict[str, Wire] = after if isinstance(after, dict) else {}

    def apply(
        self, call: ModelCall, own: list[Json] | None = None, *, whole: bool = False
    ) -> tuple[dict[str, Json], str] | None:
        """The conversation that is to be sent in place of that of `call`, and what was done to bring it about.

        None where `call` does not send the unedited conversation.

        Args:
            call: what is sent.
            own: the turns that the agent itself holds, where earlier edits send others.
            whole: whether what is edited beside the turns has to be as it was too.
        """
        key, sent = call.turns, dict(call.conversation)
        turns, known, edited = (_list(of.get(key)) for of in (sent, self._before, self._after))
        if not key or turns is None or known is None or edited is None:
            return None
        if self._answer and self._names_answer(call):
            return self._sent_whole(call, turns, edited)
        held = turns if own is None else own
        # The agent's own list has been edited, and what it holds is meant; a client's second try is not in it.
        carries = any(_plain(carried) == _plain(held) for carried in self._carried)
        carries = carries or (len(edited) >= len(known) and _begins(turns, edited) and edited != known)
        if not carries and not _begins(turns, known):
            return None
        beside = {*self._before, *self._after} - {key}
        if whole and any(
            self._before.get(other) != self._after.get(other)
            and _plain(sent.get(other)) != _plain(self._before.get(other))
            for other in beside
        ):
            return None
        changed: dict[str, Json] = dict(sent)
        if not carries:
            rest = self._rest(turns[len(known) :], known, edited)
            changed[key] = cast("list[Json]", [*edited, *rest])
        for other in beside:
            if _plain(sent.get(other)) == _plain(self._before.get(other)) and other in self._after:
                changed[other] = self._after[other]
            elif other not in self._after:
                changed.pop(other, None)
        if changed == sent:
            return None
        how = "" if carries else self._change_own(key, held, known, edited)
        self.is_applied = True
        self._times += 1
        return changed, how

    def _names_answer(self, call: ModelCall) -> bool:
        """Whether a request goes on from the answer that ends the edited conversation, and no edit changes that."""
        named = call.answer_key
        return call.follows == self._answer and self._before.get(named) == self._after.get(named)

    def _sent_whole(self, call: ModelCall, turns: list[Wire], edited: list[Wire]) -> tuple[dict[str, Json], str]:
        """The edited conversation and what the request adds to it, in place of the id of what the provider keeps."""
        key, named, sent = call.turns, call.answer_key, call.conversation
        known = _list(self._before.get(key)) or []
        changed: dict[str, Json] = {each: value for each, value in sent.items() if each != named}
        changed |= {each: self._after[each] for each in call.kept_beside if each in self._after and each not in sent}
        if call.begins_anew is not None:
            changed[named] = call.begins_anew
        changed[key] = cast("list[Json]", [*edited, *self._rest(turns, known, edited)])
        for other in {*self._before, *self._after} - {key, named}:
            if _plain(sent.get(other)) == _plain(self._before.get(other)) and other in self._after:
                changed[other] = self._after[other]
            elif other not in self._after:
                changed.pop(other, None)
        self.is_applied = True
        self._times += 1
        return changed, f"the whole edited conversation was sent in place of `{named}`"

    def _rest(self, rest: list[Wire], known: list[Wire], edited: list[Wire]) -> list[Wire]:
        """What follows the recorded conversation, without the results of calls that were taken out of it."""
        gone = _asked(known) - _asked(edited)
        return [turn for turn in rest if not (gone & _answered(turn))] if gone else rest

    def _change_own(self, key: str, turns: list[Wire], known: list[Wire], edited: list[Wire]) -> str:
        """Change the agent's own lists that are the conversation; what was done, in words, "" for not known yet."""
        if known == edited:
            return "the edit was put into this request: the agent keeps it in no list"
        edits = [_below(edit, key) for edit in self._edits if parse_path(edit.path)[:1] == (key,)]
        found = _lists_like(turns, self._root)
        changed: list[_Found] = []
        made: dict[tuple[int, ...], list[object]] = {}
        gone = _asked(known) - _asked(edited)
        for own in found:
            items = tuple(map(id, own.turns))
            try:
                if items not in made:
                    head = change_in_place(list(own.turns[: len(known)]), edits)
                    tail = [turn for turn in own.turns[len(known) :] if not gone & _answered(_plain(turn))]
                    made[items] = [*cast("list[object]", head), *tail]
            except (CannotChange, AgentTTError):
                continue
            own.turns[:] = made[items]
            changed.append(own)
        if not changed or (self._only_passed_on and not any(own.is_agents for own in changed)):
            return _REWRITTEN
        self._carried = [own.turns for own in changed]
        named = next((own for own in reversed(changed) if own.is_agents), None)
        if named is None:  # a library's memory, or only what a client passes on: the next request tells
            self._only_passed_on = f"the conversation was changed where a library keeps it: {changed[-1].place}"
            return ""
        return f"the agent's own list was changed: {named.place}"

    def held(self, own: list[Json]) -> list[Json]:
        """The turns that the agent holds now, which held `own` before this edit was applied."""
        return cast("list[Json]", _plain(self._carried[0])) if self._carried else own

    def finish(self) -> str:
        """What is to be said in the end, "" for nothing."""
        if not self.is_applied:
            return "no later request carried the conversation that was edited, so nothing came of that"
        return "" if self._only_passed_on is None or self._times > 1 else self._only_passed_on


def _below(edit: Edit, key: str) -> Edit:
    """An edit of the state as one of the list in it that is called `key`."""
    path, to = parse_path(edit.path), None if edit.to is None else parse_path(edit.to)
    rest = to[1:] if to is not None and to[:1] == (key,) else to
    return replace(edit, path=format_path(path[1:]), to=None if rest is None else format_path(rest))


# ---------------------------------------------------------------- conversations as they are sent


def _list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) else None


def _begins(turns: list[Wire], known: list[Wire]) -> bool:
    return len(turns) >= len(known) and _plain(turns[: len(known)]) == _plain(known)


def _plain(value: object) -> Any:
    """A turn as it is sent: models of pydantic as JSON, without what is null."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            value = dump(mode="json", exclude_none=True, by_alias=True)
        except Exception:  # noqa: BLE001  an object of the agent's that only looks like a model
            return value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _asked(turns: list[Wire]) -> set[str]:
    """Ids of the tool calls in a conversation."""
    return asked_ids(_plain(turn) for turn in turns)


def _answered(turn: object) -> set[str]:
    """Ids of the tool calls whose results a turn holds, and nothing else."""
    return results_only(_plain(turn))


# ---------------------------------------------------------------- the agent's own lists


def _lists_like(turns: list[Wire], root: str | None) -> list[_Found]:
    """Every list that is sent as `turns`, each once, innermost frame first.

    A client passes the agent's own list on; it is named as the outermost of the agent's functions has it.
    """
    wanted, unlike = _plain(turns), set[int]()
    found: dict[int, _Found] = {}
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  the frames of who asks are what is looked through
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS):
            is_agents = is_agent_file(code.co_filename)
            variables = {**(frame.f_globals if is_agents else {}), **frame.f_locals}
            for name, value in _inside(variables):
                known = found.get(id(value))
                if id(value) in unlike or len(value) != len(wanted) or (known is not None and not is_agents):
                    continue
                if known is None and _plain(value) != wanted:
                    unlike.add(id(value))
                    continue
                where = f"{shown_path(code.co_filename, root)}:{frame.f_lineno}"
                found[id(value)] = _Found(value, f"`{name}` of {code.co_qualname} ({where})", is_agents)
        frame = frame.f_back
    return list(found.values())


def _inside(variables: Mapping[str, object]) -> Iterator[tuple[str, list[Any]]]:
    """The lists among variables, and one level into dicts and objects."""
    for name, value in list(variables.items()):
        if isinstance(value, list):
            yield name, value
        elif isinstance(value, dict):
            if value is not variables:
                yield from ((f"{name}[{key!r}]", item) for key, item in list(value.items()) if isinstance(item, list))
        else:
            own = getattr(value, "__dict__", None)
            if isinstance(own, dict) and not isinstance(value, type(sys)):
                yield from ((f"{name}.{key}", item) for key, item in list(own.items()) if isinstance(item, list))
