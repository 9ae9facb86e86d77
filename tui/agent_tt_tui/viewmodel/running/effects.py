"""The effects ledger of a run in words: one line a call, and what was only read in another."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.effects import EffectRow, Effects, Happened
    from agent_tt_tui.viewmodel.values.pieces import PieceRole

_VALUE_COLUMNS: Final = 40
_RESULT_COLUMNS: Final = 60
_MOST_NAMES: Final = 6

_MOST_ROWS: Final = 200
_LEAD_COLUMNS: Final = 13
"""As wide as `sent edited`, and a gap."""

_HELD_BACK: Final = frozenset({"denied", "refused"})
_LEADS: Final[Mapping[Happened, PieceRole]] = {
    "sent": "strong",
    "sent edited": "yours",
    "failed": "failed",
    "unknown": "failed",
    "waiting": "key",
    "denied": "yours",
    "refused": "yours",
    "stubbed": "changed_mark",
    "recorded": "changed_mark",
}


def is_held_back(row: EffectRow) -> bool:
    """Whether a call was kept from being made."""
    return row.happened in _HELD_BACK


def call_words(row: EffectRow) -> str:
    """What was called, with what: `charge(card="4242", amount=5)`, `POST https://host/pay {"amount": 5}`."""
    args = row.args if isinstance(row.args, dict) else {}
    match row.kind:
        case "http":
            body = args.get("body")
            return row.name if body is None else f"{row.name} {summary(body, _RESULT_COLUMNS)}"
        case "subprocess":
            command = args.get("command")
            words = [str(word) for word in command] if isinstance(command, list) else []
            line = " ".join(words) if args.get("shell") else shlex.join(words)
            return f"{row.kind} {line}" if line else row.name
        case "socket":
            return row.name
    return f"{row.name}({_arguments(args)})"


def asked_words(row: EffectRow) -> str:
    """The arguments that a person changed, as the agent gave them; "" where nobody did."""
    return _arguments(row.asked)


def came_back_words(row: EffectRow) -> str:
    """What came back, or was raised; "" where nothing did, or where that says only that it was held back."""
    if is_held_back(row):
        return ""
    if row.error:
        return row.error
    if row.kind == "http" and isinstance(row.result, dict):
        status = row.result.get("status")
        return "" if status is None else str(status)
    return "" if row.result is None else summary(row.result, _RESULT_COLUMNS)


def site_words(row: EffectRow) -> str:
    """`agent.py:19`, where the agent makes the call; "" where that is not known."""
    file, line = row.site.get("file"), row.site.get("line")
    return "" if file is None else f"{file}:{line}"


def place_of(row: EffectRow) -> str:
    """The step that made a call, `before`, `beside` or `after` the recording, or `RUN@STEP` of another run."""
    if not row.where:
        return str(row.step)
    return f"{row.where}@{row.step}" if row.step else row.where


def _where(row: EffectRow) -> str:
    if not row.where:
        return f"step {row.step}"
    return f"{row.where}, step {row.step}" if row.step else f"{row.where} the recording"


def counted_names(names: Mapping[str, int], times: str) -> str:
    """`search ×3, lookup ×1`, the first of them."""
    shown = [f"{name} {times}{count}" for name, count in list(names.items())[:_MOST_NAMES]]
    left = len(names) - _MOST_NAMES
    return ", ".join([*shown, f"{left} more"] if left > 0 else shown)


def effect_lines(effects: Effects, columns: int, times: str, more: str) -> Iterator[TextLine]:
    """Lay out the ledger of a run.

    Args:
        effects: the ledger.
        columns: columns there are.
        times: the sign before a number.
        more: the glyph that says something was left out.

    Yields:
        Its rows; none where nothing is in it.
    """
    for row in effects.rows[:_MOST_ROWS]:
        back = came_back_words(row)
        told = [call_words(row) + (f" = {back}" if back else "")]
        told += [f"asked for {asked_words(row)}"] if row.asked else []
        where = ", ".join(filter(None, (_where(row), site_words(row), _by(row))))
        yield from _entry(row.happened, _LEADS[row.happened], told, where, columns)
    if len(effects.rows) > _MOST_ROWS:
        yield TextLine(((f"{more} {len(effects.rows) - _MOST_ROWS:,} more", "note"),))
    for label, names in (("read", effects.reads), ("models", effects.models)):
        if names:
            yield from _entry(label, "muted", [counted_names(names, times)], "", columns)


def _by(row: EffectRow) -> str:
    return "" if row.because in ("", "default") else f"decided by {row.because}"


def _entry(word: str, role: PieceRole, told: list[str], where: str, columns: int) -> Iterator[TextLine]:
    room = columns - _LEAD_COLUMNS
    rows = [row for text in told for row in wrap([(clean(text), "text")], room)]
    rows += wrap([(clean(where), "muted")], room)
    for index, pieces in enumerate(rows):
        yield TextLine(pieces, lead=((f"{word if index == 0 else '':<{_LEAD_COLUMNS}}", role),))


def _arguments(args: Mapping[str, Wire]) -> str:
    return ", ".join(f"{name}={summary(value, _VALUE_COLUMNS)}" for name, value in args.items())
