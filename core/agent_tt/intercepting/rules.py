"""One rule of a policy, and how people write it: `NAME=WORD` for the command, a table of words in configuration.

```toml
[tool.agent-tt.policy]
charge = "ask"
"search_*" = "recorded"
"*http" = "deny"
weather = { stub = { degrees = 21 } }
mail = { error = "TimeoutError: no answer" }
```

`agent_tt.intercepting.policy` says what the words mean.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.codec.encode import encode
from agent_tt.codec.parse import parse_value
from agent_tt.errors import InvalidValue, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt.config import PolicyTable

__all__ = [
    "BOUNDARIES",
    "SOURCES",
    "WORDS",
    "Otherwise",
    "Rule",
    "Source",
    "Word",
    "check_name",
    "read_assignment",
    "read_rule",
    "rules_of",
]

Word = Literal["live", "recorded", "stub", "ask", "deny"]
Source = Literal["default", "user", "project", "environment", "you"]

WORDS: Final[tuple[Word, ...]] = ("live", "recorded", "stub", "ask", "deny")
BOUNDARIES: Final = ("*llm", "*read", "*write", "*http", "*subprocess", "*socket")

SOURCES: Final[tuple[Source, ...]] = ("default", "user", "project", "environment", "you")
"""From the weakest on."""

Otherwise = Literal["halt", "ask", "deny"]

_OTHERWISE: Final[dict[str, Otherwise]] = {"recorded-or-ask": "ask", "recorded-or-deny": "deny"}
_SPELLED: Final = ("live", "recorded", *_OTHERWISE, "stub", "error", "ask", "deny")


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of the calls that a rule is for.

    Attributes:
        word: what is done with them.
        value: of a `stub` the answer that is given, a wire value; of a request `{"status", "headers", "body"}`.
        error: of a `stub` the exception that is raised in its place, `TimeoutError: no answer`; None for none.
        otherwise: what follows where nothing was `recorded` that answers a call.
        source: who said so.
        place: the file that says so; "" where none does.
    """

    word: Word
    value: Wire = None
    error: str | None = None
    otherwise: Otherwise = "halt"
    source: Source = "you"
    place: str = ""

    @property
    def text(self) -> str:
        """The rule as it is written: `ask`, `recorded-or-ask`, `stub:{"paid": true}`, `error:TimeoutError: late`."""
        if self.word == "stub":
            return f"stub:{json.dumps(self.value, ensure_ascii=False)}" if self.error is None else f"error:{self.error}"
        return self.word if self.word != "recorded" or self.otherwise == "halt" else f"recorded-or-{self.otherwise}"

    @property
    def where(self) -> str:
        """Where it comes from, for people: `default`, `you`, the environment's name or the path of a file."""
        return self.place or self.source

    def to_wire(self) -> Wire:
        """As it is kept: its text; with where it comes from unless its name says that, see `ToolPolicy.to_mapping`."""
        return {"rule": self.text, "source": self.source, "place": self.place}


def read_rule(text: str, *, source: Source = "you", place: str = "", about: str = "") -> Rule:
    """Read a rule as people write it.

    Args:
        text: `live`, `recorded`, `recorded-or-ask`, `recorded-or-deny`, `stub:JSON`, `error:Class: text`, `ask` or
            `deny`.
        source: who says so.
        place: the file that says so.
        about: what stands before it in messages: `pyproject.toml: policy.charge`.

    Raises:
        UsageError: it is none of these, or its value is not valid JSON.
    """
    head = f"{about}: " if about else ""
    word, colon, rest = text.strip().partition(":")
    rule = Rule("live", source=source, place=place)
    if word == "stub" and colon:
        try:
            return replace(rule, word="stub", value=parse_value(rest))
        except InvalidValue as error:
            raise UsageError(f"{head}the value of stub: {error.message}", hint=error.hint) from error
    if word == "error" and rest.strip():
        return replace(rule, word="stub", error=rest.strip())
    if word in ("stub", "error"):
        example = 'stub:{"paid": true}' if word == "stub" else "error:TimeoutError: no answer"
        raise UsageError(f"{head}{word} does not say what is given", hint=f"for example {example}")
    if not colon and word in _OTHERWISE:
        return replace(rule, word="recorded", otherwise=_OTHERWISE[word])
    if not colon and word in WORDS:
        return replace(rule, word=word)
    close = difflib.get_close_matches(word, _SPELLED, n=1)
    known = f"Known are {', '.join(_SPELLED)}."
    hint = known if not close else f"Did you mean {close[0]}? {known}"
    raise UsageError(f"{head}{text!r} is not a policy", hint=hint)


_KEYS: Final = ("stub", "error")


def rules_of(tables: Iterable[PolicyTable]) -> tuple[tuple[str, Rule], ...]:
    """The rules that are configured.

    Raises:
        UsageError: a word, key or boundary is unknown; the message names the file and the rule.
    """
    return tuple(
        (name, _rule(name, said, f"{given.where}.{_key(name)}", given.source, given.place))
        for given in tables
        for name, said in given.table.items()
    )


def read_assignment(text: str) -> tuple[str, Rule]:
    """Read `NAME=WORD[:JSON]`, as the command takes it.

    Raises:
        UsageError: it has another form, or the word is none.
    """
    name, equals, said = _split(text)
    if not equals or not name:
        raise UsageError(f"{text!r} is not NAME=WORD", hint='for example --policy charge=ask or "*http=deny"')
    check_name(name, f"--policy {text}")
    return name, read_rule(said, about=f"--policy {text}")


def check_name(name: str, where: str) -> None:
    """Refuse a name that is meant to be a boundary, and is none.

    Raises:
        UsageError: it is nearly one.
    """
    if name in BOUNDARIES or not name.startswith("*") or not name[1:].isalpha():
        return
    close = difflib.get_close_matches(name, BOUNDARIES, n=1, cutoff=0.75)
    if close:
        known = ", ".join(BOUNDARIES)
        raise UsageError(f"{where}: {name} is not a boundary", hint=f"Did you mean {close[0]}? Known are {known}.")


def _split(text: str) -> tuple[str, str, str]:
    """Name and rule of a text in which a value stands, or whose name is that of a request (`POST https://…=deny`)."""
    for word in ("stub", "error"):
        name, equals, rest = text.partition(f"={word}:")
        if equals:
            return name, "=", f"{word}:{rest}"
    return text.rpartition("=")


def _rule(name: str, said: object, where: str, source: Source, place: str) -> Rule:
    check_name(name, where)
    if isinstance(said, str):
        return read_rule(said, source=source, place=place, about=where)
    if not isinstance(said, dict) or len(said) != 1:
        raise UsageError(f"{where} must be a word or a table with one key", hint='For example "ask" or { stub = 21 }.')
    ((key, value),) = said.items()
    if key == "stub":
        return Rule("stub", value=encode(value), source=source, place=place)
    if key == "error" and isinstance(value, str) and value.strip():
        return Rule("stub", error=value, source=source, place=place)
    if key == "error":
        raise UsageError(f"{where}: error must be a text", hint='For example { error = "TimeoutError: no answer" }.')
    close = difflib.get_close_matches(key, _KEYS, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"Known are {', '.join(_KEYS)}."
    raise UsageError(f"{where} has no key {key!r}", hint=hint)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name, ensure_ascii=False)
