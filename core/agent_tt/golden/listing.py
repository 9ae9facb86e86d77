"""Goldens as JSON: the list of those that are kept, and one with its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agent_tt.errors import AgentTTError
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.recording_file import open_recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.golden.golden_file import Golden

__all__ = ["golden_heads", "golden_shape"]


def golden_heads(paths: Iterable[Path]) -> Iterator[dict[str, Wire]]:
    """`{name, file, rules, of, run, problem}` of each, one that cannot be read too; `rules` of so many are judged."""
    for path in paths:
        try:
            golden = read_golden(path)
        except AgentTTError as error:
            unread: dict[str, Wire] = {"name": path.stem, "file": str(path), "rules": 0, "of": 0, "run": None}
            yield unread | {"problem": error.message}
            continue
        on = sum(kept.is_on for kept in golden.rules)
        told: dict[str, Wire] = {"name": golden.name, "file": str(path), "rules": on, "of": len(golden.rules)}
        yield told | {"run": golden.run_id, "problem": None}


def golden_shape(golden: Golden) -> dict[str, Wire]:
    """`{name, file, about, live, passes, program, run, steps, rules}`; its recording is opened.

    Raises:
        StoreUnreadable: the recording is damaged, or gone.
    """
    with open_recording(golden) as recording:
        run = recording.run(golden.run_id)
    return {
        "name": golden.name,
        "file": str(golden.path),
        "about": golden.about,
        "live": [*golden.live],
        "passes": [*golden.passes],
        "program": cast("Wire", dict(golden.program)),
        "run": run.id,
        "steps": run.steps,
        "rules": [{"kind": kept.rule.kind, "sentence": kept.rule.sentence, "on": kept.is_on} for kept in golden.rules],
    }
