"""The options of `sweep` that say what is varied: those of `fork`, each with the values that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.sweeping.axes import Axis, AxisKind

__all__ = ["axis_options"]

F = TypeVar("F", bound="Callable[..., Any]")

_OPTIONS: tuple[tuple[AxisKind, str, str], ...] = (
    ("set", "PATH=V,V", "Values of the state, in JSON: temperature=0,0.5,1."),
    ("insert", "PATH=V,V", "Values inserted into a list of the state."),
    ("delete", "PATH", "Remove a key or an item of the state, in every run."),
    ("move", "PATH=PATH", "Move a value of the state, in every run."),
    ("result", "STEP[.CALL][.PATH]=V,V", "What a tool came back with, in JSON."),
    ("error", "STEP[.CALL]=ERROR", "What a call raised; again for another."),
    ("answer", "STEP[.CALL]=TEXT", "What the model said; again for another."),
    ("system", "TEXT", "The system prompt of every later request; again for another."),
    ("model", "NAME,NAME", "Models of every later request."),
    ("param", "NAME=V,V", "Values of a parameter of every later request."),
    ("mute", "STEP,STEP", "Steps undone, as if they had never happened; one in each run."),
    ("agent", "A,B", "Entry points, MODULE:CALLABLE or FILE.py:CALLABLE."),
    ("executor", "NAME,NAME", "Who runs it: python, mock (no model calls), a plugin's."),
    ("policy", "NAME=WORD,WORD", "What becomes of its calls: live, recorded, stub:JSON, error:Class: text or deny."),
)


def axis_options(command: F) -> F:
    """Give a command all of them; it gets `axes`, a list."""
    for kind, metavar, text in reversed(_OPTIONS):
        option = click.option(
            f"--{kind}", metavar=metavar, multiple=True, expose_value=False, callback=_keep(kind), help=text
        )
        command = option(command)
    return command


def _keep(kind: AxisKind) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], None]:
    def keep(context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> None:
        axes: list[Axis] = context.params.setdefault("axes", [])
        if given:
            from agent_tt.sweeping.axes import axis_of

            axes.extend(axis_of(kind, text) for text in given)

    return keep
