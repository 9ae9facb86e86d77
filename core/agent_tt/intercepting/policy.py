"""What a fork lets its calls do: rules by the name of a tool, by patterns, and by boundary.

The words:

| word | what becomes of the call |
|---|---|
| `live` | it is made for real |
| `recorded` | it is answered as the parent recorded it, if that was asked the same; else the fork halts, or asks |
| `stub` | it is answered with a value that was given, or raises an error that was |
| `ask` | it waits until a person has decided |
| `deny` | it is refused: `ToolDenied` |

A rule is for a name (`charge_card`, `POST https://host/path`, a model's), for a pattern (`search_*`) or a boundary:
`*llm`, `*read`, `*write`, `*http`, `*subprocess`, `*socket`. Which one decides: that of the strongest source which says
anything of the call (who starts the fork, the environment, the project, the user's file, the default). Of one source a
name comes before a pattern, a longer pattern before a shorter one, patterns before boundaries, and the boundary of a
kind (`*http`) before that of an effect (`*write`). Of two rules of one source for the same name the later one holds.

What a running call does itself (its requests, connections and processes) is not ruled again: whoever lets a tool run
lets it do its work. A `deny` that a person wrote, on the command line or in a file, is the exception: it holds there
too, at every depth (`ToolPolicy.forbids`). No guard stands inside another program, so where a person denies requests,
connections or models, a call that is let run starts no process that they have not let run by name.
"""

from __future__ import annotations

import json
import re
import shlex
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.errors import ToolDenied, UsageError
from agent_tt.intercepting.rules import BOUNDARIES, SOURCES, Rule, read_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.intercepting.rules import Source
    from agent_tt.model import CallKind, Effect

