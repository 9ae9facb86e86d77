"""What the library advises with options of the command, said for a person who has a dialog and keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["with_keys", "without_options"]

_OPTION: Final = re.compile(r"--(?P<name>[a-z][a-z-]+)(?P<value> (?:[A-Z]{2,}|[\w./]+:[\w.]+)(?:[:=][\w./]+)*)?")
_WITH_VALUE: Final = re.compile(r"--(?P<name>[a-z]+)(?: (?:[A-Z]{2,}|'[^']*'))?")
_LABELS: Final = {
    "as-node": "as node",
    "resume": "answer",
    "reuse-answers": "a question",
    "by": "way in",
    "accept-changes": "changed code",
    "override": "overrides",
    "param": "parameters",
    "break": "break when",
}
"""What settings of the dialog are called, where that is not the option's own name."""
_SETTINGS: Final = frozenset({*_LABELS, "model", "system", "executor", "script", "input", "seed"})


def without_options(advice: str, agent_key: str) -> str:
    """Advice in which no option of the command is named that has a place in the dialog.

    Args:
        advice: what is advised.
        agent_key: the key that names what is run.
    """

    def said(found: re.Match[str]) -> str:
        name, value = found["name"], (found["value"] or "").strip()
        if name == "agent":
            return f"the key {agent_key}" + (f": {value}" if value else "")
        return f"“{_LABELS.get(name, name)}”" if name in _SETTINGS else found[0]

    return _OPTION.sub(said, advice)


def with_keys(advice: str, keys: Mapping[str, str]) -> str:
    """Reword advice for the app: put the key in place of each option that has one, and of its value.

    Args:
        advice: what is advised.
        keys: the key that does what an option does, by the option's name.
    """
    return _WITH_VALUE.sub(lambda found: keys.get(found["name"], found[0]), advice)
