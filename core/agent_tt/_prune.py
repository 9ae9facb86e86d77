"""The process that prunes a store as its settings ask for: see `agent_tt.recording.runs.own_pruning`.

It deletes few runs at a time, so that whoever records meanwhile never waits for long.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from agent_tt.addresses import found_again
from agent_tt.errors import AgentTTError
from agent_tt.model.retention import retention_of
from agent_tt.pruning import plan_pruning, prune
from agent_tt.querying.search.finder import forget_runs
from agent_tt.store import open_store
from agent_tt.store.liveness import now_us
from agent_tt.store.own_pruning import turn_is_over

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOG = logging.getLogger(__name__)
_NICE = 10


def main(arguments: Sequence[str]) -> int:
    """Prune the store that the one argument names, by the rules in it; give the exit code.

    Returns:
        0 when it is done, else that of the error.
    """
    told = json.loads(arguments[0])
    path = found_again(told["store"])
    try:
        with closing(open_store(path)) as store:
            plan = plan_pruning(store, retention_of(told["retention"]), now_us())
            done = prune(store, plan, is_gentle=True)
        forget_runs(path, done.runs)
        turn_is_over(path, len(done.runs), max(0, plan.file_bytes - done.file_bytes))
    except AgentTTError as error:
        _LOG.warning("%s could not be pruned: %s", path, error)
        return error.exit_code
    _LOG.info("%s was pruned: %s runs went", path, len(done.runs))
    return 0


if __name__ == "__main__":
    with suppress(OSError, AttributeError):
        os.nice(_NICE)
    sys.exit(main(sys.argv[1:]))
