"""Which edits a fork and those that it came from have, and the stretch of an agent's run in which they are applied.

What applies them (`amended`), and what else they need, is loaded only where there are any.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.recording.session import SESSION
from agent_tt.recording.store_work import store_at_work
from agent_tt.reentering.amendment import Amendment, Served
from agent_tt.replaying.tape.full_history import course_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource, Store

__all__ = ["amended", "amending", "read_amendments"]

_REQUESTS = frozenset({"system", "model", "parameter"})
"""What edits of later requests change."""


def read_amendments(source: RunSource, run: Run) -> tuple[Amendment, ...]:
    """What a run's fork changed, and what the forks did that it came from, in the order of their steps."""
    course = course_of(source, run)
    found: list[Amendment] = []
    for index, part in enumerate(course):
        fork, kept = part.run, part.run.fork_step or 0
        requests = tuple(edit for edit in fork.edits if edit.target in _REQUESTS)
        states: dict[int, tuple[Edit, ...]] = {}
        places: dict[int, tuple[int, ...]] = {}
        if index:  # the first was handed its state
            for position, edit in enumerate(fork.edits):
                if edit.target == "state":
                    at = kept if edit.step is None else edit.step
                    states[at] = (*states.get(at, ()), edit)
                    places[at] = (*places.get(at, ()), position)
        asked = tuple(position for position, edit in enumerate(fork.edits) if edit.target in _REQUESTS)
        # What is edited within a step that is taken anew was not known to the parent in this form.
        before = _before(source, course[index - 1].run.id, states) if states else {}
        if requests or states:
            answers = {at: _kept_as(source, course[index - 1].run.id, at) for at in states}
            kept_calls = _served_again(source, fork) if requests else frozenset()
            found.append(
                Amendment(kept, states, before, requests, run.code.root, fork.id, places, asked, answers, kept_calls)
            )
    return tuple(found)


def _before(source: RunSource, parent: str, steps: Iterable[int]) -> dict[int, Wire]:
    from agent_tt.forking.editing.first_question import state_to_edit

    return {at: state_to_edit(source, parent, at) for at in steps}


def _served_again(source: RunSource, fork: Run) -> frozenset[tuple[str, int]]:
    from agent_tt.reentering.past import served_in_edited_step

    return served_in_edited_step(source, fork)


def _kept_as(source: RunSource, run_id: str, step: int) -> str:
    """The id under which the provider keeps the conversation after a step; "" where not all of it is known here."""
    from agent_tt.forking.editing.kept_conversations import kept_conversation

    kept = kept_conversation(source, run_id, step) if step else None
    return kept.answer if kept is not None and not kept.missing else ""


@contextmanager
def amended(source: Store, run: Run, served: Served | None, note: Callable[[int | None, str], None]) -> Iterator[None]:
    """Apply the edits of `run` while the block lasts, and record those that had no effect; see `amending`."""

    def keep(amendment: Amendment, found: Mapping[int, str]) -> None:
        if amendment.run_id == run.id:
            from agent_tt.forking.editing.without_effect import keep_without_effect

            with store_at_work(), suppress(AgentTTError):
                keep_without_effect(source, run.id, found)

    with amending(read_amendments(source, run), served, note, unmade=keep):
        yield


@contextmanager
def amending(
    amendments: Sequence[Amendment],
    served: Served | None,
    note: Callable[[int | None, str], None],
    *,
    which: int = 0,
    unmade: Callable[[Amendment, Mapping[int, str]], None] = lambda *_: None,
) -> Iterator[None]:
    """Apply edits to the agent of this process while the block lasts.

    Args:
        amendments: the edits.
        served: what answers from a recording; None where nothing does.
        note: writes a note on a step, or on the run.
        which: the recording of this process that is the run's, in the order of beginning.
        unmade: told in the end, for each fork, which of its edits nothing came of: why, by position.
    """
    if not amendments:
        yield
        return
    from agent_tt.reentering.amended import EditApplier

    amender = EditApplier(amendments, served, note, which)
    try:
        with SESSION.joined(amender):
            yield
    finally:
        amender.finish()
        for index, amendment in enumerate(amendments):
            unmade(amendment, amender.unmade(index))
