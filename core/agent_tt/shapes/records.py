"""What was recorded, as JSON. The shapes are stable: fields are added, never changed or taken away.

Times are ISO 8601 in UTC with microseconds, durations milliseconds, costs US dollars. State, arguments and results are
wire values: JSON as it was recorded, with `{"$type": …, "$v": …}` for what JSON cannot say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.as_json import call_fields, milliseconds, run_fields, step_fields, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.asked_tools import AskedTool
    from agent_tt.model import Call, Edit, ErrorInfo, Label, Note, Problem, Replay, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.hits import Hit
    from agent_tt.questions import CallQuestion
    from agent_tt.samples import Sample

Shape = dict[str, "Wire"]


def run_shape(run: Run) -> Shape:
    """`{id, name, status, steps, parent, fork_step, agent, started, tags, …}`."""
    from agent_tt.intercepting.policy import policy_texts

    return {
        **({} if run.damaged is None else {"damaged": run.damaged}),
        "id": run.id,
        **run_fields(run),
        "duration_ms": None if run.ended_us is None else (run.ended_us - run.started_us) / 1000,
        "fingerprint": run.code.fingerprint,
        "model": None
        if run.model is None
        else {
            "model": run.model.model,
            "temperature": run.model.temperature,
            "max_tokens": run.model.max_tokens,
            "seed": run.model.seed,
            "prompt_version": run.model.prompt_version,
        },
        "user_id": run.user_id,
        "cost_complete": not run.unpriced,
        "error": error_shape(run.error),
        "metadata": dict(run.metadata),
        "edits": [edit_shape(edit) for edit in run.edits],
        "way_back_in": run.way_back_in,
        "policy": dict(policy_texts(run.policy)),
        "read_only": run.read_only,
        "origin": dict(run.origin),
        "pinned": run.pinned,
        "archived": run.archived,
        "former_names": list(run.former_names),
    }


def held_runs(source: RunSource, runs: Iterable[Run]) -> frozenset[str]:
    """Ids of those runs of which a call waits because somebody holds their agent."""
    if all(run.status != "running" for run in runs):
        return frozenset()
    return frozenset(question.run_id for question in source.questions() if question.hold is not None)


def run_shapes(source: RunSource, runs: Iterable[Run]) -> list[Shape]:
    """The shapes of runs of a source, each with whether somebody holds its agent: `{…, held}`."""
    listed = list(runs)
    held = held_runs(source, listed)
    return [run_shape(run) | {"held": run.id in held} for run in listed]


def question_shape(question: CallQuestion, name: str) -> Shape:
    """`{question, run, name, step, call, kind, tool, effect, args, editable, can_give, asked, trouble, lane, …}`."""
    return {
        "question": question.id,
        "run": question.run_id,
        "name": name,
        "step": question.step,
        "call": question.call,
        "kind": question.kind,
        "tool": question.name,
        "effect": question.effect,
        "args": dict(question.args),
        "editable": list(question.editable),
        "can_give": question.can_give,
        "asked": time_text(question.asked_us),
        "trouble": question.trouble or None,
        "lane": question.lane,
        "hold": question.hold,
        "state": question.state,
        "can_edit_state": question.can_edit_state,
    }


def step_shape(step: Step, calls: Iterable[Call]) -> Shape:
    """`{step, id, name, agent, status, started, duration_ms, calls, error, …}`, and what the source says of it."""
    return {
        **step.extra,
        **({} if step.damaged is None else {"damaged": step.damaged}),
        **step_fields(step),
        "id": step.id,
        "duration_ms": milliseconds(step.duration_us),
        "calls": [call_shape(call) for call in calls],
        "error": error_shape(step.error),
        "parent": step.parent,
        "repeat_of": step.repeat_of,
        "cost_complete": not step.unpriced,
    }


def input_shape(started_us: int) -> Shape:
    """The shape of checkpoint 0, which no step made."""
    return {
        "step": 0,
        "id": "step_0",
        "name": "input",
        "agent": None,
        "status": "ok",
        "started": time_text(started_us),
        "duration_ms": None,
        "calls": [],
        "error": None,
    }


def call_shape(call: Call) -> Shape:
    """`{kind, name, effect, lane, args, result, error, duration_ms, …}`."""
    return {
        **({} if call.damaged is None else {"damaged": call.damaged}),
        **call_fields(call),
        "error": error_shape(call.error),
        "duration_ms": milliseconds(call.duration_us),
        "meta": dict(call.meta),
    }


def asked_shape(asked: AskedTool) -> Shape:
    """`{step, call, name, args, result}` of a tool that only the conversation shows; null where it has no answer."""
    return {
        "step": asked.step,
        "call": asked.call,
        "name": asked.name,
        "args": asked.arguments,
        "result": asked.answer,
    }


def error_shape(error: ErrorInfo | None) -> Wire:
    """`{class, message, traceback}`, or null."""
    if error is None:
        return None
    return {"class": error.class_name, "message": error.message, "traceback": error.traceback}


def hit_shape(hit: Hit) -> Shape:
    """`{run, step, where, path, excerpt, start, length, call, score, times, last}`."""
    return {
        "run": hit.run,
        "step": hit.step,
        "where": hit.where,
        "path": hit.path,
        "excerpt": hit.excerpt,
        "start": hit.start,
        "length": hit.length,
        "call": hit.call,
        "score": hit.score,
        "times": hit.times,
        "last": hit.last,
    }


def notes_shape(notes: Sequence[Note]) -> list[Wire]:
    """`[{id, step, text, created}]`: notes alone, without bookmarks."""
    return [
        {"id": note.id, "step": note.step, "text": note.body, "created": time_text(note.created_us)}
        for note in notes
        if note.kind == "note"
    ]


def labels_shape(labels: Mapping[int, Label]) -> list[Wire]:
    """`[{step, name, metadata}]`: what checkpoints are called, and the facts about them."""
    return [
        {"step": label.step, "name": label.name, "metadata": dict(label.metadata)}
        for _, label in sorted(labels.items())
    ]


def label_shape(run: Run, label: Label | None) -> Shape:
    """`{run, step, name, metadata}` of a run, or of one of its checkpoints."""
    if label is None:
        return {"run": run.id, "step": None, "name": run.name, "metadata": dict(run.metadata)}
    return {"run": run.id, "step": label.step, "name": label.name, "metadata": dict(label.metadata)}


def problem_shape(problem: Problem) -> Shape:
    """`{run, step, what}`."""
    return {"run": problem.run, "step": problem.step, "what": problem.what}


def replay_shape(replay: Replay) -> Shape:
    """`{replay, run, ended, verdict, mode, duration_ms, recorded, served, …}` of an offline replay that was kept."""
    return {
        "replay": replay.id,
        "run": replay.run,
        "ended": time_text(replay.at_us),
        "verdict": replay.verdict,
        "mode": replay.mode,
        "duration_ms": replay.duration_us / 1000,
        "recorded": replay.recorded,
        "served": replay.served,
        "reservations": dict(replay.reservations),
        "divergences": replay.divergences,
        "divergence": replay.divergence,
        "step": replay.step,
        "call": replay.call,
        "message": replay.message or None,
        "agent": replay.agent,
        "fingerprint": replay.fingerprint,
    }


def sample_shape(sample: Sample) -> Shape:
    """`{name, title, summary, entry, versions, steps, prebuilt}`."""
    return {
        "name": sample.name,
        "title": sample.title,
        "summary": sample.summary,
        "entry": sample.entry,
        "versions": list(sample.versions),
        "steps": sample.steps,
        "prebuilt": sample.prebuilt,
    }


def edit_shape(edit: Edit) -> Shape:
    """`{op, path, value, old, to, target, step, call}`."""
    return {
        "op": edit.op,
        "path": edit.path,
        "value": edit.value,
        "old": edit.old,
        "to": edit.to,
        "target": edit.target,
        "step": edit.step,
        "call": edit.call,
    }
