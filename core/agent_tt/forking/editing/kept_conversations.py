"""Conversations that a provider keeps, and whether a recording holds all of one.

A request that names the answer before it (`previous_response_id`) sends only what is new. An edit of the conversation
reaches such a request only if the whole of it is sent in place of that id; which takes that the whole is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidEdit
from agent_tt.providers.reading import recorded_answer, recorded_call

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource

__all__ = ["KeptConversation", "check_kept", "kept_conversation"]


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """The conversation after a step, as its provider keeps it.

    Attributes:
        answer: the id of its last answer, which a later request names; "" where the provider gave none.
        goes_on: whether a recorded request behind the step names it, or the provider's conversation that it is in.
        missing: why the recording does not hold all of it; "" where it does.
    """

    answer: str
    goes_on: bool
    missing: str


def kept_conversation(source: RunSource, run_id: str, step: int) -> KeptConversation | None:
    """Look at what a provider keeps of the conversation that the state after a step is.

    Args:
        source: where the run lies.
        run_id: the run.
        step: the step.

    Returns:
        None where no model of a known provider answered in that step.
    """
    before: dict[str, str] = {}
    last, owner, chain = "", "", ""
    found = goes_on = False
    for number in range(1, source.step_count(run_id) + 1):
        for call in source.calls(run_id, number):
            request = recorded_call(call.args) if call.kind == "llm" else None
            if request is None:
                continue
            named, belongs = request.follows, request.kept_in
            if number <= step:
                answer = recorded_answer(request, call.result).id
                if answer:
                    before[answer] = named
                if number == step:
                    last, owner, chain, found = answer, belongs, named, True
            elif found and ((last and named == last) or (owner and belongs == owner)):
                goes_on = True
    if not found:
        return None
    if owner:
        return KeptConversation(last, goes_on, f"it lies in the provider's conversation {owner}")
    while chain:
        if chain not in before:
            return KeptConversation(last, goes_on, f"it begins with the answer {chain}, which was not recorded here")
        chain = before.pop(chain)
    return KeptConversation(last, goes_on, "")


def check_kept(source: RunSource, run_id: str, step: int, before: Wire, after: Wire) -> None:
    """Refuse an edit of a conversation that would reach no request.

    Args:
        source: where the run lies.
        run_id: the run.
        step: the step whose state is edited.
        before: that state.
        after: the same, edited.

    Raises:
        InvalidEdit: the provider keeps the conversation, a later request goes on with it, and not all of it is known.
    """
    if not step or not isinstance(before, dict) or not isinstance(after, dict):
        return
    turns = [key for key in ("input", "messages") if isinstance(before.get(key), list)]
    if not any(before[key] != after.get(key) for key in turns):
        return
    kept = kept_conversation(source, run_id, step)
    if kept is None or not kept.goes_on or (kept.answer and not kept.missing):
        return
    why = kept.missing or "its last answer has no id"
    raise InvalidEdit(
        f"the conversation after step {step} cannot be edited: the provider keeps it, and {why}",
        hint="requests that go on with it would not carry the edit; edit a result, the system prompt or the model",
    )
