"""Starting to prune a store at the end of a recording, where the settings ask for that: in a process of its own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.addresses import STORE_VARIABLE, Address
from agent_tt.addresses import told as told_of
from agent_tt.errors import AgentTTError
from agent_tt.store.liveness import now_us
from agent_tt.store.own_pruning import take_turn

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["prune_beside"]

_LOG = logging.getLogger(__name__)
_OURS = "AGENT_TT_"
"""How the variables begin by which a Python learns that it is to be recorded."""


def prune_beside(path: Path, retention: Mapping[str, object]) -> None:
    """Prune a store in another process, unless that was begun less than a day ago. Nothing is waited for or raised.

    Args:
        path: the store.
        retention: the table of settings.
    """
    try:
        is_there = isinstance(path, Address) or path.is_file()
        if not is_there or not take_turn(path, now_us()):
            return
        told = json.dumps({"store": str(path), "retention": dict(retention)})
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        if isinstance(path, Address):  # everybody can read a command line: there it has no password
            environment[STORE_VARIABLE] = told_of(path)
        ours = str(Path(__file__).parents[3])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [ours, environment.get("PYTHONPATH")]))
        process = subprocess.Popen(  # noqa: S603  this Python, and a module of ours
            [sys.executable, "-P", "-m", "agent_tt._prune", told],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=environment,
        )
    except (AgentTTError, OSError, ValueError):
        _LOG.warning("%s could not be pruned, which its settings ask for", path, exc_info=True)
        return
    _LOG.info("process %s is to prune %s, as the settings ask for once a day", process.pid, path)
    threading.Thread(target=process.wait, name="agent-tt prunes", daemon=True).start()  # nothing is left of it
