"""Rules that a run suggests, and how other runs of the same agent do on them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path
from agent_tt.errors import AgentTTError
from agent_tt.golden.evidence import Evidence
from agent_tt.golden.rule import unknown
from agent_tt.golden.run_rules import AtMost, Ends
from agent_tt.golden.tool_rules import Never, Tools
from agent_tt.golden.value_rules import Answer, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.golden.rule import Judgement, Rule
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["propose", "siblings_of_agent", "try_rules"]

_MOST_STATES: Final = 5
_ROOM: Final = 1.5
"""How much more than this run a limit of tokens or dollars lets one take."""


def propose(run: Evidence) -> list[Rule]:
    """Propose rules that a run keeps to, those that are judged without doubt."""
    tools = tuple(use.name for use in run.tools)
    writers = tuple(dict.fromkeys(use.name for use in run.tools if use.effect == "write"))
    rules: list[Rule] = [Ends(run.run.status)] if run.run.status in ("succeeded", "failed") else []
    if tools:
        rules.append(Tools(tools, "in order"))
    rules.append(Never(writes=True, but=writers))
    rules.append(AtMost("steps", math.ceil(len(run.steps) * 1.3)))
    if run.tokens:
        rules.append(AtMost("tokens", math.ceil(run.tokens * _ROOM)))
    if run.dollars:
        rules.append(AtMost("dollars", round(run.dollars * _ROOM, 6)))
    if not run.lacks_state(run.last_step):  # else nobody knows what it came to
        rules += [Answer(equals=run.answer)] if run.answer else []
        rules += _states(run)
    return [rule for rule in rules if rule.judge(run).verdict == "passed"]


def _states(run: Evidence) -> list[Rule]:
    """What the run wrote on the first level of its state, as far as it is plain and no answer."""
    first, last = run.state(0), run.state(run.last_step)
    if not isinstance(last, dict):
        return []
    before = first if isinstance(first, dict) else {}
    changed = [
        State(format_path((key,)), equals=json.dumps(value, ensure_ascii=False))
        for key, value in last.items()
        if type(value) in (int, float, bool, str)
        and value != run.answer
        and (key not in before or before[key] != value)
        and key
        and not key.startswith("$")
    ]
    return [*changed[:_MOST_STATES]]


def siblings_of_agent(source: RunSource, run: Run, most: int = 8) -> list[Run]:
    """Other runs of the same agent that are over, newest first: of its entry point's file, or of its script."""
    place = _place(run)
    found = [
        other
        for other in source.runs()
        if other.id != run.id and other.status != "running" and other.damaged is None and _place(other) == place
    ]
    return found[:most] if place else []


def _place(run: Run) -> str:
    return (run.code.entry or "").rpartition(":")[0] or run.facts.script or run.facts.module or ""


def try_rules(source: RunSource, rules: Sequence[Rule], runs: Sequence[Run]) -> list[list[Judgement]]:
    """Judge runs by rules: a row for each rule, with a judgement for each run. Of a damaged run nothing is known."""
    columns: list[list[Judgement]] = []
    for run in runs:
        try:
            evidence = Evidence(source, run)
        except AgentTTError as error:
            columns.append([unknown(error.message)] * len(rules))
        else:
            columns.append([rule.judge(evidence) for rule in rules])
    return [[column[row] for column in columns] for row in range(len(rules))]
