"""On what terms a fork runs: who runs it, what it is told beside its state, and how far it may go.

They are kept with the run, under `fork_terms` of its metadata, so that the process of the fork finds them and a person
can read them later. Whatever a file holds there is read with care: what makes no sense is as if it were not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt._pattern import lazy_re
from agent_tt.codec.paths import format_path
from agent_tt.codec.text import summary
from agent_tt.errors import UsageError
from agent_tt.intercepting.limits import Limits
from agent_tt.model.facts import TermFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run

__all__ = [
    "GRAPH",
    "MOCK",
    "PYTHON",
    "Terms",
    "parse_duration",
    "parse_memory",
    "parse_overrides",
    "read_script",
    "terms_from",
    "terms_in",
    "terms_of",
]

PYTHON: Final = "python"
"""The executor that calls a function, a method of an object, or runs a script."""

MOCK: Final = "mock"
"""As `PYTHON`, with models' answers made up."""

_DURATION: Final = lazy_re(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|)")
_SECONDS: Final = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZE: Final = lazy_re(r"(\d+(?:\.\d+)?)\s*([kmg]?)i?b?", re.IGNORECASE)
_BYTES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_LONGEST_SHOWN: Final = 60
"""Characters of the value of an override."""

_ANSWERS: Final = frozenset({"answer", "error", "match"})

GRAPH: Final = "langgraph"
"""The executor that goes on with a graph from a checkpoint; a fork of a thread has no other."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a fork runs.

    Attributes:
        executor: who runs the agent: `python`, `mock`, or a registered name.
        overrides: what the agent is told beside its state, by name.
        limits: how far it may go.
        script: answers of models, in order: `{"answer": …}` or `{"error": "Class: text"}`, each with a `match` where it
            answers only questions that hold that text. None where models are not scripted.
        seed: chooses among made-up answers.
        originals: whether the agent is given what marks of personal data stand for, out of the vault.
    """

    executor: str = PYTHON
    overrides: Mapping[str, Wire] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    script: tuple[Mapping[str, Wire], ...] | None = None
    seed: int = 0
    originals: bool = False

    @property
    def is_mock(self) -> bool:
        """Whether no model is asked."""
        return self.executor == MOCK

    @property
    def is_custom(self) -> bool:
        """Whether an executor of somebody else's runs the agent."""
        return self.executor not in (PYTHON, MOCK)

    @property
    def is_graph(self) -> bool:
        """Whether the fork continues a LangGraph graph from one of its checkpoints."""
        return self.executor == GRAPH

    def rows(self) -> list[tuple[str, str]]:
        """What differs from a plain fork, for people: `("limits", "5 m, 1,000 tokens")`."""
        rows = []
        if self.is_mock and self.script is not None:
            rows.append(("executor", f"mock: models are not asked, {len(self.script)} answers are given in a script"))
        elif self.is_mock:
            rows.append(("executor", f"mock: models are not asked, their answers are made up (seed {self.seed})"))
        elif self.is_custom:
            rows.append(("executor", self.executor))
        if self.overrides:
            shown = (f"{key}={summary(value, _LONGEST_SHOWN)}" for key, value in self.overrides.items())
            rows.append(("overrides", ", ".join(shown)))
        if self.originals:
            rows.append(("originals", "the agent is given what marks stand for, out of the vault"))
        if self.limits:
            rows.append(("stops", ", ".join(self.limits.words())))
        return rows

    def to_mapping(self) -> dict[str, Wire]:
        """What differs from a plain fork, as it is kept with the run; `{}` for nothing."""
        kept: dict[str, Wire] = {}
        if self.executor != PYTHON:
            kept |= TermFacts.executor.entry(self.executor)
        if self.overrides:
            kept |= TermFacts.overrides.entry(self.overrides)
        if self.limits:
            kept[TermFacts.limits.key] = self.limits.to_mapping()
        if self.script is not None:
            kept |= TermFacts.script.entry([dict(entry) for entry in self.script])
        if self.seed:
            kept |= TermFacts.seed.entry(self.seed)
        if self.originals:
            kept |= TermFacts.originals.true()
        return kept


def terms_of(run: Run) -> Terms:
    """The terms that were kept with a run."""
    return terms_in(run.facts.fork_terms)


def terms_in(kept: TermFacts) -> Terms:
    """The terms that `Terms.to_mapping` gave."""
    return Terms(
        executor=kept.executor or PYTHON,
        overrides=kept.overrides,
        limits=Limits.from_mapping(kept.limits.raw),
        script=None if kept.script is None else tuple(entry for entry in kept.script if isinstance(entry, dict)),
        seed=kept.seed or 0,
        originals=bool(kept.originals),
    )


# ---------------------------------------------------------------- as they are written


