r"""Secrets that a text names: fields of JSON, lines of settings, options of commands, headers, what Python shows.

| kind | for example | from |
|---|---|---|
| field | `"password": "…"` in JSON, to any depth of JSON in strings | RFC 8259 |
| quoted | `api_key='…'`, `{'password': '…'}`, `environ["KEY"] = "…"` | Python's `repr`, TOML |
| variable | `DB_PASSWORD=…`, `password=…` in a connection string | dotenv, libpq §34.1.1 |
| setting | `password: …`, `- token: …`, `password = …`, on a line of its own | YAML, INI, HTTP headers |
| said | `password: …`, `password is …` in a line, where the value holds letters and digits | |
| option | `--api-key …`, `--token=…` | |
| element | `<password>…</password>` | XML |
| login | `curl -u user:…`, `sshpass -p …`, `login ann password …` | curl(1), sshpass(1), netrc(5) |
| cookie | `Cookie: a=…; b=…`, `Set-Cookie: a=…` | RFC 6265 §4 |
| authorization | `Authorization: Basic …`, `Authorization: …` | RFC 9110 §11.6.2 |

A line may begin after `\n` as JSON writes it. The text is searched for a few words that names of secrets hold; only
what stands at such a name is looked at further, and only so far: the time is linear in the length of the text.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS, BESIDE_WORDS
from agent_tt.redaction.fields import FIELDS, FIRST_HINTS
from agent_tt.redaction.json_value import JsonValue, is_description
from agent_tt.redaction.judging import is_placeholder, is_secret_text, is_wordy, secret_cookies
from agent_tt.redaction.logins import is_code, is_login, logins_in
from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.names import kind_of
from agent_tt.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

__all__ = ["named_secrets", "names_in"]

_LONGEST_NAME: Final = 60
_SHORTEST_SAID: Final = 4

_ASCII_OF_NAMES: Final = string.ascii_letters + string.digits + "_.-"
_NAME_REST: Final = lazy_re(rf"[\w.-]{{0,{_LONGEST_NAME}}}")
_SPACED_NAME: Final = lazy_re(r"\"([\w. -]{1,60} )\Z")
_JSON: Final = lazy_re(r"(?P<slashes>\\{0,15})\"(?:\s|\\{1,15}[nrt]){0,60}:(?:\s|\\{1,15}[nrt]){0,60}")
_QUOTED: Final = lazy_re(  # at the end of a text it may be `'password: '`
    r"(?:\\{0,7}[\"'])?\]?[ \t]{0,3}(?::|=>?|:=)[ \t]{0,3}(?:[rbfu]{0,2})(?P<open>\\{0,7}[\"'])"
    r"(?P<it>(?![)\],};+ ]|(?P=open))(?:(?!\\{1,15}[nr])[^\r\n]){1,2000}?)(?:(?P=open)|\Z)"
)
_BARE: Final = r"[^\s\"'`\\<>,;&|]"
_VARIABLE: Final = lazy_re(rf"=(?P<it>(?![=(\[{{]){_BARE}{{1,2000}})")
_SETTING: Final = lazy_re(
    r"(?P<separator>[ \t]{0,40}:[ \t]{1,40}|[ \t]{1,40}=[ \t]{1,40}|:(?=[^\s:/]))(?P<it>[^\s\"'`\\<>]{1,2000})"
    r"(?=[ \t]{0,40}(?:\Z|[\r\n]|\\{1,15}[rn]|[\"']|[ \t]#))"
)
_LINE_BEFORE: Final = lazy_re(
    r"(?:\A|[\r\n\"']|\\[nrt])[ \t]{0,40}(?:export[ \t]+|set[ \t]+|-[ \t]{1,4}|>[ \t]?|[-+][ ]?)?\Z"
)
_BEFORE: Final = 60
"""Characters before a name that tell whether a line begins with it."""
_SAID: Final = lazy_re(rf"[ \t]?(?::|=|\bis\b)[ \t]{{1,4}}(?P<it>(?![(\[{{]){_BARE}{{4,400}})")
_OPTION: Final = lazy_re(
    r"(?:=|[ \t]{1,4})(?:(?P<open>\\{0,7}[\"'])(?P<it>[^\"'\\\r\n]{1,400})|(?P<bare>[^\s\"'\\-][^\s\"'\\]{0,400}))"
)
_ELEMENT: Final = lazy_re(r">(?P<it>[^<>\r\n]{1,400})</")
_COOKIES: Final = lazy_re(
    r"\\{0,7}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,7}[\"']?"
    r"(?P<it>(?:[^\r\n\"'\\]|(?<==)\"[^\"\r\n\\]{0,4000}\"){3,4000})"  # the value of a cookie may stand in quotes
)
_AUTHORIZATION: Final = lazy_re(
    r"\\{0,7}[\"']?[ \t]{0,3}[:=,][ \t]{0,3}\\{0,7}[\"']?"
    r"(?:(?:Basic|Bearer|Token|ApiKey|Api-Key|Key|Negotiate)[ \t]{1,4})?(?P<it>[^\s\"'\\<>]{4,4000})",
    re.IGNORECASE,
)
_SIGNS: Final = (":", "=", ">", ",", "-", "is")
"""Every text that names a secret has one of these, unless it is a command. Most short texts have none."""
_ATTRIBUTE: Final = lazy_re(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,8}")


def named_secrets(text: str, held: AbstractSet[str] | None = None) -> Iterator[Span]:
    """Yield where secrets stand that the text names.

    Args:
        text: any text.
        held: the words of `ANCHORS` that it holds, for who knows them.
    """
    held = ANCHORS.held_in(text) if held is None else held
    hints, of_fields = FIELDS.hints_in(held)
    is_asked = (hints or of_fields) and any(sign in text for sign in _SIGNS)
    names = _names(text, hints, of_fields) if is_asked else {}
    end = 0
    for start, last in sorted(names.items()):
        if start < end:  # inside what was gone through as a whole
            continue
        found = _Place(text, start, last)
        yield from found.secrets()
        end = found.end
    yield from logins_in(text, held)


def names_in(text: str) -> dict[int, int]:
    """Where names of secrets stand in a text: their ends by their beginnings.

    Args:
        text: any text.
    """
    return _names(text, *FIELDS.hints_in(ANCHORS.held_in(text)))


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def _names(text: str, hints: Sequence[str], of_fields: Sequence[str]) -> dict[int, int]:
    """Where the names of secrets stand: their ends by their beginnings."""
    found: dict[int, int] = {}
    lower = _lower(text) if hints or of_fields else ""
    for number, hint in enumerate([*hints, *of_fields]):
        is_part = _is_within_word if number >= len(hints) else _goes_on if hint in FIRST_HINTS else None
        pattern = _places_of(hint, kind_of(hint) is not None)
        place = pattern.search(lower)
        while place is not None:
            at, after = place.span()
            if is_part is not None and is_part(text, at, after):
                place = pattern.search(lower, after)
                continue
            limit = max(0, at - _LONGEST_NAME)
            start = limit + len(text[limit:at].rstrip(_ASCII_OF_NAMES))
            while start > limit and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
                start -= 1
            if start and text[start - 1] == "\\" and text[start] in "nrt":
                start += 1
            while start < at and text[start] in ".-":
                start += 1
            rest = _NAME_REST.match(text, at)
            end = at if rest is None else rest.end()
            if start not in found and kind_of(text[start:end].rstrip(".-")) is not None:
                found[start] = end
            place = pattern.search(lower, max(end, at + 1))
    return found


@lru_cache(256)
def _places_of(hint: str, is_name: bool) -> re.Pattern[str]:  # noqa: FBT001
    """What finds a hint; one that is no name not where it is all that stands there: `number`, but `account_number`."""
    if is_name:
        return re.compile(re.escape(hint))
    beside = f"[^{BESIDE_WORDS}]"
    return re.compile(rf"{re.escape(hint)}(?:(?={beside})|(?<={beside}{re.escape(hint)}))")


def _is_within_word(text: str, start: int, end: int) -> bool:
    """Whether a hint is a part of a longer word, and so no word of a field: `ip` in `shipping`."""
    return "a" <= text[end : end + 1] <= "z" or _goes_on(text, start, end)


def _goes_on(text: str, start: int, _end: int) -> bool:
    """Whether a word goes on with a hint, and does not begin with it. Before it may end a line, as JSON writes that."""
    return "a" <= text[start - 1 : start] <= "z" and text[start] >= "a" and text[start - 2 : start - 1] != "\\"


class _Place:
    """One name in a text, and what stands there.

    Attributes:
        end: one after the last character that was gone through as a whole.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._start = start
        self._name_end = end
        self._name = text[start:end].rstrip(".-")
        self.end = 0

    def secrets(self) -> Iterator[Span]:
        """Yield the secrets that the name names."""
        if self._name.lower().endswith("authorization"):
            yield from self._authorization()
        elif kind_of(self._name) == "cookie" and (cookies := self._cookies()):
            begin, header = cookies
            self.end = begin + len(header)
            yield from (Span(begin + start, begin + end) for start, end in secret_cookies(header))
        elif (value := self._json()) is not None:
            yield from value
        else:
            for pattern, is_meant in _WAYS:
                match = pattern.match(self._text, self._name_end)
                span = None if match is None else self._span(match, is_meant)
                if span is not None:
                    self.end = span.end
                    yield span
                    return

    def _span(self, match: re.Match[str], is_meant: Callable[[_Place, re.Match[str], str], bool]) -> Span | None:
        group = "it" if match["it"] is not None else "bare"
        value = match[group]
        if is_placeholder(value):
            return None
        if not match.groupdict().get("open"):
            value = _without_end(value)
        if is_mark(value) or not is_secret_text(self._name, value) or not is_meant(self, match, value):
            return None
        start = match.start(group)
        return Span(start, start + len(value))

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def before(self) -> str:
        """What stands before the name."""
        return self._text[max(0, self._start - _BEFORE) : self._start]

    def _json(self) -> Iterator[Span] | None:
        text = self._text
        match = _JSON.match(text, self._name_end)
        if match is None:
            return None
        quote = match["slashes"] + '"'
        name = self._name
        if not text.endswith(quote, 0, self._start):
            spaced = _SPACED_NAME.search(self.before)
            if spaced is None:
                return None
            name = spaced[1] + name
        value = JsonValue(text, match["slashes"])
        if not value.is_at(match.end()):
            return None
        if is_description(text, self._start, match.end()):
            return iter(())
        found = [*value.secrets(match.end(), name)]
        self.end = value.at
        return iter(found)

    def _cookies(self) -> tuple[int, str] | None:
        """Where the cookies of a header begin, and they; None where the name is not followed by any."""
        header = _COOKIES.match(self._text, self._name_end)
        return None if header is None or "=" not in header["it"] else (header.start("it"), header["it"])

    def _authorization(self) -> Iterator[Span]:
        found = _AUTHORIZATION.match(self._text, self._name_end)
        if found is not None and is_login(found["it"]):
            self.end = found.end()
            yield Span(*found.span("it"))


