"""The keys of the JSON objects in which runs, steps and calls say more than their columns hold.

Nothing else spells them: a key is named by its fact, `CallFacts.pace.key`, and read by it, `call.facts.pace`.

| module | has |
|---|---|
| `fact` | a fact, a record of facts, the shape of a value |
| `shapes` | the shapes that several records use |
| `runs` | `Run.metadata`: what agent-tt writes there, beside the free names of people and agents |
| `steps` | `Step.extra` |
| `calls` | `Call.meta` |
| `edits` | edits, of a fork or of a state while its agent was held |
| `replays` | what a store keeps of a replay |
| `program` | those of `runs` that say which program ran |
| `stored` | what a store keeps with these: `runs.meta` and `steps.meta` |
"""

from __future__ import annotations

from agent_tt.model.facts.calls import CallFacts, DecisionFacts, HoldFacts, OnceFacts, PolicyFacts
from agent_tt.model.facts.fact import Fact, Facts, Shape
from agent_tt.model.facts.runs import (
    AskedAgainFacts,
    BisectedFacts,
    DecidedFacts,
    GoldenFacts,
    GoldenRuleFacts,
    IncompleteFacts,
    LimitFacts,
    ProcessFacts,
    ResumedFacts,
    RunFacts,
    SweepFacts,
    TermFacts,
    UserFacts,
    WithoutEffectFacts,
)
from agent_tt.model.facts.shapes import Place, place_said
from agent_tt.model.facts.steps import StepFacts

__all__ = [
    "AskedAgainFacts",
    "BisectedFacts",
    "CallFacts",
    "DecidedFacts",
    "DecisionFacts",
    "Fact",
    "Facts",
    "GoldenFacts",
    "GoldenRuleFacts",
    "HoldFacts",
    "IncompleteFacts",
    "LimitFacts",
    "OnceFacts",
    "Place",
    "PolicyFacts",
    "ProcessFacts",
    "ResumedFacts",
    "RunFacts",
    "Shape",
    "StepFacts",
    "SweepFacts",
    "TermFacts",
    "UserFacts",
    "WithoutEffectFacts",
    "place_said",
]
