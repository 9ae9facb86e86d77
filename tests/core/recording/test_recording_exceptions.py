"""Exceptions are written down whole, whatever they do when they are looked at."""

from __future__ import annotations

import pytest

from agent_tt.recording.errors.exceptions import error_info


class Detailed(Exception):
    def __init__(self, code, *, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class Hostile(Exception):
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


def caught(raise_it):
    with pytest.raises(BaseException) as raised:  # noqa: PT011  any
        raise_it()
    return raised.value


def test_class_arguments_attributes_and_notes_are_kept():
    error = Detailed(7, detail="x")
    error.add_note("seen twice")
    info = error_info(error)
    assert info.class_name == f"{__name__}:Detailed"
    assert info.message == "7: x"
    assert info.value["$type"] == "exception"
    assert list(info.value)[-1] == "$v"
    assert info.value["$v"]["args"] == ["7: x"]
    attributes = info.value["$v"]["attrs"]
    assert (attributes["code"], attributes["detail"], attributes["__notes__"]) == (7, "x", ["seen twice"])
    assert "seen twice" in info.traceback


def test_causes_are_kept_and_a_circle_of_them_ends():
    def fail():
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner

    error = caught(fail)
    error.__cause__.__cause__ = error
    info = error_info(error)
    assert info.value["cause"]["class"] == "builtins:KeyError"
    assert info.value["cause"]["cause"]["same_as"] == info.value["number"]
    assert info.value["context"]["same_as"] == info.value["cause"]["number"]
    assert info.value["suppress_context"] is True
    assert "The above exception was the direct cause" in info.traceback


@pytest.mark.parametrize(
    ("error", "extra"),
    [
        (FileNotFoundError(2, "missing", "/a"), {"errno": 2, "strerror": "missing", "filename": "/a"}),
        (StopIteration(3), {"value": 3}),
        (SystemExit(4), {"code": 4}),
        (ImportError("m", name="n"), {"msg": "m", "name": "n"}),
        (ValueError("plain"), None),
    ],
)
def test_what_builtin_classes_keep_elsewhere_is_kept(error, extra):
    assert error_info(error).value.get("extra") == extra


def test_groups_hold_their_members():
    info = error_info(ExceptionGroup("two", [ValueError(1), TypeError(2)]))
    members = info.value["$v"]["args"][1]
    assert [member["class"] for member in members] == ["builtins:ValueError", "builtins:TypeError"]
    assert "TypeError: 2" in info.traceback


def test_an_exception_that_cannot_be_looked_at_is_recorded_all_the_same():
    def fail():
        raise Hostile

    info = error_info(caught(fail))
    assert info.message == "<str failed: RuntimeError>"
    assert "Hostile" in info.traceback
    assert info.short.startswith("Hostile")
