"""Facts: what they read of a file that may hold anything, and that nothing else spells their keys."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.model import Call, Edit, ModelConfig, Run, Step
from agent_tt.model.facts import CallFacts, Facts, RunFacts, StepFacts, UserFacts, place_said
from agent_tt.model.facts.replays import ReplayFacts
from agent_tt.model.facts.stored import RunMeta, StepMeta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire

ROOT = Path(__file__).parents[2]
RECORDS = (RunMeta, RunFacts, UserFacts, StepMeta, StepFacts, CallFacts, ReplayFacts)

json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-9, 9)
    | st.sampled_from(["", "at once", "step", "state"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["step", "call", "run", "word", "from", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def records(kind: type[Facts]) -> Iterator[type[Facts]]:
    """A record, and those of the objects in it."""
    yield kind
    for fact in kind.every():
        if fact.shape.record is not None:
            yield from records(fact.shape.record)


EVERY = [inner for kind in RECORDS for inner in records(kind)]


def read_all(read: object) -> None:
    """Read every fact of a record that was read, and of those in it."""
    for one in read if isinstance(read, tuple) else (read,):
        if isinstance(one, Facts):
            for fact in type(one).every():
                read_all(fact.of(one.raw))


@given(json)
def test_whatever_a_file_holds_is_read_without_an_error(found: Wire) -> None:
    for kind in RECORDS:
        for fact in kind.every():
            read_all(fact.of({fact.key: found}))


@pytest.mark.parametrize("kind", EVERY)
def test_what_is_absent_reads_as_a_null_does(kind: type[Facts]) -> None:
    for fact in kind.every():
        absent, null = fact.of({}), fact.of({fact.key: None})
        assert (absent.raw == null.raw == {}) if isinstance(absent, Facts) else absent == null  # type: ignore[union-attr]


MALFORMED: list[tuple[object, Wire]] = [
    (CallFacts.line, "7"),
    (CallFacts.line, True),
    (CallFacts.file, 7),
    (CallFacts.cancelled, 1),
    (CallFacts.inside, {"step": "1", "call": 2}),
    (CallFacts.inside, [1, 2]),
    (CallFacts.args_after, []),
    (CallFacts.paces, [[0, 1], "at once", [0, "1", 2], [-1, 0, 2], [3, 2, 1], [0, 10**15, "at once"]]),
    (CallFacts.policy, "deny"),
    (RunFacts.resumed, {"run": "a"}),
    (RunFacts.command, "python"),
    (RunFacts.calls, {"a": 1}),
    (RunMeta.edits, [{"op": "shout", "path": ""}, {"op": "set", "target": "moon"}, 3]),
    (RunMeta.way_back_in, "jump"),
    (RunMeta.counts, [1]),
    (RunMeta.former_names, [1, None]),
]


@pytest.mark.parametrize(("fact", "found"), MALFORMED)
def test_what_is_malformed_reads_as_absent(fact, found) -> None:  # type: ignore[no-untyped-def]
    read, absent = fact.of({fact.key: found}), fact.of({})
    assert (read.raw == absent.raw) if isinstance(read, Facts) else read == absent
    assert fact.is_in({fact.key: found})


def test_what_is_written_is_read_again() -> None:
    call = Call(1, 1, "tool", "t", "ok", meta=CallFacts.again.entry((3, 2)) | CallFacts.cancelled.true())
    assert (call.facts.again, call.facts.cancelled, call.facts.inside) == ((3, 2), True, None)
    edits = (Edit("set", "a", 1), Edit("set", "", 2, target="result", step=3, call=1))
    assert RunMeta(RunMeta.edits.entry(edits)).edits == edits
    assert RunMeta(RunMeta.model.entry(ModelConfig(seed=3))).model == ModelConfig(seed=3)
    assert RunFacts.calls.of(RunFacts.calls.entry({"a.b": "read"})) == {"a.b": "read"}
    assert place_said(CallFacts.inside.shape.write((4, 5))) == (4, 5)


def test_a_record_reads_objects_inside_it() -> None:
    policy = CallFacts({"policy": {"word": "recorded", "from": {"run": "r", "step": 2, "call": 1}}}).policy
    assert (policy.word, policy.source, policy.taken_from.run, policy.taken_from.step) == ("recorded", None, "r", 2)
    assert not CallFacts({}).policy


@pytest.mark.parametrize("kind", EVERY)
def test_a_key_stands_once_in_a_record_and_says_what_it_means(kind: type[Facts]) -> None:
    keys = [fact.key for fact in kind.every()]
    assert len(keys) == len(set(keys)) > 0
    assert all(fact.what and not fact.what.endswith(".") for fact in kind.every())


# -------------------------------------------------------------------- nobody else spells a key

HOLDERS = frozenset({"meta", "metadata", "extra"})
OTHERS_OBJECTS = (
    "core/agent_tt/codec/",  # `extra` of pydantic's objects
    "core/agent_tt/interop/langgraph/rows.py",  # LangGraph's own metadata of a checkpoint
    "core/agent_tt/interop/langgraph/values.py",
    "core/agent_tt/plugins.py",  # the metadata of installed packages
)
OTHERS_WORDS = frozenset({"checkpoint_id", "parent_checkpoint_id", "checkpoint_ns", "task_id", "finish_reason"})
"""Keys that are LangGraph's or a provider's own words: who reads or writes their formats spells them too."""
ALSO_NAMES = frozenset(field.name for kind in (Run, Step, Call, ModelConfig) for field in fields(kind)) | {
    "max_tokens",
    "stop_at",
    "edits_without_effect",
}
"""Keys that are also names of fields, options, columns or of what `--json` shows."""


def modules() -> Iterator[tuple[str, str]]:
    """The modules that may spell no key, with their text."""
    for path in sorted([*ROOT.glob("core/agent_tt/**/*.py"), *ROOT.glob("tui/agent_tt_tui/**/*.py")]):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(("core/agent_tt/model/facts/", *OTHERS_OBJECTS)):
            yield name, path.read_text(encoding="utf-8")


def holds_facts(node: ast.expr) -> bool:
    """Whether an expression is `meta`, `call.meta`, `run.metadata`, …, or made of one in parentheses or by `or`."""
    if isinstance(node, ast.BoolOp):
        return any(map(holds_facts, node.values))
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in HOLDERS


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def spelled(text: str) -> list[int]:
    """The lines in which a key of facts is spelled: read, asked for, set, or given."""
    lines = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Subscript(value=of, slice=key) if holds_facts(of) and is_text(key):
                lines.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=of, attr="get" | "pop" | "setdefault"), args=[key, *_]) if (
                holds_facts(of) and is_text(key)
            ):
                lines.append(node.lineno)
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[of]) if holds_facts(of) and is_text(
                key
            ):
                lines.append(node.lineno)
            case ast.keyword(arg=name, value=ast.Dict(keys=keys)) if name in HOLDERS:
                lines += [key.lineno for key in keys if key is not None and is_text(key)]
            case ast.Assign(targets=[of], value=ast.Dict(keys=keys)) if holds_facts(of):
                lines += [key.lineno for key in keys if key is not None and is_text(key)]
            case ast.AnnAssign(target=of, value=ast.Dict(keys=keys)) if holds_facts(of):
                lines += [key.lineno for key in keys if key is not None and is_text(key)]
    return lines


def test_no_module_but_the_facts_spells_a_key() -> None:
    assert [f"{name}:{line}" for name, text in modules() for line in spelled(text)] == []


def test_a_key_that_is_spelled_is_found() -> None:
    text = """
call.meta["pace"]; run.metadata.get("resumed"); "inside" in call.meta; (call.meta or {}).pop("a")
Call(meta={"file": 1}); extra = {"b": 1}; meta: dict = {"c": 1}
call.meta[PACE]; meta.get(name); facts["d"]; Call(meta={KEY: 1}); other.get("e")
"""
    assert sorted(spelled(text)) == [2, 2, 2, 2, 3, 3, 3]


def test_a_key_of_two_words_stands_nowhere_else() -> None:
    keys = {fact.key for kind in EVERY for fact in kind.every() if "_" in fact.key} - OTHERS_WORDS - ALSO_NAMES
    assert len(keys) > 20
    found = [f"{name}:{line} {key}" for name, text in modules() for line, key in constants(text) if key in keys]
    assert found == []


def constants(text: str) -> Iterator[tuple[int, str]]:
    """The texts that a module gives names or passes on; not what it says of the names that it exports."""
    tree = ast.parse(text)
    exported = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets) == "__all__"]
    names = {id(inner) for node in exported for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in names:
            yield node.lineno, node.value
