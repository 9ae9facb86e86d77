"""The questions that a client puts to a server: those of `RunSource`, each with what it is asked about.

The server answers with this table, and the client asks by it. What a client finds out from other answers is not here.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from agent_tt.remote.records import written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.protocols import RunSource

__all__ = ["QUESTIONS", "answer"]


def _digests(source: RunSource, run: str, start: int, stop: int) -> list[list[Any]]:
    return [[step, found.hex()] for step, found in source.digest_page(run, start, stop).items()]


def _digest(source: RunSource, run: str, step: int) -> str | None:
    found = source.digest(run, step)
    return None if found is None else found.hex()


def _written_at(source: RunSource, run: str, step: int, path: list[Any]) -> list[Any] | None:
    found = source.written_at(run, step, tuple(path))
    return None if found is None else [found[0], [*found[1]]]


_ANSWERS: Final[Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]]] = {
    "about": (lambda source: {"capabilities": asdict(source.capabilities), "path": str(source.path)}, ()),
    "version": (lambda source: source.version(), ()),
    "runs": (lambda source, archived, limit: source.runs(archived=archived, limit=limit), ("archived", "limit")),
    "run": (lambda source, ref: source.run(ref), ("ref",)),
    "forks": (lambda source, run, deep: source.forks(run, deep=deep), ("run", "deep")),
    "step_number": (lambda source, run, ref: source.step_number(source.run(run), ref), ("run", "ref")),
    "step_count": (lambda source, run: source.step_count(run), ("run",)),
    "steps": (lambda source, run, start, stop: source.steps(run, start, stop), ("run", "start", "stop")),
    "calls": (lambda source, run, step: source.calls(run, step), ("run", "step")),
    "call_page": (lambda source, run, start, stop: source.call_page(run, start, stop), ("run", "start", "stop")),
    "call_heads": (lambda source, run, start, stop: source.call_heads(run, start, stop), ("run", "start", "stop")),
    "deliveries": (lambda source, run, step, call: source.deliveries(run, step, call), ("run", "step", "call")),
    "output": (lambda source, run: source.output(run), ("run",)),
    "state": (lambda source, run, step: source.state(run, step), ("run", "step")),
    "pending_state": (lambda source, run, step: source.pending_state(run, step), ("run", "step")),
    "value": (lambda source, run, step, path: source.value(run, step, tuple(path)), ("run", "step", "path")),
    "base_step": (lambda source, run, step: source.base_step(run, step), ("run", "step")),
    "changes": (lambda source, run, step: source.changes(run, step), ("run", "step")),
    "digest": (_digest, ("run", "step")),
    "digest_page": (_digests, ("run", "start", "stop")),
    "written_at": (_written_at, ("run", "step", "path")),
    "next_write": (lambda source, run, step, path: source.next_write(run, step, tuple(path)), ("run", "step", "path")),
    "steps_touching": (
        lambda source, run, first, last, path: sorted(source.steps_touching(run, first, last, tuple(path))),
        ("run", "first", "last", "path"),
    ),
    "steps_calling": (
        lambda source, run, first, last, wanted: sorted(source.steps_calling(run, first, last, wanted)),
        ("run", "first", "last", "wanted"),
    ),
    "notes": (lambda source, run: source.notes(run), ("run",)),
    "labels": (lambda source, run: [*source.labels(run).values()], ("run",)),
    "replays": (lambda source, run: source.replays(run), ("run",)),
    "questions": (lambda source, run: source.questions(run), ("run",)),
    "anchor": (lambda source, run, step: [*source.anchor(run, step)], ("run", "step")),
    "anchored_at": (
        lambda source, run, checkpoint, own: source.anchored_at(run, checkpoint, own=own),
        ("run", "checkpoint", "own"),
    ),
    "damage": (lambda source, run, last: source.damage(run, last), ("run", "last")),
    "damaged_steps": (lambda source, run: source.damaged_steps(run), ("run",)),
    "verify": (lambda source, run: source.verify(run), ("run",)),
}

QUESTIONS: Final[Mapping[str, tuple[str, ...]]] = {name: names for name, (_, names) in _ANSWERS.items()}
"""Each question, and the names of what it is asked about."""


def answer(source: RunSource, question: str, about: Mapping[str, Any]) -> Any:
    """Answer a question, as JSON.

    Args:
        source: the runs as they may be shown.
        question: one of `QUESTIONS`.
        about: what it is asked about, by name; what is not said is None.

    Raises:
        AgentTTError: as of the source.
    """
    asked, names = _ANSWERS[question]
    return written(asked(source, *(about.get(name) for name in names)))
