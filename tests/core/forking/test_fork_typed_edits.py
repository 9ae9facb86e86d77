"""An edit that is written as text keeps the type of what it replaces, or is refused; plain JSON has to be meant."""

from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from collections import deque
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.errors import InvalidEdit
from agent_tt.forking.editing.assignments import parse_assignment, parse_retyping
from agent_tt.forking.editing.call_edits import parse_call_edit, with_recorded_values
from agent_tt.forking.editing.edits import apply_edits, with_old_values
from agent_tt.model import Edit


class Status(enum.Enum):
    OPEN = "open"
    DONE = "done"


def edited(value: Any, written: str) -> Any:
    """What a place that holds a value holds after `--set`, as a Python value."""
    state = encode({"it": value})
    (edit,) = with_old_values(state, [parse_assignment(f"it={written}")])
    assert type(edit) is Edit
    assert edit.old == encode(value)
    after = decode(apply_edits(state, [edit]))
    assert isinstance(after, dict)
    return after["it"]


@pytest.mark.parametrize(
    ("value", "written", "wanted"),
    [
        (Decimal("1.5"), "12.50", Decimal("12.50")),
        (Decimal("1.5"), '"12.50"', Decimal("12.50")),
        (
            dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC),
            '"2026-12-01T10:00:00+00:00"',
            dt.datetime(2026, 12, 1, 10, tzinfo=dt.UTC),
        ),
        (dt.date(2026, 1, 2), '"2026-12-01"', dt.date(2026, 12, 1)),
        (dt.time(3, 4), '"10:30"', dt.time(10, 30)),
        (dt.timedelta(hours=1), "90", dt.timedelta(seconds=90)),
        (dt.timedelta(hours=1), '"2 days, 3:04:05.5"', dt.timedelta(days=2, hours=3, minutes=4, seconds=5.5)),
        (uuid.UUID(int=1), f'"{uuid.UUID(int=2)}"', uuid.UUID(int=2)),
        (b"old", '"neü"', "neü".encode()),
        (bytearray(b"old"), '"new"', bytearray(b"new")),
        (PurePosixPath("a/b"), '"c/d"', PurePosixPath("c/d")),
        (1 + 2j, '"3+4j"', 3 + 4j),
        ((1, 2), "[3]", (3,)),
        ({1, 2}, "[3]", {3}),
        (deque([1]), "[2, 3]", deque([2, 3])),
        # JSON's own types are what VALUE says, as ever; null is no text; a typed value says its own type.
        (5, '"five"', "five"),
        ("text", "5", 5),
        (1 << 80, '"many"', "many"),
        (dt.date(2026, 1, 2), "null", None),
        (dt.date(2026, 1, 2), json.dumps(encode(Decimal(3))), Decimal(3)),
    ],
)
def test_the_type_stays_where_the_text_can_be_read_as_it(value: Any, written: str, wanted: Any) -> None:
    found = edited(value, written)
    assert found == wanted
    assert type(found) is type(wanted)
    assert str(found) == str(wanted)


@pytest.mark.parametrize(
    ("value", "written", "kind"),
    [
        (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), '"soon"', "datetime"),
        (dt.date(2026, 1, 2), '"2026-13-01"', "date"),
        (Decimal(1), '"much"', "Decimal"),
        (Decimal(1), "true", "Decimal"),
        (dt.timedelta(1), '"long"', "timedelta"),
        (b"old", "5", "bytes"),
        ((1, 2), '"one"', "tuple"),
        (dt.date(2026, 1, 2), "[1]", "date"),
        (dt.date(2026, 1, 2), '{"a": 1}', "date"),
        (Status.OPEN, '"DONE"', "Status"),
    ],
)
def test_what_cannot_be_read_as_the_type_is_refused_and_can_be_meant(value: Any, written: str, kind: str) -> None:
    state = encode({"it": value})
    with pytest.raises(InvalidEdit) as raised:
        with_old_values(state, [parse_assignment(f"it={written}")])
    assert f"set it: {written} is no {kind}" in raised.value.message
    assert "--retype it=VALUE" in (raised.value.hint or "")
    (edit,) = with_old_values(state, [parse_retyping(f"it={written}")])
    assert apply_edits(state, [edit]) == {"it": json.loads(written)}


def test_a_text_is_put_over_a_typed_value_only_when_that_is_meant() -> None:
    state = encode({"due": dt.date(2026, 1, 2), "status": Status.OPEN})
    (edit,) = with_old_values(state, [parse_retyping('due="2026-12-01"')])
    assert edit.value == "2026-12-01"
    (edit,) = with_old_values(state, [Edit("set", "due", "2026-12-01")])  # a Python program, or the app, means it
    assert edit.value == "2026-12-01"
    (edit,) = with_old_values(state, [parse_assignment('status="OPEN"')])
    assert edit.value == encode(Status.OPEN)


def test_an_edit_that_follows_another_keeps_the_type_that_that_one_made() -> None:
    state = encode({"due": dt.date(2026, 1, 2)})
    texts = [parse_retyping("due=null"), parse_assignment('due="soon"')]
    assert [edit.value for edit in with_old_values(state, texts)] == [None, "soon"]
    assert parse_assignment("a=1") == Edit("set", "a", 1) == parse_retyping("a=1")
    assert hash(parse_assignment("a=1")) == hash(Edit("set", "a", 1))


def of_result(result: Any, written: str) -> Edit:
    """`--result 1=VALUE`, or `1.PATH=VALUE`, beside a call that came back with a result."""
    store = MemorySource()
    run_id = store.add("r", [Did("work", "charge", {}, encode(result))]).id
    (edit,) = with_recorded_values(store, run_id, store.steps(run_id), [parse_call_edit(written, "result")])
    assert type(edit) is Edit
    return edit


def test_what_a_tool_came_back_with_keeps_its_types_too_or_the_edit_is_refused() -> None:
    charged = {"id": 7, "amount": Decimal("9.90"), "when": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)}
    assert of_result(charged, "1.amount=12.50").value == encode(Decimal("12.50"))
    assert of_result(charged, '1.id="seven"').value == "seven"
    assert of_result(Decimal(1), "1=2").value == encode(Decimal(2))
    assert of_result(charged, '1={"id": 8}').value == {"id": 8}
    with pytest.raises(InvalidEdit, match=r'result of charge \(call 1 of step 1\): "soon" is no datetime') as raised:
        of_result(charged, '1.when="soon"')
    assert "for another type, give the value around it" in (raised.value.hint or "")
    with pytest.raises(InvalidEdit, match="is no Decimal") as raised:
        of_result(Decimal(1), '1={"amount": 1}')
    assert "edit a part of it" in (raised.value.hint or "")
