"""The tour of the debugger: a few sentences, each about something that can be done there, with the keys that do it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt_tui.viewmodel.values.pieces import Piece

__all__ = ["SENTENCES", "Sentence", "pieces"]

_KEYS: Final = re.compile(r"\{([a-z_.]+)(?:,([a-z_.]+))?\}")


class Sentence(NamedTuple):
    """One sentence of the tour.

    Attributes:
        words: What it says; ids of commands in braces, one or two, stand for their keys.
        done_by: The commands that do what it says: once one of them was carried out, the next sentence comes.
    """

    words: str
    done_by: frozenset[str]


SENTENCES: Final = (
    Sentence(
        "{time.previous,time.next} go through the steps of the run: all else shows the one that you are at.",
        frozenset({"time.next"}),
    ),
    Sentence(
        "DIFF tells what the step changed. {pane.next} goes to the state, {list.up,list.down} to a value, "
        "{tree.fold} {tree.unfold} fold and unfold it.",
        frozenset({"pane.next", "pane.previous"}),
    ),
    Sentence("{blame.open} tells who wrote the selected value, and what caused that.", frozenset({"blame.open"})),
    Sentence(
        "{edit.value} edits a value of the state. The recording stays as it is: edits are for a fork.",
        frozenset({"edit.value"}),
    ),
    Sentence(
        "{fork.open} forks: the agent itself runs on from this step, with your edits. What it may do is asked first.",
        frozenset({"fork.open"}),
    ),
    Sentence(
        "{compare.open} puts this run beside a fork or another run, and finds where they parted.",
        frozenset({"compare.open"}),
    ),
    Sentence(
        "That is all. {app.help} explains every key and sign; {app.palette} finds commands by words, this tour too.",
        frozenset({"app.help", "app.palette"}),
    ),
)
"""The tour."""


def pieces(words: str, key: Callable[[str, str], str]) -> Iterator[Piece]:
    """Give the words of a sentence, with the keys of its commands.

    Args:
        words: The words, with ids of commands in braces.
        key: Gives the key of a command, or of two that belong together; the second is "" for none.
    """
    at = 0
    for found in _KEYS.finditer(words):
        yield words[at : found.start()], "text"
        yield key(found[1], found[2] or ""), "key"
        at = found.end()
    yield words[at:], "text"
