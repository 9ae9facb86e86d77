"""What the signs mean that stand on the screens: the list that help shows below the keys."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt_tui.glyphs import Glyphs

__all__ = ["legend"]

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
            ("cut", "cut: there is more, enter shows it"),
            ("busy", "how long a step took, beside the longest"),
            ("fork", "a fork begins here"),
            ("hit", "the words that are looked for are here"),
            ("about", "expected, or counted by agent-tt"),
            ("span", "not known; in a range: up to"),
        ),
    ),
)
"""By group: the names of the glyphs, which the chosen set has, and what they mean."""


def legend(glyphs: Glyphs) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give each group of signs: its title, and each sign with what it means."""
    for title, signs in _SIGNS:
        yield title, [(attrgetter(name)(glyphs), meaning) for name, meaning in signs]
