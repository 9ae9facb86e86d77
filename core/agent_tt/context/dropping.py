"""What is lost when messages are cut: words of the user that are gone, and facts that a later answer needs."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from agent_tt.context.index import LEAST, TextIndex
from agent_tt.context.shown import Gone, Needed
from agent_tt.querying.provenance.entities import content_words, entities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_tt.context.parts import Part
    from agent_tt.context.shown import CallContext, Cut, Item, Place

__all__ = ["Dropped", "gone_words"]

_SENTENCE: Final = re.compile(r"[^\n.!?;]+(?:[.!?;](?!\s|$)[^\n.!?;]*)*[.!?;]?")
_SPACE: Final = re.compile(r"\s+")
_RUN: Final = re.compile(r"[^\W_]+")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_ENDING: Final = re.compile(r"(?<=...)(?:ing|ed|es|s)$")
_LEAST_WORDS: Final = 2
_LEAST_LENGTH: Final = 12
_MOST: Final = 40
_LONGEST: Final = 200_000
_SAID: Final = "the answer says it, and its request does not"
_SAID_OTHERWISE: Final = 0.6
"""Of a sentence's telling words that a summary has: then it may say the same in other words, and nothing is certain."""


def gone_words(cuts: Sequence[Cut], parts: Sequence[Part]) -> tuple[Gone, ...]:
    """The sentences of the user that stood in what was cut, and that the request says nowhere, nor in other words."""
    said = [cut.item for cut in cuts if cut.item.part.kind == "text" and cut.item.kind == "user"]
    if not said:
        return ()
    text = _plain("\n".join(part.text for part in parts))
    stems = _stems(_WORD.findall(text))
    found: dict[str, Gone] = {}
    for item in said:
        for sentence in _sentences(item.part.text):
            plain = _plain(sentence)
            telling = content_words(plain)
            if len(telling) < _LEAST_WORDS or plain in text or plain.rstrip(".!?;") in text:
                continue
            if len(_stems(telling) & stems) / len(_stems(telling)) <= _SAID_OTHERWISE:
                found.setdefault(plain, Gone(sentence, item))
            if len(found) == _MOST:
                return tuple(found.values())
    return tuple(found.values())


