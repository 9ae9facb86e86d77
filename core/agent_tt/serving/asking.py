"""Tools that ask the past: who wrote a value, where a text stands, when something holds, what differs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import get, parse_path
from agent_tt.codec.text import summary
from agent_tt.codec.wire import is_envelope
from agent_tt.errors import AgentTTError
from agent_tt.exporting.redacted import RedactedRuns
from agent_tt.model.shown import step_ranges
from agent_tt.providers.loose import items, mapping
from agent_tt.querying.places import leads_to, path_in
from agent_tt.querying.search.fields import FIELDS
from agent_tt.serving.looking import change_record, state_note
from agent_tt.serving.overviews import outcome
from agent_tt.serving.pages import Item, page, position, record, shown
from agent_tt.serving.references import below, part_of_state, reference, state_at
from agent_tt.serving.tool import BUDGET, CURSOR, RUN, Parameter, Tool
from agent_tt.shapes.answers import find_answer, where_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.runs.comparison import Comparison, Reason
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.provenance.blaming import Blame
    from agent_tt.querying.provenance.links import Link, Source
    from agent_tt.querying.search.hits import By
    from agent_tt.serving.pages import Where
    from agent_tt.serving.tool import Asked
    from agent_tt.shapes.records import Shape

__all__ = ["ASKING", "parted_at"]

_MOST_WRITES: Final = 12
_MOST_BESIDE: Final = 8
_MOST_REASONS: Final = 4
_SHORT: Final = 80
_SHORTEST_HIT: Final = 30
"""Characters that every hit takes at least."""


def _blame(asked: Asked) -> Shape:
    from agent_tt.querying.provenance.blaming import blame_value

    source = asked.source
    run, number = state_at(source, asked.text("at"))
    blame = blame_value(source, run.id, asked.text("path"), number, limit=_MOST_WRITES, cancelled=asked.cancelled)
    head: Shape = {"at": reference(run.id, number), "path": blame.path}
    if note := state_note(source, run, number):
        head["note"] = note
    if asked.cursor is None:
        made = blame.trail.made
        head |= {
            "value": blame.value,
            "made": "not known" if made is None else _place(run, made),
            "writes": [_written(run, blame, index) for index in range(len(blame.writes))],
            "ends": blame.trail.ends,
        }
        if blame.more:
            head["writes_more"] = "earlier ones are not listed"
    return page(
        head,
        "trail",
        blame.trail.links,
        lambda link, most: _link(source, run, link, most),
        cursor=asked.cursor,
        budget=asked.budget,
    )


def _place(run: Run, at: Link | Source) -> Shape:
    return {"at": reference(run.id, at.step, at.call), "name": at.name, "path": at.path}


def _written(run: Run, blame: Blame, index: int) -> Shape:
    write = blame.writes[index]
    return {
        "at": reference(run.id, write.step),
        "what": write.what,
        "old": summary(write.old, _SHORT),
        "new": summary(write.new, _SHORT),
        **({"by": write.by} if write.by else {}),
    }


def _link(source: RunSource, run: Run, link: Link, most: int) -> Item:
    facts: Shape = {
        "at": reference(run.id, link.step, link.call),
        "kind": link.kind,
        "name": link.name or None,
        "path": link.path or None,
    }
    values: dict[str, tuple[Wire, Where]] = {"value": (link.value, None), "why": (link.why, None)}
    if link.shared:
        values["shared"] = link.shared, None
    others: list[Wire] = [_place(run, each) for each in link.others]
    if others:
        values["others"] = others, None
    beside = _beside(source, run, link)
    if beside:
        values["beside"] = beside, None
    return record(most, facts, values)


def _beside(source: RunSource, run: Run, link: Link) -> Shape:
    """What stands beside a value in the same mapping of a call's result: a unit, a currency, a status."""
    if link.kind != "result" or link.call is None or not link.path:
        return {}
    try:
        calls = source.calls(run.id, link.step)
        result = next(call.result for call in calls if call.number == link.call)
        path = path_in(result, link.path)
        around = get(result, path[:-1])
    except (AgentTTError, StopIteration):
        return {}
    if not isinstance(around, dict) or is_envelope(around):
        return {}
    others = {key: value for key, value in around.items() if key != path[-1]}
    return {key: summary(value, _SHORT) for key, value in list(others.items())[:_MOST_BESIDE]}


