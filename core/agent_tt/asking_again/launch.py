"""Starting the process that sends: what it is told, and the run that it fills."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import told
from agent_tt.asking_again.answers import said, state_of
from agent_tt.asking_again.sending import Sent
from agent_tt.errors import InvalidEntryPoint
from agent_tt.model import ErrorInfo, NewRun
from agent_tt.model.facts import AskedAgainFacts, RunFacts
from agent_tt.protocols import NO_STATE
from agent_tt.recording.runs.kept_patterns import rules_of
from agent_tt.rerunning.ending import NO_ENTRY
from agent_tt.rerunning.handle import RunHandle
from agent_tt.rerunning.process import FLAGS, without_ours
from agent_tt.store import open_store
from agent_tt.supervising.keeper import Keeper
from agent_tt.supervising.marks import marked
from agent_tt.temporary import temporary_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from agent_tt.asking_again.plan import AgainPlan
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit

__all__ = ["TAG", "start_again"]

TAG: Final = "again"
"""Tag of a run that only asked a model again."""

_MODULE: Final = "agent_tt.asking_again"


def start_again(plan: AgainPlan) -> RunHandle:
    """Write the run that is to hold the answers, and start the process that sends.

    The process takes the key out of its environment; nothing here reads it.

    Args:
        plan: what is sent.

    Raises:
        InvalidEntryPoint: the process could not be started; the run is kept as failed.
        UsageError: there is no folder for temporary files.
        StoreUnreadable: the run could not be written.
    """
    with temporary_file() as output, temporary_file() as message:
        with closing(open_store(plan.store, create=True)) as store:
            recorded = said(plan.request.call)
            state = NO_STATE if recorded is None else state_of(recorded)
            # Without the edits: those of the project's own rules are taken out of them by the process that sends.
            new = NewRun(plan.name, tags=(TAG,), metadata=_facts(plan, edits=()))
            run_id, path = store.begin_run(new, state, beats=False).run_id, store.path.resolve()
        sent = Sent(
            store=told(path),
            run=run_id,
            url=plan.destination.url,
            headers=plan.headers,
            body=plan.body.decode("utf-8", "surrogatepass"),
            times=plan.asked.times,
            seconds=plan.asked.seconds,
            key=plan.destination.key,
            redact=_redact(plan),
            facts=_facts(plan, edits=plan.asked.edits),
        )
        message.write(sent.to_text().encode("utf-8", "surrogatepass"))
        message.flush()
        message.seek(0)
        try:
            keeper = Keeper(run_id, run=(path, run_id), output=output)
            process = _started(keeper, run_id, message, output)
        except InvalidEntryPoint as error:
            with closing(open_store(plan.store)) as store:
                store.set_run_status(run_id, "failed", ErrorInfo(NO_ENTRY, error.message))
            raise
        return RunHandle(plan.store, run_id, process, output, keeper=keeper)


def _started(keeper: Keeper, mark: str, message: BinaryIO, output: BinaryIO) -> subprocess.Popen[bytes]:
    """Start the process that sends, which ends with this one.

    Raises:
        InvalidEntryPoint: it could not be started.
    """
    try:
        process = subprocess.Popen(  # noqa: S603  our own module, with our own Python
            [sys.executable, *FLAGS, "-m", _MODULE],
            env=marked(mark, without_ours(os.environ)),
            stdin=message,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except OSError as error:
        keeper.dismiss()
        why = f"{sys.executable} could not be started: {error.strerror}"
        raise InvalidEntryPoint(why, hint="check this Python") from error
    keeper.watch(process.pid)
    return process


def _facts(plan: AgainPlan, *, edits: Sequence[Edit]) -> dict[str, Wire]:
    call, asked = plan.request.call, plan.asked
    facts = AskedAgainFacts.of_call(
        plan.run.id, call.step, call.number, times=asked.times, edits=edits, model=asked.model
    )
    return RunFacts.asked_again.entry(facts)


def _redact(plan: AgainPlan) -> dict[str, Wire]:
    """The rules that the recorded run keeps, as code says them."""
    rules = rules_of(plan.run.metadata)
    return {
        "profile": rules.profile,
        "patterns": dict(rules.patterns),
        "fields": [*rules.fields],
        "allow": [*rules.allow],
    }
