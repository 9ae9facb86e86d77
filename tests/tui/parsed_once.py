"""Style sheets that are parsed once for all apps of a process.

Textual keeps what it has parsed for each app by itself; a tenth of the time of a screen's test went into parsing the
same text again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    import pytest
    from textual.css.model import RuleSet

_parse_rules = Stylesheet._parse_rules
_PARSED: dict[object, list[RuleSet]] = {}


def _parsed(sheet: Stylesheet, css: str, *arguments: object, **options: object) -> list[RuleSet]:
    """The rules of `css` with the colours of this sheet."""
    asked = css, arguments, frozenset(options.items()), frozenset(sheet._variables.items())
    if asked not in _PARSED:
        _PARSED[asked] = _parse_rules(sheet, css, *arguments, **options)
    return _PARSED[asked]


def parse_once(patch: pytest.MonkeyPatch) -> None:
    """Let the apps of this process share what was parsed."""
    patch.setattr(Stylesheet, "_parse_rules", _parsed)
