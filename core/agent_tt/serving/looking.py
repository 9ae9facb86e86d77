"""Tools that show one place of a run: a step, a state by path, a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import get
from agent_tt.codec.text import summary
from agent_tt.errors import AgentTTError, InvalidPath, PathNotFound, UsageError
from agent_tt.model.facts import StepFacts
from agent_tt.querying.absent import not_there
from agent_tt.querying.places import path_in, written_path
from agent_tt.serving.pages import MOST_LEFT, Item, left_out, page, record
from agent_tt.serving.references import below, call_at, part_of_call, part_of_state, reference, state_at, step_of
from agent_tt.serving.tool import BUDGET, CURSOR, Parameter, Tool
from agent_tt.serving.values import value_page
from agent_tt.shapes.answers import calls_of
from agent_tt.shapes.records import error_shape

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource
    from agent_tt.serving.pages import Where
    from agent_tt.serving.tool import Asked
    from agent_tt.shapes.records import Shape

__all__ = ["LOOKING", "call_record", "change_record", "state_note"]

_MOST_CHANGES: Final = 12
_SHORT: Final = 120
_PARTS: Final = ("args", "result", "error")

_STATE: Final = Parameter(
    "at", "text", "RUN@STEP: the state after that step, 0 being the input; RUN is after its last."
)


def call_record(run: str, call: Call, most: int) -> Item:
    """A call in brief: what was asked, what came back, and how to get all of it."""
    facts: Shape = {
        "at": reference(run, call.step, call.number),
        "kind": call.kind,
        "name": call.name,
        "effect": call.effect,
        "status": call.status,
        "lane": None if call.lane == "main" else call.lane,
        "damaged": call.damaged,
    }
    values: dict[str, tuple[Wire, Where]] = {"args": (call.args, part_of_call(run, call, "args"))}
    if call.error is not None:
        values["error"] = f"{call.error.short}", part_of_call(run, call, "error")
    elif call.status == "ok":
        values["result"] = call.result, part_of_call(run, call, "result")
    return record(most, facts, values)


def _step(asked: Asked) -> Shape:
    from agent_tt.comparing.steps.asked_tools import read_asked_tools
    from agent_tt.comparing.values.ignoring import Ignoring
    from agent_tt.comparing.values.state_diff import diff_states

    source = asked.source
    run, number = state_at(source, asked.text("at"))
    step = step_of(source, run, number)
    if step is None:
        head: Shape = {"at": reference(run.id, 0), "name": "input"}
        return {**head, "calls": []}
    head = {
        "at": reference(run.id, number),
        "name": step.name,
        "agent": step.agent,
        "kind": step.kind,
        "status": step.status,
        "decision": step.decision,
        **({"note": note} if (note := state_note(source, run, number)) else {}),
        **({StepFacts.made_up.key: "no model was asked"} if step.facts.made_up else {}),
    }
    if step.error is not None:
        head["error"] = {"short": step.error.short, "traceback": step.error.traceback[-600:]}
    if asked.cursor is None:
        try:
            base = source.base_step(run.id, number)
            before = None if base is None else source.state(run.id, base)
            found = diff_states(before, source.state(run.id, number), Ignoring.of())
            changes: list[Wire] = [change_record(change.to_json(), _SHORT * 3) for change in found[:_MOST_CHANGES]]
            head["changes_since"] = None if base is None else reference(run.id, base)
            head["changes"] = changes
            if len(found) > len(changes):
                head["changes_more"] = f"{len(found) - len(changes)} more: diff"
        except AgentTTError as error:
            head["changes"] = f"not known: {error.message}"
        unrecorded = read_asked_tools(source, run).by_step().get(number, ())
        if unrecorded:
            head["unrecorded"] = [f"{each.name}({summary(each.arguments, 60)})" for each in unrecorded[:6]]
    calls = calls_of(source, run, step)
    return page(
        head,
        "calls",
        calls,
        lambda call, most: call_record(run.id, call, most),
        cursor=asked.cursor,
        budget=asked.budget,
    )


def change_record(change: Shape, most: int) -> Shape:
    """A change of a state in brief, its values as one line each."""
    short: Shape = {"op": change["op"], "path": change["path"]}
    for side in ("old_path", "of"):
        if side in change:
            short[side] = change[side]
    if change["op"] in ("change", "remove"):
        short["old"] = summary(change["old"], most // 3)
    if change["op"] in ("change", "add"):
        short["new"] = summary(change["new"], most // 3)
    return short


def _state(asked: Asked) -> Shape:
    source = asked.source
    run, number = state_at(source, asked.text("at"))
    state, text = source.state(run.id, number), asked.text("path")
    try:
        path: Path = path_in(state, text) if text else ()
    except (InvalidPath, PathNotFound) as error:
        raise not_there(source, run.id, state, text, number, error) from error
    head: Shape = {"at": reference(run.id, number), "path": written_path(state, path)}
    head["note"] = state_note(source, run, number)
    return value_page(
        head,
        get(state, path),
        below(part_of_state(run.id, number), path),
        cursor=asked.cursor,
        budget=asked.budget,
        depth=asked.number("depth"),
    )


def state_note(source: RunSource, run: Run, number: int) -> str | None:
    """What has to be known of the state that is read after a step: that it is an earlier one, or put together."""
    step = step_of(source, run, number)
    if step is None:
        return None
    rebuilt = ", ".join(map(str, step.facts.rebuilt))
    said = [step.why_unkept, step.damaged or "", f"put together from what was written: {rebuilt}" if rebuilt else ""]
    return "; ".join(filter(None, said)) or None


def _call(asked: Asked) -> Shape:
    run, call = call_at(asked.source, asked.text("at"))
    part = asked.text_or_none("part")
    if part is None:
        if asked.text("path"):
            raise UsageError("a path leads into args, result or error", hint="Give part as well.")
        whole = call_record(run.id, call, asked.budget - 800)
        return {**whole.facts, **left_out(whole.left_out[:MOST_LEFT], len(whole.left_out))}
    parts: Shape = {"args": call.args, "result": call.result, "error": error_shape(call.error)}
    value = parts[part]
    path = path_in(value, asked.text("path")) if asked.text("path") else ()
    head: Shape = {"at": reference(run.id, call.step, call.number), "part": part, "path": written_path(value, path)}
    if part == "result" and call.status != "ok":
        head["status"] = call.status
    return value_page(
        head,
        get(value, path),
        below(part_of_call(run.id, call, part), path),
        cursor=asked.cursor,
        budget=asked.budget,
    )


LOOKING: Final = (
    Tool(
        "step",
        "What one step did: its calls with arguments and results, what it changed in the state, its error.",
        (
            Parameter("at", "text", "RUN@STEP; a step is also @error, the first that failed, or ~1 from the end."),
            CURSOR,
            BUDGET,
        ),
        _step,
    ),
    Tool(
        "state",
        "The agent's state after a step, or the value at a path in it. A large value comes in pages.",
        (
            _STATE,
            Parameter(
                "path", "text", 'Where in the state: messages[-1].content, plan["odd key"]; all of it without one.', ""
            ),
            Parameter("depth", "number", "Open only so many levels, to see what there is.", None, 1, 10),
            CURSOR,
            BUDGET,
        ),
        _state,
    ),
    Tool(
        "call",
        "One call of a step (to a model, tool, server, program): what was asked and what came back, whole or by path.",
        (
            Parameter("at", "text", "RUN@STEP#CALL; without #CALL where the step has one call."),
            Parameter("part", "text", "Show only this, page by page.", None, choices=_PARTS),
            Parameter("path", "text", "Where in that part; all of it without one.", ""),
            CURSOR,
            BUDGET,
        ),
        _call,
    ),
)
"""The tools of this module."""
