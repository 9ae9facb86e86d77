"""The three verdicts of a replay: which facts lead to which, in code and in JSON."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from agent_tt.model import ErrorInfo, Run
from agent_tt.replaying.divergence import Finding
from agent_tt.replaying.findings.notes import RESERVATIONS, Note, NoteKind, Notes
from agent_tt.replaying.report import AgentEnd, ReplayReport, agent_end, report_from_json

DIFFERS = Finding("missing call", "charge was called when this was recorded; now it was not", step=2, call=1)
KINDS: tuple[NoteKind, ...] = get_args(NoteKind)
AS_RECORDED = AgentEnd("ended", as_recorded=True)


def a_report(**facts: Any) -> ReplayReport:
    report: dict[str, Any] = {
        "run_id": "r",
        "run_name": "shop",
        "observed": False,
        "recorded": 5,
        "served": 5,
        "nested": 0,
        "failure": None,
        "divergences": (),
        "notes": (),
        "agent": AS_RECORDED,
    }
    return ReplayReport(**(report | facts))


MATRIX = {
    "nothing differs": ({}, "as_recorded"),
    "it observed, and nothing differs": ({"observed": True}, "as_recorded"),
    "it raised what it raised then": ({"agent": AgentEnd("raised", "ValueError: no", as_recorded=True)}, "as_recorded"),
    "a divergence that halted it": ({"failure": DIFFERS, "divergences": (DIFFERS,)}, "diverged"),
    "a divergence that was observed": ({"observed": True, "divergences": (DIFFERS,)}, "diverged"),
    "it raised what it did not raise then": (
        {"agent": AgentEnd("raised", "ValueError: no", as_recorded=False)},
        "diverged",
    ),
    "it raised, and it is not known what the recorded one did": (
        {"agent": AgentEnd("raised", "ValueError: no", as_recorded=None)},
        "diverged",
    ),
    "it ended well where it failed then": ({"agent": AgentEnd("ended", as_recorded=False)}, "diverged"),
}


@pytest.mark.parametrize(("facts", "verdict"), MATRIX.values(), ids=MATRIX)
@pytest.mark.parametrize("kind", [None, *KINDS])
def test_every_note_beside_every_outcome_has_one_verdict(facts: dict[str, Any], verdict: str, kind: NoteKind | None):
    """A reservation takes away from "as recorded" and adds nothing to "diverged"."""
    notes = () if kind is None else (Note(kind, "something"),)
    report = a_report(**facts, notes=notes)
    is_reserved = kind in RESERVATIONS
    expected = "reserved" if is_reserved and verdict == "as_recorded" else verdict
    assert report.verdict == expected
    assert report.reservations == (notes if is_reserved else ())
    assert report.is_faithful is (expected == "as_recorded")


@pytest.mark.parametrize(
    ("facts", "verdict", "reservations"),
    [
        ({}, "as_recorded", []),
        ({"notes": (Note("edited", "x"),)}, "as_recorded", []),
        (
            {"notes": (Note("edited", "x"), Note("unreliable", "y", 3))},
            "reserved",
            [{"kind": "unreliable", "text": "y", "count": 3}],
        ),
        ({"divergences": (DIFFERS,), "failure": DIFFERS}, "diverged", []),
    ],
)
def test_the_json_names_the_verdict_and_each_reservation(
    facts: dict[str, Any], verdict: str, reservations: list[dict[str, object]]
):
    report = a_report(**facts)
    shape = json.loads(json.dumps(report.to_json()))
    assert shape["verdict"] == verdict
    assert shape["reservations"] == reservations
    assert shape["faithful"] is (verdict == "as_recorded")
    assert shape["mode"] == "halt"
    assert report_from_json(shape) == report


def test_a_reservation_is_a_kind_of_note():
    assert set(KINDS) > RESERVATIONS
    notes = Notes()
    notes.add("unreliable", "twice")
    notes.add("unreliable", "twice")
    assert notes.all() == (Note("unreliable", "twice", 2),)


@pytest.mark.parametrize("status", ["running", "crashed", "interrupted", "unknown"])
def test_how_a_run_ended_that_came_to_no_known_end_is_not_known(status: Any):
    run = Run("r", "r", status, 0)
    assert agent_end(run, None, halted=False) == AgentEnd("ended", as_recorded=None)
    assert agent_end(run, ErrorInfo("builtins:ValueError", "no"), halted=False).as_recorded is None
