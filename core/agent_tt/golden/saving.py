"""Keeping a recorded run as a golden."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import ReadOnlySource, UsageError
from agent_tt.golden.golden_file import Golden, KeptRule, write_golden
from agent_tt.golden.recording_file import pack_run
from agent_tt.model.facts.program import below, program_below
from agent_tt.replaying.tape.siblings import siblings_of
from agent_tt.rerunning.replay import from_here
from agent_tt.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.golden.rule import Rule
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["plan_golden", "save_golden", "unredacted_in"]

SUFFIX: Final = ".recording.zst"


def plan_golden(
    source: RunSource,
    run: Run,
    folder: Path,
    name: str,
    rules: Sequence[Rule],
    *,
    agent: str | None = None,
    replaces: bool = False,
) -> Golden:
    """The golden that a run would be kept as; nothing is written, and its recording has no digest yet.

    Args and Raises: as `save_golden`.
    """
    if not isinstance(source, SqliteStore):
        raise ReadOnlySource(f"{run.name} lies in {source.path}, which another system wrote: it names no code to test")
    if run.status == "running":
        raise UsageError(f"{run.name} still runs", hint="Keep it when it is over.")
    if run.facts.langgraph_thread is not None:
        raise UsageError(
            f"{run.name} is a thread of LangGraph: its calls are told by messages, none was recorded to be answered",
            hint=f"Keep a fork of it: `agent-tt fork {shlex.quote(run.name)} --at 1 --agent module:graph` has calls.",
        )
    if siblings := siblings_of(source, run):
        raise UsageError(
            f"{run.name} was recorded with {len(siblings)} other run{'s' * (len(siblings) > 1)} by one script,"
            " which would run as a whole",
            hint="Record it by a script of its own, or by a function with a parameter `state=None`.",
        )
    if not re.fullmatch(r"[\w][\w.-]*", name):
        raise UsageError(f"{name!r} is no name of a golden", hint="Letters, digits, - _ and . can stand in it.")
    path = folder / f"{name}.toml"
    if path.exists() and not replaces:
        raise UsageError(f"{path} is there already", hint="Give another --name, or --replace it.")
    program = _program(run, path.parent, agent)
    return Golden(path, name, program, f"{name}{SUFFIX}", "", run.id, tuple(map(KeptRule, rules)))


def save_golden(
    source: RunSource,
    run: Run,
    folder: Path,
    name: str,
    rules: Sequence[Rule],
    *,
    agent: str | None = None,
    replaces: bool = False,
) -> Golden:
    """Keep a run as a golden: two files, `NAME.toml` and its recording.

    Args:
        source: our store, with the run.
        run: the run; it is over.
        folder: where the files are written; it is made where it is missing.
        name: the golden's.
        rules: what has to hold.
        agent: the entry point that is run in place of the recorded one.
        replaces: whether a golden of that name may be there.

    Raises:
        ReadOnlySource: the run lies in a file of another system.
        UsageError: it still runs, names no program, is a thread that LangGraph's checkpointer kept, or one of several
            of its script; the name is not one of a file, or is taken.
        Damaged: something of the run is.
    """
    planned = plan_golden(source, run, folder, name, rules, agent=agent, replaces=replaces)
    packed, digest = pack_run(cast("SqliteStore", source), run.id)
    golden = replace(planned, digest=digest)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        golden.recording_path.write_bytes(packed)
    except OSError as error:
        raise UsageError(f"{golden.recording_path} cannot be written: {error}") from error
    write_golden(golden)
    return golden


def unredacted_in(source: RunSource, run: Run) -> str | None:
    """The name of the thread in the recording of a golden, of which nothing is redacted; None where there is none."""
    while run.parent is not None:
        run = source.run(run.parent)
        if run.facts.langgraph_thread is not None:
            return run.name
    return None


def _program(run: Run, folder: Path, agent: str | None) -> dict[str, object]:
    code = run.code
    root = Path(code.root or code.cwd or Path.cwd()).resolve()
    facts = program_below(root, run.metadata)
    if code.entry is None and agent is None and not facts:
        raise UsageError(f"{run.name} names no program: nothing could be run again")
    said: dict[str, object] = {"root": os.path.relpath(root, folder.resolve())}
    if code.cwd and Path(code.cwd).resolve() != root:
        said["folder"] = os.path.relpath(Path(code.cwd).resolve(), root)
    if (entry := code.entry if agent is None else from_here(agent)) is not None:
        said["agent"] = below(root, entry)
    return said | facts
