"""Questions about calls that wait, and the decisions on them: rows of `notes` of kind `question`.

`step` and the body's `call` say which call waits; its name and arguments are in its own row. Whoever decides writes
`decision` into the body, once; the process that asks looks for it. A question is open while it has none, its run is
running and the process that asks is there: no row need be changed for one that nobody will hear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import QuestionClosed, QuestionNotFound
from agent_tt.model.facts.edits import EDITS
from agent_tt.questions import CallQuestion, Decision
from agent_tt.store import ingest_filter
from agent_tt.store.liveness import Owner, current_owner, is_alive, now_us
from agent_tt.store.rows import columns
from agent_tt.store.rows.run_rows import QUESTION, shown_status
from agent_tt.store.tables.definitions import CALLS, NOTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind
    from agent_tt.questions import DecisionWord, NewQuestion
    from agent_tt.store.file.connection import Database
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows, SqlValue

__all__ = ["AskedQuestion", "admitted", "ask", "check_open", "decide", "open_questions", "stop_questions"]

_WORDS: Final[Mapping[str, DecisionWord]] = {
    "run": "run",
    "give": "give",
    "raise": "raise",
    "refuse": "refuse",
    "stop": "stop",
}
_OPEN: Final = """SELECT n.note, r.run, r.id, n.step, n.body, n.created_us, r.status, r.owner, r.beat_us
  FROM notes n JOIN runs r ON r.run = n.run WHERE n.kind = ? AND r.status = 'running'"""
_ONE: Final = """SELECT n.body, r.name, r.status, r.owner, r.beat_us FROM notes n JOIN runs r ON r.run = n.run
  WHERE n.note = ? AND n.kind = ?"""


class AskedQuestion:
    """A question that this process has asked. Safe to use from several threads.

    Attributes:
        id: its number.
    """

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self.id = number

    def decision(self) -> Decision | None:
        """What was decided; None as long as nothing was."""
        found = NOTES.read(self._database, "note = ?", (self.id,))
        if not found:
            return Decision("stop", why="the question was deleted")
        if not NOTES.holds(found[0]):
            return Decision("refuse", why=f"what is stored of question {self.id} is damaged")
        return _decision(columns.mapping_from_text(found[0][4]).get("decision"))

    def withdraw(self) -> None:
        """Nobody waits for a decision any more."""
        with self._database.transaction() as tx:
            _stop(tx, "n.note = ?", (self.id,))


def ask(database: Database, run: int, step: int, call: int, new: NewQuestion) -> AskedQuestion:
    """Commit a question about a call whose intent is committed; this process waits for the decision."""
    body: dict[str, Wire] = {
        "call": call,
        "editable": [*new.editable],
        "can_give": new.can_give,
        "trouble": ingest_filter.admit_text(new.trouble) or None,
        "owner": current_owner().to_json(),
        **({} if new.hold is None else _of_hold(new)),
    }
    with database.transaction() as tx:
        number = NOTES.insert(tx, (None, run, step, QUESTION, columns.mapping_to_text(body), now_us()))
    return AskedQuestion(database, number)


def _of_hold(new: NewQuestion) -> dict[str, Wire]:
    return {"hold": new.hold, "state": ingest_filter.admit(new.state), "can_edit_state": new.can_edit_state}


def open_questions(rows: Rows, unpack: Callable[[object, str], Wire], run: int | None = None) -> list[CallQuestion]:
    """The questions that wait for a decision, oldest first.

    Args:
        rows: the file.
        unpack: gives the value of a call's column.
        run: only those of this run (row number).
    """
    statement, given = (_OPEN, (QUESTION,)) if run is None else (f"{_OPEN} AND n.run = ?", (QUESTION, run))
    found = []
    for number, row, run_id, step, body, asked_us, status, owner, beat in rows.query(
        f"{statement} ORDER BY n.note", given
    ):
        facts = columns.mapping_from_text(body)
        asker = Owner.from_json(facts.get("owner"))
        if "decision" in facts or asker is None or not _waits(asker, status, owner, beat):
            continue
        if not all(map(NOTES.holds, NOTES.read(rows, "note = ?", (number,)))):
            continue
        call = columns.integer(facts.get("call")) or 0
        for asked in CALLS.read(rows, "run = ? AND step = ? AND call = ?", (row, step, call)):
            if not CALLS.holds(asked):  # nobody can decide of what is not what was asked
                continue
            _, _, _, lane, _, kind, name, effect, _, _, args, *_ = asked
            shown = unpack(args, f"the arguments of call {call} of step {step}")
            editable = facts.get("editable")
            found.append(
                CallQuestion(
                    id=number,
                    run_id=str(run_id),
                    step=columns.integer(step) or 0,
                    call=call,
                    kind=cast("CallKind", columns.text(kind) or "tool"),
                    name=columns.text(name) or "",
                    effect=columns.effect(effect),
                    args=shown if isinstance(shown, dict) else {},
                    editable=tuple(columns.text(each) or "" for each in editable) if isinstance(editable, list) else (),
                    can_give=facts.get("can_give") is True,
                    asked_us=columns.integer(asked_us) or 0,
                    trouble=columns.text(facts.get("trouble")) or "",
                    process=asker.pid,
                    lane=columns.text(lane) or "",
                    hold=columns.integer(facts.get("hold")),
                    state=facts.get("state"),
                    can_edit_state=facts.get("can_edit_state") is True,
                )
            )
    return found


def decide(tx: Transaction, number: int, decision: Decision) -> None:
    """Write a decision down, the first one for its question.

    Raises:
        QuestionNotFound: there is no such question.
        QuestionClosed: it was decided already, or nobody waits for the decision any more.
    """
    found = tx.query(_ONE, (number, QUESTION))
    if not found:
        raise QuestionNotFound(f"there is no question {number}", hint="`agent-tt answer` lists those that wait.")
    ((body, name, status, owner, beat),) = found
    facts = columns.mapping_from_text(body)
    asker = Owner.from_json(facts.get("owner"))
    is_waiting = asker is not None and _waits(asker, status, owner, beat)
    check_open(number, name, _decision(facts.get("decision")), is_waiting=is_waiting)
    facts["decision"] = _to_wire(decision)
    facts.pop("state", None)  # it was there to be looked at
    NOTES.update(tx, (number,), {"body": columns.mapping_to_text(facts)})


def check_open(number: int, name: str, before: Decision | None, *, is_waiting: bool) -> None:
    """Refuse a decision that nobody waits for.

    Args:
        number: the question.
        name: what its run is called.
        before: what was decided already.
        is_waiting: whether the process that asked is there, and its run goes on.

    Raises:
        QuestionClosed: it was decided already, or nobody waits for the decision any more.
    """
    if before is not None and before.word != "stop":
        by = f" ({before.by})" if before.by else ""
        raise QuestionClosed(f"question {number} of {name} was answered already: {before.word}{by}")
    if before is not None or not is_waiting:
        raise QuestionClosed(
            f"nobody waits for an answer to question {number} of {name} any more: that process is gone, or was stopped",
            hint="`agent-tt answer` lists those that wait.",
        )


def admitted(decision: Decision) -> Decision:
    """A decision as it may be stored."""
    return replace(
        decision,
        args=ingest_filter.admit_mapping(decision.args),
        value=ingest_filter.admit(decision.value),
        error=ingest_filter.admit_error(decision.error),
        why=ingest_filter.admit_text(decision.why),
        state=tuple(
            replace(edit, value=ingest_filter.admit(edit.value), old=ingest_filter.admit(edit.old))
            for edit in decision.state
        ),
    )


def _waits(asker: Owner, status: object, owner: object, beat: object) -> bool:
    """Whether the process that asked is there, and its run goes on; from the columns of the run's row."""
    return shown_status(status, owner, beat) == "running" and is_alive(asker, columns.integer(beat))


