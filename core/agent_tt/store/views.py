"""The views over a store that people query with SQL: plain columns, in place of packed ones.

They are made as temporary views of one reading connection (`agent_tt.store.sql`) and are not part of a file. Each takes
the rows that are as they were recorded, by their proofs, and no others; a value that is not is NULL. The functions that
they call are made there too.

`docs/sql.md` lists them; a test compares.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from agent_tt.model.facts import CallFacts, PolicyFacts
from agent_tt.model.facts.replays import ReplayFacts
from agent_tt.model.facts.stored import ModelFacts, RunMeta, StepMeta
from agent_tt.store.rows.run_rows import REPLAY

__all__ = ["FUNCTIONS", "VIEWS", "Column", "View", "json_fact"]


class Column(NamedTuple):
    """A column of a view.

    Attributes:
        name: Its name.
        sql: What it is, in terms of the tables behind the view.
        what: What it holds, for people; empty where the name says so.
    """

    name: str
    sql: str
    what: str = ""


class View(NamedTuple):
    """A view.

    Attributes:
        name: Its name.
        what: What its rows are.
        columns: Its columns.
        rows: Where they come from: the rest of its SELECT statement, from FROM on.
    """

    name: str
    what: str
    columns: tuple[Column, ...]
    rows: str

    @property
    def statement(self) -> str:
        """What makes it, on one connection."""
        columns = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"CREATE TEMP VIEW {self.name} AS SELECT {columns} {self.rows}"


FUNCTIONS: Final = {
    "state(run, step)": "a run's state after a step, as JSON; 0 is the input",
    "state(run, step, path)": "one value of it: 'messages[3].content'",
}
"""Functions for queries, beside those of SQLite."""


def _time(column: str) -> str:
    """Microseconds since the epoch as ISO text in UTC, which sorts as the times do."""
    whole = f"strftime('%Y-%m-%dT%H:%M:%S', {column} / 1000000, 'unixepoch')"
    return f"{whole} || printf('.%06dZ', {column} % 1000000)"


def json_fact(column: str, *keys: str) -> str:
    """A fact of a JSON column, by its keys; where large parts of it are kept elsewhere, the rest is one level down."""
    path = ".".join(keys)
    inside = f"coalesce(json_extract({column}, '$.{path}'), json_extract({column}, '$.v.{path}'))"
    return f"CASE WHEN json_valid({column}) THEN {inside} END"


def _error(table: str, key: str) -> tuple[Column, Column]:
    return (
        Column("error_type", f"error_part('class', '{table}', {key})", "its class, as `module:Name`"),
        Column("error", f"error_part('message', '{table}', {key})", "its message"),
    )


_STEP_KEY: Final = "s.run, CAST(s.step AS INTEGER)"
_CALL_KEY: Final = "c.run, CAST(c.step AS INTEGER), CAST(c.call AS INTEGER)"
"""Keys of rows, in which no text can stand: Python cannot be given one that is damaged."""

_RUN: Final = (Column("run", "r.id", "the run's id"), Column("run_name", "r.name", "the run's name"))
_STATUS: Final = "run_status(r.run)"


def _of_steps(value: str) -> str:
    return f"(SELECT {value} FROM temp.steps s WHERE s.run = r.id)"  # noqa: S608  # words of ours


def _calls() -> str:
    """How many calls a step made; of one that has not ended, its rows say so."""
    return f"coalesce({json_fact('s.meta', StepMeta.calls.key)}, {_COUNTED})"


_COUNTED: Final = "(SELECT count(*) FROM main.calls c WHERE c.run = s.run AND c.step = s.step)"


def _part(name: str) -> str:
    """What a call carried, proven by itself."""
    return f"call_part('{name}', {_CALL_KEY})"


def _of_run(alias: str) -> str:
    """The run of rows, itself proven."""
    return f"JOIN main.runs r ON r.run = {alias}.run WHERE is_proven('runs', r.run) AND"


VIEWS: Final = (
    View(
        "runs",
        "Recorded runs. A fork has its own steps alone: those up to `fork_step` are the rows of its parent.",
        (
            Column("run", "r.id", "its id"),
            Column("name", "r.name"),
            Column("status", _STATUS, "running, succeeded, failed, interrupted, crashed"),
            Column("agent", "r.agent", "its entry point"),
            Column("version", "r.agent_version", "the agent's version"),
            Column("model", json_fact("r.meta", RunMeta.model.key, ModelFacts.model.key)),
            Column("parent", "(SELECT p.id FROM main.runs p WHERE p.run = r.parent AND is_proven('runs', p.run))",
                   "the id of the run that it is a fork of"),
            Column("fork_step", "r.fork_step", "the step of the parent at which it begins"),
            Column("started", _time("r.started_us"), "as 2026-03-02T09:30:00.000000Z, UTC; so are all times"),
            Column("ended", _time("r.ended_us")),
            Column("ms", "(r.ended_us - r.started_us) / 1000.0", "how long it took, in milliseconds"),
            Column("steps", f"coalesce({_of_steps('max(s.step)')}, r.fork_step, 0)",
                   "the number of its last step"),
            Column("tokens_in", _of_steps("sum(s.tokens_in)"), "of its own steps, as the next two"),
            Column("tokens_out", _of_steps("sum(s.tokens_out)")),
            Column("cost_usd", _of_steps("sum(s.cost_usd)"), "in dollars; calls without a known price are not in it"),
            *_error("runs", "r.run"),
            Column("tags", "(SELECT json_group_array(t.tag) FROM temp.tags t WHERE t.run = r.id)", "a JSON list"),
            Column("archived", "r.hidden", "1 where lists leave it out"),
            Column("pinned", f"coalesce({json_fact('r.meta', RunMeta.pinned.key)}, 0)",
                   "1 where it is kept from deletion"),
            Column("metadata", json_fact("r.meta", RunMeta.metadata.key), "facts written down about it, a JSON object"),
        ),
        "FROM main.runs r WHERE is_proven('runs', r.run)",
    ),
    View(
        "steps",
        "Steps of runs.",
        (
            *_RUN,
            Column("step", "s.step", "its number, from 1"),
            Column("parent_step", "s.parent_step", "the step that it is nested in"),
            Column("name", "s.name"),
            Column("kind", "s.kind"),
            Column("agent", "s.agent"),
            Column("lane", "s.lane", "`main`, or the task or thread that took it"),
            Column("status", f"CASE WHEN s.status = 'running' AND {_STATUS} <> 'running' THEN 'interrupted'"
                   " ELSE s.status END", "running, ok, error, interrupted"),
            Column("started", _time("s.started_us")),
            Column("ended", _time("s.ended_us")),
            Column("ms", "(s.ended_us - s.started_us) / 1000.0"),
            Column("tokens_in", "s.tokens_in"),
            Column("tokens_out", "s.tokens_out"),
            Column("cost_usd", "s.cost_usd"),
            Column("calls", _calls(), "how many it made"),
            *_error("steps", _STEP_KEY),
        ),
        f"FROM main.steps s {_of_run('s')} is_proven('steps', {_STEP_KEY})",
    ),
    View(
        "calls",
        "Calls of models, tools, HTTP, clocks and so on.",
        (
            *_RUN,
            Column("step", "c.step"),
            Column("call", "c.call", "its number in the step, from 1"),
            Column("lane", "c.lane"),
            Column("kind", "c.kind", "llm, tool, http, clock, rng, id, env, subprocess"),
            Column("name", "c.name"),
            Column("effect", "c.effect", "read, write; NULL where it is not known"),
            Column("status", "c.status", "pending (its outcome is unknown once the run is over), ok, error, denied"),
            Column("started", _time("c.started_us")),
            Column("ended", _time("c.ended_us")),
            Column("ms", "(c.ended_us - c.started_us) / 1000.0"),
            Column("model", json_fact("c.meta", CallFacts.model.key)),
            Column("tokens_in", json_fact("c.meta", CallFacts.tokens_in.key)),
            Column("tokens_out", json_fact("c.meta", CallFacts.tokens_out.key)),
            Column("cost_usd", json_fact("c.meta", CallFacts.cost_usd.key)),
            Column("args", _part("args"), "JSON, typed values as envelopes"),
            Column("result", _part("result"), "JSON"),
            *_error("calls", _CALL_KEY),
            Column("file", json_fact("c.meta", CallFacts.file.key), "where in the agent's code it was made"),
            Column("line", json_fact("c.meta", CallFacts.line.key)),
            Column("policy", json_fact("c.meta", CallFacts.policy.key, PolicyFacts.word.key),
                   "of a fork: live, recorded, stub, ask, deny"),
        ),
        f"FROM main.calls c {_of_run('c')} is_proven('calls', {_CALL_KEY})",
    ),
    View(
        "questions",
        "Calls of forks about which a person was asked.",
        (
            *_RUN,
            Column("step", "n.step"),
            Column("call", json_fact("n.body", "call"), "the call that waited"),
            Column("asked", _time("n.created_us")),
            Column("decision", json_fact("n.body", "decision", "word"), "run, give, raise, refuse, stop"),
            Column("why", json_fact("n.body", "decision", "why")),
            Column("decided_by", json_fact("n.body", "decision", "by")),
        ),
        f"FROM main.notes n {_of_run('n')} n.kind = 'question'"
        f" AND is_proven('notes', n.note)",
    ),
    View(
        "marks",
        "What people wrote down about runs and steps: notes, bookmarks, names, watches.",
        (
            *_RUN,
            Column("step", "n.step", "NULL where it is about the run"),
            Column("kind", "n.kind", "note, bookmark, label (a name), watch"),
            Column("text", f"CASE n.kind WHEN 'label' THEN {json_fact('n.body', 'name')} WHEN 'watch'"
                   f" THEN {json_fact('n.body', 'where')} ELSE n.body END",
                   "the note, the name, the expression watched"),
            Column("written", _time("n.created_us")),
        ),
        f"FROM main.notes n {_of_run('n')} n.kind IN ('note', 'bookmark', 'label', 'watch')"
        f" AND is_proven('notes', n.note)",
    ),
    View(
        "replays",
        "Replays of runs that were kept, one each.",
        (
            *_RUN,
            Column("replay", "n.note", "its number"),
            Column("ended", _time("n.created_us")),
            Column("verdict", json_fact("n.body", ReplayFacts.verdict.key),
                   "as_recorded, reserved, diverged; failed: there was no report"),
            Column("mode", json_fact("n.body", ReplayFacts.mode.key), "halt, observe"),
            Column("ms", f"{json_fact('n.body', ReplayFacts.duration_us.key)} / 1000.0"),
            Column("recorded", json_fact("n.body", ReplayFacts.recorded.key), "calls that an agent asks for again"),
            Column("served", json_fact("n.body", ReplayFacts.served.key), "of its questions, how many were answered"),
            Column("reservations", json_fact("n.body", ReplayFacts.reservations.key), "how often each, a JSON object"),
            Column("divergences", f"coalesce({json_fact('n.body', ReplayFacts.divergences.key)}, 0)"),
            Column("divergence", json_fact("n.body", ReplayFacts.divergence.key), "the kind of the first"),
            Column("step", json_fact("n.body", ReplayFacts.step.key), "the step of that"),
            Column("message", json_fact("n.body", ReplayFacts.message.key)),
            Column("agent", json_fact("n.body", ReplayFacts.agent.key),
                   "what ran in place of the recorded entry point"),
            Column("fingerprint", json_fact("n.body", ReplayFacts.fingerprint.key), "of the agent's source file then"),
        ),
        f"FROM main.notes n {_of_run('n')} n.kind = '{REPLAY}' AND is_proven('notes', n.note)",
    ),
    View(
        "tags",
        "Tags of runs.",
        (*_RUN, Column("tag", "t.tag")),
        f"FROM main.tags t {_of_run('t')} is_proven('tags', t.run, hex(t.tag))",
    ),
    View(
        "edits",
        "What forks changed before they ran.",
        (
            *_RUN,
            Column("edit", "e.key + 1", "its number, from 1"),
            Column("target", "coalesce(json_extract(e.value, '$.target'), 'state')",
                   "state, result, error, answer, system, model, parameter, step"),
            Column("op", "json_extract(e.value, '$.op')", "set, insert, delete, move, mute"),
            Column("path", "json_extract(e.value, '$.path')"),
            Column("old", "edit_part('old', r.run, e.key)", "JSON"),
            Column("value", "edit_part('value', r.run, e.key)", "JSON"),
        ),
        "FROM main.runs r JOIN json_each(CASE WHEN json_valid(r.meta)"
        f" THEN json_extract(r.meta, '$.{RunMeta.edits.key}') END) e"
        " WHERE is_proven('runs', r.run)",
    ),
)  # fmt: skip
"""All of them; one that reads another is made before it all the same: a view is looked into when it is used."""
