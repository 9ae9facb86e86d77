"""The objects in which a store keeps what runs and steps say beside their columns: `runs.meta` and `steps.meta`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Literal

from agent_tt.model.facts.fact import Fact, Facts, Flag, Shape, record
from agent_tt.model.facts.runs import RunFacts
from agent_tt.model.facts.shapes import NUMBER, OBJECT, TEXT, TEXT_BY_NAME, TEXTS, VALUE, WHOLE
from agent_tt.model.facts.steps import StepFacts
from agent_tt.model.runs import AgentCode, Edit, ModelConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model.kinds import EditTarget, WayBackIn

__all__ = ["CodeFacts", "EditFacts", "ModelFacts", "RunMeta", "StepMeta"]

_RESTORES: Final[Mapping[str | None, Literal["state", "load_state", "attributes"]]] = {
    "state": "state",
    "load_state": "load_state",
    "attributes": "attributes",
}
_OPS: Final[Mapping[str | None, Literal["set", "insert", "delete", "move", "mute"]]] = {
    "set": "set",
    "insert": "insert",
    "delete": "delete",
    "move": "move",
    "mute": "mute",
}
_TARGETS: Final[Mapping[str | None, EditTarget]] = {
    None: "state",
    "state": "state",
    "result": "result",
    "error": "error",
    "answer": "answer",
    "system": "system",
    "model": "model",
    "parameter": "parameter",
    "step": "step",
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


class EditFacts(Facts):
    """The fields of `Edit`."""

    __slots__ = ()

    op = Fact(TEXT, "`set`, `insert`, `delete`, `move`, or `mute` of a step")
    path = Fact(TEXT, "inside of what is changed; the name of a parameter")
    value = Fact(VALUE, "the new value")
    old = Fact(VALUE, "the value that was there")
    to = Fact(TEXT, "where a move leads")
    target = Fact(
        TEXT, "`state` where absent; `result`, `error` or `answer` of a call, `system`, `model`, `parameter`, `step`"
    )
    step = Fact(WHOLE, "the step whose call it is, that is muted, or after which the state is changed")
    call = Fact(WHOLE, "the number of the call in that step")


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


def _edits(found: Wire) -> tuple[Edit, ...]:
    if not isinstance(found, list):
        return ()
    every = (EditFacts(said) for said in found if isinstance(said, dict))
    return tuple(edit for said in every if (edit := _edit(said)) is not None)


def _edit(said: EditFacts) -> Edit | None:
    """The edit; None of one of something that this version does not know."""
    op, target = _OPS.get(said.op), _TARGETS.get(said.target or None)
    if op is None or target is None:
        return None
    return Edit(op, said.path or "", said.value, said.old, said.to, target, said.step, said.call)


def _edits_to_wire(edits: tuple[Edit, ...]) -> Wire:
    return [_edit_to_wire(edit) for edit in edits] or None


def _edit_to_wire(edit: Edit) -> Wire:
    facts: dict[str, Wire] = {"op": edit.op, "path": edit.path, "value": edit.value, "old": edit.old, "to": edit.to}
    if edit.target != "state":
        facts |= EditFacts.target.entry(edit.target)
    return facts | {key: fact for key, fact in (("step", edit.step), ("call", edit.call)) if fact is not None}


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
    edits = Fact(
        Shape("list of objects", _edits, _edits_to_wire, EditFacts), "of a fork: what a person changed, in their order"
    )
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
