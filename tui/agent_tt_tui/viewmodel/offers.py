"""What the palette offers, ranked by what was typed, in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["GROUPS", "SIGNS", "Offer", "found", "hit_of", "without_sign"]

GROUPS: Final[dict[str, str]] = {
    "value": "This value",
    "step": "This step",
    "run": "This run",
    "own": "Your own",
    "go": "Go",
    "place": "Go to",
    "screen": "The screen",
}
"""The titles of the groups, in the order in which they stand while nothing is typed."""

SIGNS: Final[dict[str, str]] = {">": "commands", "@": "steps", "#": "runs", ".": "paths"}
"""What narrows the palette to one kind of offer, as the first character that is typed."""

_IN_LABEL: Final = (0, 1)
"""The score of a word that the label begins with, and of one that another word of it begins with."""

_BESIDE: Final = 1
_INSIDE: Final = 6
"""The scores of a word that stands in what else the offer is found by, and of one inside of a word."""

_SHORT: Final = 3
"""Letters up to which what is typed has to begin a word."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that the palette can do.

    Attributes:
        group: A key of `GROUPS`.
        label: What it is called.
        run: Does it.
        sign: The kind of thing, one of `SIGNS`.
        words: What else it is found by, in small letters.
        keys: Its keys, as they are shown.
        detail: What it is, where that is more than the label.
        blocked: Why it cannot be done now; "" if it can.
        rank: Its place among others that match as well; the lowest comes first.
    """

    group: str
    label: str
    run: Callable[[], object]
    sign: str = ">"
    words: str = ""
    keys: str = ""
    detail: str = ""
    blocked: str = ""
    rank: int = 50


def without_sign(typed: str) -> tuple[str, str]:
    """Part what was typed into the sign of a kind, "" for all kinds, and the words."""
    typed = typed.lstrip()
    return (typed[0], typed[1:].strip()) if typed[:1] in SIGNS else ("", typed.strip())


def found(offers: Iterable[Offer], typed: str) -> list[Offer]:
    """Choose what matches all words that were typed, in groups: the group with the best match first.

    Args:
        offers: What there is.
        typed: What was typed, with the sign of a kind or without.
    """
    sign, words = without_sign(typed)
    wanted = words.casefold().split()
    scored = [
        (score, offer)
        for offer in offers
        if (not sign or offer.sign == sign) and (score := _score(offer, wanted)) is not None
    ]
    order = list(GROUPS)
    best: dict[str, tuple[bool, int]] = {}
    for score, offer in scored:
        best[offer.group] = min(best.get(offer.group, (True, _INSIDE * 99)), (bool(offer.blocked), score))

    def place(each: tuple[int, Offer]) -> tuple[object, ...]:
        score, offer = each
        first = best[offer.group] if wanted else (False, 0)
        return (*first, order.index(offer.group), bool(offer.blocked), score, offer.rank, offer.label)

    return [offer for _, offer in sorted(scored, key=place)]


def hit_of(label: str, typed: str) -> tuple[int, int] | None:
    """Where the first typed word stands in a label, for drawing: where a word begins with it, else anywhere."""
    words = without_sign(typed)[1].casefold().split()
    text = label.casefold()
    if not words or len(text) != len(label):  # a letter that has another length in small
        return None
    starts = [at for at in range(len(text)) if text.startswith(words[0], at)]
    at = next((at for at in starts if at == 0 or not text[at - 1].isalnum()), starts[0] if starts else None)
    return None if at is None else (at, at + len(words[0]))


def _score(offer: Offer, wanted: Sequence[str]) -> int | None:
    """How well an offer matches, 0 best; None where a word is missing."""
    label = offer.label.casefold()
    in_label, beside = _words(label), _words(f"{offer.words} {offer.detail}".casefold())
    total = 0
    for word in wanted:
        if label.startswith(word):
            total += _IN_LABEL[0]
        elif any(each.startswith(word) for each in in_label):
            total += _IN_LABEL[1]
        elif any(each == word for each in beside):
            total += _BESIDE
        elif any(each.startswith(word) for each in beside):
            total += _BESIDE + 1
        elif len(word) > _SHORT and (word in label or any(word in each for each in beside)):
            total += _INSIDE
        else:
            return None
    return total


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text).split()
