"""The process beside an agent: `python -P -S _keeper.py JSON`, with a pipe from whoever started both as its input.

It ends the agent when that pipe is closed or its parent is another; see `agent_tt.supervising.keeper`. Until then it
only waits, and has loaded next to nothing: neither this package, nor what is installed, nor `typing`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from agent_tt.supervising.processes import Processes

_LOOK_SECONDS: Final = 0.5
_GRACE_SECONDS: Final = 0.5
"""How long an interrupted agent may take to end by itself: nothing is to happen 2 s after its starter's end."""

_POLL_SECONDS: Final = 0.02
_BEGINNING_SECONDS: Final = 3.0
"""How long an agent is looked for that was being started when its starter was killed."""

_MOST: Final = 65_536


def main() -> int:
    """Look after the agent that the command line describes; 0 when nothing is left to be done."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # it ends with the agent, not with whoever else is told to end
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    charge = json.loads(sys.argv[1])
    told: dict[str, Any] = {}
    agents: dict[str, dict[str, Any]] = {}
    _listen(int(charge["parent"]), partial(_hear_of_many, agents) if charge["many"] else partial(_hear, told))
    _find_packages()
    if charge["many"]:
        _end(*agents.values())
    elif told.get("detached"):
        _go_on(charge, told)
    elif charge["drives"]:
        _end_driver(told)
    else:
        _end({**charge, **told})
    return 0


def _hear(told: dict[str, Any], words: dict[str, Any]) -> bool:
    """Remember what is said of the one agent. Return whether it is handed over: then nothing more is said."""
    told.update(words)
    return bool(told.get("detached"))


def _hear_of_many(agents: dict[str, dict[str, Any]], words: dict[str, Any]) -> bool:
    """Remember an agent by its mark, or forget one that is over."""
    if "over" in words:
        agents.pop(words["over"], None)
    else:
        agents[words["mark"]] = words
    return False


def _listen(parent: int, hear: Callable[[dict[str, Any]], bool]) -> None:
    """Tell `hear` what whoever started us says, until that one is gone, or `hear` has heard all."""
    rest = b""
    while True:
        ready, _, _ = select.select([0], [], [], _LOOK_SECONDS)
        if not ready:
            if os.getppid() != parent:  # something that it forked holds the pipe open
                return
            continue
        heard = os.read(0, _MOST)
        if not heard:
            return
        *lines, rest = (rest + heard).split(b"\n")
        for line in lines:
            if hear(json.loads(line)):
                return


def _find_packages() -> None:
    """Let this package be imported, and what is installed, as in the process that started us."""
    import site

    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120  loads less
    site.main()


def _end(*charges: dict[str, Any]) -> None:
    """Interrupt agents, end each with all that it started, and say in their runs why."""
    from agent_tt.supervising.beginning import began
    from agent_tt.supervising.processes import Processes, process_of

    ended: list[Processes] = []
    for charge in charges:
        pid = charge.get("pid")
        process = None if pid is None else process_of(pid)
        if process is not None and began(process.pid) != charge["began"]:
            process = None
        processes = Processes(charge["mark"], None if process is None else process.pid)
        if pid is None:
            _find_beginning(processes)
        processes.interrupt()
        ended.append(processes)
    deadline = time.monotonic() + _GRACE_SECONDS
    while not all(each.is_gone() for each in ended) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    for each in ended:
        each.end(mercy=False, root=True)
    for charge in charges:
        if charge["run"]:
            _say_why(charge)


def _find_beginning(processes: Processes) -> None:
    deadline = time.monotonic() + _BEGINNING_SECONDS
    while processes.is_gone() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _say_why(charge: dict[str, Any]) -> None:
    from contextlib import closing

    from agent_tt.addresses import found_again
    from agent_tt.errors import AgentTTError
    from agent_tt.model import ErrorInfo
    from agent_tt.store import open_store

    why = f"it ended with what had started it: process {charge['parent']} is gone"
    try:
        path = found_again(charge["store"])
        with closing(open_store(path)) as store:
            if store.run(charge["run"]).status in ("running", "crashed", "interrupted"):
                store.set_run_status(charge["run"], "interrupted", ErrorInfo("agent_tt.errors:Interrupted", why))
    except AgentTTError:  # the store went with it: the agent has ended all the same
        return


def _end_driver(told: dict[str, Any]) -> None:
    """Kill a command of ours; the keepers of what it started do the rest."""
    from agent_tt.supervising.adopted import AdoptedProcess

    if "pid" in told:
        AdoptedProcess(told["pid"], told["began"]).send_signal(signal.SIGKILL)


def _go_on(charge: dict[str, Any], told: dict[str, Any]) -> None:
    """Be to the agent what its starter was: keep its limits, and write down its end."""
    if "pid" not in told or not charge["run"]:
        return
    from pathlib import Path

    from agent_tt.rerunning.handle import RunHandle
    from agent_tt.supervising.adopted import AdoptedProcess

    process = AdoptedProcess(told["pid"], told["began"])
    with open(1, "r+b", closefd=False, buffering=0) as output:
        handle = RunHandle(
            Path(charge["store"]),
            charge["run"],
            process,
            output,
            seconds=told["seconds"],
            left=told["left"],
            memory=told["memory"],
        )
    handle.wait()


if __name__ == "__main__":
    sys.exit(main())
