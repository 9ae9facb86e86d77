"""The file format, number 2: the tables, and where the rest of it is described. `docs/format.md` is made of it.

A store is one SQLite file in WAL mode, with pages of 4096 bytes. Its `application_id` is "ATT1"; `user_version` and
`format` in `meta` are the format's number, and a reader refuses any other. Times are integer microseconds since the
epoch, UTC. JSON is UTF-8 without spaces, in columns of TEXT and in compressed payloads. Nothing in a file is ever
imported, called or unpickled.

| what | described in |
|---|---|
| what each column says | `COLUMNS` |
| the keys of `runs.meta`, `steps.meta` and `calls.meta` | `agent_tt.model.facts` |
| values that JSON lacks: envelopes | `agent_tt.codec` |
| operations on a state; JSON with its large parts as blobs | `history.changes.ops`, `history.payloads.payload` |
| frames, dictionaries; hashes and the numbers made from them | `history.payloads.frames`, `history.hashing` |
| digest of a state, chain over the log | `history.digest` |
| proofs of rows, and seals: what shows that none is missing | `store.tables.proofs` |
| counts of steps, calls and answers, which do the same for these | `store.checking.counts` |
| headers of HTTP messages, kept once | `history.payloads.templates` |
| how the log is read along a track and its parents; keyframes | `history.log.log`, `history.log.keyframes` |
| the index of changed paths | `history.log.index` |
| the order in which answers reached the agent | `store.rows.deliveries` |
| questions about calls that wait | `store.rows.questions` |
| what came of replays | `store.rows.replays` |
| ids and what a person may type; whose run it is | `store.rows.ids`, `store.liveness` |
| sweeps and who drives them | `store.rows.sweeps` |
| marks on runs that lie in other files | `store.foreign_marks` |

**Runs.** `runs.id` is what people see, `runs.run` the number that other tables use; `parent` and `fork_step` say where
a fork began. Steps count from 1 in the order of starting, those of a fork from `fork_step + 1`; up to there they are
the parent's rows. `status` of a run: running, succeeded, failed, interrupted, crashed; of a step: running, ok, error,
interrupted; of a call: pending, ok, error, denied. What is `running` or `pending` in a run whose process is gone has an
unknown outcome. `hidden` runs are archived: lists leave them out. A run that others descend from is never deleted
without them, because their states begin with its checkpoints.

**States.** A state history is a *track*; each run has one called `main`. `deltas` holds its checkpoints, one row each
without gaps: from 0, or in a fork from `fork_seq`, whose row is the edit against the parent track's checkpoint of that
number. `id` is `track << 32 | seq`, in `keyframes` too. `flags & 1`: other steps were open on the track, so that the
changes may be theirs. `steps.track` and `steps.seq` name the checkpoint taken when the step ended; without `seq` the
newest earlier one of the track is shown. Checkpoint 0 of `main` is the input.

**Calls.** `args` and `result` are wire values as JSON text, or `{"v": value, "r": [[place, "b", hash], ...]}` where
large parts are blobs (and where a plain object has just these two keys); null stands in their places. `lane_seq` counts
calls in their lane, `signature` is the digest of what was asked. `meta`, and the `data` of a piece of a stream, are
kept in the same two forms, and their headers as templates. `refs` names each blob that these columns name, and perhaps
more.

**Proofs.** Each row has a digest over its columns in `proof`. Which rows there are is said by `seals`, and of steps,
calls and answers by their numbers and counts. `verify` looks at all of them; a replay, a resume, a fork and a
comparison use no row that is not as it was written; what is shown in its place says so. Rows that do not match are
never written over. This shows damage and careless edits: anybody can compute the proofs again, and against them only a
signature helps.

**Facts in JSON.** A key that is absent is not said. One whose value is malformed counts as absent, and one that a
reader does not know is ignored.

**Sweeps.** A sweep of a run is one row: what is varied, as JSON, and in `owner` the process that drives it now. Which
of its runs are there is not written down beside: they are the run's forks whose `runs.meta` names the sweep, with cell
and sample, under `metadata`, `fork_sweep`.

**Marks on runs elsewhere.** What people wrote down about a run in a file that is only read lies in `foreign_marks`:
`file` is that file, `run` a run or a thread in it, `checkpoint` an id that the file gives to a checkpoint (null where
it has none), `step` its number then, null for the run.

**Blobs.** A `refs` column holds the 20-byte hashes of the blobs that its row names, joined, each once or in the
order of the references. `blobs.id` is the number made from the hash, or the next one that is free; the hash
decides. `form` is `json`, or `raw` for bytes that are not JSON.

**Taken in.** `incomplete` in the `metadata` of `runs.meta` is `step`, the last one that was recorded, and `reason`, why
nothing was after it. Keys `spill TOKEN` of `meta` name the spill files that were taken in; see `store.spill`.

**Done once.** Keys `once DIGEST` of `meta` say which call was made for a key: JSON of `run`, `step`, `call`, and the
process in `owner`; once the run is deleted `end`, `done` or `unknown`, in place of that; in `answer` a list of what a
person says that it answered. `once key` tells the file beside the store that digests are keyed with: `store.done_keys`.

**Origin.** `made_at` in `meta` says, in a way that only the user who made the file can tell, that they made it: see
`store.file.provenance`. Without it, or on another machine, nothing that the file names is run unasked.

Views are for people with an SQLite browser, may change at any time, and no program reads them; those of `agent-tt sql`
are made for one connection (`store.views`). Tables without row numbers are those whose rows stay small: large rows in
an index b-tree make the file several times larger. Those that stay short have no index besides: each takes a page. Row
numbers that other rows name are AUTOINCREMENT, because one that came back after a deletion would point a live reader
elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["APPLICATION_ID", "COLUMNS", "FOREIGN_MARKS", "FORMAT_VERSION", "PAGE_SIZE", "STATEMENTS", "SWEEPS"]

FORMAT_VERSION: Final = 2
"""Rises only when older readers would be wrong; added tables, columns, indexes, views and envelope types do not raise
it, a new operation or kind of reference does."""

APPLICATION_ID: Final = 0x41545431
PAGE_SIZE: Final = 4096

SWEEPS: Final = """CREATE TABLE sweeps(sweep INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL,
  run INTEGER NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, definition TEXT NOT NULL,
  created_us INTEGER NOT NULL, owner TEXT, beat_us INTEGER, proof BLOB NOT NULL)"""

FOREIGN_MARKS: Final = """CREATE TABLE foreign_marks(mark INTEGER PRIMARY KEY AUTOINCREMENT, file TEXT NOT NULL,
  run TEXT NOT NULL, checkpoint TEXT, step INTEGER, kind TEXT NOT NULL, body TEXT, created_us INTEGER NOT NULL,
  proof BLOB NOT NULL)"""

STATEMENTS: Final = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, proof BLOB NOT NULL) WITHOUT ROWID",
    """CREATE TABLE runs(run INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  status TEXT NOT NULL, agent TEXT, agent_version TEXT, parent INTEGER REFERENCES runs(run), fork_step INTEGER,
  started_us INTEGER NOT NULL, ended_us INTEGER, error TEXT, owner TEXT, beat_us INTEGER,
  hidden INTEGER NOT NULL DEFAULT 0, meta TEXT NOT NULL DEFAULT '{}', proof BLOB NOT NULL)""",
    "CREATE INDEX runs_by_parent ON runs(parent) WHERE parent IS NOT NULL",
    "CREATE INDEX runs_by_name ON runs(name, started_us)",
    """CREATE TABLE tracks(track INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs(run),
  name TEXT NOT NULL, parent INTEGER REFERENCES tracks(track), fork_seq INTEGER,
  indexed_to INTEGER NOT NULL DEFAULT -1, dict INTEGER NOT NULL DEFAULT 0,
  proof BLOB NOT NULL, UNIQUE(run, name))""",
    """CREATE TABLE steps(run INTEGER NOT NULL, step INTEGER NOT NULL, parent_step INTEGER, kind TEXT,
  name TEXT NOT NULL, agent TEXT, lane TEXT NOT NULL DEFAULT 'main', status TEXT NOT NULL, started_us INTEGER,
  ended_us INTEGER, tokens_in INTEGER, tokens_out INTEGER, cost_usd REAL, error TEXT, track INTEGER, seq INTEGER,
  meta TEXT, proof BLOB NOT NULL, PRIMARY KEY(run, step)) WITHOUT ROWID""",
    """CREATE TABLE calls(run INTEGER NOT NULL, step INTEGER NOT NULL, call INTEGER NOT NULL, lane TEXT NOT NULL,
  lane_seq INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT, effect TEXT, status TEXT NOT NULL, signature BLOB,
  args TEXT, result TEXT, error TEXT, refs BLOB, started_us INTEGER, ended_us INTEGER, delivered INTEGER,
  meta TEXT, proof BLOB NOT NULL, PRIMARY KEY(run, step, call))""",
    """CREATE TABLE deliveries(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, call INTEGER NOT NULL, kind TEXT NOT NULL,
  at_us INTEGER, data TEXT, refs BLOB, proof BLOB NOT NULL)""",
    "CREATE INDEX calls_by_delivery ON calls(run, delivered) WHERE delivered IS NOT NULL",
    "CREATE INDEX deliveries_by_call ON deliveries(step, call)",
    """CREATE TABLE deltas(id INTEGER PRIMARY KEY, digest BLOB NOT NULL, chain BLOB NOT NULL, dict INTEGER NOT NULL,
  size INTEGER NOT NULL, flags INTEGER NOT NULL DEFAULT 0, refs BLOB, ops BLOB NOT NULL, proof BLOB NOT NULL,
  track INTEGER GENERATED ALWAYS AS (id >> 32) VIRTUAL, seq INTEGER GENERATED ALWAYS AS (id & 4294967295) VIRTUAL)""",
    """CREATE TABLE keyframes(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, refs BLOB, state BLOB NOT NULL,
  proof BLOB NOT NULL)""",
    """CREATE TABLE blobs(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, form TEXT NOT NULL DEFAULT 'json',
  size INTEGER NOT NULL, data BLOB NOT NULL, proof BLOB NOT NULL)""",
    """CREATE TABLE dicts(id INTEGER NOT NULL, copy INTEGER NOT NULL, agent TEXT, data BLOB NOT NULL,
  proof BLOB NOT NULL, PRIMARY KEY(id, copy))""",
    "CREATE TABLE paths(id INTEGER PRIMARY KEY, path TEXT NOT NULL)",
    """CREATE TABLE changes(track INTEGER NOT NULL, path INTEGER NOT NULL, block INTEGER NOT NULL,
  touched INTEGER NOT NULL, struct INTEGER NOT NULL, grown INTEGER NOT NULL, len0 INTEGER,
  PRIMARY KEY(track, path, block)) WITHOUT ROWID""",
    """CREATE TABLE tags(run INTEGER NOT NULL, tag TEXT NOT NULL, proof BLOB NOT NULL,
  PRIMARY KEY(run, tag)) WITHOUT ROWID""",
    """CREATE TABLE notes(note INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, step INTEGER,
  kind TEXT NOT NULL, body TEXT, created_us INTEGER NOT NULL, proof BLOB NOT NULL)""",
    """CREATE TABLE seals(name TEXT NOT NULL, owner INTEGER NOT NULL, n INTEGER NOT NULL, a INTEGER NOT NULL,
  b INTEGER NOT NULL, PRIMARY KEY(name, owner)) WITHOUT ROWID""",
    SWEEPS,
    FOREIGN_MARKS,
    """CREATE VIEW timeline AS SELECT r.id AS run, s.step, s.parent_step, s.name, s.kind, s.agent, s.lane, s.status,
  (s.ended_us - s.started_us) / 1000.0 AS ms, s.tokens_in, s.tokens_out, s.cost_usd, s.error,
  length(d.ops) AS stored_bytes, lower(hex(d.digest)) AS state_digest
  FROM steps s JOIN runs r USING(run) LEFT JOIN deltas d ON d.id = (s.track << 32) + s.seq""",
    """CREATE VIEW changed_paths AS SELECT r.id AS run, t.name AS track, p.path, c.block * 64 AS first_checkpoint,
  c.touched FROM changes c JOIN tracks t USING(track) JOIN runs r USING(run) JOIN paths p ON p.id = c.path""",
    """CREATE VIEW pieces AS SELECT r.id AS run, d.id & 4294967295 AS number, d.step, d.call, d.kind,
  d.data FROM deliveries d JOIN runs r ON r.run = d.id >> 32""",
)

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "meta": {
        "key": "`format`, `created_by`, `gc_epoch`; `unclean`, while free pages may hold what was taken out;"
        " `made_at`, see [who made a file](#who-made-a-file); `spill TOKEN`,"
        " see [spill files](#spill-files)",
        "value": "the number of the format; the version that made the file; how often blobs were deleted; …",
    },
    "runs": {
        "run": "the number that other tables use",
        "id": "the id that people see: 12 characters",
        "name": "what people call it",
        "status": "`running`, `succeeded`, `failed`, `interrupted` or `crashed`",
        "agent": "its entry point",
        "agent_version": "the agent's own version name",
        "parent": "of a fork: the run that it was forked from",
        "fork_step": "of a fork: the parent's step whose checkpoint it starts from",
        "started_us": "when it began",
        "ended_us": "when it ended",
        "error": "JSON of the exception that ended it: `class` as `module:Name`, `message`, `traceback`, `value`",
        "owner": "JSON of the process that records it: `host`, `boot`, `pid`, `start`",
        "beat_us": "when that process last said that it is alive",
        "hidden": "1 of an archived run",
        "meta": "JSON, see [runs.meta](#runsmeta)",
    },
    "tracks": {
        "track": "the number that other tables use",
        "run": "whose it is",
        "name": "`main`, or another one",
        "parent": "of a fork's: the track that it goes on from",
        "fork_seq": "of a fork's: the number of its first checkpoint",
        "indexed_to": "the last checkpoint that `changes` knows; -1 for none",
        "dict": "the dictionary that new rows are compressed with; 0 for none",
    },
    "steps": {
        "run": "whose it is",
        "step": "its number",
        "parent_step": "the step that it is nested in",
        "kind": "its strongest call: `write`, `read`, `http`, `llm`, `other` or `human`",
        "name": "what the agent calls it",
        "agent": "which agent took it, in runs of several",
        "lane": "the logical thread of control that it ran in",
        "status": "`running`, `ok`, `error` or `interrupted`",
        "started_us": "when it began",
        "ended_us": "when it ended",
        "tokens_in": "tokens that models read in it",
        "tokens_out": "tokens that models wrote in it",
        "cost_usd": "US dollars, of the calls whose price is known",
        "error": "JSON, as in `runs`",
        "track": "the track of the checkpoint taken when it ended",
        "seq": "the number of that checkpoint; without it the newest earlier one is shown",
        "meta": "JSON, see [steps.meta](#stepsmeta)",
    },
    "calls": {
        "run": "whose it is",
        "step": "the step that made it",
        "call": "its number in that step, from 1",
        "lane": "the logical thread of control that made it",
        "lane_seq": "its place in that lane, from 1",
        "kind": "`llm`, `tool`, `http`, `subprocess`, `socket`, `clock`, `rng`, `id`, `env` or `human`",
        "name": "what is called",
        "effect": "`read` or `write`; NULL where nobody knows",
        "status": "`pending`, `ok`, `error` or `denied`",
        "signature": "digest of kind, name and arguments",
        "args": "a value: what was asked",
        "result": "a value: what came back",
        "error": "JSON, as in `runs`",
        "refs": "hashes of the blobs that the row names",
        "started_us": "when its intent was committed",
        "ended_us": "when its answer was committed",
        "delivered": "run-wide number under which the answer reached the agent, from 1; of one in pieces, its end's",
        "meta": "JSON in the form of a value, see [calls.meta](#callsmeta)",
    },
    "deliveries": {
        "id": "`run << 32 | number`, the number run-wide and counted with `calls.delivered`",
        "step": "the step of its call",
        "call": "the number of its call",
        "kind": "`chunk` for a piece; `end`, `error` or `closed` for the end of the answer",
        "at_us": "when it was committed",
        "data": "a value: the piece, or what a generator returned",
        "refs": "hashes of the blobs that the row names",
    },
    "deltas": {
        "id": "`track << 32 | seq`",
        "digest": "digest of the whole state",
        "chain": "digest over this row and the one before it",
        "dict": "the dictionary that `ops` is compressed with; 0 for none",
        "size": "bytes of the operations before compression",
        "flags": "1: other steps were open on the track",
        "refs": "hashes of the blobs that the row names",
        "ops": "operations that turn the state before into this one",
        "track": "the upper half of `id`",
        "seq": "the lower half of `id`",
    },
    "keyframes": {
        "id": "as in `deltas`",
        "size": "bytes of the state before compression",
        "refs": "hashes of the blobs that the row names",
        "state": "the whole state",
    },
    "blobs": {
        "id": "the number made from the hash, or the next one that is free",
        "hash": "20 bytes of BLAKE2b over the content",
        "form": "`json`, or `raw` for bytes",
        "size": "bytes before compression",
        "data": "the content",
    },
    "dicts": {
        "id": "the number made from its hash",
        "copy": "0 or 1: it is kept twice",
        "agent": "the entry point whose states it was trained on",
        "data": "the content",
    },
    "paths": {"id": "the number made from its text", "path": "a JSON array of keys and positions"},
    "changes": {
        "track": "the track",
        "path": "the path",
        "block": "which 64 checkpoints",
        "touched": "bit map: it, or something in it, changed",
        "struct": "bit map: it was set, deleted, spliced or moved",
        "grown": "bit map: it was appended to",
        "len0": "of a list: its length before the first of these appends",
    },
    "tags": {"run": "the run", "tag": "the tag"},
    "notes": {
        "note": "its number",
        "run": "the run",
        "step": "the step; NULL for the run",
        "kind": "`note`, `bookmark`, `label`, `watch`, `effect`, `question`, `output` or `replay`",
        "body": "text of a note or bookmark; else JSON. Of `label`: `name`, `metadata`. Of `watch`, an expression:"
        " `letter`, `name`, `where`, `break`, `off`. Of `question`, about a call that waits: `call`, `editable`,"
        " `can_give`, `trouble`, `owner`, `decision`. Of `output`, what the run printed: `size`, `text`, `tail`,"
        " `digest`, `columns`, `lines`. Of `replay`, what came of one: see [its keys](#notesbody-of-a-replay). Of"
        " `effect`: a call of a fork's process that nothing recorded",
        "created_us": "when it was written",
    },
    "seals": {
        "name": "the table",
        "owner": "the run whose rows they are; 0 for the whole file",
        "n": "how many there are",
        "a": "sum of the first halves of their digests",
        "b": "sum of the second halves",
    },
    "sweeps": {
        "sweep": "its number in the file",
        "id": "the id that people see",
        "run": "the run that it forks",
        "number": "its number among the sweeps of that run",
        "step": "the step that its forks begin after",
        "definition": "JSON: what is varied",
        "created_us": "when it was begun",
        "owner": "JSON of the process that drives it, as in `runs`",
        "beat_us": "when that process last said that it is alive",
    },
    "foreign_marks": {
        "mark": "its number",
        "file": "the file that the run lies in",
        "run": "the run or thread in there",
        "checkpoint": "an id that the file gives to the checkpoint; NULL where it has none",
        "step": "the number of its step then; NULL for the run",
        "kind": "`run`, or a kind of `notes`",
        "body": "as `notes.body`; of `run` JSON: `name`, `former_names`, `tags`, `metadata`, `removed`, `pinned`,"
        ' `archived`; of `label` also `removed`, and a `name` of "" takes the file\'s own away',
        "created_us": "when it was written",
    },
}
"""What each column says; `proof` of any table is the digest of its row."""
