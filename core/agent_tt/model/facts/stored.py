"""The objects in which a store keeps what runs and steps say beside their columns: `runs.meta` and `steps.meta`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Literal

from agent_tt.model.facts.edits import EDITS
from agent_tt.model.facts.fact import Fact, Facts, Flag, Shape, record
from agent_tt.model.facts.runs import RunFacts
from agent_tt.model.facts.shapes import NUMBER, OBJECT, TEXT, TEXT_BY_NAME, TEXTS, VALUE, WHOLE
from agent_tt.model.facts.steps import StepFacts
from agent_tt.model.runs import AgentCode, ModelConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model.kinds import WayBackIn

__all__ = ["CodeFacts", "ModelFacts", "RunMeta", "StepMeta"]

_RESTORES: Final[Mapping[str | None, Literal["state", "load_state", "attributes"]]] = {
    "state": "state",
    "load_state": "load_state",
    "attributes": "attributes",
}
_WAYS_BACK_IN: Final[Mapping[str, WayBackIn]] = {"restore": "restore", "replay": "replay"}


class CodeFacts(Facts):
    """The fields of `AgentCode`."""

    __slots__ = ()

    entry = Fact(TEXT, "`module:callable`, or `path/file.py:callable` relative to `root`")
    version = Fact(TEXT, "the agent's own version name")
    fingerprint = Fact(TEXT, "hex blake2b-16 of the entry point's source file")
    root = Fact(TEXT, "the project root that was on `sys.path`")
    cwd = Fact(TEXT, "working directory of the recording process")
    interpreter = Fact(TEXT, "path of the Python that ran it")
    restore = Fact(TEXT, "how a fork hands it a state: `state`, `load_state` or `attributes`")


_CODE: Final = tuple(fact.key for fact in CodeFacts.every())


class ModelFacts(Facts):
    """The fields of `ModelConfig`."""

    __slots__ = ()

    model = Fact(TEXT, "the provider's name of the model")
    temperature = Fact(NUMBER, "sampling temperature")
    max_tokens = Fact(WHOLE, "most tokens an answer may have")
    seed = Fact(WHOLE, "sampling seed")
    prompt_version = Fact(TEXT, "the agent's own name for its prompt")


def _set_fields(fields: AgentCode | ModelConfig | None) -> Wire:
    said = {} if fields is None else {name: value for name, value in asdict(fields).items() if value is not None}
    return said or None


def _code(found: Wire) -> AgentCode:
    # Each run in a list of thousands is read so: its fields are not looked up one by one.
    known = {} if not isinstance(found, dict) else found
    entry, version, fingerprint, root, cwd, interpreter, restore = [TEXT.read(known.get(key)) for key in _CODE]
    return AgentCode(entry, version, fingerprint, root, cwd, interpreter, _RESTORES.get(restore))


def _model(found: Wire) -> ModelConfig | None:
    if not isinstance(found, dict):
        return None
    said = ModelFacts(found)
    return ModelConfig(said.model, said.temperature, said.max_tokens, said.seed, said.prompt_version)


def _counts(found: Wire) -> tuple[int | None, int | None]:
    steps, answers = found if isinstance(found, list) and len(found) == len(("steps", "answers")) else (None, None)
    return steps if type(steps) is int else None, answers if type(answers) is int else None


class RunMeta(Facts):
    """The object in `runs.meta`."""

    __slots__ = ()

    code = Fact(Shape("object", _code, _set_fields, CodeFacts), "the code that the agent runs")
    model = Fact(Shape("object", _model, _set_fields, ModelFacts), "the model that the agent is configured with")
    user_id = Fact(TEXT, "the user for whom the agent ran")
    metadata = Fact(record(RunFacts), "what people and agents said of it by free names, and what agent-tt adds")
    origin = Fact(TEXT_BY_NAME, "where an imported or copied run came from: `file`, `thread`, `run`")
    imported = Fact(TEXTS, "of an imported run: the names in `metadata` that its file says, which go when it does not")
    edits = Fact(EDITS, "of a fork: what a person changed, in their order")
    policy = Fact(OBJECT, "of a fork: what becomes of its calls, words such as `live` or `deny` by name of the call")
    way_back_in = Fact(
        Shape("text", lambda found: _WAYS_BACK_IN.get(TEXT.read(found) or "")),
        "of a fork: how its agent got to the first step: `restore` or `replay`",
    )
    usage = Fact(
        Shape("`[tokens in, tokens out, dollars, calls without a price]`", VALUE.read), "of its own steps, at its end"
    )
    counts = Fact(
        Shape("`[own steps, own answers]`", _counts, list), "at its end: shows that none of the last rows is missing"
    )
    pinned = Flag("it is kept: neither archived nor deleted before it is unpinned")
    former_names = Fact(TEXTS, "its names before it was renamed, oldest first")


class StepMeta(Facts):
    """The object in `steps.meta`."""

    __slots__ = ()

    calls = Fact(WHOLE, "how many calls it made; said at its end")
    repeat_of = Fact(WHOLE, "the step that this one repeats")
    decision = Fact(TEXT, "what the agent decided, in its own words")
    extra = Fact(record(StepFacts), "what its source says of it besides")
