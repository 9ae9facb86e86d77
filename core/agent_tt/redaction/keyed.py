"""What stands for personal data: as long as it was, with its kind, and the same for equal values of one store.

A mark is `~`, the beginning of the kind's word, letters that a key of the store makes of the value, and `~` up to its
length: `~mail4k7xw2qa~~~`. A telephone number has few digits, so that a digest could be found by trying; with a key
that nobody has it cannot be. The key lies in a file beside the store, never in it: what is copied, exported or sent of
a store carries no key.

In another store a replay has no such key. There a value that the program brings with it takes the next mark of its kind
and length of those that the recorded questions brought, in the order in which they first appear.
"""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
import threading
from collections import defaultdict, deque
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.addresses import Address, beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["KEYED", "KEYED_MARK", "as_one", "key_path", "key_tells", "keyed_marks_in", "store_key"]

_LOG = logging.getLogger(__name__)

_KEY_BYTES: Final = 32
_MOST_LETTERS: Final = 12
_LEAST_LETTERS: Final = 5
_DIGITS: Final = "23456789"
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
"""Three bits of a digest make the one of these, and five each of the others."""
_BYTES_OF_LETTERS: Final = 8
KEYED_MARK: Final = lazy_re(r"~[a-z]{1,5}[2-9][a-z2-7]{2,11}~+")
_SIGNS: Final = {"%40": "@", "%2b": "+"}
_ESCAPED: Final = lazy_re("%40|%2[Bb]")
_BETWEEN: Final = lazy_re(r"[\s().\-/]+")
_MOST_REMEMBERED: Final = 10_000


class _Keyed:
    """The key that holds in this process, and what it made.

    Attributes:
        lacks_key: whether a recorded run is followed whose key is not here.
        has_guessed: whether a value was taken for that of a recorded mark, without the key that would tell.
        kept_by: is told each mark that is made, and the value as it was written; None for nobody.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._store: Path | None = None
        self._key: bytes | None = None
        self._next: dict[tuple[str, int], deque[str]] = {}
        self._given: dict[tuple[str, str, int], str] = {}
        self.lacks_key = False
        self.has_guessed = False
        self.kept_by: Callable[[str, str], None] | None = None

    def at(self, store: Path) -> None:
        """Make marks with the key of a store from now on; where it has none, one is made when a mark is needed.

        Args:
            store: its file.
        """
        with self._lock:
            if self._next or store != self._store:
                self._store, self._key, self._next, self._given = store, None, {}, {}

    def follow(self, store: Path | None, key_id: str, marks: Iterable[str]) -> None:
        """Make the marks of a recorded run again.

        Args:
            store: the file that the run is read from; None where that is not known.
            key_id: what tells the key that the run was recorded with.
            marks: those of its questions that no answer gave, in the order in which they first appear.
        """
        with self._lock:
            self._store, self._next, self._given, self.has_guessed = None, {}, {}, False
            self._key = None if store is None else _read(key_path(store))
            self.lacks_key = self._key is None or key_tells(self._key) != key_id
            if not self.lacks_key:
                return
            self._key = secrets.token_bytes(_KEY_BYTES)
            waiting: dict[tuple[str, int], deque[str]] = defaultdict(deque)
            for mark in dict.fromkeys(marks):
                waiting[_word_of(mark), len(mark)].append(mark)
            self._next = dict(waiting)

    def forget(self) -> None:
        """Follow no recorded run any more."""
        with self._lock:
            if self._next:
                self._key, self._next, self._given = None, {}, {}
            self.lacks_key = self.has_guessed = False

    def id(self) -> str:
        """What tells the key from others, and nothing of what it is."""
        with self._lock:
            return key_tells(self._its_key())

    def mark(self, word: str, value: str, *, size: int | None = None) -> str:
        """What stands for a value.

        Args:
            word: its kind: one of those of `agent_tt.redaction.personal`.
            value: as it was written; at least six characters, as all of these have.
            size: how long it is to be; else as the value, without the signs by which addresses write others.
        """
        plain = _ESCAPED.sub(lambda sign: _SIGNS[sign[0].lower()], value) if "%" in value else value
        size = len(plain) if size is None else size
        known = (word, _plain(word, plain), size)
        with self._lock:
            found = self._given.get(known)
            if found is None:
                letters = min(_MOST_LETTERS, max(_LEAST_LETTERS, size - 2 - len(word)), size - 3)
                shown = word[: size - 2 - letters]
                waiting = self._next.get((shown, size))
                if waiting:
                    self.has_guessed = True
                    found = waiting.popleft()
                else:
                    found = f"~{shown}{_letters(self._its_key(), known, letters)}".ljust(size, "~")
                    if self.kept_by is not None:
                        self._keep(found, plain)
                if len(self._given) >= _MOST_REMEMBERED and not self._next:
                    self._given.clear()
                self._given[known] = found
        return found

    def _keep(self, mark: str, value: str) -> None:
        try:
            self.kept_by(mark, value)  # type: ignore[misc]  # it was asked
        except OSError as error:
            _LOG.warning("what marks stand for is not kept any more: %s", error)
            self.kept_by = None

    def _its_key(self) -> bytes:
        if self._key is None:
            self._key = (None if self._store is None else store_key(self._store)) or secrets.token_bytes(_KEY_BYTES)
        return self._key


KEYED: Final = _Keyed()


def key_path(store: Path) -> Path:
    """Where the key of a store lies.

    Args:
        store: its file, or its address.
    """
    place = beside(store)
    return place.with_name(f"{place.name}.marks-key")


def keyed_marks_in(text: str) -> list[str]:
    """The marks of personal data in a text, in order."""
    return KEYED_MARK.findall(text) if "~" in text else []


def as_one(value: str) -> str:
    """A value of personal data however it is written: what has the same is the same."""
    return _BETWEEN.sub("", value.lower())


def _word_of(mark: str) -> str:
    return mark[1 : next(at for at, letter in enumerate(mark) if letter.isdigit())]


def _plain(word: str, value: str) -> str:
    """A value as it is however it is written: addresses in small letters, numbers without what parts their digits."""
    return value.lower() if word in ("mail", "ip") else as_one(value)


@lru_cache(16)
def _hasher(key: bytes, word: str) -> blake2b:
    """What makes digests with a key: to begin with, half of the work is the key's."""
    return blake2b(key=key, person=word.encode())


def _letters(key: bytes, known: tuple[str, str, int], count: int) -> str:
    hasher = _hasher(key, known[0]).copy()
    hasher.update(known[1].encode("utf-8", "surrogatepass"))
    made = hasher.digest()
    number = int.from_bytes(made[-_BYTES_OF_LETTERS:])
    first = _DIGITS[number % len(_DIGITS)]
    return first + "".join([_LETTERS[number >> at & 31] for at in range(3, 5 * count - 2, 5)])


def key_tells(key: bytes) -> str:
    """What tells a key from others, and nothing of what it is."""
    return blake2b(b"which key", key=key, digest_size=8).hexdigest()


def _read(path: Path) -> bytes | None:
    """The key in a file; None where there is none."""
    try:
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def store_key(store: Path) -> bytes | None:
    """The key of a store, made where it has none; None where it can be neither read nor written.

    Of processes that make it at once one wins: the file appears whole, and only where there was none.
    """
    path = key_path(store)
    key = _read(path)
    if key is not None:
        return key
    try:
        if isinstance(store, Address):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # for its owner alone to read
        try:
            with os.fdopen(made, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            Path(path).hardlink_to(name)
        except FileExistsError:
            pass
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning("%s cannot be written, so marks of this process are its own: %s", path, error)
    return _read(path)
