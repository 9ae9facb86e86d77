"""What a fork would do, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.as_json import milliseconds
from agent_tt.shapes.records import edit_shape

if TYPE_CHECKING:
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.shapes.records import Shape

__all__ = ["graph_shape", "next_nodes", "plan_shape"]


def plan_shape(plan: ForkPlan) -> Shape:
    """`{run, step, name, entry, file, line, function, by, way_back_in, edits, boundary, expected, terms, problems}`."""
    return {
        "run": plan.run.id,
        "step": plan.step,
        "name": plan.name,
        "entry": plan.code.entry,
        "file": None if plan.code.file is None else str(plan.code.file),
        "line": plan.code.line,
        "function": plan.code.function,
        "changed": plan.code.changed,
        "by": plan.by,
        "way_back_in": plan.code.way_back_in,
        "edits": [edit_shape(edit) for edit in plan.edits],
        "boundary": [
            {
                "name": row.name,
                "kind": row.kind,
                "effect": row.effect,
                "seen": row.seen,
                "expected": row.expected,
                "policy": row.policy,
                "rule": row.rule.text,
                "source": row.rule.source,
                "place": row.rule.place,
                "inside": row.is_inside,
                "known_by": row.known_by,
                "held": row.is_held,
            }
            for row in plan.boundary
        ],
        "unheld": [row.name for row in plan.unheld],
        "expected": {
            "steps": plan.expected.steps,
            "tokens_in": plan.expected.tokens_in,
            "tokens_out": plan.expected.tokens_out,
            "cost_usd": plan.expected.cost_usd,
            "cost_complete": not plan.expected.unpriced,
            "duration_ms": milliseconds(plan.expected.duration_us),
        },
        "terms": plan.terms.to_mapping(),
        "expect": plan.expect,
        "problems": list(plan.problems),
    }


def graph_shape(plan: ForkPlan) -> Shape:
    """Of a thread of LangGraph `{graph: {copied_from, next, next_after_edit, unknown}}`; nothing of other runs."""
    if plan.goes_on_with is None:
        return {}
    after, unknown = next_nodes(plan)
    return {
        "graph": {
            "copied_from": None if plan.copied_from is None else str(plan.copied_from),
            "next": None if plan.is_next_unknown else [*plan.goes_on_with],
            "next_after_edit": None if after is None else [*after],
            "unknown": unknown or None,
        }
    }


def next_nodes(plan: ForkPlan) -> tuple[tuple[str, ...] | None, str]:
    """The nodes that run next once the state is edited, None where it is not; and why they are not known, or ""."""
    from agent_tt.errors import AgentTTError
    from agent_tt.rerunning.routing import next_after_edit

    try:
        return next_after_edit(plan), ""
    except AgentTTError as error:
        return None, f"{error.message}. {error.hint}".strip()
