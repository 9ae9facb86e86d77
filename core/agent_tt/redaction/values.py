"""Wire values without their secrets. A value that holds none is given back as it is, never copied."""

from __future__ import annotations

import base64
import binascii
from operator import is_
from typing import TYPE_CHECKING, Final

from agent_tt.codec.carried import Carried
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.redaction.given import GIVEN, SHORTEST_GIVEN
from agent_tt.redaction.judging import is_placeholder, is_secret_number, is_secret_text, secret_cookies
from agent_tt.redaction.marks import (
    MARK,
    is_mark,
    same_digits,
)
from agent_tt.redaction.names import (
    is_described,
    kind_of,
    within,
)
from agent_tt.redaction.one_look import (
    KEYS,
    LEFT,
    are_all_clean,
    gather,
    hold_nothing,
    holds_nothing,
    is_header_pair,
    says_nothing,
)
from agent_tt.redaction.own import OWN
from agent_tt.redaction.texts import (
    CLEAN,
    asked_text,
    cleaned_bytes,
    given_text,
    header_value,
    is_clean,
    marked,
    redact_text,
    without_cookies,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.redaction.texts import Hide

_FEW: Final = 30
"""A list of so many objects, or fewer, is looked at as a whole at first: mostly nothing is found in any."""
_OF_NUMBERS: Final = frozenset({"complex", "range", "timedelta"})
"""Typed values that consist of a few numbers each."""
_LOGIN_OPTIONS: Final = ("u", "U", "user", "proxy-user")
"""Options after which `user:password` stands, as curl's."""


def redact(value: Wire, name: str = "") -> Wire:
    """A wire value without secrets.

    Args:
        value: what is to be kept.
        name: name of the field that holds it.
    """
    return _KEPT.value(value, name)


def asked(value: Wire, name: str = "") -> Wire:
    """As `redact`, for what a question asks: every secret is the same, and so is a mark that a replay gave."""
    latest = LEFT.latest
    shown = _ASKED.value(value, name)
    if shown is value and (not name or says_nothing(name)):
        latest[0] = value
    return shown


def given(value: Wire) -> Wire:
    """As `redact`, for an answer: what it gives the agent is recognised when that hands it on."""
    return _ANSWERED.value(value, "")


def given_by_name(value: Wire) -> Wire:
    """As `given`, of what the names of fields give away alone; no text is searched.

    Args:
        value: any value.
    """
    return _Walk(str, hide=GIVEN.hide).value(value, "")


def given_keys(value: Wire) -> Wire:
    """As `given`, of the keys of its objects alone.

    Args:
        value: any value.
    """
    if isinstance(value, dict):
        shown = {
            given_text(key) if len(key) >= SHORTEST_GIVEN else key: given_keys(item) for key, item in value.items()
        }
        return value if all(map(is_, shown.values(), value.values())) and shown.keys() == value.keys() else shown
    if isinstance(value, list):
        items = [given_keys(item) for item in value]
        return value if all(map(is_, items, value)) else items
    return value


class _Walk:
    """Goes through one value.

    Args:
        text: gives a text without secrets.
        hide: gives what stands for a secret whose name gave it away.
    """

    def __init__(self, text: Callable[[str], str], hide: Hide | None = None) -> None:
        self._clean = text
        self._hide = hide or marked
        self._searches = text is not str

    def value(self, value: Wire, name: str, beside: Mapping[str, Wire] | None = None) -> Wire:
        """A value without secrets.

        Args:
            value: the value.
            name: what counts as the name of the field that holds it; "" of none.
            beside: the fields of the object that holds it.
        """
        kind = type(value)
        if kind is str:
            if not name or kind_of(name) is None:  # mostly, and at once
                return self._clean(value)  # type: ignore[arg-type]  # its kind is known
            return self._named_text(value, name, beside)  # type: ignore[arg-type]
        if kind is dict:
            return self._object(value, name) if value else value  # type: ignore[arg-type]
        if kind is list:
            return self._list(value, name) if value else value  # type: ignore[arg-type]
        if (kind is int or kind is float) and (
            (value >= OWN.least_number and kind is int) or (name and kind_of(name) is not None)  # type: ignore[operator]
        ):
            return self._number(value, name, beside)  # type: ignore[arg-type]
        return value

    def _object(self, fields: dict[str, Wire], name: str) -> Wire:
        """A dict."""
        if name and says_nothing(name):
            name = ""
        if name or not self._searches:
            return self._dict(fields, name)
        if holds_nothing(fields):
            return fields
        version = GIVEN.version
        shown = self._dict(fields, "")
        # What an answer gave may stand in what was looked at before.
        return shown if version == GIVEN.version else self._dict(fields, "")

    def _named_text(self, text: str, name: str, beside: Mapping[str, Wire] | None) -> str:
        if name.lower() == "set-cookie":
            return self._clean(without_cookies(text, self._hide))
        if text and is_secret_text(name, text, lambda: " ".join(beside or ())):
            return self._secret(text, name)
        cleaned = self._clean(text)
        # What is left would count as a secret the next time, such as `Bearer` and a mark: it does at once.
        if cleaned is not text and is_secret_text(name, cleaned, lambda: " ".join(beside or ())):
            return self._secret(text, name)
        return cleaned

    def _number(self, number: float, name: str, beside: Mapping[str, Wire] | None) -> Wire:
        is_named = bool(name) and is_secret_number(name, number, lambda: " ".join(beside or ()))
        if not is_named and not OWN.takes_number(number):
            return number
        return MARK if self._hide is marked else type(number)(same_digits(repr(number)))

    def _secret(self, text: str, name: str = "") -> str:
        """What stands for a secret."""
        if is_mark(text):
            return self._clean(text)
        if kind_of(name) == "cookie":
            return self._clean(self._cookies(text))
        return self._clean(self._hide(text))

    def _cookies(self, text: str) -> str:
        """Cookies without what lets somebody in, as a text that holds them has them."""
        for start, end in reversed(secret_cookies(text)):
            text = text[:start] + self._hide(text[start:end]) + text[end:]
        return text

    def _dict(self, fields: dict[str, Wire], name: str) -> Wire:
        if TYPE in fields:
            return self._envelope(fields, name)
        return self._each(fields, name)

    def _each(self, fields: dict[str, Wire], name: str) -> Wire:
        changed: dict[str, Wire] = {}
        clean, least_number = self._clean, OWN.least_number
        for key, item in fields.items():
            kind = type(item)
            if item is None or kind is bool:
                continue
            shown: Wire
            if name or key == VALUE or key == "value":
                shown = self.value(item, _name_of(fields, key, item, name), fields)
            elif kind is str and kind_of(key) is None:  # these two are most of all fields
                shown = clean(item)  # type: ignore[arg-type]
            elif kind is int and item < least_number and kind_of(key) is None:  # type: ignore[operator]
                continue
            elif (kind is dict or kind is list) and says_nothing(key):
                shown = self.value(item, "")
            else:
                shown = self.value(item, key, fields)
            if shown is not item:
                changed[key] = shown
        cleaned = {**fields, **changed} if changed else fields
        return self._with_clean_keys(cleaned)

    def _envelope(self, fields: dict[str, Wire], name: str) -> Wire:
        """A typed value: one that a text stands for is a secret as a whole."""
        kind, held = fields[TYPE], fields.get(VALUE)
        if kind in ("bytes", "bytearray") and type(held) is str:
            return self._packed(fields, held, name)
        if name and type(held) is str and is_secret_text(name, held):
            return self._secret(held, name)
        if name and kind == "opaque" and is_secret_text(name, str(fields.get("repr"))):
            return {**fields, "repr": MARK}
        if kind in ("dict", "sub") and type(held) is list and all(map(_is_entry, held)):
            shown = [self._entry(entry, name) for entry in held]  # type: ignore[arg-type]  # as was checked
            return fields if all(map(is_, shown, held)) else {**fields, VALUE: shown}
        # What its class is called is not a secret, whoever holds it.
        shown_parts = {key: self.value(item, name if key == VALUE else "") for key, item in fields.items()}
        if all(shown_parts[key] is item for key, item in fields.items()):
            return fields
        # With a mark among its numbers it could not be rebuilt.
        return MARK if kind in _OF_NUMBERS and self._hide is marked else shown_parts

    def _entry(self, entry: list[Wire], name: str) -> Wire:
        """A key and a value of a dict whose keys are not all texts."""
        key, item = entry
        shown = [self.value(key, ""), self.value(item, within(name, key) if type(key) is str else name)]
        return entry if all(map(is_, shown, entry)) else shown

    def _with_clean_keys(self, fields: dict[str, Wire]) -> dict[str, Wire]:
        known = KEYS.seen()
        if fields.keys() <= known:
            return fields
        for key in fields:
            if len(key) >= SHORTEST_GIVEN and self._clean(key) != key:
                break
            if len(key) < SHORTEST_GIVEN or is_clean(key):
                known.add(key)
        else:
            return fields
        return {self._clean(key): item for key, item in fields.items()}

    def _list(self, items: list[Wire], name: str) -> Wire:
        if len(items) == 2 and is_header_pair(items):
            shown_value = self._clean(header_value(str(items[0]), str(items[1]), self._hide))
            return items if shown_value == items[1] else [items[0], shown_value]
        if self._searches and (not name or says_nothing(name)):
            if len(items) > _FEW and set(map(type, items)) == {dict}:
                return self._objects(items)  # type: ignore[arg-type]  # as was checked
            if holds_nothing(items):
                return items
            shown = self._items(items)
        else:
            shown = [self.value(item, name) for item in items]
        before = ""
        for index, item in enumerate(items) if str in map(type, items) else ():
            if type(item) is str:
                if before and not item.startswith("-"):
                    shown[index] = self._argument(before, item, shown[index])
                before = _flag(item)
                option, equals, value = item.partition("=")
                if equals and _is_secret_argument(_flag(option), value):
                    shown[index] = f"{option}={self._secret(value)}"
        return items if all(map(is_, shown, items)) else shown

    def _items(self, items: list[Wire]) -> list[Wire]:
        """The items of a list in some of which something is found: of others it is mostly known."""
        short: list[str] = []
        long: list[str] = []
        shown: list[Wire] = []
        for item in items:
            is_known = type(item) is dict and gather(item, short, long) and not (short or long)
            shown.append(item if is_known else self.value(item, ""))
            if short or long:
                short, long = [], []
        return shown

    def _objects(self, items: list[dict[str, Wire]]) -> Wire:
        """A list of objects, in some of which something may be found: their short texts are looked at together."""
        short: list[str] = []
        gathered: list[tuple[bool, list[str], int]] = []
        for item in items:
            long: list[str] = []
            gathered.append((gather(item, short, long), long, len(short)))
        is_all_clean, clean = are_all_clean(short), CLEAN.kept
        shown: list[Wire] = []
        start = 0
        for item, (is_quiet, more, end) in zip(items, gathered, strict=True):
            # What one of them gave may stand in the next: then nothing that was looked at before counts as clean.
            is_known = clean is CLEAN.kept and (is_all_clean or clean.issuperset(short[start:end]))
            is_left = not item or (is_quiet and is_known and hold_nothing(more))
            shown.append(item if is_left else self._object(item, ""))
            start = end
        return items if all(map(is_, shown, items)) else shown  # type: ignore[return-value]

    def _argument(self, option: str, argument: str, shown: Wire) -> Wire:
        """What stands after an option of a command."""
        if _is_secret_argument(option, argument):
            return self._secret(argument)
        user, colon, password = argument.partition(":")
        if option in _LOGIN_OPTIONS and colon and "/" not in user and password and not is_placeholder(password):
            return f"{user}:{self._secret(password)}"
        return shown

    def _packed(self, envelope: dict[str, Wire], packed: str, name: str) -> Wire:
        """The envelope of bytes."""
        try:
            data = base64.b64decode(packed)
        except (ValueError, binascii.Error):
            return envelope
        if name and is_secret_text(name, data.decode("latin-1")):
            shown = self._secret(data.decode("latin-1"), name).encode("latin-1", "replace")
        else:
            shown = cleaned_bytes(data, self._clean)
        return envelope if shown == data else {**envelope, VALUE: base64.b64encode(shown).decode()}


_ASKED: Final = _Walk(asked_text)
_KEPT: Final = _Walk(redact_text)
_ANSWERED: Final = _Walk(given_text, hide=GIVEN.hide)
"""One walk for each use: what a question asks, what is stored, and what an answer gives the agent."""


class Redactor:
    """`redact` for one value after another: an object that the next one holds as well is gone through once.

    What is given must not change afterwards.
    """

    def __init__(self) -> None:
        self._carried: Carried[Wire] = Carried()
        self._walk = _CarryingWalk(self._carried)
        self._version = GIVEN.version

    def begin(self, lane: str) -> None:
        """Go on to the next step of a lane, whose values share objects with those of the step before it."""
        self._carried.begin(lane)

    def redact(self, value: Wire) -> Wire:
        """A wire value without secrets."""
        if self._version != GIVEN.version:  # something else is secret now
            self._carried.forget()
            self._version = GIVEN.version
        return self._walk.value(value, "")


class _CarryingWalk(_Walk):
    """Goes through values that share objects: what comes of one depends on its name, and on nothing else around it.

    Args:
        carried: what came of objects.
    """

    def __init__(self, carried: Carried[Wire]) -> None:
        super().__init__(redact_text)
        self._carried = carried

    def _object(self, fields: dict[str, Wire], name: str) -> Wire:
        shown = self._carried.get(fields, name)
        if shown is None:
            shown = _Walk._object(self, fields, name)  # noqa: SLF001  no `super()` is made for each of thousands
            self._carried.keep(fields, shown, name)
        return shown

    def _list(self, items: list[Wire], name: str) -> Wire:
        if set(map(type, items)) != {dict}:  # what a text says may depend on the one before it
            return super()._list(items, name)
        start, known = self._carried.begun(items, name)
        shown = known[:start] if isinstance(known, list) else []
        more: list[dict[str, Wire]] = items[start:]  # type: ignore[assignment]  # as was checked
        fresh = [item for item in more if self._carried.get(item, name) is None]
        if len(fresh) > 1 and not name and holds_nothing(fresh):  # type: ignore[arg-type]
            for item in fresh:
                self._carried.keep(item, item)
        shown += [self._object(item, name) if item else item for item in more]
        self._carried.keep_list(items, shown, name)
        return items if all(map(is_, shown, items)) else shown


def field_of(path: Sequence[str | int], *, is_object: bool) -> str:
    """Tell which name counts for the value at a path, as `redact` does on its way there.

    Args:
        path: keys and positions from the state on.
        is_object: whether the value is an object: no scalar, no list.
    """
    name = ""
    for number, key in enumerate(path):
        if type(key) is str and key != VALUE:
            after = path[number + 1] if number + 1 < len(path) else None
            holds_object = is_object if after is None else type(after) is str
            name = "" if is_described(name) and holds_object else within(name, key)
    return name


def field_in(holder: str, key: str) -> str:
    """Tell which name counts for a scalar of an object.

    Args:
        holder: the name that counts for the object; see `field_of`.
        key: of the scalar.
    """
    return holder if key == VALUE else within(holder, key)


def _name_of(fields: Mapping[str, Wire], key: str, item: Wire, holder: str) -> str:
    """Which name counts for an entry of an object."""
    if key == VALUE:  # what an envelope wraps is named by who holds the envelope
        return holder
    if key == "value":  # `{"name": "api_key", "value": …}`
        return _named_beside(fields) or holder
    if type(item) is dict and is_described(holder):
        return ""
    return within(holder, key)


def _is_secret_argument(option: str, argument: str) -> bool:
    """Whether a command is given a secret: its `--token` is not a piece of a text, unless it is a number."""
    is_given = kind_of(option) == "token" and bool(argument) and not argument.isdigit() and not is_placeholder(argument)
    return is_given or is_secret_text(option, argument)


def _is_entry(item: Wire) -> bool:
    return type(item) is list and len(item) == 2


def _flag(item: str) -> str:
    """The name of an option of a command: of `--api-key`."""
    return item.lstrip("-") if item.startswith("-") and " " not in item else ""


def _named_beside(fields: Mapping[str, Wire]) -> str:
    for key in ("name", "key"):
        name = fields.get(key)
        if type(name) is str:
            return name
    return ""