__all__ = [
    "EVERYTHING_LIVE",
    "POLICY_VARIABLE",
    "ToolPolicy",
    "denied",
    "effect_of",
    "is_about_network",
    "is_pattern",
    "policy_texts",
]

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods of requests that ask for nothing to be changed (RFC 9110, section 9.2.1)."""

_OWN_BOUNDARY: Final = frozenset({"llm", "http", "subprocess", "socket"})
"""Kinds of calls that have a boundary of their own."""

_NOT_DONE: Final[Mapping[CallKind, str]] = {"socket": "reached", "subprocess": "started"}
"""What was not done with what is denied, where that is not to run it."""

_NETWORK: Final = frozenset({"*http", "*socket", "*llm"})
_REQUEST: Final = re.compile(r"[A-Z*?]+ |.*://")
"""Names of requests, `POST https://host/path`, and patterns of them."""

_FREE: Final = frozenset({"clock", "rng", "id", "env", "human"})
"""Kinds of calls that reach nothing: no rule is for them."""

POLICY_VARIABLE: Final = "AGENT_TT_POLICY"
"""Tells the Python processes that a forked agent starts what its tools may do, as JSON of `to_mapping`."""


def effect_of(kind: CallKind, name: str, effect: Effect | None) -> Effect | None:
    """What a call does to the world, where nobody declared it.

    A request that is not a model call writes if its method is not safe. A process writes, and so does a connection of
    no known kind.

    Args:
        kind: the kind of the call.
        name: its name, of a request `POST https://host/path`.
        effect: what was declared.
    """
    if effect is not None:
        return effect
    if kind in ("subprocess", "socket"):
        return "write"
    if kind == "http" and name.partition(" ")[0].upper() not in _SAFE_METHODS:
        return "write"
    return None


_DEFAULTS: Final[tuple[tuple[str, Rule], ...]] = (
    ("*llm", Rule("live", source="default")),
    ("*read", Rule("live", source="default")),
    ("*write", Rule("deny", source="default")),
    ("*subprocess", Rule("deny", source="default")),
    ("*socket", Rule("deny", source="default")),
)
"""What holds where nobody says anything."""

_LIVE: Final = Rule("live", source="default")


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """Which calls of a fork are made, answered, asked about and refused; see the module.

    Attributes:
        rules: names with their rules, in the order in which they are asked: the first that fits a call decides. Given
            in any order; the defaults are always among them.
    """

    rules: tuple[tuple[str, Rule], ...] = ()

    def __post_init__(self) -> None:
        by_name: dict[tuple[str, Source], Rule] = {(name, rule.source): rule for name, rule in _DEFAULTS}
        for name, rule in self.rules:
            by_name.pop((name, rule.source), None)  # the later one holds, in its place
            by_name[name, rule.source] = rule
        ordered = sorted(
            ((name, rule) for (name, _), rule in reversed(by_name.items())), key=lambda pair: _rank(*pair), reverse=True
        )
        object.__setattr__(self, "rules", tuple(ordered))

    def decide(self, kind: CallKind, name: str, effect: Effect | None, *, model: str | None = None) -> Rule:
        """The rule that decides about a call.

        Args:
            kind: the kind of the call.
            name: what is called.
            effect: what that does to the world, as `effect_of` knows it; None counts as reading.
            model: the model that is asked, where it is known: it can be named, too.
        """
        if kind in _FREE:
            return _LIVE
        # One always fits: the defaults have a boundary for every kind.
        return next(rule for of, rule in self.rules if _fits(of, kind, name, effect, model))

    @property
    def denials(self) -> tuple[tuple[str, Rule], ...]:
        """The rules by which a person denies something."""
        return tuple((name, rule) for name, rule in self.said() if rule.word == "deny")

    def of_connections(self) -> ToolPolicy:
        """Only what is said of connections by their names, `socket HOST:PORT`."""
        return ToolPolicy(tuple((name, rule) for name, rule in reversed(self.said()) if name.startswith("socket ")))

    def forbids(
        self, kind: CallKind, name: str, effect: Effect | None, *, model: str | None = None, by_name: bool = False
    ) -> Rule | None:
        """The rule by which a person denies a call even where another call, which runs, makes it; None for none.

        Args:
            kind: the kind of the call.
            name: what is called.
            effect: what that does to the world, as `effect_of` knows it.
            model: the model that is asked, where it is known.
            by_name: whether only rules for names and patterns count, and none for a boundary.
        """
        if kind in _FREE:
            return None
        rules = [(of, rule) for of, rule in self.said() if not (by_name and of in BOUNDARIES)]
        said = next((rule for of, rule in rules if _fits(of, kind, name, effect, model)), None)
        if said is None and kind == "subprocess" and effect != "read":
            said = next((rule for of, rule in rules if rule.word == "deny" and is_about_network(of)), None)
        return said if said is not None and said.word == "deny" else None

    def names(self, kind: CallKind, name: str, effect: Effect | None, *, model: str | None = None) -> Iterator[str]:
        """The names of all rules that fit a call, the one that decides first."""
        return (of for of, _ in self.rules if _fits(of, kind, name, effect, model))

    def said(self) -> tuple[tuple[str, Rule], ...]:
        """The rules that somebody gave: all but the defaults."""
        return tuple((name, rule) for name, rule in self.rules if rule.source != "default")

    def with_rule(self, name: str, rule: Rule) -> ToolPolicy:
        """The same policy with a rule more, or in place of the one that its source had for this name."""
        return ToolPolicy((*reversed(self.rules), (name, rule)))

    def without(self, name: str, source: Source = "you") -> ToolPolicy:
        """The same policy without what a source says of this name."""
        kept = ((of, rule) for of, rule in reversed(self.rules) if (of, rule.source) != (name, source))
        return ToolPolicy(tuple(kept))

    def with_all(self, rules: Iterable[tuple[str, Rule]]) -> ToolPolicy:
        """The same policy with these rules more."""
        return ToolPolicy((*reversed(self.rules), *rules))

    def check(
        self, kind: CallKind, name: str, effect: Effect | None, site: Mapping[str, Wire] = MappingProxyType({})
    ) -> None:
        """Refuse a call that no recording reaches, so that it can be neither answered nor asked about.

        Raises:
            ToolDenied: it may not be made.
        """
        rule = self.decide(kind, name, effect_of(kind, name, effect))
        if rule.word == "deny":
            raise denied(name, rule, kind, site)
        if rule.word != "live":
            raise ToolDenied(
                f"{name} was not run: its policy is {rule.text}, and nothing records it here",
                tool=name,
                hint="call it inside the agent's recording, or let it run: --allow " + shlex.quote(name),
            )

    def to_mapping(self) -> dict[str, Wire]:
        """The policy as it is kept with a run: `{"*write": "deny", "book_hotel": "live"}`, from the weakest rule on.

        Defaults of boundaries that nothing need be said about are left out, but for `*write`. A rule of a file or of
        the environment is `{"rule": "ask", "source": "project", "place": "…/pyproject.toml"}`.
        """
        kept: dict[str, Wire] = {"*write": "deny"}
        for name, rule in reversed(self.rules):
            is_default = rule.source == "default"
            if is_default and (name, rule) in _DEFAULTS:
                continue
            is_plain = is_default if name in BOUNDARIES else rule.source == "you"
            kept.pop(name, None)
            kept[name] = rule.text if is_plain else rule.to_wire()
        return kept

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Wire]) -> ToolPolicy:
        """The policy that `to_mapping` wrote. What is said in unknown words is denied."""
        rules: list[tuple[str, Rule]] = []
        for name, kept in mapping.items():
            facts: Mapping[str, Wire] = kept if isinstance(kept, dict) else {"rule": kept}
            usual = "default" if name in BOUNDARIES else "you"
            source = next((each for each in SOURCES if each == facts.get("source")), cast("Source", usual))
            place = facts.get("place")
            where = place if isinstance(place, str) else ""
            try:
                rule = read_rule(str(facts.get("rule")), source=source, place=where)
            except UsageError:
                rule = Rule("deny", source=source, place=where)
            rules.append((name, rule))
        return cls(tuple(rules))

    def to_environment(self) -> dict[str, str]:
        """The variables of the environment that hand the policy on."""
        return {POLICY_VARIABLE: json.dumps(self.to_mapping())}

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> ToolPolicy | None:
        """The policy that was handed on, None where none was. One that cannot be read denies every write."""
        text = environ.get(POLICY_VARIABLE)
        if text is None:
            return None
        try:
            words = json.loads(text)
        except ValueError:
            words = None
        return cls.from_mapping(words if isinstance(words, dict) else {})


def denied(
    name: str, rule: Rule, kind: CallKind = "tool", site: Mapping[str, Wire] = MappingProxyType({})
) -> ToolDenied:
    """What a call that is denied raises.

    Args:
        name: what is called.
        rule: what decided so.
        kind: the kind of the call.
        site: `file` and `line` of the agent's that makes it; said of what is not a call of a function of its own.
    """
    what = _NOT_DONE.get(kind, "run")
    if kind in _NOT_DONE and "file" in site:
        what += f" at {site['file']}:{site.get('line')}"
    who = "this fork denies it" if rule.source in ("default", "you") else f"{rule.where} denies it"
    return ToolDenied(
        f"{name} was not {what}: {who} (allow it with --allow {shlex.quote(name)})",
        tool=name,
        hint=f"fork again with --allow {shlex.quote(name)} to let it run",
    )


def _fits(of: str, kind: CallKind, name: str, effect: Effect | None, model: str | None) -> bool:
    """Whether a rule of the name `of` is for a call."""
    if of in BOUNDARIES:
        if kind in _OWN_BOUNDARY and of == f"*{kind}":
            return kind != "subprocess" or effect != "read"  # one that is known to change nothing is like any reading
        return kind != "llm" and of == ("*write" if effect == "write" else "*read")
    if of == name or (model is not None and of == model):
        return True
    return is_pattern(of) and (fnmatchcase(name, of) or (model is not None and fnmatchcase(model, of)))


def is_pattern(name: str) -> bool:
    """Whether a rule's name is a pattern."""
    return name not in BOUNDARIES and any(letter in name for letter in "*?[")


def is_about_network(name: str) -> bool:
    """Whether a rule's name is for what goes over the network: a boundary, a connection or a request."""
    return name in _NETWORK or name.startswith("socket ") or _REQUEST.match(name) is not None


def _rank(name: str, rule: Rule) -> tuple[int, int, int]:
    """How strong a rule is."""
    if name in BOUNDARIES:
        return SOURCES.index(rule.source), 0, int(name not in ("*read", "*write"))
    if is_pattern(name):
        return SOURCES.index(rule.source), 1, sum(letter not in "*?[]" for letter in name)
    return SOURCES.index(rule.source), 2, 0


def policy_texts(mapping: Mapping[str, Wire]) -> dict[str, str]:
    """A policy as it is kept with a run, without where its rules come from: `{"*write": "deny", "charge": "ask"}`."""
    kept = {name: said.get("rule") if isinstance(said, dict) else said for name, said in mapping.items()}
    return {name: text for name, text in kept.items() if isinstance(text, str)}


EVERYTHING_LIVE: Final = ToolPolicy((("*", Rule("live")),))
"""The policy of a run that is not a fork, and goes on."""
