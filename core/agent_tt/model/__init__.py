"""What a run is made of: plain frozen dataclasses, no input or output.

| module | has |
|---|---|
| `kinds` | the words that facts are one of (`RunStatus`, `CallKind`, ...), and which kinds of calls act |
| `facts` | what the JSON objects say of runs, steps and calls beside the columns: the keys and their types |
| `runs` | a run, the code and the model behind it |
| `edits` | what a person changes: for a fork, or while an agent is held |
| `steps` | its steps, their calls, what reached the agent in pieces |
| `output` | what a run printed |
| `usage` | tokens and dollars |
| `space` | what fills a file |
| `owners` | which process records a run |
| `holds` | that a running agent waits before its next calls |
| `sweeps` | what was varied over a fork |
| `replays` | what is kept of a replay |
| `statistics` | what can be counted over the runs of a file |
| `quantities` | lengths of time and sizes as people write them |
| `as_json` | what every JSON of a run, a step and a call has, by the same names |
| `shown` | durations, counts, tokens and money as people read them |
| `retention` | how long runs are kept |
| `once` | the call that has the key of an effect that is done once |
| `threads` | which runs are threads of LangGraph |
| `sampling` | which runs are kept when they are over |
| `imported` | what became of a run that was copied out of another program's file |
| `marks` | notes, labels, what was deleted, what `verify` found |
| `writing` | what a recorder says of them, before they are and when they are over |
| `error_text`, `fact_text` | exceptions and facts as people type them |

Times are integer microseconds since the epoch, UTC (`…_us`); costs are US dollars; token counts are whole tokens.
A *wire value* (`agent_tt.codec.wire.Wire`) is the JSON-like form in which every state, argument and result is kept:
plain JSON plus `{"$type": …, "$v": …}` envelopes for everything that JSON cannot say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from agent_tt.model.edits import Edit
    from agent_tt.model.holds import Hold
    from agent_tt.model.imported import Imported
    from agent_tt.model.kinds import (
        ACTING,
        LIMIT_REACHED,
        OWN_DOING,
        STOPPED_BY_LIMIT,
        CallKind,
        CallStatus,
        DeliveryKind,
        EditTarget,
        Effect,
        NoteKind,
        RunStatus,
        StepStatus,
        StreamEnd,
        WayBackIn,
    )
    from agent_tt.model.marks import Deletion, Label, Note, Problem
    from agent_tt.model.output import Output
    from agent_tt.model.owners import Owner
    from agent_tt.model.replays import Replay, ReplayMode, ReplayVerdict
    from agent_tt.model.runs import AgentCode, ErrorInfo, ModelConfig, Run
    from agent_tt.model.steps import HELD_BACK, Call, Delivery, Judged, Step
    from agent_tt.model.sweeps import Sweep
    from agent_tt.model.usage import NO_USAGE, Usage
    from agent_tt.model.writing import CallEnd, NewCall, NewFork, NewRun, NewStep, StepEnd

__all__ = [
    "ACTING",
    "HELD_BACK",
    "LIMIT_REACHED",
    "NO_USAGE",
    "OWN_DOING",
    "STOPPED_BY_LIMIT",
    "AgentCode",
    "Call",
    "CallEnd",
    "CallKind",
    "CallStatus",
    "Deletion",
    "Delivery",
    "DeliveryKind",
    "Edit",
    "EditTarget",
    "Effect",
    "ErrorInfo",
    "Hold",
    "Imported",
    "Judged",
    "Label",
    "ModelConfig",
    "NewCall",
    "NewFork",
    "NewRun",
    "NewStep",
    "Note",
    "NoteKind",
    "Output",
    "Owner",
    "Problem",
    "Replay",
    "ReplayMode",
    "ReplayVerdict",
    "Run",
    "RunStatus",
    "Step",
    "StepEnd",
    "StepStatus",
    "StreamEnd",
    "Sweep",
    "Usage",
    "WayBackIn",
]

_HOMES = {
    "edits": "Edit",
    "holds": "Hold",
    "imported": "Imported",
    "kinds": "ACTING LIMIT_REACHED OWN_DOING STOPPED_BY_LIMIT CallKind CallStatus DeliveryKind EditTarget Effect "
    "NoteKind RunStatus StepStatus StreamEnd WayBackIn",
    "marks": "Deletion Label Note Problem",
    "output": "Output",
    "owners": "Owner",
    "replays": "Replay ReplayMode ReplayVerdict",
    "runs": "AgentCode ErrorInfo ModelConfig Run",
    "steps": "HELD_BACK Call Delivery Judged Step",
    "sweeps": "Sweep",
    "usage": "NO_USAGE Usage",
    "writing": "CallEnd NewCall NewFork NewRun NewStep StepEnd",
}

# Each command needs a few of them.
__getattr__ = lazily(
    __name__, {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names.split()}
)
