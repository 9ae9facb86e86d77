"""The rows of the fork dialog: the decision first, and what stays as it was on one row each until it is asked for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt_tui.format import counted, short_path
from agent_tt_tui.viewmodel.running.fork_setup import settings_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from agent_tt.comparing.values.states import Change
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.model import Edit
    from agent_tt_tui.viewmodel.running.fork_setup import ForkSetup, Setting

__all__ = ["Fold", "FormRow", "Version", "form_sections", "rows_of_what_runs", "versions_of"]

Fold = Literal["calls", "rest"]
"""What is on one row until it is unfolded: calls of which nobody decided, and settings that are as recorded."""

_NOUNS: Final = {
    "llm": "model",
    "tool": "tool that reads",
    "http": "request that reads",
    "subprocess": "program that reads",
    "socket": "connection that reads",
}
_PLURALS: Final = {
    "llm": "models",
    "tool": "tools that read",
    "http": "requests that read",
    "subprocess": "programs that read",
    "socket": "connections that read",
}
_LIMITS: Final = frozenset({"time_limit", "max_tokens", "max_cost", "max_memory"})


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the agent that can run.

    Attributes:
        entry: Its entry point.
        remark: What is known of it, in a few words.
        is_chosen: Whether it is the one that will run.
        is_changed: Whether its file is known to be another than when the run was recorded.
        is_only: Whether no other is known.
    """

    entry: str
    remark: str
    is_chosen: bool
    is_changed: bool = False
    is_only: bool = False


@dataclass(frozen=True, slots=True)
class FormRow:
    """One row; what it is for says which of these it has. A row with nothing is blank.

    Attributes:
        title: The title of a section.
        said: What stands beside the title, or on a row of its own.
        key: The command whose key is named at the end of the row, and what it does.
        version: A version of the agent that can run.
        boundary: What the run called.
        more: Whether the row says more of `boundary`: what is given in place of it.
        path: The file, and its line, where what runs stands.
        edit: A change, and the edit that makes it.
        setting: Something else that can be chosen.
        fold: What enter on the row unfolds.
    """

    title: str = ""
    said: str = ""
    key: tuple[str, str] = ("", "")
    version: Version | None = None
    boundary: Boundary | None = None
    more: bool = False
    path: str = ""
    edit: tuple[Edit, Change] | None = None
    setting: Setting | None = None
    fold: Fold | None = None

    @property
    def can_be_reached(self) -> bool:
        """Whether the cursor stops at it."""
        is_version = self.version is not None and not self.version.is_only
        return is_version or any(each is not None for each in (self.boundary, self.edit, self.setting, self.fold))


def versions_of(recorded: str | None, known: Sequence[str], plan: ForkPlan | None, chosen: str | None) -> list[Version]:
    """What can run: versions that nobody recorded first.

    Args:
        recorded: The entry point that was recorded; None where there was none.
        known: Entry points of other versions.
        plan: The fork; None while there is none.
        chosen: The entry point that was chosen in place of the recorded one; None for that.
    """
    entries = [*known, *([recorded] if recorded else [])]
    if chosen is not None and chosen not in entries:
        entries.insert(0, chosen)
    changed = plan.code.changed if plan is not None else None
    versions = []
    for entry in entries:
        is_chosen = entry == (chosen or recorded)
        what = "recorded" if entry == recorded else "another version" if entry in known else "typed"
        if is_chosen and changed is not None:
            what += "; file changed since" if changed else "; file unchanged"
        versions.append(Version(entry, what, is_chosen, is_chosen and changed is True, len(entries) == 1))
    return versions


def rows_of_what_runs(plan: ForkPlan | None, versions: Sequence[Version]) -> list[FormRow]:
    """Say what runs, where that stands, and where it begins.

    Args:
        plan: The fork; None while there is none.
        versions: What can be chosen to run.
    """
    if plan is None:
        return [FormRow(version=version) for version in versions]
    kept = f"{counted(plan.step, 'step')} not rerun"
    if plan.continues_with is not None:
        address = plan.terms.overrides["address"]
        rows = [FormRow(said=f"no program: {plan.continues_with} answers, at {address}")]
        rows.append(FormRow(said=f"conversation: {kept}; the original program does not run"))
    else:
        rows = [FormRow(version=version) for version in versions]
        if plan.code.file is not None:
            line = f":{plan.code.line}" if plan.code.line is not None else ""
            rows.append(FormRow(path=f"{short_path(plan.code.file)}{line}"))
        rows.append(FormRow(said=f"{plan.by}: {kept}; {_way(plan)}"))
    if plan.copied_from is not None:
        rows.append(FormRow(said=f"copied to {short_path(plan.store)}; the file itself is only read"))
    return rows