class Dropped:
    """What was cut from the requests of a lane so far, to be looked for in the answers that follow."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        """Facts that were named: each is once."""
        self._asked: dict[str, tuple[Item, Place, Sequence[str]]] = {}
        """Tool calls, with what of their results was cut, too."""
        self._words: list[tuple[Gone, frozenset[str], Place]] = []
        self._index = TextIndex()
        self._texts: dict[int, tuple[Item, Place]] = {}
        self._holding: dict[str, list[int]] = {}
        """The texts that have a word, in their order."""

    def __bool__(self) -> bool:
        """Whether anything was cut."""
        return bool(self._texts or self._asked)

    def cut(self, place: Place, cuts: Iterable[Cut], gone: Iterable[Gone], parts: Iterable[Part]) -> None:
        """Write down what a request lacks that the one before had."""
        kept = {part.text for part in parts}
        cuts = tuple(cuts)
        results = [each.item.part for each in cuts if each.item.part.kind == "result"]
        for each in cuts:
            part = each.item.part
            if part.kind == "call":
                self._asked[part.text] = each.item, place, [gave.text for gave in results if _answers(gave, part)]
            elif part.role != "assistant" and part.text not in kept:  # a model that says its own words again needs none
                number = self._index.add(part.text)
                self._texts[number] = each.item, place
                for word in dict.fromkeys(_RUN.findall(part.text)):
                    self._holding.setdefault(word, []).append(number)
        self._words += [(each, content_words(each.words), place) for each in gone]

    def needed(
        self, context: CallContext, answer: Sequence[Part], parts: Sequence[Part]
    ) -> Iterator[tuple[Place, Needed]]:
        """What of it an answer needed: what it says and its request does not, and tool calls that it asks for again.

        Args:
            context: the call.
            answer: what it answered.
            parts: what it was asked with.
        """
        shown, (step, call) = _Shown(parts), context.place
        said = "\n".join(part.text for part in answer)
        for item in context.own:
            is_told = item.part.kind in ("result", "text") and item.part.role != "assistant"
            if item.mark == "new" and is_told and _was_before(item, (step, call)):
                why = f"{'it was asked for' if item.part.kind == 'result' else 'it was said'} again after it was cut"
                yield from self._in_texts(step, call, item.part.text, None, why)
        for part in answer:
            if part.kind == "call" and part.text in self._asked and not shown.asks(part.text):
                item, place, gave = self._asked.pop(part.text)
                is_lost = any(text not in shown.text for text in gave)
                why = f"it is asked for again{': what it gave was cut' if is_lost else ' after it was cut'}"
                yield place, Needed(_brief(part.text), item, step, call, why)
            yield from self._in_texts(step, call, part.text, shown, _SAID)
        for entity in entities(said[:_LONGEST]):
            stood = None if entity.text in self._told else self._standing(entity.text)
            if stood is not None and entity.text not in shown.text:
                self._told.add(entity.text)
                yield stood[1], Needed(entity.text, stood[0], step, call, _SAID)
        yield from self._in_words(step, call, content_words(said), shown)

    def _standing(self, word: str) -> tuple[Item, Place] | None:
        """The first text that has a word."""
        begins = _RUN.search(word)
        numbers = self._texts if begins is None else self._holding.get(begins.group(), ())
        known = (self._texts[number] for number in numbers if number in self._texts)
        return next((each for each in known if _stands(word, each[0].part.text)), None)

    def _in_texts(
        self, step: int, call: int, text: str, shown: _Shown | None, why: str
    ) -> Iterator[tuple[Place, Needed]]:
        """Parts of a text that were cut, and that a request does not show."""
        for found in self._index.parts(text):
            words = text[found.start : found.end]
            known = next((self._texts[number] for number in found.texts if number in self._texts), None)
            if known is not None and len(words) >= LEAST and (shown is None or words not in shown.text):
                for number in found.texts:
                    self._texts.pop(number, None)
                yield known[1], Needed(words.strip(), known[0], step, call, why)

    def _in_words(self, step: int, call: int, said: frozenset[str], shown: _Shown) -> Iterator[tuple[Place, Needed]]:
        words: frozenset[str] | None = None
        for entry in list(self._words):
            gone, telling, place = entry
            common = said & telling
            if len(common) < _LEAST_WORDS:
                continue
            words = frozenset(_WORD.findall(shown.text.lower())) if words is None else words
            lacking = sorted(common - words)
            if len(lacking) >= _LEAST_WORDS:
                self._words.remove(entry)
                why = f"the answer speaks of {', '.join(lacking[:4])}, which its request does not"
                yield place, Needed(gone.words, gone.cut, step, call, why)


class _Shown:
    """What a request says; nothing of it is put together that nobody asks for."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "\n".join(part.text for part in self._parts)

    def asks(self, text: str) -> bool:
        """Whether a tool call stands in it."""
        return any(part.kind == "call" and part.text == text for part in self._parts)


def _answers(result: Part, call: Part) -> bool:
    """Whether a result is that of a tool call: by the id, else by the tool's name."""
    return result.joins == call.joins if call.joins else result.name == call.name


def _stands(word: str, text: str) -> bool:
    """Whether a text has a word that is not a part of a longer one."""
    at = text.find(word)
    while at >= 0:
        around = text[max(at - 1, 0) : at] + text[at + len(word) : at + len(word) + 1]
        if not any(map(str.isalnum, around)):
            return True
        at = text.find(word, at + 1)
    return False


def _was_before(item: Item, here: Place) -> bool:
    """Whether anything of an item stood anywhere before the call that it is first sent in."""
    return any(origin.place != here for tile in item.tiles for origin in tile.origins)


def _sentences(text: str) -> Iterator[str]:
    for found in _SENTENCE.finditer(text[:_LONGEST]):
        sentence = found.group().strip()
        if len(sentence) >= _LEAST_LENGTH:
            yield sentence


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text.casefold()).strip()


def _stems(words: Iterable[str]) -> frozenset[str]:
    """Words without their commonest endings: `refunds` is `refund`."""
    return frozenset(_ENDING.sub("", word) for word in words)


def _brief(text: str) -> str:
    name, _, rest = text.partition("\n")
    return f"{name}({rest.replace(chr(10), ', ')})"
