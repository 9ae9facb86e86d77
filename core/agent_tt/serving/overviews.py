"""Tools that show runs: the list of them, one in brief, what is odd about it, what it did to the world."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, get_args

from agent_tt.codec.text import summary
from agent_tt.errors import UsageError
from agent_tt.model import ACTING, RunStatus
from agent_tt.model.as_json import time_text
from agent_tt.providers.loose import items, mapping
from agent_tt.querying.ranges import find_range
from agent_tt.serving.looking import change_record
from agent_tt.serving.pages import Item, page, record
from agent_tt.serving.references import reference
from agent_tt.serving.tool import BUDGET, CURSOR, RUN, Parameter, Tool
from agent_tt.shapes.answers import calls_of, effects_answer, oddities_answer, steps_answer
from agent_tt.shapes.records import edit_shape

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.serving.pages import Where
    from agent_tt.serving.tool import Asked
    from agent_tt.shapes.records import Shape

__all__ = ["OVERVIEWS", "effect_record", "outcome"]

_MOST_ODD: Final = 20_000
"""Steps from which on a run is not searched for oddities unasked."""

_MOST_EDITS: Final = 20
_SHORT: Final = 120
_STATUSES: Final = get_args(RunStatus)


def _runs(asked: Asked) -> Shape:
    name, status = asked.text_or_none("name"), asked.text_or_none("status")
    runs = [
        run
        for run in asked.source.runs(archived=asked.flag("archived"))
        if (name is None or name.casefold() in run.name.casefold()) and (status is None or run.status == status)
    ]
    begin = 0
    if asked.cursor is not None:  # the run after which the page begins: new ones come before it
        begin = next((at + 1 for at, run in enumerate(runs) if _after(run) == asked.cursor), 0)
        if not begin:
            raise UsageError(f"the cursor {asked.cursor[:80]!r} names no run of this list", hint="Begin without one.")
    return page(
        {"store": str(asked.source.path)},
        "runs",
        runs,
        _run_item,
        cursor=asked.cursor,
        budget=asked.budget,
        after=lambda at: _after(runs[at - 1]),
        start=begin,
    )


def _after(run: Run) -> str:
    """The cursor of what comes after a run, as short for a long id as for a short one."""
    return f"after:{hashlib.blake2b(run.id.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _run_item(run: Run, most: int) -> Item:
    facts: Shape = {
        "run": run.id,
        "name": run.name,
        "status": run.status,
        "steps": run.steps,
        "started": time_text(run.started_us),
        "agent": run.agent,
        "fork_of": None if run.parent is None else reference(run.parent, run.fork_step),
        "tags": [*run.tags] or None,
        "damaged": run.damaged,
    }
    return record(most, facts, {} if run.error is None else {"error": (run.error.short, None)})


def outcome(source: RunSource, run: Run) -> Shape:
    """How a run ended: status, error, last words, what was hoped of it."""
    from agent_tt.comparing.steps.outcome import final_state, last_words
    from agent_tt.querying.expecting import hoped_of

    hoped = hoped_of(source, run)
    return {
        "run": run.id,
        "name": run.name,
        "status": run.status,
        "steps": run.steps,
        **({} if run.error is None else {"error": run.error.short}),
        "answer": last_words(final_state(source, run.id)),
        **({} if hoped is None else {"expect": hoped.to_json()}),
        **({} if run.incomplete is None else {"incomplete": run.incomplete}),
        **({} if run.damaged is None else {"damaged": run.damaged}),
    }


def _overview(asked: Asked) -> Shape:
    source, run = asked.source, asked.source.run(asked.text("run"))
    steps = source.steps(run.id)
    head: Shape = {"run": run.id, "name": run.name}
    if asked.cursor is None:
        head = outcome(source, run) | {
            "agent": run.agent,
            "first_error": next((reference(run.id, step.number) for step in steps if step.status == "error"), None),
        }
        if run.parent is not None:
            head["fork_of"] = reference(run.parent, run.fork_step)
            head["edits"] = [edit_shape(edit) for edit in run.edits[:_MOST_EDITS]]
        if run.steps <= _MOST_ODD:
            head["did"] = effects_answer(source, run)["summary"]
            head |= {key: _with_places(run, part) for key, part in oddities_answer(source, run).items()}
        else:
            head["oddities"] = f"not looked for in {run.steps} steps unasked: call oddities, and effects"

    def item(step: Step, most: int) -> Item:
        calls = calls_of(source, run, step) if step.kind != "llm" or step.status != "ok" else []
        told = [_told(call) for call in calls if call.kind in ACTING][:3]
        facts: Shape = {
            "at": reference(run.id, step.number),
            "name": step.name,
            "agent": step.agent,
            "kind": step.kind,
            "status": step.status,
            "lane": None if step.lane == "main" else step.lane,
            "same_as": None if not step.repeat_of else reference(run.id, step.repeat_of),
            "decision": step.decision if step.decision != step.name else None,
            "inherited": step.inherited or None,
            "damaged": step.damaged,
        }
        values: dict[str, tuple[Wire, Where]] = {"did": ("; ".join(told), None)} if told else {}
        if step.error is not None:
            values["error"] = step.error.short, None
        return record(min(most, 5 * _SHORT), facts, values)

    return page(head, "steps_in_brief", steps, item, cursor=asked.cursor, budget=asked.budget)


def _told(call: Call) -> str:
    """`price_order({"a": 1}) = {"total": 2}`, in short."""
    back = (
        call.error.short
        if call.error is not None
        else summary(call.result, _SHORT)
        if call.status == "ok"
        else _no_answer(call)
    )
    return f"{call.name[:_SHORT]}({summary(call.args, _SHORT)}) = {back[:_SHORT]}"


def _no_answer(call: Call) -> str:
    return "denied" if call.status == "denied" else "no answer is recorded"


def _with_places(run: Run, part: Wire) -> Wire:
    """Oddities with references in place of numbers of steps."""
    if not isinstance(part, list):
        return part
    return [_odd(run, each) if isinstance(each, dict) else each for each in part]


def _odd(run: Run, odd: Shape) -> Shape:
    steps = items(odd["steps"])
    places: list[Wire] = [reference(run.id, step) for step in steps[:6] if isinstance(step, int)]
    more: Shape = {} if len(steps) <= 6 else {"more_steps": len(steps) - 6}
    return {"kind": odd["kind"], "what": odd["what"], "at": places, **more}


def _oddities(asked: Asked) -> Shape:
    run = asked.source.run(asked.text("run"))
    answer = oddities_answer(asked.source, run)
    found = items(answer.pop("oddities"))

    def item(odd: Wire, most: int) -> Item:
        shape = _odd(run, mapping(odd))
        return record(
            most, {key: part for key, part in shape.items() if key != "what"}, {"what": (shape["what"], None)}
        )

    return page({"run": run.id, **answer}, "oddities", found, item, cursor=asked.cursor, budget=asked.budget)


def _effects(asked: Asked) -> Shape:
    run = asked.source.run(asked.text("run"))
    answer = effects_answer(asked.source, run)
    head = {"run": run.id, **{key: answer[key] for key in ("summary", "reads", "models", "unrecorded")}}
    return page(
        head,
        "effects",
        items(answer["effects"]),
        lambda row, most: effect_record(run.id, row, most),
        cursor=asked.cursor,
        budget=asked.budget,
    )


def _range(asked: Asked) -> Shape:
    source, named = asked.source, asked.text("at")
    found = find_range(source, named, None)
    if found is None:
        raise UsageError(f"{named[:200]!r} names no range", hint="For example RUN@3..7; either end may be left out.")
    run, first, last = found
    answer = steps_answer(source, run, first, last)
    base = answer["base"]
    names = ("steps", "errors", "tokens_in", "tokens_out", "uncounted", "cost_usd", "unpriced_calls", "took_ms")
    head: Shape = {
        "from": reference(run.id, first),
        "to": reference(run.id, last),
        "since": None if base is None else reference(run.id, int(str(base))),
        **{name: answer[name] for name in (*names, "summary", "reads", "models")},
    }
    rows: list[tuple[str, Wire]] = [("effect", row) for row in [*items(answer["effects"]), *items(answer["held_back"])]]
    rows += [("change", each) for each in items(answer["changes"])]

    def row(each: tuple[str, Wire], most: int) -> Item:
        kind, told = each
        if kind == "change":
            return Item({"what": kind, **change_record(mapping(told), most // 2)}, [])
        made = effect_record(run.id, told, most)
        return Item({"what": kind, **mapping(made.shape)}, made.left_out)

    return page(head, "did", rows, row, cursor=asked.cursor, budget=asked.budget)


def effect_record(run: str, row: Wire, most: int) -> Item:
    """One row of the ledger of a run: a call that did something to the world, or was kept from it."""
    told = mapping(row)
    step, call = told.get("step"), told.get("call")
    is_here = told.get("where") is None  # else it is before or beside its recording, or of another run
    at = reference(run, step, call if isinstance(call, int) else None) if isinstance(step, int) and is_here else None
    names = ("kind", "name", "happened", "because", "where", "error")
    facts: Shape = {"at": at, **{name: told[name] for name in names if told.get(name)}}
    return record(most, facts, {name: (told[name], None) for name in ("args", "asked", "result") if told.get(name)})


OVERVIEWS: Final = (
    Tool(
        "runs",
        "List the recorded runs, newest first, each with how it ended.",
        (
            Parameter("name", "text", "Only runs whose name holds this text.", None),
            Parameter("status", "text", "Only runs that ended so.", None, choices=_STATUSES),
            Parameter("archived", "flag", "Archived runs too.", default=False),
            CURSOR,
            BUDGET,
        ),
        _runs,
    ),
    Tool(
        "overview",
        "One run in brief, to begin with: how it ended, its first error, what is odd about it (loops, retries,"
        " outliers), what it did to the world, and each step on a line with its reference.",
        (RUN, CURSOR, BUDGET),
        _overview,
    ),
    Tool(
        "oddities",
        "What is odd about a run: repeated calls, cycles, retries, slow and costly steps, a growing context, the first"
        " error.",
        (RUN, CURSOR, BUDGET),
        _oddities,
    ),
    Tool(
        "effects",
        "What a run did to the world: each call that wrote, or that a fork's policy held back, and who decided that.",
        (RUN, CURSOR, BUDGET),
        _effects,
    ),
    Tool(
        "range",
        "Some steps in a row alone: what they took and cost, and what they `did`: each call that wrote or was held"
        " back, then each change of the state from before the first to after the last.",
        (
            Parameter("at", "text", "RUN@FIRST..LAST; either end may be left out: RUN@3..7, RUN@..@error."),
            CURSOR,
            BUDGET,
        ),
        _range,
    ),
)
"""The tools of this module."""