def _way(plan: ForkPlan) -> str:
    """Where it goes on; where an edited state of a graph leads, only the graph itself can say."""
    if plan.goes_on_with is None:
        return plan.code.way_back_in
    way = f"next {'unknown' if plan.is_next_unknown else ', '.join(plan.goes_on_with) or 'nothing'}"
    return f"{way}, or where the edit leads" if any(edit.target == "state" for edit in plan.edits) else way


def form_sections(
    plan: ForkPlan | None,
    setup: ForkSetup,
    runs: Sequence[FormRow],
    edits: Sequence[tuple[Edit, Change]],
    unfolded: Collection[Fold] = (),
) -> list[list[FormRow]]:
    """All rows, by section.

    Args:
        plan: The fork; None while there is none.
        setup: What was chosen.
        runs: The rows that say what runs.
        edits: What edits change.
        unfolded: What is shown row by row although it is as nobody decided otherwise.
    """
    sections = [[FormRow(title="What runs", key=("fork.agent", "another")), *runs]] if runs else []
    if plan is not None:
        none = "none: the recorded state as it is"
        edited = [FormRow(edit=edit) for edit in edits]
        sections.append([FormRow(title="Your edits", said=f"{len(edits)}" if edits else none), *edited])
        sections.append(_calls(plan, setup, is_unfolded="calls" in unfolded))
    sections.append(_rest(plan, setup, is_unfolded="rest" in unfolded))
    return sections


def _calls(plan: ForkPlan, setup: ForkSetup, *, is_unfolded: bool) -> list[FormRow]:
    """What writes, and each call of which somebody decided; the others in one row."""
    writers = [row for row in plan.boundary if row.effect == "write"]
    others = [row for row in plan.boundary if row.effect != "write"]
    as_ever = [] if is_unfolded else [row for row in others if _is_as_ever(plan, setup, row)]
    rows = [
        FormRow(title="Writes", said=counted(len(writers), "tool") + " may change things outside" if writers else "")
    ]
    for boundary in (*writers, *(row for row in others if row not in as_ever)):
        rows.append(FormRow(boundary=boundary))
        if boundary.policy in ("stub", "recorded") and not boundary.is_inside:
            rows.append(FormRow(boundary=boundary, more=True))
    if as_ever:
        what = "all else" if len(rows) > 1 else "everything"
        rows.append(FormRow(said=f"{what} runs live: {_kinds(as_ever)}", key=("fork.each", "each"), fold="calls"))
    return rows


def _is_as_ever(plan: ForkPlan, setup: ForkSetup, row: Boundary) -> bool:
    """Whether a call that does not write just runs, because nobody said anything of it."""
    is_decided = row.rule.source != "default" or row.called in setup.effects
    is_made_up = plan.terms.is_mock and row.kind == "llm"
    return row.policy == "live" and not is_decided and not is_made_up


def _kinds(rows: Iterable[Boundary]) -> str:
    kinds = Counter(row.kind for row in rows)
    return ", ".join(
        f"{number} {(_NOUNS if number == 1 else _PLURALS).get(kind, kind)}" for kind, number in kinds.items()
    )


def _rest(plan: ForkPlan | None, setup: ForkSetup, *, is_unfolded: bool) -> list[FormRow]:
    """What else can be chosen: each setting where that was asked for, else those that were chosen."""
    settings = settings_of(plan)
    if is_unfolded:
        return [
            FormRow(title="The rest", key=("fork.more", "fewer")),
            *(FormRow(setting=setting) for setting in settings),
        ]
    chosen = [setting for setting in settings if setup.text(setting)]
    left = [setting for setting in settings if setting not in chosen]
    recorded = [setting.label for setting in left if setting.default == "as recorded"]
    said = [f"{', '.join(recorded)} as recorded"] if recorded else []
    said += ["no limits"] if not _LIMITS & {setting.id for setting in chosen} else []
    top = FormRow(title="The rest", said="; ".join(said), key=("fork.more", "more"), fold="rest")
    return [top, *(FormRow(setting=setting) for setting in chosen)]
