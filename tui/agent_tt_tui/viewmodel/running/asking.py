"""What the ask dialog makes of a call that waits: its arguments as text to edit, and what was typed as a decision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import pretty, summary
from agent_tt.errors import AgentTTError
from agent_tt.forking.editing.edits import check_type
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.edits.editing import MOST_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt_tui.viewmodel.values.pieces import Piece

_SHOWN: Final = 60
"""Characters of a value in the row that says what changes."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call that waits, as text.

    Attributes:
        text: Those that can be edited, as JSON by name; those that cannot where none can.
        fixed: Those that go out as they are, as JSON by name; empty where there are none beside the others.
        too_long: Whether the text is too long for the dialog.
    """

    text: str
    fixed: str
    too_long: bool

    @classmethod
    def of(cls, question: CallQuestion) -> Arguments:
        """Lay out the arguments of a call."""
        edited = {name: value for name, value in question.args.items() if name in question.editable}
        rest = {name: value for name, value in question.args.items() if name not in question.editable}
        text = pretty(edited if question.editable else rest)
        fixed = json.dumps(rest) if question.editable and rest else ""
        return cls(text, fixed, len(text) >= MOST_CHARACTERS)


@dataclass(frozen=True, slots=True)
class Judged:
    """What typed arguments come to.

    Attributes:
        decision: To run the call with them; None where they are none.
        message: What they are, or what is wrong with them.
    """

    decision: Decision | None
    message: str


def judge_arguments(question: CallQuestion, text: str) -> Judged:
    """Read typed arguments of a call that waits."""
    if not question.editable:
        return Judged(question.run(), "goes out as it is: nothing of it can be changed")
    try:
        decision = question.run_text(text)
    except AgentTTError as error:
        return Judged(None, error.message)
    if not decision.args:
        return Judged(decision, "as the agent gave them")
    kinds = {name: check_type(question.args.get(name), value) for name, value in decision.args.items()}
    name = next((name for name, words in kinds.items() if words.startswith("was ")), next(iter(kinds)))
    more = f", and {len(kinds) - 1} more" if len(kinds) > 1 else ""
    return Judged(decision, f"{name} {kinds[name]}{more}")


def change_of(question: CallQuestion, decision: Decision | None, to: str) -> Sequence[Piece]:
    """What would go out otherwise than the agent gave it: names with old and new values.

    Args:
        question: The call.
        decision: What was typed.
        to: The glyph between an old value and a new one.
    """
    pieces: list[Piece] = []
    for name, value in (decision.args if decision is not None else {}).items():
        old, new = (_short(each) for each in (question.args.get(name), value))
        pieces += [("  ", "text")] * bool(pieces)
        pieces += [(clean(f"{name} "), "muted"), (old, "removed"), (f" {to} ", "muted"), (new, "added")]
    return pieces


def changes_of_state(edits: Sequence[Edit], to: str) -> Sequence[Piece]:
    """What would be changed of the state before the agent goes on.

    Args:
        edits: The changes.
        to: The glyph between an old value and a new one.
    """
    pieces: list[Piece] = []
    for edit in edits:
        pieces += [(clean(f"  state.{edit.path} "), "muted"), (_short(edit.old), "removed")]
        pieces += [(f" {to} ", "muted"), (_short(edit.value), "added")]
    return pieces


def _short(value: Wire) -> str:
    return clean(summary(value, _SHOWN))