def terms_from(
    *,
    executor: str | None = None,
    overrides: Iterable[str] | Mapping[str, object] = (),
    stop_at: int | None = None,
    time_limit: str | float | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    max_memory: str | int | None = None,
    breaks: Iterable[str] = (),
    script: Path | str | Sequence[object] | None = None,
    seed: int | None = None,
    originals: bool = False,
) -> Terms:
    """Terms as a command or a program gives them; None for what is not said.

    Args:
        executor: who runs the agent; a script means `mock`.
        overrides: `KEY=VALUE`s with VALUE in JSON, or values by name.
        stop_at: the last step.
        time_limit: seconds, or `5m`.
        max_tokens: tokens that models read and write.
        max_cost: US dollars that they cost.
        max_memory: bytes, or `2GB`.
        breaks: expressions; it stops after the first step with which one of them begins to hold.
        script: the file with a scripted model's answers, or these.
        seed: chooses among made-up answers.
        originals: whether the agent is given what marks of personal data stand for.

    Raises:
        UsageError: one of them makes no sense.
        InvalidExpression: an expression cannot be read.
    """
    from agent_tt.codec.encode import encode

    told = (
        {key: encode(value) for key, value in overrides.items()}
        if isinstance(overrides, Mapping)
        else parse_overrides(overrides)
    )
    answers = read_script(Path(script)) if isinstance(script, str | Path) else None
    if answers is None and script is not None:
        answers = as_script(encode(list(cast("Sequence[object]", script))))
    if seed is not None and (answers is not None or executor != MOCK):
        raise UsageError("a seed varies the answers of mock, and that is not the executor", hint="add --executor mock")
    if executor is not None and not executor.strip():
        raise UsageError("the executor has no name", hint=f"{PYTHON}, {MOCK}, or a registered one")
    return Terms(
        executor=executor or (PYTHON if answers is None else MOCK),
        overrides=told,
        limits=Limits(
            stop_at=stop_at,
            seconds=parse_duration(time_limit) if isinstance(time_limit, str) else time_limit,
            tokens=max_tokens,
            cost_usd=max_cost,
            memory=parse_memory(max_memory) if isinstance(max_memory, str) else max_memory,
            breaks=_checked(breaks),
        ),
        script=answers,
        seed=seed or 0,
        originals=originals,
    )


def _checked(expressions: Iterable[str]) -> tuple[str, ...]:
    """Expressions as they are kept, each once and each read to see that it can be."""
    from agent_tt.querying.expressions import parse

    return tuple(dict.fromkeys(parse(where).text.strip() for where in expressions))


def parse_overrides(texts: Iterable[str]) -> dict[str, Wire]:
    """Read `KEY=VALUE`s, with VALUE in JSON.

    Raises:
        UsageError: one has another form, or names a key twice.
        InvalidValue: a VALUE is not JSON.
    """
    from agent_tt.codec.parse import parse_value

    overrides: dict[str, Wire] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise UsageError(f"{text!r} is not KEY=VALUE", hint="for example --override temperature=0")
        if key in overrides:
            raise UsageError(f"{key} is overridden twice", hint="give it once")
        overrides[key] = parse_value(value)
    return overrides


def parse_duration(text: str) -> float:
    """Seconds of `90`, `90s`, `5m`, `1.5h`, `1h30m`.

    Raises:
        UsageError: it is not a duration, or none at all.
    """
    parts = list(_DURATION.finditer(text.strip()))
    seconds = sum(float(part[1]) * _SECONDS[part[2]] for part in parts)
    if not parts or "".join(part[0] for part in parts) != text.strip() or not seconds:
        raise UsageError(f"{text!r} is not a duration", hint="write 30s, 5m or 1h30m")
    return seconds


def parse_memory(text: str) -> int:
    """Bytes of `512M`, `2GB`, `1000000`.

    Raises:
        UsageError: it is not a size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise UsageError(f"{text!r} is not a size", hint="write 512MB or 2GB")
    return int(float(found[1]) * _BYTES[found[2].lower()])


def read_script(path: Path) -> tuple[Mapping[str, Wire], ...]:
    """The answers of a scripted model, from a JSON file: a list of answers, in order.

    An answer is what a model says: words, or `[{"name": "tool", "arguments": {…}}]`. With a `match` or an error it is
    written `{"match": "Oslo", "answer": …}` or `{"error": "TimeoutError: no answer"}`.

    Raises:
        UsageError: there is no such file, or it holds something else.
    """
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the script {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"the script {path} is not JSON: {error}") from error
    return as_script(listed, str(path))


def as_script(listed: object, where: str = "the script") -> tuple[Mapping[str, Wire], ...]:
    """A list of answers, each in its full form; see `read_script`.

    Raises:
        UsageError: it is not such a list.
    """
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{where} is not a list of answers", hint='write ["Yes.", {"match": "Oslo", "answer": "No."}]')
    entries: list[Mapping[str, Wire]] = []
    for index, answer in enumerate(listed):
        entry = answer if isinstance(answer, dict) and _ANSWERS & set(answer) else {"answer": answer}
        place = f"{where}{format_path((index,))}"
        if ("answer" in entry) == ("error" in entry) or set(entry) - _ANSWERS:
            raise UsageError(f"{place} has to have an answer or an error", hint='{"match": "Oslo", "answer": "No."}')
        if not isinstance(entry.get("match", ""), str) or not isinstance(entry.get("error", ""), str):
            raise UsageError(f"{place}: a match and an error are texts")
        entries.append(entry)
    return tuple(entries)
