"""A recorded request that is sent again, and its answers, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.asking_again.answers import text_diff
from agent_tt.model.as_json import milliseconds
from agent_tt.shapes.records import edit_shape

if TYPE_CHECKING:
    from agent_tt.asking_again.answers import Answer, Answers
    from agent_tt.asking_again.plan import AgainPlan
    from agent_tt.shapes.records import Shape

__all__ = ["again_shape", "answers_shape"]


def again_shape(plan: AgainPlan) -> Shape:
    """`{run, step, call, times, url, base, key, model, edits, body, expected, policy, source, place, notes, store}`."""
    call, asked, expected = plan.request.call, plan.asked, plan.expected
    key = plan.destination.key
    return {
        "run": plan.run.id,
        "step": call.step,
        "call": call.number,
        "times": asked.times,
        "url": plan.destination.url,
        "base": plan.destination.base or None,
        "key": None if key is None else key.variable,
        "model": plan.request.asked.model or None,
        "edits": [edit_shape(edit) for edit in asked.edits],
        "body": plan.request.body,
        "expected": {
            "tokens_in": expected.tokens_in,
            "tokens_out": expected.tokens_out,
            "cost_usd": expected.cost_usd,
            "cost_usd_all": plan.cost_usd,
        },
        "policy": plan.rule.text,
        "source": plan.rule.source,
        "place": plan.rule.place,
        "notes": list(plan.notes),
        "store": str(plan.store),
    }


def answers_shape(answers: Answers) -> Shape:
    """`{run, status, of: {run, step, call}, times, edits, model, recorded, answers: [{…, diff}], cost_usd}`."""
    asked = answers.asked
    return {
        "run": answers.run.id,
        "status": answers.run.status,
        "of": {"run": asked.run, "step": asked.step, "call": asked.call},
        "times": asked.times,
        "edits": [edit_shape(edit) for edit in asked.edits],
        "model": asked.model,
        "recorded": _answer_shape(answers.recorded),
        "answers": [
            {**_answer_shape(answer), "diff": [*text_diff(answers.recorded, answer)] if answer in answers.came else []}
            for answer in answers.answers
        ],
        "cost_usd": answers.cost_usd,
    }


def _answer_shape(answer: Answer) -> Shape:
    return {
        "number": answer.number,
        "status": answer.status,
        "same": answer.is_same,
        "text": answer.text,
        "tools": list(answer.tools),
        "model": answer.model or None,
        "finish_reason": answer.finish_reason or None,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "cost_usd": answer.cost_usd,
        "duration_ms": milliseconds(answer.duration_us),
        "error": answer.error or None,
    }
