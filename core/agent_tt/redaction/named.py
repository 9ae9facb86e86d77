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
from typing import TYPE_CHECKING, Final

from agent_tt.redaction.fields import FIELDS
from agent_tt.redaction.json_value import JsonValue, is_description
from agent_tt.redaction.judging import is_placeholder, is_secret_text, is_wordy
from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.names import is_secret_cookie, kind_of
from agent_tt.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["holds_hint", "named_secrets", "names_in"]

_FIRST_HINTS: Final = frozenset({"pin", "pwd", "cvv", "cvc", "jwt"})
"""Hints that a word of a secret begins with, if it holds them."""
_LONGEST_NAME: Final = 60
_SHORTEST_SAID: Final = 4

_ASCII_OF_NAMES: Final = string.ascii_letters + string.digits + "_.-"
_BESIDE_WORDS: Final = " \n,:"
"""What stands beside most words, and is part of no name."""
_NAME_REST: Final = re.compile(rf"[\w.-]{{0,{_LONGEST_NAME}}}")
_SPACED_NAME: Final = re.compile(r"\"([\w. -]{1,60} )\Z")
_JSON: Final = re.compile(r"(?P<slashes>\\{0,15})\"(?:\s|\\{1,15}[nrt]){0,60}:(?:\s|\\{1,15}[nrt]){0,60}")
_QUOTED: Final = re.compile(  # at the end of a text it may be `'password: '`
    r"(?:\\{0,7}[\"'])?\]?[ \t]{0,3}(?::|=>?|:=)[ \t]{0,3}(?:[rbfu]{0,2})(?P<open>\\{0,7}[\"'])"
    r"(?P<it>(?![)\],};+ ]|(?P=open))(?:(?!\\{1,15}[nr])[^\r\n]){1,2000}?)(?:(?P=open)|\Z)"
)
_BARE: Final = r"[^\s\"'`\\<>,;&|]"
_VARIABLE: Final = re.compile(rf"=(?P<it>(?![=(\[{{]){_BARE}{{1,2000}})")
_SETTING: Final = re.compile(
    r"(?P<separator>[ \t]{0,40}:[ \t]{1,40}|[ \t]{1,40}=[ \t]{1,40}|:(?=[^\s:/]))(?P<it>[^\s\"'`\\<>]{1,2000})"
    r"(?=[ \t]{0,40}(?:\Z|[\r\n]|\\{1,15}[rn]|[\"']|[ \t]#))"
)
_LINE_BEFORE: Final = re.compile(
    r"(?:\A|[\r\n\"']|\\[nrt])[ \t]{0,40}(?:export[ \t]+|set[ \t]+|-[ \t]{1,4}|>[ \t]?|[-+][ ]?)?\Z"
)
_BEFORE: Final = 60
"""Characters before a name that tell whether a line begins with it."""
_SAID: Final = re.compile(rf"[ \t]?(?::|=|\bis\b)[ \t]{{1,4}}(?P<it>(?![(\[{{]){_BARE}{{4,400}})")
_OPTION: Final = re.compile(
    r"(?:=|[ \t]{1,4})(?:(?P<open>\\{0,7}[\"'])(?P<it>[^\"'\\\r\n]{1,400})|(?P<bare>[^\s\"'\\-][^\s\"'\\]{0,400}))"
)
_ELEMENT: Final = re.compile(r">(?P<it>[^<>\r\n]{1,400})</")
_COOKIES: Final = re.compile(
    r"\\{0,7}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,7}[\"']?"
    r"(?P<it>(?:[^\r\n\"'\\]|(?<==)\"[^\"\r\n\\]{0,4000}\"){3,4000})"  # the value of a cookie may stand in quotes
)
_ONE_COOKIE: Final = re.compile(r"(?P<name>[^=;,\s\"]{1,100})=\"?(?P<it>[^;,\s\"]{1,4000})")
_AUTHORIZATION: Final = re.compile(
    r"\\{0,7}[\"']?[ \t]{0,3}[:=,][ \t]{0,3}\\{0,7}[\"']?"
    r"(?:(?:Basic|Bearer|Token|ApiKey|Api-Key|Key|Negotiate)[ \t]{1,4})?(?P<it>[^\s\"'\\<>]{4,4000})",
    re.IGNORECASE,
)
_LOGINS: Final = (
    (
        ("curl", "wget", "http"),
        re.compile(r"-(?:u|U|-user|-proxy-user)[ =\t]{0,4}\\{0,7}[\"']?[^\s:\"'\\/]{1,100}:(?P<it>[^\s\"'\\]{1,400})"),
    ),
    (("sshpass",), re.compile(r"sshpass[ \t]{1,4}-p[ \t]{0,4}\\{0,7}[\"']?(?P<it>[^\s\"'\\]{1,400})")),
    (
        ("mysql", "mariadb"),
        re.compile(
            r"(?:mysql|mysqldump|mysqladmin|mariadb)[ \t][^\r\n|;&]{0,200}?(?<=[ \t])-p(?P<it>[^\s\"'\\]{1,400})"
        ),
    ),
    (
        ("password",),
        re.compile(r"(?:login|user|account)\s{1,40}[^\s:=]{1,100}\s{1,40}password\s{1,40}(?P<it>[^\s\"'\\]{1,400})"),
    ),
)
"""Words of a command that logs in, one of which stands near, and how it does."""
_COMMAND: Final = 300
"""Characters before the login of a command in which the command's name stands."""
_SIGN: Final = re.compile(r":|=|>|,|-|is|password")
"""What stands in every text that names a secret: a short text mostly has none of these, and is asked nothing else."""
_CALLED: Final = re.compile(r"[A-Za-z_][\w.]{0,100}[(\[]|\$\(")
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,8}")


