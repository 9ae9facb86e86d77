"""A run that begins with the first thing that it holds hands everything on to the writer that it begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agent_tt.launching.late_writer import LateWriter
from agent_tt.protocols import NumberingWriter, Numbers

if TYPE_CHECKING:
    from agent_tt.protocols import RunWriter


class Forkable(NumberingWriter):
    def __init__(self) -> None:
        super().__init__("run-1", Numbers())
        self.forks = 0

    def go_on_forked(self) -> None:
        self.forks += 1


def test_a_writer_learns_that_its_process_was_forked_once_its_run_has_begun() -> None:
    inner = Forkable()
    late = LateWriter(lambda: cast("RunWriter", inner))
    late.go_on_forked()
    assert (inner.forks, late.has_begun) == (0, False)
    assert late.run_id == "run-1"
    late.go_on_forked()
    assert inner.forks == 1


def test_a_run_that_is_not_wanted_and_held_nothing_never_begins() -> None:
    late = LateWriter(lambda: cast("RunWriter", Forkable()))
    late.is_wanted = False
    late.finish("succeeded")
    assert not late.has_begun
