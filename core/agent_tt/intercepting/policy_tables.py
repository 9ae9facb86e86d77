"""Policies as they are written in configuration: a table of words by name.

```toml
[tool.agent-tt.policy]
charge = "ask"
"search_*" = "recorded"
"*http" = "deny"
weather = { stub = { degrees = 21 } }
mail = { error = "TimeoutError: no answer" }
```
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Final

from agent_tt.codec.encode import encode
from agent_tt.errors import UsageError
from agent_tt.intercepting.policy import BOUNDARIES, Rule, read_rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.config import PolicyTable
    from agent_tt.intercepting.policy import Source

__all__ = ["read_assignment", "rules_of"]

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