def named_secrets(text: str) -> Iterator[Span]:
    """Yield where secrets stand that the text names.

    Args:
        text: any text.
    """
    if _SIGN.search(text) is not None:
        yield from _named(text)


def _named(text: str) -> Iterator[Span]:
    lower = _lower(text)
    names = _names(text, lower)
    end = 0
    for start, last in sorted(names.items()) if names else ():
        if start < end:  # inside what was gone through as a whole
            continue
        found = _Place(text, start, last)
        yield from found.secrets()
        end = found.end
    if "-" in text or "password" in lower:
        yield from _logins(text, lower)


def _logins(text: str, lower: str) -> Iterator[Span]:
    """Yield where commands that log in say a password: after an option, or the word itself."""
    for words, pattern in _LOGINS:
        for word in words:  # a loop, for speed
            if word in lower:
                break
        else:
            continue
        for match in pattern.finditer(text):
            near = lower[max(0, match.start() - _COMMAND) : match.end()]
            if any(word in near for word in words) and _is_login(match["it"]):
                yield Span(*match.span("it"))


def holds_hint(text: str) -> bool:
    """Whether a text holds a part of a word that all names of secrets have.

    Args:
        text: any text.
    """
    return any(FIELDS.hints_in(_lower(text)))


def names_in(text: str) -> dict[int, int]:
    """Where names of secrets stand in a text: their ends by their beginnings.

    Args:
        text: any text.
    """
    return _names(text, _lower(text))


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def _names(text: str, lower: str) -> dict[int, int]:
    """Where the names of secrets stand: their ends by their beginnings."""
    found: dict[int, int] = {}
    hints, of_fields = FIELDS.hints_in(lower)
    for number, hint in enumerate([*hints, *of_fields]):
        is_part = _is_within_word if number >= len(hints) else _goes_on if hint in _FIRST_HINTS else None
        is_no_name, size = kind_of(hint) is None, len(hint)
        at = lower.find(hint)
        while at >= 0:
            after = at + size
            if (is_no_name and _is_alone(text, at, after)) or (is_part is not None and is_part(text, at, after)):
                at = lower.find(hint, after)
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
            at = lower.find(hint, max(end, at + 1))
    return found


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether a hint is all that stands there, as most are: `number` is no name, `account_number` may be one."""
    return text[start - 1 : start] in _BESIDE_WORDS and text[end : end + 1] in _BESIDE_WORDS


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
            yield from self._secret_cookies(*cookies)
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

    def _cookies(self) -> tuple[int, list[re.Match[str]]] | None:
        """The cookies of a header, and where they begin; None where the name is not followed by any."""
        header = _COOKIES.match(self._text, self._name_end)
        if header is None or "=" not in header["it"]:
            return None
        return header.start("it"), [*_ONE_COOKIE.finditer(header["it"])]

    def _secret_cookies(self, begin: int, cookies: list[re.Match[str]]) -> Iterator[Span]:
        if cookies:
            self.end = begin + cookies[-1].end()
        for cookie in cookies:
            value = cookie["it"]
            if is_secret_cookie(cookie["name"], value) and not is_mark(value) and not is_placeholder(value):
                start = begin + cookie.start("it")
                yield Span(start, start + len(value))

    def _authorization(self) -> Iterator[Span]:
        found = _AUTHORIZATION.match(self._text, self._name_end)
        if found is not None and _is_login(found["it"]):
            self.end = found.end()
            yield Span(*found.span("it"))


def _is_quoted(_place: _Place, _match: re.Match[str], _value: str) -> bool:
    return True


def _is_option(place: _Place, _match: re.Match[str], value: str) -> bool:
    return place.before.endswith("-") and not _is_code(value)


def _is_variable(place: _Place, _match: re.Match[str], value: str) -> bool:
    """Of `NAME=value`: a program that passes `password=password` on says nothing."""
    if _is_code(value):
        return False
    return place.name.isupper() or _is_no_name(value) or _LINE_BEFORE.search(place.before) is not None


def _is_setting(place: _Place, match: re.Match[str], value: str) -> bool:
    if _is_code(value) or _LINE_BEFORE.search(place.before) is None:
        return False
    if "=" in match["separator"]:  # a program gives a name another: `password = pw`
        return _is_no_name(value)
    return _is_no_name(value) or value.islower()  # an annotation names a class: `password: SecretStr`


def _is_said(place: _Place, _match: re.Match[str], value: str) -> bool:
    """In the middle of a line a word is a word; letters with digits are a secret."""
    if len(value) < _SHORTEST_SAID or _is_code(value) or is_wordy(value):
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


def _is_login(value: str) -> bool:
    return not is_mark(value) and not is_placeholder(value) and not _is_code(value) and not is_wordy(value)


def _is_code(value: str) -> bool:
    """Whether a value is an expression: `os.environ["KEY"]`, `getpass()`, `$(pass show x)`."""
    return _CALLED.match(value) is not None


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
