"""Keys of effects that are done once: which call has a key, over all runs and processes that use a store.

A row of `meta` whose key is `once ` and a digest says which call has taken it: `run`, `step`, `call`, and the process,
`owner`. What became of that call is said by its own row. Where its run is deleted, `end` says it in its place: `done`,
or `unknown`; the answer goes with the run. What a person says that a call answered is a list of one in `answer`.

The digest is made of the tool's name and the key, with the secret key that lies in a file beside the store, so that a
key made of personal data cannot be guessed. `once key` tells which secret that was: with another one nothing would be
found, and everything done twice.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt.errors import StoreUnreadable, UsageError
from agent_tt.model import Call
from agent_tt.model.facts import CallFacts
from agent_tt.model.once import Holder
from agent_tt.store.liveness import Owner, current_owner, is_alive
from agent_tt.store.rows.call_rows import CallRows
from agent_tt.store.tables.definitions import META
from agent_tt.store.views import json_fact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.payloads.blobs import Blobs
    from agent_tt.store.file.connection import Database
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.rows.lineage import Lineage
    from agent_tt.store.tables.asking import Rows

__all__ = ["claim", "has_keys", "leave_keys", "settle"]

_PREFIX: Final = "once "
_KEPT_BY: Final = "once key"
_ALL: Final = ("once ", "once!")
_AGAIN: Final = f"""SELECT step, call, status, {json_fact("meta", CallFacts.again.key, "step")},
    {json_fact("meta", CallFacts.again.key, "call")}
  FROM calls WHERE run = ? AND instr(meta, '"{CallFacts.again.key}"') ORDER BY started_us"""  # noqa: S608  # made of our own constants
_OF_RUNS: Final = "key > ? AND key < ? AND CASE WHEN json_valid(value) THEN json_extract(value, '$.run') END"
"""Of the keys those of some runs."""

_NOT_KEPT: Final = "was made, and its answer is not kept any more: its run was deleted"
_UNKNOWN: Final = "was begun, and its run was deleted before anybody knew what became of it"


def claim(
    database: Database,
    lineage: Lineage,
    blobs: Blobs,
    run: int,
    run_id: str,
    place: tuple[int, int],
    key: tuple[str, str],
    *,
    is_decided: bool = False,
) -> Holder | None:
    """Let a call whose intent is committed have a key, unless another one has it.

    Args:
        database: the store.
        lineage: where its runs' steps lie.
        blobs: the large parts of answers.
        run: row number of the call's run.
        run_id: its id.
        place: step and number of the call.
        key: name of the tool, and the key.
        is_decided: it may be made although nobody knows whether an earlier one was.

    Returns:
        The call that has the key; None where this one has it now.

    Raises:
        StoreUnreadable: the store cannot say it.
    """
    with database.transaction() as tx:
        name = _row_key(tx, database, key)
        found = META.read(tx, "key = ?", (name,))
        said = None
        if found:
            if not META.holds(found[0]):
                raise StoreUnreadable(
                    f"what {database.path} says of a key of {key[0]} is damaged, so that it was not run",
                    hint="Run `agent-tt verify` on the store.",
                )
            said = _mapping(found[0][1])
        holder = None if said is None else _holder(tx, said)
        if holder is not None and (holder.run, holder.step, holder.call) == (run_id, *place):
            return None
        may_follow = is_decided or (holder is not None and _takes_place(tx, run, run_id, place, holder))
        if holder is None or (holder.state == "unknown" and may_follow):
            mine = json.dumps({"run": run_id, "step": place[0], "call": place[1], "owner": current_owner().to_json()})
            if found:
                META.update(tx, (name,), {"value": mine})
            else:
                META.insert(tx, (name, mine))
            return None
    if holder.state != "done" or holder.why or holder.made is not None:
        return holder
    return _with_answer(database, lineage, blobs, holder)


def settle(tx: Transaction, run_id: str, places: Collection[tuple[int, int]], answer: Wire, *, happened: bool) -> None:
    """Write down what a person says of a call that may have happened.

    Args:
        tx: the transaction.
        run_id: its run.
        places: step and number of the calls there that may have the key.
        answer: what it answered, where it happened.
        happened: whether it did; else its key is free.

    Raises:
        UsageError: it has no key, or what became of it is known.
    """
    for row in META.read(tx, f"{_OF_RUNS} = ?", (*_ALL, run_id)):
        said = _mapping(row[1])
        place = (said.get("step"), said.get("call"))
        if place not in places:
            continue
        holder = _holder(tx, said)
        if holder is not None and holder.state != "unknown":
            is_done = "it is done" if holder.state == "done" else "it is being made"
            raise UsageError(f"nothing is unknown about {holder.where}: {is_done}")
        if happened:
            ended: dict[str, Wire] = {"run": run_id, "step": place[0], "call": place[1], "end": "done"}
            META.update(tx, (row[0],), {"value": json.dumps({**ended, "answer": [answer]})})
        else:
            META.delete(tx, "key = ?", (row[0],))
        return
    raise UsageError(f"no call of run {run_id} has this key now", hint="Another run may have taken it since.")


def leave_keys(tx: Transaction, runs: Sequence[str]) -> None:
    """Keep in the keys what became of the calls of runs that are about to be deleted.

    Args:
        tx: the transaction that deletes them.
        runs: their ids.
    """
    for row in META.read(tx, f"{_OF_RUNS} IN (SELECT value FROM json_each(?))", (*_ALL, json.dumps(list(runs)))):  # noqa: S608  ours
        if not META.holds(row):
            continue
        said = _mapping(row[1])
        holder = _holder(tx, said)
        if holder is None:
            META.delete(tx, "key = ?", (row[0],))
            continue
        end = "done" if holder.state == "done" else "unknown"
        kept: dict[str, Wire] = {"run": holder.run, "step": holder.step, "call": holder.call, "end": end}
        META.update(tx, (row[0],), {"value": json.dumps(kept)})


def has_keys(rows: Rows, run_id: str) -> bool:
    """Whether a call of a run has a key: its answer may be asked for again."""
    return bool(META.read(rows, f"{_OF_RUNS} = ? LIMIT 1", (*_ALL, run_id)))


def _row_key(tx: Transaction, database: Database, key: tuple[str, str]) -> str:
    """The key of the row of `meta`, after a look whether the secret is the one that the others were made with."""
    from agent_tt.redaction.keyed import key_path, key_tells, store_key

    secret = store_key(database.path)
    if secret is None:
        raise StoreUnreadable(
            f"{key_path(database.path)} can be neither read nor made, so that {key[0]} was not run: keys of what is"
            " done once are kept by it",
            hint="Make its folder writable.",
        )
    known = tx.query("SELECT value FROM meta WHERE key = ?", (_KEPT_BY,))
    if not known:
        META.insert(tx, (_KEPT_BY, key_tells(secret)))
    elif known[0][0] != key_tells(secret):
        raise StoreUnreadable(
            f"{key_path(database.path)} is not the file that this store's keys were kept by, so that nobody can tell"
            f" whether {key[0]} was done",
            hint="Put the file back that lay beside the store.",
        )
    text = json.dumps(key).encode("utf-8", "surrogatepass")
    return _PREFIX + blake2b(text, key=secret, digest_size=16, person=b"once").hexdigest()


def _holder(tx: Rows, said: Mapping[str, Wire]) -> Holder | None:
    """Who has a key, as far as is known; None where nothing was made for it."""
    run_id, step, call = str(said.get("run")), said.get("step"), said.get("call")
    if not isinstance(step, int) or not isinstance(call, int):
        return Holder(run_id, 0, 0, "unknown", why="cannot be read")
    answer = said.get("answer")
    if isinstance(answer, list) and answer:  # somebody has said it
        made = Call(step, call, "tool", "", "ok", result=answer[0])
        return Holder(run_id, step, call, "done", made)
    if "end" in said:
        is_done = said["end"] == "done"
        return Holder(run_id, step, call, "done" if is_done else "unknown", why=_NOT_KEPT if is_done else _UNKNOWN)
    runs = tx.query("SELECT run, status, beat_us FROM runs WHERE id = ?", (run_id,))
    if not runs:
        return Holder(run_id, step, call, "unknown", why=_UNKNOWN)
    ((run, status, beat_us),) = runs
    step, call, ended = _latest(tx, run, step, call)
    if ended == "denied":
        return None
    if ended == "ok":
        return Holder(run_id, step, call, "done")
    if ended == "error":
        return Holder(run_id, step, call, "unknown", why="failed, and may have happened all the same")
    owner = Owner.from_json(said.get("owner"))
    if status == "running" and owner is not None and is_alive(owner, beat_us):
        return Holder(run_id, step, call, "running")
    return Holder(run_id, step, call, "unknown", why="was in flight when its process ended, and may have happened")


def _latest(tx: Rows, run: int, step: int, call: int) -> tuple[int, int, str]:
    """The last of the calls that took each other's place when a run was resumed, and how it ended."""
    found = tx.query("SELECT status FROM calls WHERE run = ? AND step = ? AND call = ?", (run, step, call))
    ended = str(found[0][0]) if found else "pending"
    if ended in ("ok", "denied"):
        return step, call, ended
    for later_step, later, status, of_step, of_call in tx.query(_AGAIN, (run,)):
        if (of_step, of_call) == (step, call):
            step, call, ended = later_step, later, str(status)
    return step, call, ended


def _takes_place(tx: Rows, run: int, run_id: str, place: tuple[int, int], holder: Holder) -> bool:
    """Whether a call of a resumed run takes the place of the one that has its key: somebody has decided that."""
    return holder.run == run_id and (*place, holder.step, holder.call) in {
        (step, call, of_step, of_call) for step, call, _, of_step, of_call in tx.query(_AGAIN, (run,))
    }


def _with_answer(database: Database, lineage: Lineage, blobs: Blobs, holder: Holder) -> Holder:
    """The holder with its call, as it is kept."""
    run = lineage.number(holder.run)
    calls = CallRows(database, lineage, blobs).of_step(run, holder.step)
    made = next((call for call in calls if call.number == holder.call), None)
    if made is None or made.damaged is not None:
        return Holder(holder.run, holder.step, holder.call, "done", why="was made, and its answer cannot be read")
    return Holder(holder.run, holder.step, holder.call, "done", made)


def _mapping(text: object) -> dict[str, Wire]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}
