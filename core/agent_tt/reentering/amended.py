"""The edits of a fork, applied while its agent runs: to its own objects when a step ends, and to what it sends.

A fork of a fork that was re-entered runs from the beginning too: there the edits of all of them are applied, each in
its place. A run that is handed its state needs only those of its later requests.
"""

from __future__ import annotations

import sys
import threading
from copy import copy
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.history.changes.census import references_to
from agent_tt.providers.loose import parse
from agent_tt.providers.reading import asked, provider_of, recognise
from agent_tt.recording.links import Link, Place
from agent_tt.recording.steps.in_place import CannotChange, change_state
from agent_tt.reentering.conversations import ConversationEdit
from agent_tt.reentering.requests import changed_arguments, changed_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.model import Edit
    from agent_tt.providers import ModelCall
    from agent_tt.providers.shapes import Json
    from agent_tt.recording.open_run import OpenCall, OpenRun, OpenStep
    from agent_tt.reentering.amendment import Amendment, Served

__all__ = ["EditApplier"]

_OURS = 2
"""References to an object that are only ours: a variable, and the argument of `sys.getrefcount`."""


class _Told:
    """A request on its way through the edits of one fork after the other.

    Attributes:
        url: where it goes.
        body: what it says.
        own: the turns that the agent itself holds.
        requests: edits of every request that are not in `body` yet.
        left: what of those that are its language cannot say.
    """

    def __init__(self, url: str, body: dict[str, Json], call: ModelCall) -> None:
        turns = call.conversation.get(call.turns)
        self.url = url
        self.body = body
        self.own: list[Json] = turns if isinstance(turns, list) else []
        self.requests: tuple[Edit, ...] = ()
        self.left: tuple[str, ...] = ()
        self._first = body
        self._call = call

    def call(self) -> ModelCall:
        """What it asks, as it is now."""
        changed = None if self.body is self._first else recognise("POST", self.url, {}, self.body)
        return changed or self._call

    def settled(self) -> _Told:
        """The same with the edits of every request in it."""
        made = copy(self)
        made.url, made.body, left = changed_request(self.url, self.body, self._call, self.requests)
        made.left, made.requests = (*self.left, *left), ()
        return made

    def take(self, form: _Told, body: dict[str, Json], own: list[Json]) -> None:
        """Go on in one of its forms, with another body."""
        self.url, self.requests, self.left, self.body, self.own = form.url, form.requests, form.left, body, own


