"""Why two runs part where they part, in a few words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_tt.comparing.moves import value_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.moves import Move
    from agent_tt.model import Call, Edit, Run

_MOST_NAMES = 2
"""How many arguments or paths are named before the rest is counted."""


def explain(a: Move | None, b: Move | None, *, places: Sequence[str] = ()) -> str:
    """Say what is different about two moves that stand beside each other.

    Args:
        a: What the one run did; None if it did nothing there.
        b: What the other did.
        places: Where the two wrote different things to the state, if that is known.
    """
    if a is None or b is None:
        move = a or b
        return "" if move is None else f"only {'B' if a is None else 'A'} took step {move.number}, {_title(move)}"
    if a.did == b.did:
        return _explain_results(a, b, places)
    if a.step.agent != b.step.agent:
        return f"another agent took over: {a.step.agent or 'none'}, {b.step.agent or 'none'}"
    tools_a, tools_b = [call.name for call in a.acts], [call.name for call in b.acts]
    if tools_a != tools_b:
        if a.answers and b.answers:
            return "the model asked for something else"
        return f"it called {_names(tools_a) or 'no tool'} in A, {_names(tools_b) or 'no tool'} in B"
    for call_a, call_b in zip(a.acts, b.acts, strict=True):
        if value_key(call_a.args) != value_key(call_b.args):
            return f"{call_a.name} was asked with another {_different_arguments(call_a, call_b)}"
    if a.step.name != b.step.name:
        return f"it went to {a.step.name} in A, to {b.step.name} in B"
    if a.step.decision != b.step.decision:
        return "the agent decided something else"
    return "the model answered something else" if a.answers else "the steps differ"


def explain_edits(run: Run) -> str:
    """Name what a person edited: `state edited at messages[0], budget`, `edited: model`; empty if nothing."""
    others = list(dict.fromkeys(_edited(edit) for edit in run.edits if edit.target != "state"))
    if others:
        return f"edited: {_names(others)}"
    paths = list(dict.fromkeys(edit.path or "the whole state" for edit in run.edits))
    return f"state edited at {_names(paths)}" if paths else ""


def _edited(edit: Edit) -> str:
    return f"{edit.where} muted" if edit.op == "mute" else edit.where


def explain_code(a: Run, b: Run) -> str:
    """Say so where a fork ran other code than its parent; empty where it did not, or where nobody knows."""
    code, other = (b.code, a.code) if b.parent == a.id else (a.code, b.code)
    if code.entry is None or other.entry is None:
        return ""
    if _function(code.entry) != _function(other.entry):
        return f"{code.entry} ran instead"
    changed = code.fingerprint and other.fingerprint and code.fingerprint != other.fingerprint
    return "the agent's code had changed" if changed else ""


def _function(entry: str) -> tuple[str, str]:
    """The last word of the module and the callable: the same for `pkg.agent:main` and `src/pkg/agent.py:main`."""
    location, _, name = entry.rpartition(":")
    return re.split(r"[./\\]", location.removesuffix(".py"))[-1], name


def _explain_results(a: Move, b: Move, places: Sequence[str]) -> str:
    for call_a, call_b in zip(a.acts, b.acts, strict=True):
        if call_a.status != call_b.status or call_a.error != call_b.error:
            return f"{call_a.name}: {_outcome(call_a)} in A, {_outcome(call_b)} in B"
        if value_key(call_a.result) != value_key(call_b.result):
            return f"{call_a.name} came back with another result"
    errors = [f"{move.step.error.short} in {side}" for move, side in ((a, "A"), (b, "B")) if move.step.error]
    if errors:
        return "; ".join(errors)
    if a.step.status != b.step.status:
        return f"the step ended {a.step.status} in A, {b.step.status} in B"
    return f"{a.step.name} wrote something else to {_names([place or 'the state' for place in places])}"


def _outcome(call: Call) -> str:
    if call.error is not None:
        return call.error.short
    return {"ok": "went well", "pending": "outcome unknown", "denied": "denied", "error": "failed"}[call.status]


def _different_arguments(a: Call, b: Call) -> str:
    if not (isinstance(a.args, dict) and isinstance(b.args, dict)):
        return "argument"
    keys_a = {name: value_key(value) for name, value in a.args.items()}
    keys_b = {name: value_key(value) for name, value in b.args.items()}
    names = [name for name in dict.fromkeys([*keys_a, *keys_b]) if keys_a.get(name) != keys_b.get(name)]
    return _names(names) or "argument"


def _title(move: Move) -> str:
    return move.acts[0].name if move.acts else move.step.name


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown
