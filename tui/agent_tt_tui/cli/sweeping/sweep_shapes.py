"""The JSON shapes of `sweep`. As all shapes they are stable: fields are added, never changed or taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.as_json import time_text
from agent_tt.querying.expressions.values import Missing
from agent_tt.shapes.plans import plan_shape
from agent_tt.shapes.records import Shape, error_shape

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.sweeping.definition import Definition
    from agent_tt.sweeping.matrix import Matrix, MatrixCell, Rate, Sample, Tally
    from agent_tt.sweeping.plan import SweepPlan

__all__ = ["matrix_shape", "sweep_plan_shape", "sweep_shape"]


def sweep_shape(matrix: Matrix) -> Shape:
    """`{id, name, run, step, status, created, runs, done, succeeded, running, broken, jobs, samples, …}`."""
    sweep, definition = matrix.sweep, matrix.definition
    return {
        "id": sweep.id,
        "name": sweep.name,
        "run": sweep.run,
        "step": sweep.step,
        "status": matrix.status,
        "created": time_text(sweep.created_us),
        "runs": matrix.total.samples,
        "done": matrix.total.done,
        "succeeded": matrix.total.succeeded.count,
        "running": matrix.running,
        "broken": matrix.broken,
        "samples": definition.samples,
        "jobs": definition.jobs,
        "outcomes": list(definition.outcomes),
        "max_cost_usd": definition.max_cost,
        "spent_usd": matrix.spent_usd,
        "cost_complete": not matrix.unpriced,
    }


def matrix_shape(matrix: Matrix) -> Shape:
    """`{sweep, axes: [{name, kind, place, values}], cells, total, pooled}`."""
    varied = matrix.definition.varied
    return {
        "sweep": sweep_shape(matrix),
        "axes": _axes(matrix.definition),
        "cells": [_cell(matrix, cell) for cell in matrix.cells],
        "total": _tally(matrix.definition, matrix.total),
        "pooled": [
            {"axis": axis.name, "value": value, **_tally(matrix.definition, tally)}
            for axis, rows in zip(varied, matrix.pooled, strict=True)
            for value, (_, tally) in zip(axis.values, rows, strict=True)
        ],
    }


def sweep_plan_shape(plan: SweepPlan) -> Shape:
    """`{run, step, axes, cells, samples, runs, jobs, expected, problems, fork}`; `fork` is the first cell's."""
    definition = plan.definition
    return {
        "run": plan.run.id,
        "step": plan.step,
        "axes": _axes(definition),
        "cells": definition.cell_count,
        "samples": definition.samples,
        "runs": definition.run_count,
        "jobs": definition.jobs,
        "outcomes": list(definition.outcomes),
        "max_cost_usd": definition.max_cost,
        "expected": {
            "tokens": plan.expected_tokens,
            "cost_usd": plan.expected_cost,
            "cost_complete": not plan.expected_unpriced,
            "duration_ms": None if plan.expected_us is None else plan.expected_us / 1000,
        },
        "problems": list(plan.problems),
        "fork": plan_shape(plan.first),
    }


def _axes(definition: Definition) -> list[Wire]:
    return [
        {"name": axis.name, "kind": axis.kind, "place": axis.place, "values": list(axis.values)}
        for axis in definition.axes
    ]


def _cell(matrix: Matrix, cell: MatrixCell) -> Shape:
    values: Shape = {
        axis.name: axis.values[index]
        for axis, index in zip(matrix.definition.axes, cell.cell.indexes, strict=True)
        if axis.varies
    }
    return {
        "cell": cell.cell.number,
        "values": values,
        "samples": [_sample(matrix.definition, sample) for sample in cell.samples],
        **_tally(matrix.definition, cell.tally),
    }


def _sample(definition: Definition, sample: Sample) -> Shape:
    outcomes: Shape = {}
    asked = zip(definition.outcomes, definition.predicates, sample.found, sample.holds, strict=False)
    for text, each, found, holds in asked:
        said: Shape = {} if isinstance(found, Missing) else {"value": found}
        outcomes[text] = {**said, "holds": holds} if each.compares else said
    run = sample.run
    return {
        "sample": sample.number,
        "status": sample.status,
        "run": None if run is None else run.id,
        "name": None if run is None else run.name,
        "begun": sample.begun,
        "steps": sample.steps,
        "tokens": sample.tokens,
        "cost_usd": sample.cost_usd,
        "cost_complete": not sample.unpriced,
        "duration_ms": None if sample.duration_us is None else sample.duration_us / 1000,
        "answer": sample.answer,
        "outcomes": outcomes,
        "error": None if run is None else error_shape(run.error),
    }


def _tally(definition: Definition, tally: Tally) -> Shape:
    return {
        "runs": tally.samples,
        "done": tally.done,
        "succeeded": _rate(tally.succeeded),
        "outcomes": {
            asked: _rate(rate) for asked, rate in zip(definition.outcomes, tally.holds, strict=True) if rate is not None
        },
        "mean_steps": tally.steps,
        "mean_tokens": tally.tokens,
        "mean_cost_usd": tally.cost_usd,
        "cost_complete": not tally.unpriced,
        "mean_duration_ms": None if tally.duration_us is None else tally.duration_us / 1000,
    }


def _rate(rate: Rate) -> Shape:
    low, high = rate.interval
    return {"count": rate.count, "runs": rate.runs, "share": rate.share, "low": low, "high": high}