class EditApplier(Link):
    """Applies amendments."""

    place = Place.EDITS

    def __init__(
        self,
        amendments: Sequence[Amendment],
        served: Served | None,
        note: Callable[[int | None, str], None],
        which: int,
    ) -> None:
        self._before = which
        self._amendments = amendments
        self._served = served
        self._note = note
        self._lock = threading.RLock()
        self._recording: OpenRun | None = None
        self._noted: set[str] = set()
        self._made: set[int] = set()
        """Edits of requests that changed one, by identity."""
        self._why_not: dict[int, str] = {}
        """Reasons why an edit left a request unchanged, by identity of the edit."""
        self._conversations: dict[tuple[int, int], ConversationEdit] = {}
        self._waiting = {(index, at) for index, each in enumerate(amendments) for at in each.states}

    # ------------------------------------------------------------ states

    def run_begun(self, recording: OpenRun) -> None:
        """A recording begins; of that which is the run's the input may be edited."""
        with self._lock:
            self._before -= 1
            if self._before >= 0 or self._recording is not None:
                return
            self._recording = recording
        state = recording.tracks.main.state
        if state is not None:
            others = sys.getrefcount(state) - _OURS - 1  # the recording's own
            is_shared = others > 0 and others > references_to(state)
            self._change(0, state, is_shared=is_shared)

    def after_step(self, step: OpenStep) -> None:
        """A step of the run has ended: its state may be edited."""
        if step.recording is not self._recording:
            return
        steps = step.recording.model_steps
        if steps is not None and steps.makes(step.number):
            return  # its state is the conversation
        state = step.state
        if state is not None and any(at == step.number for _, at in list(self._waiting)):
            others = sys.getrefcount(state) - _OURS - step.references_to(state)
            is_shared = others > 0 and others > references_to(state)
            self._change(step.number, state, is_shared=is_shared)

    def _change(self, at: int, state: object, *, is_shared: bool) -> None:
        for index, amendment in enumerate(self._amendments):
            with self._lock:
                edits = amendment.states.get(at)
                if edits is None or (index, at) not in self._waiting:
                    continue
                self._waiting.discard((index, at))
            try:
                change_state(state, edits, is_shared=is_shared)
            except (CannotChange, AgentTTError) as error:
                raise self._refused(f"the edit of the state after step {at} does not apply: {error}", at) from None
            if self._served is not None:
                self._served.passed()

    def _refused(self, message: str, step: int) -> BaseException:
        return CannotChange(message) if self._served is None else self._served.refuse_edit(message, step)

    # ------------------------------------------------------------ requests

    def edit_request(
        self, url: str, body: bytes, call: ModelCall, lane: str, signature: str
    ) -> tuple[str, bytes] | None:
        """A request to a model with the edits that hold where it is made; None for as it is."""
        found = parse(body)
        if not isinstance(found, dict):
            return None
        told = _Told(url, found, call)
        for index, amendment in enumerate(self._amendments):
            if self._is_past(amendment, lane, signature):
                self._converse(index, told)
                told.requests += amendment.requests
                self._look_at(amendment.requests, told, call)
        told = told.settled()
        self._say(*told.left)
        if told.body == found and told.url == url:
            return None
        if self._served is not None:
            self._served.passed()
        return told.url, _text_of(told.body)

    def _converse(self, index: int, told: _Told) -> None:
        """Put one fork's edits of the conversation into a request, and into the agent's own list."""
        amendment = self._amendments[index]
        for at in amendment.states:
            edit = self._conversation(index, at)
            if edit is None:
                continue
            # Messages that a fork edits are as they were sent in its parent, after the edits of every request there;
            # where both forks begin after the same step, as they were before these.
            forms = (told.settled(), told) if told.requests else (told,)
            for form, whole in [(form, whole) for whole in (True, False) for form in forms]:
                call = form.call()
                found = edit.apply(call, told.own, whole=whole)
                if found is not None:
                    body = asked(provider_of(call).with_conversation, form.body, call.conversation, found[0])
                    told.take(form, form.body if body is None else body, edit.held(told.own))
                    self._say(*filter(None, found[1:]))
                    break

    def _conversation(self, index: int, at: int) -> ConversationEdit | None:
        with self._lock:
            known = self._conversations.get((index, at))
            if known is None and (index, at) in self._waiting:
                amendment = self._amendments[index]
                before = amendment.before[at]
                if not isinstance(before, dict) or self._recording is None or self._recording.model_steps is None:
                    return None
                known = ConversationEdit(before, amendment.states[at], amendment.root, amendment.answers.get(at, ""))
                self._conversations[index, at] = known
                self._waiting.discard((index, at))
            return known

    def edit_call(
        self, call: OpenCall, args: Sequence[object], kwargs: Mapping[str, object], signature: str
    ) -> tuple[tuple[object, ...], dict[str, object]] | None:
        """The arguments of a function that asks a model, with the edits that hold where it is called."""
        if not call.asks_a_model:
            return None
        parameters, lane = call.spec.parameters, call.recording.lanes.current().id
        edits = [
            edit
            for amendment in self._amendments
            if amendment.requests and self._is_past(amendment, lane, signature)
            for edit in amendment.requests
        ]
        if not edits:
            return None
        for edit in edits:
            words = changed_arguments(parameters, args, kwargs, [edit])[2]
            if words:
                self._why_not[id(edit)] = f"the function that asks a model {words[0]}"
            else:
                self._made.add(id(edit))
        given, named, left = changed_arguments(parameters, args, kwargs, edits)
        self._say(*(f"a function that asks a model {words}: it was called as it was" for words in left))
        if self._served is not None:
            self._served.passed()
        return given, named

    def _is_past(self, amendment: Amendment, lane: str, signature: str) -> bool:
        """Whether a lane is beyond what its fork kept: no recorded call of that part is left for it.

        To that part belong the calls of an edited step that were asked before what was edited, and that itself.
        """
        if self._served is None:
            return True
        upcoming = self._served.next_call(lane, signature)
        if upcoming is None:
            return True
        return upcoming.step > amendment.step and (upcoming.lane, upcoming.lane_seq) not in amendment.kept_calls

    # ------------------------------------------------------------ what is said

    def _say(self, *texts: str) -> None:
        for text in texts:
            with self._lock:
                is_new = text not in self._noted
                self._noted.add(text)
            if is_new:
                self._note(None, text)

    def _look_at(self, edits: Sequence[Edit], told: _Told, call: ModelCall) -> None:
        """Remember which edits of requests make a request another one."""
        for edit in edits:
            if id(edit) in self._made:
                continue
            url, body, left = changed_request(told.url, told.body, call, [edit])
            if (url, body) != (told.url, told.body):
                self._made.add(id(edit))
            else:
                self._why_not[id(edit)] = left[0] if left else "each request said so already"

    def unmade(self, index: int) -> dict[int, str]:
        """Give the edits of one of the forks that had no effect: the reason by their position among its edits."""
        amendment = self._amendments[index]
        found: dict[int, str] = {}
        for at, positions in amendment.places.items():
            known = self._conversations.get((index, at))
            if (index, at) in self._waiting:
                why = "the agent did not come to it"
            elif known is not None and not known.is_applied:
                why = "no later request carried the conversation that was edited"
            else:
                continue
            found |= dict.fromkeys(positions, why)
        for edit, position in zip(amendment.requests, amendment.request_places, strict=False):
            if id(edit) not in self._made:
                found[position] = self._why_not.get(id(edit), "no model was asked after the fork's step")
        return found

    def finish(self) -> None:
        """Record which edits had no effect."""
        for _, at in sorted(self._waiting):
            self._say(f"the edit of the state after step {at} was not applied: the agent did not come to it")
        for edit in self._conversations.values():
            self._say(*filter(None, [edit.finish()]))


def _text_of(body: Mapping[str, Json]) -> bytes:
    import json

    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