def _is_quoted(_place: _Place, _match: re.Match[str], _value: str) -> bool:
    return True


def _is_option(place: _Place, _match: re.Match[str], value: str) -> bool:
    return place.before.endswith("-") and not is_code(value)


def _is_variable(place: _Place, _match: re.Match[str], value: str) -> bool:
    """Of `NAME=value`: a program that passes `password=password` on says nothing."""
    if is_code(value):
        return False
    return place.name.isupper() or _is_no_name(value) or _LINE_BEFORE.search(place.before) is not None


def _is_setting(place: _Place, match: re.Match[str], value: str) -> bool:
    if is_code(value) or _LINE_BEFORE.search(place.before) is None:
        return False
    if "=" in match["separator"]:  # a program gives a name another: `password = pw`
        return _is_no_name(value)
    return _is_no_name(value) or value.islower()  # an annotation names a class: `password: SecretStr`


def _is_said(place: _Place, _match: re.Match[str], value: str) -> bool:
    """In the middle of a line a word is a word; letters with digits are a secret."""
    if len(value) < _SHORTEST_SAID or is_code(value) or is_wordy(value):
        return False
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    return has_digit and (has_letter or kind_of(place.name) == "pin")


def _is_element(place: _Place, _match: re.Match[str], _value: str) -> bool:
    return place.before.endswith(("<", ":"))


_WAYS: Final = (
    (_QUOTED, _is_quoted),
    (_OPTION, _is_option),
    (_SETTING, _is_setting),
    (_VARIABLE, _is_variable),
    (_SAID, _is_said),
    (_ELEMENT, _is_element),
)
"""How a name may name its value, and what must hold then; the first that holds counts."""


def _is_no_name(value: str) -> bool:
    """Whether a value is not a name of a variable, an attribute or a class: it holds digits or signs."""
    return _ATTRIBUTE.fullmatch(value) is None or any(map(str.isdigit, value))


def _without_end(value: str) -> str:
    """A value without what ends the sentence or closes the bracket around it."""
    shown = value.rstrip(".,:;!?*")
    for opened, closed in ("()", "[]", "{}"):
        if closed in shown and opened not in shown:
            shown = shown[: shown.index(closed)]
    return shown or value
