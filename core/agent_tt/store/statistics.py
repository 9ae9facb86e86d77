"""Statistics of a store, counted by SQLite.

Rows are counted as they stand: to prove a hundred thousand of them takes many times as long. Whether they are what was
recorded is for `verify` to say. All of an answer is of one moment of the file.

Numbers that no run can have are left out of sums, where SQLite would fail at one that is too large.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast, get_args

from agent_tt.history.rows import SEQ_BITS
from agent_tt.model import ReplayVerdict, Usage
from agent_tt.model.facts import CallFacts, StepFacts
from agent_tt.model.facts.replays import ReplayFacts
from agent_tt.model.facts.stored import StepMeta
from agent_tt.model.statistics import (
    NO_SPREAD,
    CallGroup,
    Checkpoints,
    ErrorGroup,
    Loop,
    NotableStep,
    Replays,
    RunGroup,
    Statistics,
    spread_of,
)
from agent_tt.protocols.counted import LEAST_ROUNDS, file_bytes, in_order
from agent_tt.store.file.connecting import connect
from agent_tt.store.file.sqlite_errors import SQLITE_ERRORS, our_error
from agent_tt.store.rows import columns
from agent_tt.store.rows.run_rows import REPLAY, shown_status
from agent_tt.store.sampling import sampled
from agent_tt.store.space import store_bytes
from agent_tt.store.views import json_fact

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from agent_tt.addresses import Address
    from agent_tt.model import RunStatus
    from agent_tt.model.statistics import CallGroups, Chosen, RunGroups

__all__ = ["count_calls", "count_everything", "count_runs", "measure_growth"]


def _sane(number: str) -> str:
    """A number that can be one, else NULL."""
    return f"CASE WHEN {number} BETWEEN 0 AND {1 << 50} THEN {number} END"


def _text(value: str) -> str:
    return f"CASE WHEN typeof({value}) = 'text' THEN {value} END"


def _rare(column: str, key: str, *path: str) -> str:
    """A fact that few rows have: what does not hold its key is not read as JSON."""
    return f"CASE WHEN instr({column}, '\"{key}\"') THEN {json_fact(column, *path, key)} END"


def _bytes(column: str) -> str:
    """How many bytes a text has: of a text itself SQLite counts letters."""
    return f"coalesce(length(CAST({column} AS BLOB)), 0)"


_PICKED: Final = f"""INSERT INTO temp.picked
  SELECT run, {_text("id")}, {_text("name")}, status, {_text("agent")}, {_text("agent_version")},
    date(started_us / 1000000, 'unixepoch'), {_sane("ended_us - started_us")}, parent IS NOT NULL
  FROM main.runs WHERE (:since IS NULL OR started_us >= :since) AND (:agent IS NULL OR agent = :agent)"""  # noqa: S608  # made of our own constants
_STEPS: Final = f"""INSERT INTO temp.took_steps
  SELECT s.run, count(*) AS steps, sum({_sane("s.tokens_in")}) AS tokens_in, sum({_sane("s.tokens_out")}) AS tokens_out,
    sum({_sane("s.cost_usd")}) AS cost_usd,
    sum({_sane(_rare("s.meta", StepFacts.unpriced.key, StepMeta.extra.key))}) AS unpriced, count(s.seq) AS taken,
    count({_rare("s.meta", StepFacts.state_error.key, StepMeta.extra.key)}) AS failed
  FROM temp.picked p CROSS JOIN main.steps s ON s.run = p.run GROUP BY p.run"""  # noqa: S608  # made of our own constants
_STEPS_TABLE: Final = (
    "CREATE TEMP TABLE took_steps(run INTEGER PRIMARY KEY, steps, tokens_in, tokens_out, cost_usd, unpriced, taken,"
    " failed)"
)
_GROUPED: Final = "sum(s.steps), sum(s.tokens_in), sum(s.tokens_out), sum(s.cost_usd), sum(s.unpriced)"
_PICKED_AND_STEPS: Final = "temp.picked p LEFT JOIN temp.took_steps s ON s.run = p.run"
_SLOWEST: Final = """SELECT p.id, p.name, s.step, s.name, s.kind, s.ended_us - s.started_us AS amount, p.took
  FROM main.steps s JOIN temp.picked p ON p.run = s.run WHERE amount > 0 ORDER BY amount DESC LIMIT ?"""
_COSTLIEST: Final = """SELECT p.id, p.name, s.step, s.name, s.kind, s.cost_usd AS amount,
    CASE WHEN coalesce(t.unpriced, 0) > 0 THEN NULL ELSE t.cost_usd END
  FROM main.steps s JOIN temp.picked p ON p.run = s.run JOIN temp.took_steps t ON t.run = s.run
  WHERE amount > 0 ORDER BY amount DESC LIMIT ?"""
_LOOPS: Final = f"""SELECT name, count(DISTINCT run), sum(times) AS all_times FROM (
    SELECT s.run, s.name, count(*) + 1 AS times, {_rare("s.meta", StepMeta.repeat_of.key)} AS first
    FROM main.steps s JOIN temp.picked p ON p.run = s.run WHERE first IS NOT NULL
    GROUP BY s.run, first, s.name HAVING times >= {LEAST_ROUNDS})
  GROUP BY name ORDER BY all_times DESC LIMIT ?"""  # noqa: S608  # made of our own constants
_ERRORS: Final = f"""SELECT name, class, min(message), count(*) AS count, count(DISTINCT run) FROM (
    SELECT c.run, c.name, coalesce({json_fact("c.error", "class")}, 'builtins:Exception') AS class,
      coalesce({json_fact("c.error", "message")}, '') AS message
    FROM main.calls c JOIN temp.picked p ON p.run = c.run WHERE c.status = 'error' AND c.error IS NOT NULL
    UNION ALL
    SELECT r.run, NULL, coalesce({json_fact("r.error", "class")}, 'builtins:Exception'),
      coalesce({json_fact("r.error", "message")}, '')
    FROM main.runs r JOIN temp.picked p ON p.run = r.run WHERE r.error IS NOT NULL)
  GROUP BY name, class ORDER BY count DESC LIMIT ?"""  # noqa: S608  # made of our own constants
_REPLAYS: Final = f"""SELECT {json_fact("n.body", ReplayFacts.verdict.key)},
    {json_fact("n.body", ReplayFacts.duration_us.key)} AS duration
  FROM main.notes n JOIN temp.picked p ON p.run = n.run WHERE n.kind = '{REPLAY}' ORDER BY duration"""  # noqa: S608  # made of our own constants
_AROUND_TABLE: Final = "CREATE TEMP TABLE around(run, step, call, PRIMARY KEY(run, step, call)) WITHOUT ROWID"
_AROUND: Final = f"""INSERT OR IGNORE INTO temp.around
  SELECT run, {_rare("c.meta", "step", CallFacts.inside.key)}, {_rare("c.meta", "call", CallFacts.inside.key)}
  FROM main.calls c WHERE kind = 'llm'
    AND instr(meta, '"{CallFacts.inside.key}"')"""  # noqa: S608  # made of our own constants
_TOOLS: Final = f"""SELECT c.name, count(*), sum(c.status = 'error'), count(DISTINCT c.run), NULL, NULL, NULL, NULL,
    sum({_sane("c.ended_us - c.started_us")}), max({_sane("c.ended_us - c.started_us")})
  FROM main.calls c JOIN temp.picked p ON p.run = c.run WHERE c.kind = 'tool' GROUP BY c.name"""  # noqa: S608  # made of our own constants
_MODELS: Final = f"""WITH asked AS MATERIALIZED (SELECT c.run, c.status, {_sane("c.ended_us - c.started_us")} AS took,
    {json_fact("c.meta", CallFacts.model.key)} AS model,
    {json_fact("c.meta", CallFacts.tokens_in.key)} AS tokens_in,
    {json_fact("c.meta", CallFacts.tokens_out.key)} AS tokens_out,
    {json_fact("c.meta", CallFacts.cost_usd.key)} AS cost_usd,
    {_rare("c.meta", CallFacts.made_up.key)} AS made_up, {_rare("c.meta", CallFacts.answer_error.key)} AS refused,
    NOT EXISTS (SELECT 1 FROM temp.around a WHERE a.run = c.run AND a.step = c.step AND a.call = c.call) AS is_inner
  FROM main.calls c JOIN temp.picked p ON p.run = c.run WHERE c.kind = 'llm')
  SELECT model, count(*), sum(status = 'error'), count(DISTINCT run),
    sum(CASE WHEN is_inner THEN {_sane("tokens_in")} END), sum(CASE WHEN is_inner THEN {_sane("tokens_out")} END),
    sum(CASE WHEN is_inner THEN {_sane("cost_usd")} END),
    sum(CASE WHEN is_inner AND status = 'ok' AND coalesce(cost_usd, made_up, refused) IS NULL THEN 1 END),
    sum(took), max(took) FROM asked GROUP BY model"""  # noqa: S608  # made of our own constants
"""Each fact is read once: without the word, SQLite reads it where it is used."""

_GROWTH: Final = f"""SELECT p.day, sum(g.bytes) FROM (
    SELECT t.run AS run, sum(length(d.ops)) AS bytes
      FROM main.deltas d JOIN main.tracks t ON t.track = d.id >> {SEQ_BITS} GROUP BY t.run
    UNION ALL SELECT t.run, sum(length(k.state))
      FROM main.keyframes k JOIN main.tracks t ON t.track = k.id >> {SEQ_BITS} GROUP BY t.run
    UNION ALL SELECT run, sum({_bytes("args")} + {_bytes("result")} + {_bytes("error")} + {_bytes("meta")})
      FROM main.calls GROUP BY run
    UNION ALL SELECT id >> {SEQ_BITS}, sum({_bytes("data")}) FROM main.deliveries GROUP BY 1) g
  JOIN temp.picked p ON p.run = g.run GROUP BY p.day ORDER BY p.day"""  # noqa: S608  # made of our own constants

_SETTINGS: Final = ("temp_store = memory", "cache_size = -65536", f"mmap_size = {1 << 30}")
"""Tables of its own in memory, 64 MiB of pages, and the file read without copying each page."""

_DAY_US: Final = 86_400 * 1_000_000
_VERDICTS: Final = frozenset(get_args(ReplayVerdict))
_NAMES: Final = {"agent": "p.agent", "day": "p.day", "version": "p.version", "tag": "t.tag"}


def count_everything(path: Path, chosen: Chosen) -> Statistics:
    """What `RunSource.statistics` gives of a store.

    Raises:
        StoreNotFound, StoreUnreadable: there is none, or it cannot be read.
    """
    with _picked(path, chosen) as rows:
        whole = _groups(rows, "NULL")
        gone = sum(count for _, _, count in _sampled(rows, chosen))
        ((forks, taken, failed),) = rows.execute(
            f"SELECT sum(p.forked), sum(s.taken), sum(s.failed) FROM {_PICKED_AND_STEPS}"  # noqa: S608  # made of our own constants
        )
        page, free = (int(rows.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_size", "freelist_count"))
        return Statistics(
            whole=replace(whole[0] if whole else RunGroup(None), sampled_out=gone),
            forks=forks or 0,
            checkpoints=Checkpoints(taken or 0, failed or 0),
            replays=_replays(rows),
            bytes=file_bytes(path),
            free_bytes=page * free,
            slowest=_notable(rows, _SLOWEST, chosen.most),
            costliest=_notable(rows, _COSTLIEST, chosen.most),
            loops=[Loop(str(name), runs, times) for name, runs, times in rows.execute(_LOOPS, (chosen.most,))],
            errors=[
                ErrorGroup(columns.text(name), str(kind), str(message), count, runs)
                for name, kind, message, count, runs in rows.execute(_ERRORS, (chosen.most,))
            ],
        )


def count_runs(path: Path, chosen: Chosen, by: RunGroups) -> list[RunGroup]:
    """What `RunSource.run_groups` gives of a store; raises what `count_everything` does."""
    with _picked(path, chosen) as rows:
        groups = _groups(rows, _NAMES[by], " LEFT JOIN main.tags t ON t.run = p.run" if by == "tag" else "")
        return in_order(_with_sampled(groups, by, list(_sampled(rows, chosen))), by)


def count_calls(path: Path, chosen: Chosen, by: CallGroups) -> list[CallGroup]:
    """What `RunSource.call_groups` gives of a store; raises what `count_everything` does."""
    with _picked(path, chosen, steps=False) as rows:
        if by == "model":
            rows.execute(_AROUND_TABLE)
            rows.execute(_AROUND)
        found = [
            CallGroup(columns.text(name), calls, errors or 0, runs, Usage(*usage), *took)
            for name, calls, errors, runs, *usage, took in (
                (*row[:8], row[8:]) for row in rows.execute(_MODELS if by == "model" else _TOOLS)
            )
        ]
    return sorted(found, key=lambda group: (-group.calls, group.name is None, group.name or ""))


def measure_growth(path: Path, chosen: Chosen) -> dict[str | None, int]:
    """What `RunSource.growth` gives of a store; raises what `count_everything` does."""
    with _picked(path, chosen, steps=False) as rows:
        return {columns.text(day): bytes_ for day, bytes_ in rows.execute(_GROWTH)}


def with_sampled(address: Path, counted: Statistics, chosen: Chosen) -> Statistics:
    """What was counted run by run of a store on a server, with the runs that were sampled out and the room it takes."""
    gone = sum(count for _, _, count in _sampled_on_server(address, chosen))
    return replace(counted, whole=replace(counted.whole, sampled_out=gone), bytes=store_bytes(address))


def groups_with_sampled(address: Path, groups: list[RunGroup], chosen: Chosen, by: RunGroups) -> list[RunGroup]:
    """The same of groups of runs."""
    return in_order(_with_sampled(groups, by, _sampled_on_server(address, chosen)), by)


def _sampled_on_server(address: Path, chosen: Chosen) -> list[tuple[str, str | None, int]]:
    from agent_tt.store.postgres.moment import one_moment

    with one_moment(cast("Address", address)) as moment:
        return list(_sampled(moment, chosen))


@contextmanager
def _picked(path: Path, chosen: Chosen, *, steps: bool = True) -> Iterator[sqlite3.Connection]:
    """Connect to one moment of a store, with the chosen runs in a table, and in another what their steps sum to."""
    try:
        with closing(connect(path, mode="ro")) as connection:
            connection.text_factory = _lenient
            for setting in _SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            connection.execute("BEGIN")
            connection.execute(
                "CREATE TEMP TABLE picked(run INTEGER PRIMARY KEY, id, name, status, agent, version, day, took, forked)"
            )
            connection.execute(_PICKED, {"since": chosen.since_us, "agent": chosen.agent})
            alive = connection.execute(
                "SELECT r.status, r.owner, r.beat_us, r.run FROM temp.picked p CROSS JOIN main.runs r ON r.run = p.run"
                " WHERE p.status NOT IN ('succeeded', 'failed', 'interrupted', 'crashed', 'unknown')"
            ).fetchall()
            connection.executemany(
                "UPDATE temp.picked SET status = ? WHERE run = ?", [(shown_status(*row), run) for *row, run in alive]
            )
            if steps:
                connection.execute(_STEPS_TABLE)
                connection.execute(_STEPS)
            yield connection
    except SQLITE_ERRORS as error:
        raise our_error(path, error) from error


def _groups(rows: sqlite3.Connection, name: str, beside: str = "") -> list[RunGroup]:
    """Group the chosen runs; the groups come in any order.

    Args:
        rows: the picked runs, and what their steps sum to.
        name: what groups them, in SQL.
        beside: the table that it is from, joined to `p`, if it is of another one.
    """
    source = f"temp.picked p{beside}"
    took: defaultdict[Any, list[int]] = defaultdict(list)
    for key, duration in rows.execute(f"SELECT {name}, p.took FROM {source} WHERE p.took IS NOT NULL"):  # noqa: S608  # made of our own constants
        took[key].append(duration)
    for durations in took.values():
        durations.sort()
    statuses: defaultdict[Any, Counter[RunStatus]] = defaultdict(Counter)
    for key, status, count in rows.execute(f"SELECT {name}, p.status, count(*) FROM {source} GROUP BY 1, 2"):  # noqa: S608  # made of our own constants
        statuses[key][columns.run_status(status)] += count
    return [
        RunGroup(
            columns.text(key),
            dict(statuses[key]),
            steps or 0,
            Usage(*usage),
            spread_of(took[key]) if key in took else NO_SPREAD,
        )
        for key, steps, *usage in rows.execute(f"SELECT {name}, {_GROUPED} FROM {_PICKED_AND_STEPS}{beside} GROUP BY 1")  # noqa: S608  # made of our own constants
    ]


def _sampled(rows: Any, chosen: Chosen) -> Iterator[tuple[str, str | None, int]]:
    """How many of the chosen runs were sampled out, by day and entry point: of a day as a whole, or not at all."""
    first = ""
    if chosen.since_us is not None:
        ((first,),) = rows.execute("SELECT date(? / 1000000, 'unixepoch')", (chosen.since_us + _DAY_US - 1,))
    for day, agent, count in sampled(rows):
        if day >= first and chosen.agent in (None, agent):
            yield day, agent, count


def _with_sampled(groups: list[RunGroup], by: RunGroups, counts: list[tuple[str, str | None, int]]) -> list[RunGroup]:
    """Groups with how many runs of each were sampled out, also of those of which no run is left."""
    if by not in ("agent", "day"):
        return [replace(group, sampled_out=None) for group in groups] if counts else groups
    gone: Counter[str | None] = Counter()
    for day, agent, count in counts:
        gone[agent if by == "agent" else day] += count
    known = {group.name for group in groups}
    empty = [RunGroup(name) for name in gone if name not in known]
    return [replace(group, sampled_out=gone[group.name]) for group in (*groups, *empty)]


def _notable(rows: sqlite3.Connection, query: str, most: int) -> list[NotableStep]:
    return [
        NotableStep(str(run), str(name), step, str(called), columns.text(kind), amount, amount / all_ if all_ else None)
        for run, name, step, called, kind, amount, all_ in rows.execute(query, (most,))
    ]


def _replays(rows: sqlite3.Connection) -> Replays:
    found = [row for row in rows.execute(_REPLAYS) if row[0] in _VERDICTS and type(row[1]) is int]
    took = [duration for verdict, duration in found if verdict != "failed"]
    return Replays(cast("dict[ReplayVerdict, int]", dict(Counter(verdict for verdict, _ in found))), spread_of(took))


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
