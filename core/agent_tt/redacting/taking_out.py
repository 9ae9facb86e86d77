"""Taking out of recorded runs what the rules of now find: which rules hold, and what is said of it.

A run keeps the rules that it is written anew with, as one that is recorded does: its replays ask by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.facts import RunFacts
from agent_tt.model.facts.runs import RedactedFacts
from agent_tt.recording.runs.kept_patterns import kept_of, rules_of
from agent_tt.redacting.beside import check_taken_in, remove_index
from agent_tt.redacting.pieces import pieces_again
from agent_tt.redacting.questions import asked_again
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import KEYED, key_path
from agent_tt.redaction.own import OWN
from agent_tt.redaction.vault import VAULT
from agent_tt.store.liveness import now_us
from agent_tt.store.redacting import redact_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.redacting.questions import Question
    from agent_tt.redaction.rules import Rules
    from agent_tt.store.redacting import Redaction

__all__ = ["take_out"]


class _Anew:
    """What the store asks while it writes rows anew."""

    def __init__(self) -> None:
        self._now = now_us()

    def question(self, kind: str, name: str, args: Wire, signature: str) -> Question:
        """What a call asked."""
        return asked_again(kind, name, args, signature)

    def pieces(self, pieces: Sequence[Wire], method: str) -> list[Wire]:
        """The pieces of an answer."""
        return pieces_again(pieces, method)

    def said_of(self, metadata: Mapping[str, Wire], unsure: int) -> dict[str, Wire]:
        """What the metadata of a run says from now on."""
        rules = OWN.rules
        key = RunFacts.redact.of(metadata).key or (KEYED.id() if rules.profile else "")  # marks of two keys: the first
        before = metadata.get(RunFacts.redacted.key)
        at = RedactedFacts.once(self._now, rules.profile, tuple(rules.patterns), rules.fields, unsure)
        told: dict[str, Wire] = {RunFacts.redacted.key: [*(before if isinstance(before, list) else ()), at]}
        return {**metadata, **kept_of(rules, key), **told}


def take_out(
    path: Path,
    runs: Sequence[Run],
    rules: Rules,
    *,
    is_all: bool = False,
    is_tried: bool = False,
    keeps_originals: bool = False,
    report: Callable[[int, int], None] = lambda _done, _all: None,
) -> Redaction:
    """Take out of runs, and of all that they share their beginning with, what rules find.

    The rules that the runs were recorded with hold, too. What is taken out is gone, also from free pages, from the log
    and from the index of searches.

    Args:
        path: the store; nobody else has it open for writing.
        runs: the runs.
        rules: the rules.
        is_all: whether these are all runs of the store.
        is_tried: whether all is only tried: what would change is counted, and nothing is kept.
        keeps_originals: whether the vault keeps what marks stand for.
        report: told (runs done, in all).

    Returns:
        What changed, or would.

    Raises:
        Refused: a run is being recorded, a spill file waits, or others share a value that would have to go.
        Damaged: something cannot be read, so that nobody can say what it holds.
        VaultLocked: originals are to be kept, and there is no key, or it is another one's.
        UsageError: what a profile or the vault needs is not installed.
    """
    check_taken_in(path)
    for run in runs:
        rules = rules.joined(rules_of(run.metadata))
    rules.check_libraries("the rules")
    GIVEN.forget()
    OWN.use(rules)
    if is_tried and not key_path(path).exists():
        KEYED.follow(None, "", ())  # with a key of its own: trying makes no file
    else:
        KEYED.at(path)
        if keeps_originals:
            VAULT.keep(path)
    GIVEN.renew()

    try:
        return redact_rows(
            path,
            [run.id for run in runs],
            _Anew(),
            is_all=is_all,
            is_tried=is_tried,
            besides=lambda: remove_index(path),
            report=report,
        )
    finally:
        VAULT.keep_nowhere()
        GIVEN.forget()
