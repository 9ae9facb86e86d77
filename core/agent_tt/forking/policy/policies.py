"""The policy that a fork begins with: the defaults, what is configured, and what whoever starts it says.

A fork of a fork begins with it too: what was allowed for the other is not allowed for this one.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from agent_tt import config
from agent_tt.errors import UsageError
from agent_tt.forking.policy.prepared import given_answer
from agent_tt.intercepting.policy import ToolPolicy, is_about_network, is_pattern
from agent_tt.intercepting.rules import BOUNDARIES, WORDS, Rule, Source, Word, read_assignment, read_rule, rules_of
from agent_tt.model.error_text import error_from_text
from agent_tt.recording.calls.answers import Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.model import Run

__all__ = [
    "BOUNDARIES",
    "WORDS",
    "Rule",
    "Source",
    "ToolPolicy",
    "Word",
    "check_denials",
    "check_rule",
    "check_sockets",
    "configured_policy",
    "is_pattern",
    "odd_rules",
    "read_assignment",
    "read_rule",
    "written_rules",
]


def configured_policy(folder: Path | None = None) -> ToolPolicy:
    """The defaults with what the environment, the project and the user's file say.

    Args:
        folder: where the project is looked for, upwards; the working directory by default.

    Raises:
        UsageError: one of them cannot be read.
    """
    return ToolPolicy(rules_of(config.load(folder).policies))


def written_rules(allow: Iterable[str], policy: Mapping[str, object]) -> list[tuple[str, Rule]]:
    """What a program says of a fork's policy.

    Args:
        allow: names of what may run; what `policy` says of the same name is stronger.
        policy: words by name, as they are written (`ask`, `stub:{"paid": true}`), or a `Rule`.

    Raises:
        UsageError: a word is unknown.
    """
    rules = [(name, Rule("live")) for name in allow]
    for name, said in policy.items():
        rule = said if isinstance(said, Rule) else read_rule(str(said), about=f"policy of {name}")
        rules.append((name, rule))
    return rules


def check_rule(row: Boundary, rule: Rule) -> None:
    """Refuse a rule that cannot be carried out for what the run called.

    Raises:
        UsageError: such a call cannot be answered, or not with that value.
    """
    if not row.is_held and rule.word not in ("live", "deny"):
        raise UsageError(
            f"{row.name} cannot be {rule.text}: nothing records its calls, so a fork cannot stand in for them",
            hint="let it run, or mark the function with @agent_tt.tool and record the agent again",
        )
    call = row.example
    if rule.word != "stub" or call is None:
        return
    question = Question(call.kind, call.name, call.args, call.signature or "", call.effect, call.lane, call.lane_seq)
    try:
        error = None if rule.error is None else error_from_text(rule.error)
        given_answer(question, rule.value, error, like=call, is_planned=True)
    except UsageError as wrong:
        raise UsageError(f"{row.name} cannot be {rule.text}: {wrong.message}", hint=wrong.hint) from wrong


def check_sockets(policy: ToolPolicy) -> None:
    """Refuse rules that would answer connections: what goes over them is not recorded, and cannot be given.

    Raises:
        UsageError: there is one.
    """
    for name, rule in policy.said():
        if (name == "*socket" or name.startswith("socket ")) and rule.word in ("recorded", "stub"):
            about = f"{rule.place}: " if rule.place else ""
            raise UsageError(
                f"{about}{name} cannot be {rule.text}: what goes over a connection is not recorded",
                hint="let it run, ask, or deny it",
            )


def check_denials(policy: ToolPolicy, rows: Iterable[Boundary]) -> None:
    """Refuse rules that deny requests, connections or models where others let programs run: no guard stands in these.

    Raises:
        UsageError: there are such two.
    """
    denials = [(name, rule) for name, rule in policy.denials if is_about_network(name)]
    if not denials:
        return
    let = [pair for pair in policy.said() if pair[1].word != "deny" and _lets_programs(pair[0])]
    for row in rows:
        if row.kind == "subprocess" and row.effect != "read":
            decided = policy.decide(row.kind, row.called, row.effect)
            if decided.word != "deny" and decided.source != "default":
                let.append((row.name, decided))
    if let:
        (name, rule), (other, allowed) = denials[0], let[0]
        place = f" ({rule.where})" if rule.source != "you" else ""
        raise UsageError(
            f"{name}=deny{place} cannot be held: {other} may run ({allowed.where}), and what it sends is not seen",
            hint=f"deny {other} too, or leave out {name}=deny",
        )


def _lets_programs(name: str) -> bool:
    return name == "*subprocess" or name.startswith("subprocess ")


def odd_rules(run: Run, rows: Iterable[Boundary], policy: ToolPolicy) -> tuple[str, ...]:
    """What is odd about the rules of a fork: those of whoever starts it for what nothing is known of.

    Of files and the environment, which are for many agents, only dotted paths of what the run did call are odd: calls
    are ruled by the name that they are recorded under, `charge`, not by where the function stands, `shop.charge`.

    Raises:
        UsageError: whoever starts the fork named such a path; what they said would not hold.
    """
    known: set[str] = set()
    called: set[str] = set()
    for row in rows:
        known.update(policy.names(row.kind, row.called, row.effect, model=row.model))
        called.update({row.name, *filter(None, (row.called, row.model))})
    odd: list[str] = []
    for name, rule in sorted(policy.said(), key=lambda pair: pair[0]):
        if name in BOUNDARIES or name in known or name.startswith("socket "):  # connections are in no recording
            continue
        last = "" if is_pattern(name) else name.rpartition(".")[2]
        is_path = last != name and last in called
        if is_path and rule.source == "you":
            hint = f"it is recorded as {last}: {last}={rule.text}"
            raise UsageError(f"{run.name} has no call named {name}", hint=hint)
        if is_path:
            odd.append(f"{name} names nothing, it is recorded as {last}: {rule.where}")
        if rule.source != "you":
            continue
        near = [] if is_pattern(name) else difflib.get_close_matches(name, sorted(called), n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        odd.append(f"{name} {_said(rule)}, but nothing by that name is known of {run.name}{meant}")
    return tuple(odd)


def _said(rule: Rule) -> str:
    return "is allowed" if rule.word == "live" else f"has the policy {rule.text}"
