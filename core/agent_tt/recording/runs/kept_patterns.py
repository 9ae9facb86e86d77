"""What else is secret by a project's own rules: kept with a run, and taken from there by its replays.

A replay asks what was asked then: with other rules its questions would be others.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent_tt.model.facts import RunFacts
from agent_tt.model.facts.runs import RedactFacts
from agent_tt.recording.session import SESSION
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import KEYED
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules, profile_of
from agent_tt.redaction.vault import VAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_tt.codec.wire import Wire

__all__ = ["give_originals", "kept_of", "own_rules", "rules_of", "use_rules_of"]


def own_rules(said: object = None, store: Path | None = None) -> dict[str, Wire]:
    """Use the rules of the project, unless a recorded run answers, whose own hold; what a run keeps of them.

    Args:
        said: further rules, as code says them; see `agent_tt.redaction.rules`.
        store: the file to record into, beside which the key of marks lies.

    Raises:
        UsageError: the project's settings or these rules cannot be read.
    """
    more = Rules.read(said, "redact=…")
    if all(kept() is None for kept in SESSION.chain.kept_headers):
        from agent_tt import config

        settings = config.load()
        OWN.use(settings.redaction.joined(more))
        if store is not None and OWN.rules.profile:
            from agent_tt.store.file.locate import make_room

            with suppress(OSError):  # a store that cannot be made is said where it is opened
                make_room(store)
            KEYED.at(store)
            if settings.vault:
                VAULT.keep_at(store)
            else:
                VAULT.keep_nowhere()
            GIVEN.renew()  # the marks of another key are remembered
    return kept_of(OWN.rules, KEYED.id() if OWN.rules.profile else "")


def give_originals(store: Path, metadata: Mapping[str, Wire]) -> None:
    """Give the agent of this process what marks stand for, and take that out of whatever it does as the run did.

    Args:
        store: the file, beside which the vault lies.
        metadata: of the run whose marks these are.

    Raises:
        VaultLocked: there is no key, or it is another one's.
        UsageError: there is no vault, or what the rules of the run need is not installed.
    """
    rules = rules_of(metadata)
    rules.check_libraries("the run")
    VAULT.reveal(store)
    OWN.at_least = rules
    OWN.use(rules)
    KEYED.at(store)
    GIVEN.renew()


def kept_of(rules: Rules, key: str) -> dict[str, Wire]:
    """What the metadata of a run keeps of the rules that hold.

    Args:
        rules: the rules.
        key: what tells the key of its marks from others; "" for no marks.
    """
    kept: dict[str, Wire] = RunFacts.redaction.entry(dict(rules.patterns)) if rules.patterns else {}
    if rules.profile or rules.fields or rules.allow:
        kept[RunFacts.redact.key] = RedactFacts.of_rules(rules.profile, rules.fields, rules.allow, key)
    return kept


def use_rules_of(metadata: Mapping[str, Wire], store: Path | None, marks: Iterable[str]) -> None:
    """Use the rules that a recorded run keeps.

    Args:
        metadata: the run's.
        store: the file that it is read from; None where that is not known.
        marks: those of personal data in its questions that no answer gave, in the order in which they first appear.

    Raises:
        UsageError: what its profile needs is not installed.
    """
    rules = rules_of(metadata)
    rules.check_libraries("the run")
    OWN.use(rules)
    if rules.profile:
        KEYED.follow(store, RunFacts.redact.of(metadata).key or "", marks)
        GIVEN.renew()
    else:
        KEYED.forget()


def rules_of(metadata: Mapping[str, Wire]) -> Rules:
    """The rules that a run was recorded with, or written anew with since."""
    said = RunFacts.redact.of(metadata)
    patterns = RunFacts.redaction.of(metadata) or {}
    return Rules(profile_of(said.profile), patterns, said.fields or (), said.allow or ())
