"""What a run has answers for: looked at before anything is replayed. Nothing is imported, nothing runs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, Effect, Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.tape.tape import TapeCall

__all__ = ["Answers", "Preflight", "preflight", "why_no_debugger", "why_not_replayable"]

_MARKS: Final[dict[str, CallKind]] = {"tool": "tool", "llm": "llm"}
"""The decorators by which functions are marked, and the kind of the calls that they make."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a run has recorded of one function, model or address.

    Attributes:
        kind: what it is: `llm`, `tool`, `http`, ….
        name: what is called.
        effect: `read` or `write` of a tool, None for others.
        recorded: how many calls the run has.
        from_here: how many of them lie after the step that was asked for.
        results: how many answers are results; of the others …
        errors: … so many are exceptions, which are raised again,
        open: … and so many never came: a replay that waits for them halts, or hangs as the recorded run did.
        pieces: how many pieces the answers have that came in several.
    """

    kind: CallKind
    name: str
    effect: Effect | None
    recorded: int
    from_here: int
    results: int
    errors: int
    open: int
    pieces: int


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a replay of a run would find.

    Attributes:
        run: the run.
        from_step: the step that `from_here` counts from; 0 is the whole run.
        answers: by what is called; those that write first.
        without: functions that the agent's code marks as tools or model calls and the run never called: `kind name`.
            Calling one halts a replay.
        nested: how many calls are not asked for, because the answer of the call that made them is given.
        lanes: how many logical threads asked.
        problems: what is worth knowing before, one line each.
    """

    run: Run
    from_step: int
    answers: tuple[Answers, ...]
    without: tuple[str, ...]
    nested: int
    lanes: int
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Wire]:
        """`{run, name, from_step, answers: [{kind, name, effect, recorded, …}], without, nested, lanes, problems}`."""
        rows: list[Wire] = [
            {
                "kind": row.kind,
                "name": row.name,
                "effect": row.effect,
                "recorded": row.recorded,
                "from_here": row.from_here,
                "results": row.results,
                "errors": row.errors,
                "open": row.open,
                "pieces": row.pieces,
            }
            for row in self.answers
        ]
        return {
            "run": self.run.id,
            "name": self.run.name,
            "from_step": self.from_step,
            "answers": rows,
            "without": list(self.without),
            "nested": self.nested,
            "lanes": self.lanes,
            "problems": list(self.problems),
        }


def preflight(source: RunSource, run: Run, *, from_step: int = 0) -> Preflight:
    """Look at what a run has answers for.

    Args:
        source: where it lies.
        run: the run.
        from_step: count in `from_here` what lies after this step.
    """
    from agent_tt.replaying.tape.tape import read_tape

    tape = read_tape(source, run)
    by_boundary: dict[tuple[CallKind, str, Effect | None], list[TapeCall]] = {}
    for entry in tape.calls:
        by_boundary.setdefault((entry.call.kind, entry.call.name, entry.call.effect), []).append(entry)
    rows = [_answers(key, entries, from_step) for key, entries in by_boundary.items()]
    rows.sort(key=lambda row: row.effect != "write")
    called = {(row.kind, row.name) for row in rows}
    marked = dict.fromkeys(_marked(run))
    return Preflight(
        run=run,
        from_step=from_step,
        answers=tuple(rows),
        without=tuple(f"{kind} {name}" for kind, name in marked if (kind, name) not in called),
        nested=tape.nested,
        lanes=len(tape.lanes),
        problems=(*_problems(run, rows), *tape.said_of_tools()),
    )


def why_no_debugger(run: Run, step: int) -> str | None:
    """What keeps a debugger from opening at a step of a run: its agent did not take it. None where nothing does."""
    first = (run.fork_step or 0) + 1
    if step >= first:
        return None
    owner = "the input" if step == 0 else f"a step of {run.name.rpartition('/')[0]}, which it was forked from"
    return f"step {step} is {owner}: the agent of {run.name} ran from step {first} on"


def why_not_replayable(run: Run) -> str | None:
    """Why a run cannot be run again as a whole; None where that can be tried."""
    if run.read_only:
        return "this file is only read: how its agent was started is not in it"
    if run.code.entry is None and not RunFacts.script.is_in(run.metadata):
        return "what ran it was not recorded: it can only be replayed around a block of code"
    return None


def _answers(key: tuple[CallKind, str, Effect | None], entries: Sequence[TapeCall], from_step: int) -> Answers:
    kind, name, effect = key
    return Answers(
        kind,
        name,
        effect,
        recorded=len(entries),
        from_here=sum(entry.call.step > from_step for entry in entries),
        results=sum(entry.call.error is None and not entry.never_came for entry in entries),
        errors=sum(entry.call.error is not None and not entry.never_came for entry in entries),
        open=sum(entry.never_came for entry in entries),
        pieces=sum(len(entry.pieces) for entry in entries),
    )


def _problems(run: Run, rows: Sequence[Answers]) -> Iterator[str]:
    if run.status in {"crashed", "interrupted", "running"}:
        yield f"the run is {run.status}: a replay halts where its recording ends"
    why_not = why_not_replayable(run)
    if why_not is not None:
        yield why_not
    if not rows:
        yield "the run recorded no calls: there is nothing to answer"


def _marked(run: Run) -> Iterator[tuple[CallKind, str]]:
    """The marked functions in the agent's file and in the files of its project that it imports."""
    from agent_tt.replaying.tape.source_trees import project_sources

    root = Path(run.code.root) if run.code.root else None
    for _, tree in project_sources(_first_file(run, root), [] if root is None else [root]):
        yield from _marked_in(tree)


def _first_file(run: Run, root: Path | None) -> Path | None:
    script = run.facts.script
    if script is not None:
        return Path(script)
    location = (run.code.entry or "").rpartition(":")[0]
    if not location or root is None:
        return None
    return root / location if location.endswith(".py") else _module_file(root, location)


def _module_file(folder: Path, name: str) -> Path | None:
    base = folder.joinpath(*name.split("."))
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)


def _marked_in(tree: ast.AST) -> Iterator[tuple[CallKind, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                mark = decorator if call is None else call.func
                word = mark.attr if isinstance(mark, ast.Attribute) else mark.id if isinstance(mark, ast.Name) else ""
                if word in _MARKS:
                    yield _MARKS[word], _given_name(call) or node.name


def _given_name(call: ast.Call | None) -> str | None:
    for keyword in [] if call is None else call.keywords:
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            return keyword.value.value
    return None
