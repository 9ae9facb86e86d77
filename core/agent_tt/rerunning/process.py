"""The process in which a recorded agent runs once more: to replay it, to go on with it, or to fork it.

It is the run's own Python in the run's own folder, in a session of its own and without a terminal: whose terminal it
is may be drawing on it, and Ctrl-C reaches us first. In a debugger it has our terminal instead.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import located
from agent_tt.config import EFFECTS_VARIABLE
from agent_tt.errors import InvalidEntryPoint
from agent_tt.model.facts import RunFacts
from agent_tt.rerunning.rerun import RERUN_VARIABLE
from agent_tt.store.file.locate import ENVIRONMENT as STORE_VARIABLE
from agent_tt.supervising.keeper import Keeper
from agent_tt.supervising.marks import marked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.model import Run
    from agent_tt.rerunning.rerun import Rerun
    from agent_tt.rerunning.warm.pool import WarmAgents
    from agent_tt.supervising.forked import ForkedProcess
    from agent_tt.supervising.keeper import KeptAgent

__all__ = ["FLAGS", "AgentProcess", "start_agent", "without_ours"]

_MODULE: Final = "agent_tt._child"

FLAGS: Final = (
    "-P",  # the folder it runs in is not searched for modules: a `json.py` there must not break the start
    "-u",  # what the agent prints is seen at once, and is not lost when it is killed
    "-X",
    "faulthandler",  # a crash of the interpreter says where
)
_NOT_FOR_THE_AGENT: Final = frozenset({RERUN_VARIABLE, "AGENT_TT_LAUNCH", "AGENT_TT_REPORT", "AGENT_TT_JOIN"})


@dataclass(frozen=True, slots=True)
class AgentProcess:
    """The process of an agent, and what ends it when this process is gone.

    Attributes:
        process: the agent's.
        keeper: to be dismissed when it has ended.
    """

    process: subprocess.Popen[bytes] | ForkedProcess
    keeper: Keeper | KeptAgent


def start_agent(
    rerun: Rerun,
    run: Run,
    output: BinaryIO | None,
    *,
    mark: str,
    standard_input: int | None = None,
    interpreter: str | None = None,
    folder: str | None = None,
    warm: WarmAgents | None = None,
) -> AgentProcess:
    """Start the process of an agent, which ends with this one.

    Args:
        rerun: what it does.
        run: the run that was recorded, which says with what and where.
        output: where it prints; None for our own terminal, from which it reads too.
        mark: a word that marks it and all that it starts; of a process that fills a run the run's id.
        standard_input: the file that it reads from, where it does not have our terminal; None for none.
        interpreter: the Python, where it is not the run's.
        folder: the folder, where it is not the run's.
        warm: forks it, where that makes no difference but in time; None to start it from nothing.

    Raises:
        InvalidEntryPoint: it could not be started.
    """
    python, place = interpreter or _interpreter_of(run), folder or _folder_of(run)
    command = [python, *FLAGS, *(run.facts.python_options or ()), "-m", _MODULE]
    environment = _environment_of(run, rerun)
    if warm is not None and output is not None and standard_input is None:
        from agent_tt.rerunning.warm.pool import Start

        forked = warm.fork(Start(command, place, environment, mark, rerun, output))
        if forked is not None:
            return AgentProcess(*forked)
    keeper = Keeper(mark, run=(located(rerun.store), rerun.run) if rerun.fills else None, output=output)
    try:
        process = subprocess.Popen(  # noqa: S603  running the agent is what was asked for
            command,
            cwd=place,
            env=marked(mark, environment),
            stdin=None if output is None else subprocess.DEVNULL if standard_input is None else standard_input,
            stdout=output,
            stderr=output,
            start_new_session=output is not None,
        )
    except OSError as error:
        keeper.dismiss()
        why = f"{python} could not be started in {place}: {error.strerror}"
        raise InvalidEntryPoint(why, hint="check the run's interpreter and working directory") from error
    keeper.watch(process.pid)
    return AgentProcess(process, keeper)


def _interpreter_of(run: Run) -> str:
    """The Python that an agent ran with, else this one."""
    recorded = run.code.interpreter
    return recorded if recorded is not None and os.access(recorded, os.X_OK) else sys.executable


def _folder_of(run: Run) -> str:
    """Where the agent ran, else its project, else here."""
    return next((path for path in (run.code.cwd, run.code.root) if path and Path(path).is_dir()), str(Path.cwd()))


def without_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what we were told ourselves: to be a rerun, to be recorded."""
    return {name: value for name, value in environment.items() if name not in _NOT_FOR_THE_AGENT}


def _environment_of(run: Run, rerun: Rerun) -> dict[str, str]:
    """The environment for running an agent again: ours, with the order of sets that it had, and what it is told.

    What we were told ourselves (to be a rerun, to be recorded) is not for that agent. What the agent of a run that is
    filled records later goes into the same store.
    """
    environment = without_ours(os.environ)
    seed = run.facts.hash_seed
    if seed is not None:
        environment[RunFacts.hash_seed.key] = seed
    if run.facts.effects and rerun.fills:
        environment[EFFECTS_VARIABLE] = json.dumps(run.facts.effects)
    if rerun.fills:
        environment[STORE_VARIABLE] = rerun.store
    environment[RERUN_VARIABLE] = rerun.to_variable()
    return environment
