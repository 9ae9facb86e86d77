"""The rows of the fork dialog's list: what the run called, all edits, and what else can be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tt_tui.viewmodel.running.fork_setup import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.values.states import Change
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.model import Edit
    from agent_tt_tui.viewmodel.running.fork_setup import Setting


@dataclass(frozen=True, slots=True)
class FormRow:
    """One row; what it is for says which of these it has.

    Attributes:
        title: The title of a section.
        boundary: What the run called.
        more: Whether the row says more of `boundary`: what is given in place of it.
        edit: A change, and the edit that makes it.
        setting: Something else that can be chosen.
    """

    title: str = ""
    boundary: Boundary | None = None
    more: bool = False
    edit: tuple[Edit, Change] | None = None
    setting: Setting | None = None


def form_rows(plan: ForkPlan | None, edits: Sequence[tuple[Edit, Change]] = ()) -> tuple[FormRow, ...]:
    """All rows.

    Args:
        plan: The fork; None while there is none.
        edits: What edits change, where that is listed in a section of its own.
    """
    rows: list[FormRow] = []
    for boundary in plan.boundary if plan is not None else ():
        rows.append(FormRow(boundary=boundary))
        if boundary.policy in ("stub", "recorded") and not boundary.is_inside:
            rows.append(FormRow(boundary=boundary, more=True))
    if edits:
        rows.append(FormRow(title="Edits"))
        rows += [FormRow(edit=edit) for edit in edits]
    rows.append(FormRow(title="Terms"))
    rows += [FormRow(setting=setting) for setting in SETTINGS]
    return tuple(rows)
