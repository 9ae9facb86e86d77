"""What came of running goldens, kept with the runs in the store of results, so that it can be read again later."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, get_args

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt.golden.rule import Verdict
from agent_tt.model.facts import GoldenFacts, GoldenRuleFacts, RunFacts
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.store import SqliteStore

__all__ = ["KeptResult", "KeptVerdict", "keep_result", "read_results"]

_VERDICTS: Final = frozenset(get_args(Verdict))


@dataclass(frozen=True, slots=True)
class KeptVerdict:
    """What a rule said of a run, as it was kept.

    Attributes:
        sentence: the rule as people read it.
        verdict: whether the run kept to it.
        said: what was found, in words.
        step: the step at which that shows; None where it shows at none.
        differences: where values were compared, `(path, old, new)` of each; "" for nothing.
    """

    sentence: str
    verdict: Verdict
    said: str
    step: int | None
    differences: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class KeptResult:
    """What came of running a golden once.

    Attributes:
        at_us: when, in microseconds since the epoch.
        outcome: `unknown` where it could not be run or judged.
        first: why it did not pass, in one line.
        rules: what each rule said that was on.
        store: the file with both runs.
        kept: id of the run that was kept.
        now: the run that came; None where none did.
    """

    at_us: int
    outcome: Verdict
    first: str
    rules: tuple[KeptVerdict, ...]
    store: Path
    kept: str
    now: Run | None


def keep_result(store: SqliteStore, result: Mapping[str, Wire]) -> None:
    """Keep what came of a golden with the run that came, else with the kept one; that it cannot be kept harms nothing.

    Args:
        store: the store of results.
        result: as `GoldenResult.to_json` gives it.
    """
    run = str(result["now"] or result["kept"])
    said: dict[str, Wire] = {
        GoldenFacts.run.key: run,
        GoldenFacts.file.key: str(Path(str(result["file"])).resolve()),
        GoldenFacts.when.key: time.time_ns() // 1000,
        **{fact.key: result[fact.key] for fact in (GoldenFacts.kept, GoldenFacts.outcome, GoldenFacts.first)},
        GoldenFacts.rules.key: result["rules"],
    }
    with suppress(AgentTTError):
        store.set_metadata(run, {RunFacts.golden_result.key: said})


def read_results(path: Path) -> dict[str, list[KeptResult]]:
    """What came of goldens, oldest first, by the resolved path of each golden's file.

    A run whose row is not as it was written says nothing.

    Args:
        path: the store of results, which need not be there.

    Raises:
        StoreUnreadable: it cannot be read.
    """
    if not path.exists():
        return {}
    found: dict[str, list[KeptResult]] = {}
    with closing(open_store(path, read_only=True)) as store:
        for run in store.runs(archived=True):
            tested = run.facts.golden_result
            if run.damaged is not None or tested.run != run.id:  # its forks and copies have the fact too
                continue
            if tested.file is None or tested.outcome not in _VERDICTS:
                continue
            now = None if run.id == tested.kept else run
            rules = tuple(_verdict(rule) for rule in tested.rules if rule.verdict in _VERDICTS)
            outcome = cast("Verdict", tested.outcome)
            result = KeptResult(tested.when or 0, outcome, tested.first or "", rules, path, tested.kept or "", now)
            found.setdefault(tested.file, []).append(result)
    return {file: sorted(results, key=lambda each: each.at_us) for file, results in found.items()}


def _verdict(rule: GoldenRuleFacts) -> KeptVerdict:
    differences = tuple(
        (str(each.get("path") or ""), str(each.get("old") or ""), str(each.get("new") or ""))
        for each in rule.differences or []
        if isinstance(each, dict)
    )
    return KeptVerdict(rule.sentence or "", cast("Verdict", rule.verdict), rule.said or "", rule.step, differences)
