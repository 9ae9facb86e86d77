"""What is said where an agent that is re-entered does not ask again what it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.recording.runs.entry import fingerprint

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.replaying.divergence import Finding

__all__ = ["why_not"]

_SHOWN_WORDS = 60


def why_not(finding: Finding, run: Run, parent: Run) -> str:
    """Why an agent could not be re-entered, and what can be done: one line.

    Args:
        finding: where it did something else.
        run: the fork.
        parent: the run that it was forked from.
    """
    kept = run.fork_step or 0
    head = f"cannot re-enter at step {kept}: "
    if finding.kind == "edit does not apply":
        return head + finding.message
    step = finding.step
    if finding.kind == "missing call":
        return f"{head}the agent ended before it: {finding.name} of step {step} was not called. {_choices(step)}"
    where = f"step {step}" if step is not None else "the agent"
    changed = "; ".join(_words(finding))
    what = "no longer asks what was recorded" if finding.call is not None else f"does something else: {finding.message}"
    said = f"{head}{where} {what}" + (f" ({changed})" if changed else "")
    at = f" at {finding.source}" if finding.source else ""
    return f"{said}{at}. {_about_code(run, parent)}. {_choices(step)}"


def _words(finding: Finding) -> list[str]:
    lines = []
    for change in finding.changes[:3]:
        old, new = (_short(value) for value in (change.old, change.new))
        lines.append(f"{change.path or 'all of it'}: {old} is now {new}")
    return lines


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_WORDS else text[: _SHOWN_WORDS - 1] + "…"


def _about_code(run: Run, parent: Run) -> str:
    """What is known of the code since it was recorded."""
    location = (run.code.entry or "").rpartition(":")[0]
    script = run.facts.script
    file = Path(script) if script is not None else Path(run.code.root or "") / location
    now = fingerprint(file)
    before = parent.code.fingerprint
    name = location or str(file)
    if now is None or before is None:
        return f"Whether the code ({name}) has changed since is not known"
    if now == before:
        return (
            f"{name} has not changed since: something else decides what it asks"
            " (the time, random numbers, files, another module)"
        )
    return f"The code has changed since ({name}, {before[:8]} is now {now[:8]})"


def _choices(step: int | None) -> str:
    if step is None or step < 1:
        return "Choose: put the code back, or --accept-changes to go live from there"
    return f"Choose: fork at step {step - 1}, or --accept-changes to go live from step {step}"