def _find(asked: Asked) -> Shape:
    from agent_tt.querying.search.finder import Finder
    from agent_tt.querying.search.query import parse

    source, begin = asked.source, position(asked.cursor)
    query = parse(asked.text("text"), regex=asked.flag("regex"), fields=asked.texts("in"))
    named = asked.texts("runs")
    runs = None if not named else list(dict.fromkeys(source.run(each).id for each in named))
    limit = begin + asked.budget // _SHORTEST_HIT + 1
    # An index of the file holds what is taken out here, and is not to hold less for others.
    use_index = False if isinstance(source, RedactedRuns) else None
    with closing(Finder(source, use_index=use_index)) as finder:
        by: By = "step" if asked.text("by") == "step" else "rank"
        found = finder.found(query, runs, by=by, limit=limit, cancelled=asked.cancelled)
        unread = () if found.hits else finder.unread(runs)
    answer = find_answer(found, [f"{run.name}: {words}" for run, words in unread])
    listed = items(answer.pop("hits"))

    def item(hit: Wire, most: int) -> Item:
        told = mapping(hit)
        step, call = told["step"], told["call"]
        facts: Shape = {
            "at": reference(str(told["run"]), step, call),  # type: ignore[arg-type]
            "where": told["where"],
            "path": told["path"] or None,
            "times": told["times"] if told["times"] != 1 else None,
            "last": reference(str(told["run"]), told["last"]) if told["times"] != 1 else None,  # type: ignore[arg-type]
        }
        return record(most, facts, {"excerpt": (told["excerpt"], None)})

    is_whole = len(listed) < limit
    return page(answer, "hits", listed, item, cursor=asked.cursor, budget=asked.budget, is_whole=is_whole)


def _where(asked: Asked) -> Shape:
    run = asked.source.run(asked.text("run"))
    answer = where_answer(asked.source, run, asked.text("expression"))
    spans, steps = items(answer.pop("spans")), items(answer.pop("steps"))

    def item(span: Wire, _most: int) -> Item:
        first, last = (span[0], span[1]) if isinstance(span, list) else (0, 0)
        return Item({"from": reference(run.id, first), "to": reference(run.id, last)})  # type: ignore[arg-type]

    head: Shape = {"run": run.id, "steps": len(steps), **answer}
    return page(head, "spans", spans, item, cursor=asked.cursor, budget=asked.budget)


def _diff(asked: Asked) -> Shape:
    from agent_tt.comparing.values.ignoring import Ignoring
    from agent_tt.comparing.values.state_diff import diff_states

    source = asked.source
    (run_a, a), (run_b, b) = state_at(source, asked.text("a")), state_at(source, asked.text("b"))
    if run_a.id == run_b.id:
        old, new = source.states(run_a.id, a, b)
    else:
        old, new = source.state(run_a.id, a), source.state(run_b.id, b)
    found = diff_states(old, new, Ignoring.of(ignore=asked.texts("ignore")))
    under = asked.text("path")
    changes = [change for change in found if not under or leads_to(under, change.path)]
    head: Shape = {
        "a": reference(run_a.id, a),
        "b": reference(run_b.id, b),
        "equal": not found.differ,
        **({"remarks": [*found.remarks()]} if found.remarks() else {}),
    }
    notes = [(side, state_note(source, run, at)) for side, run, at in (("a", run_a, a), ("b", run_b, b))]
    head |= {f"note_{side}": note for side, note in notes if note is not None}
    if under:
        head |= {"path": under, "elsewhere": len(found) - len(changes)}

    def item(change: Wire, most: int) -> Item:
        told = mapping(change)
        facts: Shape = {key: told[key] for key in ("op", "path", "old_path", "of") if key in told}
        values: dict[str, tuple[Wire, Where]] = {}
        if told["op"] != "add" and "old" in told:
            values["old"] = told["old"], _below(part_of_state(run_a.id, a), told["path"])
        if told["op"] != "remove" and "new" in told:
            values["new"] = told["new"], _below(part_of_state(run_b.id, b), told["path"])
        return record(most, facts, {} if told["op"] == "move" else values)

    shapes: list[Wire] = [change.to_json() for change in changes]
    return page(head, "changes", shapes, item, cursor=asked.cursor, budget=asked.budget)


def _below(where: Callable[[Path], str], path: Wire) -> Where:
    """Say how a part of a value at a path as people write it is got; None where that path cannot be read."""
    try:
        return below(where, parse_path(str(path)))
    except AgentTTError:
        return None