def stop_questions(tx: Transaction, run: int) -> None:
    """Let whoever waits in a run (row number) for decisions know that it is stopped."""
    _stop(tx, "n.run = ?", (run,))


def _stop(tx: Transaction, where: str, given: tuple[SqlValue, ...]) -> None:
    rows = tx.query(f"SELECT n.note, n.body FROM notes n WHERE n.kind = ? AND {where}", (QUESTION, *given))  # noqa: S608  # our own
    for number, body in rows:
        facts = columns.mapping_from_text(body)
        if "decision" not in facts:
            facts["decision"] = _to_wire(Decision("stop"))
            facts.pop("state", None)
            NOTES.update(tx, (number,), {"body": columns.mapping_to_text(facts)})


def _to_wire(decision: Decision) -> Wire:
    decision = admitted(decision)
    facts: dict[str, Wire] = {
        "word": decision.word,
        "args": dict(decision.args) or None,
        "value": decision.value,
        "error": columns.error_to_text(decision.error),
        "why": decision.why or None,
        "by": decision.by or None,
        "state": EDITS.write(decision.state),
    }
    return {key: fact for key, fact in facts.items() if fact is not None}


def _decision(found: Wire) -> Decision | None:
    """The decision that a body holds; one that cannot be read refuses."""
    if found is None:
        return None
    facts = found if isinstance(found, dict) else {}
    args, error = facts.get("args"), facts.get("error")
    return Decision(
        word=_WORDS.get(columns.text(facts.get("word")) or "", "refuse"),
        args=args if isinstance(args, dict) else {},
        value=facts.get("value"),
        error=columns.error_from_text(error) if error is not None else None,
        why=columns.text(facts.get("why")) or "",
        by=columns.text(facts.get("by")) or "",
        state=EDITS.read(facts.get("state")),
    )
