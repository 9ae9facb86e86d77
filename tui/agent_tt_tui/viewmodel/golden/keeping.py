"""What a run is kept as: rules that are proposed, changed and added, and the command that does the same."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.golden.evidence import Evidence
from agent_tt.golden.header import FOLDER
from agent_tt.golden.kinds import KINDS, read_rule
from agent_tt.golden.proposing import propose, siblings_of_agent, try_rules
from agent_tt.golden.saving import plan_golden
from agent_tt.golden.toml_text import lines_of
from agent_tt.store import resolve_store_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.golden.rule import Judgement, Rule
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["Draft", "DraftRule", "Trials", "check_rule", "read_rule_text", "rule_text", "what_kind", "with_keys"]

_DIGEST: Final = "worked out when it is kept"


@dataclass(frozen=True, slots=True)
class DraftRule:
    """A rule that may be kept.

    Attributes:
        rule: The rule.
        is_on: Whether it is kept.
        own: What it says of the run; None while that is worked out.
        others: What it says of the agent's other runs.
    """

    rule: Rule
    is_on: bool = True
    own: Judgement | None = None
    others: tuple[Judgement, ...] = ()

    @property
    def is_kept_to(self) -> bool:
        """Whether the run keeps to it, as far as it is known."""
        return self.own is None or self.own.verdict == "passed"


@dataclass(frozen=True, slots=True)
class Draft:
    """What a run is kept as.

    Attributes:
        run: The run.
        store: The file that it lies in.
        name: The test's name.
        folder: Where its files are written.
        agent: The entry point that is tested; "" for the recorded one.
        rules: What may be kept.
        proposed: The rules that were proposed, as they were.
        replaces: Whether a test of that name may be there.
    """

    run: Run
    store: Path
    name: str
    folder: str = str(FOLDER)
    agent: str = ""
    rules: tuple[DraftRule, ...] = ()
    proposed: tuple[Rule, ...] = ()
    replaces: bool = False

    @property
    def chosen(self) -> tuple[Rule, ...]:
        """The rules that are kept."""
        return tuple(each.rule for each in self.rules if each.is_on)

    def with_rule(self, index: int, rule: DraftRule | None) -> Draft:
        """The same with another rule in a place, one more where the place is behind the last, or without it."""
        new = () if rule is None else (rule,)
        return replace(self, rules=(*self.rules[:index], *new, *self.rules[index + 1 :]))

    def judged(self, rules: Sequence[DraftRule]) -> Draft:
        """The same with what is known of some of the rules by now."""
        known = {each.rule: each for each in rules}
        return replace(
            self,
            rules=tuple(
                replace(known[each.rule], is_on=each.is_on) if each.rule in known else each for each in self.rules
            ),
        )

    @property
    def trouble(self) -> tuple[str, str]:
        """Why its rules cannot be kept, and what to do; ("", "") where they can."""
        if not self.chosen:
            return "no rule is on: nothing would be judged", "turn one on, or add one"
        for each in self.rules:
            if each.is_on and each.own is not None and each.own.verdict != "passed":
                return (
                    f"the run does not pass “{each.rule.sentence}”: {each.own.said}",
                    "change the rule, or turn it off",
                )
        return "", ""

    def words(self) -> list[str]:
        """The command that does the same, word by word."""
        words = ["agent-tt", "golden", "save", self.run.name, "--name", self.name]
        if Path(self.folder) != FOLDER:
            words += ["--out", self.folder]
        if self.agent:
            words += ["--agent", self.agent]
        count = len(self.proposed)
        if self.chosen[:count] == self.proposed:
            words += [word for rule in self.chosen[count:] for word in ("--also", rule_text(rule))]
        else:
            words += [word for rule in self.chosen for word in ("--rule", rule_text(rule))]
        if self.replaces:
            words.append("--replace")
        if self.store.resolve() != resolve_store_path(None).resolve():
            words += ["--store", str(self.store)]
        return words

    @property
    def command(self) -> str:
        """The command that does the same, quoted for a shell."""
        return shlex.join(self.words())

    def text(self, source: RunSource) -> str:
        """The text file as it will be written, but for the digest of the recording.

        Raises:
            AgentTTError: It cannot be kept so; the message says why.
        """
        planned = plan_golden(
            source,
            self.run,
            Path(self.folder).expanduser(),
            self.name,
            self.chosen,
            agent=self.agent or None,
            replaces=self.replaces,
        )
        return replace(planned, digest=_DIGEST).to_text()


class Trials:
    """Proposes rules from a run, and tries them on it and on its agent's other runs; it is asked in a thread.

    Args:
        source: Where the runs are.
        run: The run.
        tell: Told what is being done.
        cancelled: Asked in between whether it is not wanted any more.
    """

    def __init__(self, source: RunSource, run: Run, tell: Callable[[str], None], cancelled: Callable[[], bool]) -> None:
        self._source, self._run, self._tell, self._cancelled = source, run, tell, cancelled

    def propose(self) -> tuple[Rule, ...]:
        """The rules that the run suggests.

        Raises:
            AgentTTError: It cannot be read.
        """
        self._tell(f"reading {self._run.steps:,} steps")
        return tuple(propose(Evidence(self._source, self._run)))

    def others(self) -> tuple[Run, ...]:
        """The agent's other runs, newest first."""
        self._tell("looking for other runs of this agent")
        return tuple(siblings_of_agent(self._source, self._run))

    def on_all(self, rules: Sequence[Rule], others: Sequence[Run]) -> list[DraftRule]:
        """The rules with what they say of the run, and of the others as far as they were tried."""
        columns: list[list[Judgement]] = []
        runs = (self._run, *others)
        for number, run in enumerate(runs, 1):
            if self._cancelled():
                break
            self._tell(f"trying the rules on {run.name}, {number} of {len(runs)}")
            columns.append([row[0] for row in try_rules(self._source, rules, [run])])
        if not columns:
            return []
        own, *rest = columns
        return [
            DraftRule(rule, own=own[at], others=tuple(column[at] for column in rest)) for at, rule in enumerate(rules)
        ]


def rule_text(rule: Rule) -> str:
    """A rule as a person types it: `kind = "at_most", of = "steps", limit = 8`."""
    return ", ".join(lines_of({"kind": rule.kind, **rule.to_table()}))


def with_keys(kind: str, rule: Rule | None = None) -> str:
    """The keys of a rule as they are typed; of a kind alone those that must be given, without a value."""
    if rule is not None:
        return ", ".join(lines_of(rule.to_table()))
    return ", ".join(f"{field.name} = " for field in fields(KINDS[kind]) if field.default is MISSING)


def what_kind(kind: str) -> tuple[str, str]:
    """What a kind of rules is about, and its keys."""
    about = (KINDS[kind].__doc__ or "").partition("\n")[0].rstrip(".")
    return about, ", ".join(KINDS[kind].shapes)


def read_rule_text(kind: str, text: str) -> Rule:
    """The rule of a kind with the keys that were typed: `of = "steps", limit = 8`.

    Raises:
        UsageError: It is none.
    """
    try:
        keys = tomllib.loads(f"rule = {{ {text} }}")["rule"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(str(error)) from error
    return read_rule({**keys, "kind": kind})


def check_rule(kind: str, text: str) -> str | None:
    """What is wrong with the keys of a rule that were typed; None where they can be taken."""
    try:
        read_rule_text(kind, text)
    except AgentTTError as error:
        return ". ".join(filter(None, (error.message, error.hint)))
    return None
