"""Rules that failed, as the run that came would keep to them: what a person may accept."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.golden.evidence import Evidence
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from agent_tt.golden.golden_file import Golden
    from agent_tt.golden.rule import Rule
    from agent_tt.golden.running import GoldenResult

__all__ = ["accepting", "with_accepted"]


def accepting(result: GoldenResult) -> list[tuple[Rule, Rule | None]]:
    """The rules that failed, each with the rule that the run that came keeps to.

    None stands for a rule that a person has to change. Nothing can be accepted of a run that was halted.

    Raises:
        AgentTTError: the run that came cannot be read.
    """
    broken = [kept.rule for kept, judged in result.judgements if judged.verdict == "failed"]
    if result.now is None or result.new_request is not None or not broken:
        return []
    with closing(open_source(result.store)) as source:
        evidence = Evidence(source, source.run(result.now))
        return [(rule, rule.accepting(evidence)) for rule in broken]


def with_accepted(golden: Golden, accepted: list[tuple[Rule, Rule | None]]) -> Golden:
    """The golden with what is accepted in the place of what failed; comments of its file are not kept."""
    others = {rule: now for rule, now in accepted if now is not None}
    return golden.with_rules(tuple(replace(kept, rule=others.get(kept.rule, kept.rule)) for kept in golden.rules))
