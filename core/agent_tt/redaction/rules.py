"""What else is secret, beside what always is: a profile, patterns and fields of a project's own, and what may stay.

| rule | in settings | in code |
|---|---|---|
| profile | `redact = "personal"` | `record(redact="personal")` |
| patterns | `[tool.agent-tt.redaction]` | `record(redact={"patterns": {"customer": "KD-[0-9]{6}"}})` |
| fields | `redact = { fields = ["patient"] }` | `record(redact={"fields": ["patient"]})` |
| what stays | `redact = { allow = ["*@example.com"] }` | `record(redact={"allow": ["*@example.com"]})` |

Rules of several places are joined: each takes out what it says, and what one lets stay stays.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import field
from importlib.util import find_spec
from typing import Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.redaction.patterns import check_patterns

__all__ = ["PROFILES", "Profile", "Rules", "patterns_of", "profile_of"]

Profile: TypeAlias = Literal["", "personal", "strict"]

PROFILES: Final[tuple[Profile, ...]] = ("", "personal", "strict")
"""From the weakest to the strongest; the first takes nothing out."""
_KEYS: Final = ("profile", "patterns", "fields", "allow")
_EXAMPLE: Final = 'For example redact = "personal", or redact = { profile = "strict", fields = ["patient"] }.'
_LIBRARIES: Final = ("phonenumbers", "stdnum")
_LONGEST_WORD: Final = 200


@dataclass(frozen=True, slots=True)
class Rules:
    """What else is secret.

    Attributes:
        profile: which personal data is; "" for none.
        patterns: patterns by name, see `agent_tt.redaction.patterns`.
        fields: names of fields, as words (`birth date` is `birthDate` and `customer_birth_date` too).
        allow: what stays of all this: values, `*` for any letters.
    """

    profile: Profile = ""
    patterns: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.profile or self.patterns or self.fields)

    def joined(self, other: Rules) -> Rules:
        """These rules and those; of two patterns of one name the other's, of two profiles the stronger one."""
        return Rules(
            max(self.profile, other.profile, key=PROFILES.index),
            {**self.patterns, **other.patterns},
            tuple(dict.fromkeys([*self.fields, *other.fields])),
            tuple(dict.fromkeys([*self.allow, *other.allow])),
        )

    @classmethod
    def read(cls, said: object, where: str) -> Rules:
        """Read rules as they stand in settings and in code.

        Args:
            said: the name of a profile, or a table of `profile`, `patterns`, `fields`, `allow`; None for no rules.
            where: what says them, for the message.

        Raises:
            UsageError: it is something else, a pattern cannot be used, or what the profile needs is not installed.
        """
        if said is None:
            return cls()
        table = {"profile": said} if isinstance(said, str) else said
        if not isinstance(table, Mapping):
            raise UsageError(f"{where} is neither the name of a profile nor a table", hint=_EXAMPLE)
        for key in table:
            if key not in _KEYS:
                raise UsageError(f"{where} has no key {key!r}", hint=f"Known are {', '.join(_KEYS)}.")
        rules = cls(
            _profile(table.get("profile", ""), where),
            patterns_of(table.get("patterns", {}), f"{where}: patterns"),
            _words(table.get("fields", ()), f"{where}: fields"),
            _words(table.get("allow", ()), f"{where}: allow"),
        )
        rules.check_libraries(where)
        return rules

    def check_libraries(self, where: str) -> None:
        """Refuse a profile whose libraries are not installed.

        Raises:
            UsageError: one is missing.
        """
        missing = [name for name in _LIBRARIES if self.profile and name not in sys.modules and find_spec(name) is None]
        if missing:
            raise UsageError(
                f"{where}: the profile {self.profile} needs {' and '.join(missing)}, which is not installed",
                hint="pip install 'agent-tt[privacy]'",
            )


def _profile(said: object, where: str) -> Profile:
    profile = profile_of(said)
    if profile != said:
        raise UsageError(f"{where}: there is no profile {said!r}", hint=f"Use {' or '.join(PROFILES[1:])}.")
    return profile


def profile_of(said: object) -> Profile:
    """The profile that a file names; none where it names no profile that there is."""
    return next((profile for profile in PROFILES if profile == said), "")


def patterns_of(said: object, where: str) -> dict[str, str]:
    """Read patterns by name.

    Args:
        said: a table of texts.
        where: what says it, for the message.

    Raises:
        UsageError: it is no such table, or one of them cannot be used.
    """
    if not isinstance(said, Mapping) or not all(isinstance(text, str) for text in (*said, *said.values())):
        raise UsageError(
            f"{where} must be a table of patterns by name", hint="For example { customer = 'KD-[0-9]{6}' }."
        )
    if said:
        check_patterns(said, where)
    return dict(said)


def _words(said: object, where: str) -> tuple[str, ...]:
    words = said if isinstance(said, (list, tuple)) else (None,)
    if all(isinstance(word, str) and 0 < len(word) <= _LONGEST_WORD for word in words):
        return tuple(words)
    raise UsageError(
        f"{where} must be a list of texts", hint=f"None of them is empty or longer than {_LONGEST_WORD} characters."
    )
