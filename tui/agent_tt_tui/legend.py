"""What signs and columns on the screens mean: the list that help shows below the keys."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from agent_tt_tui.viewmodel.debugger.timeline_columns import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt_tui.glyphs import Glyphs

__all__ = ["column_legend", "legend", "meaning_of"]

_SIGNS: Final = (
    (
        "What a step did",
        (
            ("model", "asked a model"),
            ("reads", "called a tool that reads"),
            ("writes", "called a tool that writes"),
            ("http", "sent a request that nothing else names"),
            ("code", "ran code only; agents fan out or gather"),
            ("person", "asked a person; the input of the run"),
            ("ambient", "read the clock, random numbers, ids or the environment; waits"),
        ),
    ),
    (
        "How it ended",
        (
            ("well", "well"),
            ("failed", "failed"),
            ("crashed", "crashed; before a sentence: a warning"),
            ("interrupted", "interrupted"),
            ("unknown", "nobody knows"),
            ("still", "running"),
        ),
    ),
    (
        "What changed",
        (
            ("added", "added at this step"),
            ("changed", "changed"),
            ("removed", "removed"),
            ("edited", "edited by you, not recorded"),
            ("differs", "differs; here two runs parted"),
            ("same", "the same question and answer as before; two runs are together"),
            ("only_a", "only in the first run"),
            ("only_b", "only in the second run"),
            ("to", "between what was and what is"),
        ),
    ),
    (
        "Lines and marks",
        (
            ("bar", "the cursor; the pane that has the focus"),
            ("role_bar", "words of a message"),
            ("folded", "folded"),
            ("unfolded", "unfolded"),
            ("alike", "several rows in one: they are alike, or unchanged"),
            ("cut", "cut: there is more, which choosing the row shows"),
            ("busy", "how long a step took, beside the longest"),
            ("tick", "a round time of the run's clock; two: idle time left out"),
            ("fork", "a fork begins here"),
            ("rail", "a lane; left of a number: in the marked range"),
            ("fed_by", "it fed the step that is shown: the recording says so"),
            ("feeds", "the step that is shown fed it: the recording says so"),
            ("fed_perhaps", "it fed the step that is shown, by equal texts"),
            ("feeds_perhaps", "the step that is shown fed it, by equal texts"),
            ("hit", "the words that are looked for are here"),
            ("about", "expected, or counted by agent-tt"),
            ("span", "not known; in a range: up to"),
        ),
    ),
)
"""By group: the names of the glyphs, which the chosen set has, and what they mean."""

_MEANINGS: Final = {name: meaning for _, signs in _SIGNS for name, meaning in signs}


def legend(glyphs: Glyphs) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give each group of signs: its title, and each sign with what it means."""
    for title, signs in _SIGNS:
        yield title, [(attrgetter(name)(glyphs), meaning) for name, meaning in signs]


def meaning_of(name: str) -> str:
    """Say what a sign means, by the name of its glyph.

    Raises:
        KeyError: The legend does not have it.
    """
    return _MEANINGS[name]


def column_legend() -> tuple[str, list[tuple[str, str]]]:
    """Give the columns of the timeline, each with what it means, as a group with its title."""
    return "Columns of the timeline", [(column.title, column.means) for column in COLUMNS.values()]