def _compare(asked: Asked) -> Shape:
    from agent_tt.comparing.runs.comparison import compare_runs

    source = asked.source
    a, b = source.run(asked.text("a")), source.run(asked.text("b"))
    found = compare_runs(source, a, source, b, cancelled=asked.cancelled)
    told = found.to_json()
    # What could not be read may differ.
    differs: Wire = found.differs
    if not found.differs and (found.unread or not found.is_over):
        differs = "not known"
    head: Shape = {"a": outcome(source, a), "b": outcome(source, b), "differs": differs}
    if asked.cursor is None:
        head["diverged_at"] = parted_at(found)
        head["because"] = found.because
        head["reasons"] = [_reason(found, reason) for reason in found.reasons[:_MOST_REASONS]]
        head["rejoined_at"] = None if found.rejoined_at is None else reference(a.id, found.rejoined_at)
        head |= {
            "only_a": ", ".join(step_ranges(found.only_a, " to ")),
            "only_b": ", ".join(step_ranges(found.only_b, " to ")),
            "difference": told["difference"],
        }
        if found.unread:
            head["unread"] = [*found.unread]
    changes: list[Wire] = [change_record(change.to_json(), 600) for change in found.final_changes]
    return page(
        head,
        "final_changes",
        changes,
        shown,
        cursor=asked.cursor,
        budget=asked.budget,
    )


def _reason(found: Comparison, reason: Reason) -> Shape:
    """One reason why two runs part, with references in place of numbers of steps."""
    at = {"a": (found.a, reason.a), "b": (found.b, reason.b)}
    return {
        "kind": reason.kind,
        "text": reason.text,
        **{side: reference(run.id, step) for side, (run, step) in at.items() if step is not None},
        **({"where": reason.where} if reason.where else {}),
        "old": summary(reason.old, _SHORT),
        "new": summary(reason.new, _SHORT),
    }


def parted_at(found: Comparison) -> str | None:
    """The step at which two runs part: one of A, or of B where A took none; None where they do not."""
    if found.diverged_at is None:
        return None
    for row in found.rows:
        if row.kind not in ("same", "pending"):
            if row.a == found.diverged_at:
                return reference(found.a.id, row.a)
            if row.a is None and row.b == found.diverged_at:
                return reference(found.b.id, row.b)
    return reference(found.a.id, found.diverged_at)


_AT: Final = "RUN@STEP: the state after that step; RUN is after its last."

ASKING: Final = (
    Tool(
        "blame",
        "Who wrote a value of the state, where that value was made, and the way back to what it was made of: each link"
        " is a place (a call's result or argument, a model's answer, an edit, the input) with the reason. `beside` is"
        " what the same result says next to it, such as a unit. It says where nobody knows.",
        (
            Parameter("at", "text", _AT),
            Parameter("path", "text", "The value: payment.amount, messages[-1].content."),
            CURSOR,
            BUDGET,
        ),
        _blame,
    ),
    Tool(
        "find",
        "Search everything recorded, of some runs or of all: names, messages, arguments, results, errors, states. Words"
        ' in any order, "phrases", in:FIELD, tool:NAME, step:10-20; or a pattern.',
        (
            Parameter("text", "text", "What is looked for."),
            Parameter("runs", "texts", "Only in these runs.", []),
            Parameter("in", "texts", "Only in these fields.", [], choices=FIELDS),
            Parameter("regex", "flag", "The text is a pattern.", default=False),
            Parameter(
                "by", "text", "The best first, or every place in the order of steps.", "rank", choices=("rank", "step")
            ),
            CURSOR,
            BUDGET,
        ),
        _find,
    ),
    Tool(
        "where",
        "The steps of a run at which an expression holds, as stretches; the first is where it began.",
        (
            RUN,
            Parameter(
                "expression",
                "text",
                'For example state.payment.amount > 1500, tool == "charge_card" and error, changed("messages[-1]").',
            ),
            CURSOR,
            BUDGET,
        ),
        _where,
    ),
    Tool(
        "diff",
        "What differs between two states, of one run or of two: each change with its path, old and new value.",
        (
            Parameter("a", "text", _AT),
            Parameter("b", "text", _AT),
            Parameter("path", "text", "Only changes at or below this path.", ""),
            Parameter("ignore", "texts", "Paths that do not count; [*] is any position: messages[*].id.", []),
            CURSOR,
            BUDGET,
        ),
        _diff,
    ),
    Tool(
        "compare",
        "Two runs side by side: where they part and why, where they meet again, how each ended, what differs last.",
        (Parameter("a", "text", "A run."), Parameter("b", "text", "The other run."), CURSOR, BUDGET),
        _compare,
    ),
)
"""The tools of this module."""
