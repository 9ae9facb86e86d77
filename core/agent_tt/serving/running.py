"""Tools that run agents: a replay, offline, and a fork, for real. They are there only with leave.

Whoever started the server has said which tools may write, how long an agent may run and how many may be started. A
client can take away from that and never add to it. A fork says first what would run.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError, UsageError
from agent_tt.exporting.redacted import RedactedRuns, is_unredacted
from agent_tt.forking.editing.forms import EDIT_FORMS, read_edit
from agent_tt.providers.loose import items, mapping
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import redact
from agent_tt.serving.asking import parted_at
from agent_tt.serving.overviews import effect_record, outcome
from agent_tt.serving.pages import Item, page, record
from agent_tt.serving.references import reference
from agent_tt.serving.starting import Leave, Starter
from agent_tt.serving.text import written
from agent_tt.serving.tool import BUDGET, CURSOR, RUN, Parameter, Tool
from agent_tt.shapes.answers import fork_answer
from agent_tt.shapes.plans import graph_shape, plan_shape
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.model import Edit
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt.serving.tool import Asked
    from agent_tt.shapes.records import Shape

__all__ = ["Leave", "Runner"]

_POLL_SECONDS: Final = 0.1
_LONGEST_WAIT: Final = 600
_NOBODY: Final = "nobody can be asked through this server; whoever started it may allow the tool with --allow"


class Runner(Starter):
    """Runs agents under a leave, one at a time, and keeps those that still run when an answer was given."""

    def tools(self) -> tuple[Tool, ...]:
        """The tools."""
        allowed = f" These may write: {', '.join(self.leave.allow)}." if self.leave.allow else ""
        forms = "; ".join(f"{name} {shape}" for name, shape, _ in EDIT_FORMS)
        return (
            Tool(
                "fork",
                "Run the agent again from a step, with edits, for real, in a process and a run of its own; the recorded"
                " run is never changed. Without dry_run=false it only says what would run, and what becomes of each"
                " call."
                f" Tools that write are denied.{allowed}",
                (
                    Parameter(
                        "at", "text", "RUN@STEP to go on after; 0 is the input. RUN alone where a call is edited."
                    ),
                    Parameter("edits", "texts", f"What is changed first, each KIND TEXT: {forms}. VALUE is JSON.", []),
                    Parameter(
                        "expect", "text", "What is hoped for after the last step: an expression, kept and judged.", None
                    ),
                    Parameter("deny", "texts", "Tools that are denied as well, by name.", []),
                    Parameter("name", "text", "Name of the new run.", None),
                    Parameter("dry_run", "flag", "Only say what would run.", default=True),
                    Parameter(
                        "seconds", "number", "Stop after so long; never longer than the server allows.", None, 1, 86_400
                    ),
                    Parameter(
                        "wait",
                        "number",
                        "Wait so many seconds for its end; it goes on after that.",
                        50,
                        1,
                        _LONGEST_WAIT,
                    ),
                    CURSOR,
                    BUDGET,
                ),
                self._fork,
                starts=True,
            ),
            Tool(
                "replay",
                "Run the agent again as its code is now, offline, every call answered as recorded: does it still do"
                " what it did? Says each request that differs, with its path, words and line.",
                (
                    RUN,
                    Parameter("observe", "flag", "Go on after a difference, and collect all.", default=False),
                    Parameter("dry_run", "flag", "Only say what is recorded, and run nothing.", default=False),
                    Parameter(
                        "seconds",
                        "number",
                        "Give up after so long; never later than the server allows.",
                        None,
                        1,
                        86_400,
                    ),
                    CURSOR,
                    BUDGET,
                ),
                self._replay,
                starts=True,
            ),
        )

    # ---------------------------------------------------------------- forks

    def _fork(self, asked: Asked) -> Shape:
        from agent_tt.querying.checkpoints import find_place

        run, step = find_place(asked.source, asked.text("at"), None, option="at")
        edits = tuple(map(_edit, asked.texts("edits")))
        plan = self.plan(
            asked.source,
            run,
            step,
            edits,
            seconds=asked.number("seconds"),
            deny=asked.texts("deny"),
            name=asked.text_or_none("name"),
            expect=asked.text_or_none("expect"),
        )
        if asked.flag("dry_run"):
            return _planned(plan, asked)
        return self._followed(asked, self.fork(plan, asked=_refuse))

    def _followed(self, asked: Asked, handle: RunHandle) -> Shape:
        """Wait for the end of a fork; it is stopped where nobody waits for the answer any more."""
        ends = time.monotonic() + (asked.number("wait") or _LONGEST_WAIT)
        while handle.wait(_POLL_SECONDS) is None:
            if asked.cancelled():
                handle.stop()
            elif time.monotonic() > ends:
                most = self.seconds(asked.number("seconds"))
                return {
                    "run": handle.run_id,
                    "status": "running",
                    "note": f"it goes on, for {most:.0f} s at most: overview shows how far it is",
                }
        return _ended(handle, asked.budget)

    # ---------------------------------------------------------------- replays

    def _replay(self, asked: Asked) -> Shape:
        from agent_tt.replaying.preflight import preflight

        run = asked.source.run(asked.text("run"))
        if asked.flag("dry_run"):
            plan = preflight(asked.source, run).to_json()
            head = {key: part for key, part in plan.items() if key != "answers"}
            return page(head, "answers", items(plan["answers"]), _as_it_is, cursor=asked.cursor, budget=asked.budget)
        report = self.replay(
            asked.source,
            run,
            observe=asked.flag("observe"),
            seconds=self.seconds(asked.number("seconds")),
            cancelled=asked.cancelled,
        )
        told = _without_secrets(report.to_json())
        kept = ("run", "name", "verdict", "faithful", "recorded", "served", "agent", "reservations", "state_compared")
        head = {key: told[key] for key in kept}
        if report.agent.failed_otherwise:
            head["output"] = redact_text(report.output)[-1_000:]

        def item(finding: Wire, most: int) -> Item:
            each = mapping(finding)
            step, call = each.get("step"), each.get("call")
            facts: Shape = {
                "at": reference(run.id, step, call if isinstance(call, int) else None)
                if isinstance(step, int)
                else None,
                **{key: each.get(key) for key in ("kind", "call_kind", "name", "file", "line")},
            }
            names = [name for name in ("message", "hint", "changes") if each.get(name)]
            return record(most, facts, {name: (each[name], None) for name in names})

        answer = page(head, "divergences", items(told["divergences"]), item, cursor=None, budget=asked.budget)
        return _once(answer, "a larger budget; each replay runs the agent again")


def _once(answer: Shape, get: str) -> Shape:
    """An answer that has no further page, as asking again would run an agent again: says how to get the rest."""
    if answer.pop("next", None) is not None:
        answer["rest"] = get
    return answer


def _refuse(question: CallQuestion) -> Decision:
    """Refuse a call that a policy wants somebody asked about: nobody sits here."""
    return question.refuse(_NOBODY).said_by("nobody")


def _edit(text: str) -> Edit:
    form, _, rest = text.strip().partition(" ")
    forms = ", ".join(name for name, _, _ in EDIT_FORMS)
    if not rest.strip():
        raise UsageError(
            f"{text[:80]!r} is not an edit", hint=f"Write KIND TEXT, for example: set budget=3. Kinds: {forms}."
        )
    return read_edit(form, rest.strip())


def _without_secrets(shape: Shape) -> Shape:
    """What comes of an agent that runs now, or of a file that nobody redacted, as it may be shown."""
    return mapping(redact(shape))


def _as_it_is(value: Wire, most: int) -> Item:
    return record(most, mapping(value), {})


def _planned(plan: ForkPlan, asked: Asked) -> Shape:
    """What a fork would do: nothing has run."""
    told = _without_secrets(plan_shape(plan) | graph_shape(plan))
    kept = ("entry", "file", "line", "changed", "by", "way_back_in", "edits", "unheld", "expect", "problems")
    head: Shape = {
        "dry_run": True,
        "at": reference(plan.run.id, plan.step),
        **{key: told[key] for key in (*kept, "graph") if key in told},
        "limits": plan.terms.to_mapping().get("limits"),
        "to_run_it": "the same call with dry_run=false",
    }
    if plan.unheld:
        head["to_run_it"] = "it does not start: the tools of unheld cannot be held, and nobody has allowed them"

    def item(row: Wire, most: int) -> Item:
        each = mapping(row)
        names = ("name", "kind", "effect", "seen", "expected", "policy", "rule", "source", "place", "held")
        return record(most, {key: each.get(key) for key in names}, {})

    return page(head, "calls", items(told["boundary"]), item, cursor=asked.cursor, budget=asked.budget)


def _ended(handle: RunHandle, budget: int) -> Shape:
    """How a fork ended, what it did, and where it parted from the run that it was forked from."""
    from agent_tt.comparing.runs.comparison import compare_runs
    from agent_tt.comparing.runs.without_effect import edits_without_effect
    from agent_tt.querying.expecting import hoped_of

    with closing(open_source(handle.store, read_only=True)) as opened:
        run = opened.run(handle.run_id)
        source = RedactedRuns(opened) if is_unredacted(opened, run) else opened
        told = fork_answer(source, run, edits_without_effect(run), hoped_of(source, run))
        head: Shape = outcome(source, run) | {
            "edits_without_effect": told["edits_without_effect"],
            "notes": told["notes"],
        }
        try:
            handle.result()
        except AgentTTError as error:
            head["ended_with"] = {"kind": error.kind, "message": error.message, "hint": error.advice}
        if run.parent is not None:
            parent = source.run(run.parent)
            found = compare_runs(source, parent, source, run)
            head["fork_of"] = reference(parent.id, run.fork_step)
            head["parent"] = {key: outcome(source, parent).get(key) for key in ("status", "steps", "answer", "error")}
            head["diverged_at"] = parted_at(found)
            head["because"] = found.because
        rows = items(told["effects"])
        answer = page(
            head, "effects", rows, lambda row, most: effect_record(run.id, row, most), cursor=None, budget=budget
        )
        return _once(answer, f"effects(run={written(run.id)})")
