"""All kinds of rules by their names, and reading one from a table of TOML."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError
from agent_tt.golden.outside_rules import Judged, Verify
from agent_tt.golden.run_rules import AtMost, Ends, Expression
from agent_tt.golden.tool_rules import Calls, Never, Tools
from agent_tt.golden.value_rules import Answer, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.golden.rule import Rule

__all__ = ["KINDS", "read_rule", "rule_from_text"]

KINDS: Final[Mapping[str, type[Rule]]] = {
    kind.kind: kind for kind in (Ends, Tools, Calls, Never, AtMost, State, Answer, Expression, Verify, Judged)
}
"""The kinds by their names in a file."""


def read_rule(table: Mapping[str, object]) -> Rule:
    """Read a rule from its table.

    Raises:
        UsageError: its kind is unknown, or it cannot be read as one.
    """
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        near = difflib.get_close_matches(str(kind), KINDS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(KINDS)}."
        raise UsageError("its kind is missing" if kind is None else f"there is no kind {kind!r}", hint=hint)
    return KINDS[kind].read({key: value for key, value in table.items() if key != "kind"})


def rule_from_text(text: str) -> Rule:
    """Read a rule as a person types it: `kind = "at_most", of = "steps", limit = 8`.

    Raises:
        UsageError: it cannot be read.
    """
    import tomllib

    try:
        found = tomllib.loads(f"rule = {{ {text} }}")["rule"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"the rule {text!r} cannot be read: {error}",
            hint="""Write: --rule 'kind = "at_most", of = "steps", limit = 8'""",
        ) from error
    try:
        return read_rule(found)
    except UsageError as error:
        raise UsageError(f"the rule {text!r}: {error.message}", hint=error.hint) from error
