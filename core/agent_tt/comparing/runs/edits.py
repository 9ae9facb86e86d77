"""What people changed on the way from one run to another, in words that are short enough for a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.comparing.runs.divergence_reason import explain_code
from agent_tt.comparing.runs.without_effect import edits_made
from agent_tt.comparing.values.edit_leaves import edit_changes
from agent_tt.intercepting.policy import policy_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Edit, Run
    from agent_tt.model.facts import TermFacts

__all__ = ["changed_on_the_way", "edit_words"]

_VALUE: Final = 32
"""Characters of a value at most."""

_DONE: Final = {"remove": "removed", "move": "moved", "reorder": "in another order"}
"""What became of a part that has no new value."""

_USUAL_POLICY: Final = {"*write": "deny"}
"""What a fork does with its calls where nobody says otherwise."""

_USUAL_EXECUTOR: Final = "python"


def changed_on_the_way(base: Run, way: Sequence[Run]) -> tuple[str, ...]:
    """What makes a run another than a base, a few words for each change.

    Args:
        base: the run that others are compared with.
        way: the run, behind those forks that it was forked from, the first of them first; the base itself is not among
            them.

    Returns:
        State edits (`budget.limit = 3`), edits of calls and requests (`model = "gpt-4o"`, `step 3 muted`), policies
        (`charge live`), executor and overrides, in the order in which they were made, and at last what ran instead of
        the base's code. Empty where nothing is known to have been changed.
    """
    words = [each for run in way for each in _changed_for(run)]
    if way and explain_code(base, way[-1]):
        entry = way[-1].code.entry
        words.append("the agent's code" if entry == base.code.entry else f"runs {entry}")
    return tuple(dict.fromkeys(words))


def edit_words(edit: Edit) -> str:
    """One edit: `budget.limit = 3`, `notes removed`, `step 3 muted`, `a moved to b`."""
    where = edit.where or "the whole state"
    match edit.op:
        case "mute":
            return f"{where} muted"
        case "delete":
            return f"{where} removed"
        case "move":
            return f"{where} moved to {edit.to}"
        case "insert":
            return f"{where} inserted: {summary(edit.value, _VALUE)}"
    first, *others = edit_changes(edit)
    more = f", and {len(others)} more" if others else ""
    where = first.path or where
    if first.op not in ("change", "add"):
        return f"{where} {_DONE[first.op]}{more}"
    if isinstance(first.new, str) and isinstance(first.old, str) and len(first.new) > _VALUE:
        words = len(first.new.split()) - len(first.old.split())
        return f"{where} edited, {words:+d} word{'' if abs(words) == 1 else 's'}{more}"
    return f"{where} = {summary(first.new, _VALUE)}{more}"


def _changed_for(run: Run) -> Iterator[str]:
    """What was said when one fork was made."""
    made = edits_made(run)
    yield from (edit_words(edit) + ("" if edit in made else ", without effect") for edit in run.edits)
    for name, rule in policy_texts(run.policy).items():
        if _USUAL_POLICY.get(name) != rule:
            yield f"{name} {rule[:_VALUE]}"
    yield from _terms(run.facts.fork_terms)


def _terms(terms: TermFacts) -> Iterator[str]:
    """What of a fork's terms changes what its agent does; its limits only end it."""
    if terms.executor not in (None, "", _USUAL_EXECUTOR):
        yield f"executor {terms.executor}" + ("" if terms.seed is None else f", seed {terms.seed}")
    yield from (f"{key} = {summary(value, _VALUE)}" for key, value in terms.overrides.items())
