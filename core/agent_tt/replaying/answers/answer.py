"""The recorded answer to one question, while a replay gives it out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.codec.decode import decode
from agent_tt.codec.loaded_classes import LOADED
from agent_tt.errors import NotRebuildable
from agent_tt.model.facts import CallFacts
from agent_tt.recording.errors.cancellation import is_cancellation
from agent_tt.recording.lanes.arrival import AT_ONCE
from agent_tt.redaction.vault import VAULT
from agent_tt.replaying.answers.rebuilt_errors import rebuild_error
from agent_tt.replaying.answers.waiters import hang_in_trio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Delivery
    from agent_tt.replaying.answers.turns import Turns
    from agent_tt.replaying.tape.tape import Tape, TapeCall

__all__ = ["READS_ON", "Answer"]

READS_ON: Final = "the recorded agent stopped reading here; this one reads on"


class _Replay(Protocol):
    """What gives the answer out (`agent_tt.replaying.engine.Replay`): each method gives what is to be raised."""

    tape: Tape
    turns: Turns

    def check(self) -> None: ...

    def gone(self, entry: TapeCall) -> BaseException: ...

    def cancelled(self, entry: TapeCall) -> None: ...

    def read_past(self, entry: TapeCall, why: str) -> BaseException: ...

    def cannot_rebuild(self, entry: TapeCall, why: NotRebuildable) -> BaseException: ...

    def check_sent(self, entry: TapeCall, index: int, recorded: Wire, value: Wire) -> None: ...


class Answer:
    """A `Served` of a replay."""

    def __init__(self, replay: _Replay, entry: TapeCall) -> None:
        self._replay = replay
        self._entry = entry

    @property
    def call(self) -> Call:
        """The recorded call."""
        call = self._entry.call
        return call if VAULT.reveals is None else replace(call, result=VAULT.shown(call.result))

    @property
    def pieces(self) -> Sequence[Delivery]:
        """What reached the agent in pieces."""
        pieces = self._entry.pieces
        if VAULT.reveals is None:
            return pieces
        return [replace(piece, data=VAULT.shown(piece.data)) for piece in pieces]

    def wait(self, index: int = 0) -> None:
        """Block until piece `index` is next; see `agent_tt.recording.calls.answers.Served`."""
        number = self._number(index)
        if number is not None:
            self._replay.turns.wait(number)
        elif self._entry.is_cancelled and not CallFacts.returned_as.is_in(self.call.meta):
            # Nobody can cancel a plain function: that was its answer. Only a thread of trio's is told by its task.
            if self.call.error is not None and self.call.error.class_name.startswith("trio"):
                hang_in_trio(self._replay.turns.hang)
        elif self._never_comes(index):
            self._replay.turns.hang_thread()
            self._replay.check()
            raise self._replay.gone(self._entry)
        self._replay.check()

    async def turn(self, index: int = 0) -> None:
        """As `wait`, for a coroutine."""
        number = self._number(index)
        if number is not None:
            try:
                await self._replay.turns.turn(number, at_once=self._entry.paces.get(index) == AT_ONCE)
            except BaseException as error:
                if is_cancellation(error):
                    self.cancelled()
                raise
        elif self._never_comes(index):
            await self._replay.turns.hang()
            self._replay.check()
            raise self._replay.gone(self._entry)
        self._replay.check()

    def wait_for_all(self) -> None:
        """See `agent_tt.recording.calls.answers.Served`."""
        self._replay.turns.wait_for_all()
        self._replay.check()

    async def turn_after_all(self) -> None:
        """As `wait_for_all`, for a coroutine."""
        await self._replay.turns.turn_after_all()
        self._replay.check()

    def wait_for_change(self) -> None:
        """See `agent_tt.recording.calls.answers.KnowsOrder`."""
        if self._entry.changed is not None:
            self._replay.turns.wait(self._entry.changed)
        self._replay.check()

    async def turn_of_change(self) -> None:
        """As `wait_for_change`, for a coroutine."""
        if self._entry.changed is not None:
            await self._replay.turns.turn(self._entry.changed)
        self._replay.check()

    def wait_for_coroutine(self, index: int) -> None:
        """As `turn`, for a coroutine of another process, in whose place this thread waits."""
        number = self._number(index)
        if number is not None:
            self._replay.turns.wait(number)
        elif self._never_comes(index):
            self._replay.turns.hang_thread()
            self._replay.check()
            raise self._replay.gone(self._entry)
        self._replay.check()

    def lasted(self) -> dict[int, float]:
        """By piece, the seconds from the question until it reached the agent, as far as they are known."""
        by_number = self._entry.lasted()
        return {
            index: by_number[number]
            for index, number in enumerate(self._entry.turns)
            if number is not None and number in by_number
        }

    def cancelled(self) -> None:
        """The agent stopped waiting for it."""
        self._replay.cancelled(self._entry)

    def cannot_rebuild(self, why: NotRebuildable) -> BaseException:
        """What to raise where a recorded value cannot be made again."""
        return self._replay.cannot_rebuild(self._entry, why)

    def check_sent(self, index: int, recorded: Wire, value: Wire) -> None:
        """Compare what the agent sent into a generator with what it sent when it was recorded."""
        self._replay.check_sent(self._entry, index, recorded, value)

    def leave(self, index: int) -> None:
        """Take no piece from `index` on."""
        self._replay.turns.drop(*(number for number in self._entry.turns[index:] if number is not None))

    def read_past(self, why: str = READS_ON) -> BaseException:
        """What to raise when the agent wants more than was recorded."""
        return self._replay.read_past(self._entry, why)

    def value(self, recorded: Wire) -> object:
        """The Python value of a recorded one."""
        if recorded is None or type(recorded) in (str, int, float, bool):
            return recorded
        try:
            return decode(recorded, LOADED)
        except NotRebuildable as error:
            raise self.cannot_rebuild(error) from None

    def failure(self) -> BaseException:
        """The recorded exception, made again."""
        info = self.call.error
        value, text = (None, "") if info is None else (info.value, info.message)
        try:
            return rebuild_error(value, text=text, unusable=self._unusable)
        except NotRebuildable as error:
            raise self.cannot_rebuild(error) from None

    def got(self, index: int, value: Wire) -> None:
        """Check what the agent sent into the generator after piece `index`."""
        result = self.call.result
        sent = result.get("sent") if isinstance(result, dict) else None
        pairs = sent if isinstance(sent, list) else []
        recorded = next((pair[1] for pair in pairs if isinstance(pair, list) and pair[0] == index), None)
        self.check_sent(index, recorded, value)

    def _unusable(self, class_name: str, holder: str) -> BaseException:
        why = f"an attribute of {holder} was a {class_name}, which was recorded only as text"
        return self.cannot_rebuild(NotRebuildable(why, path="", class_name=class_name))

    def _number(self, index: int) -> int | None:
        return self._entry.turns[index] if index < len(self._entry.turns) else None

    def _never_comes(self, index: int) -> bool:
        """Whether the answer had not come when the agent stopped waiting for it, or when its run ended."""
        entry = self._entry
        if self.call.status == "pending":
            if self._replay.tape.is_unfinished:
                raise self._replay.read_past(entry, "the recording broke off here: what came back is not known")
            return True
        return entry.is_cancelled and index >= len(entry.turns) - 1
