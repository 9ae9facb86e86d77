"""Options that several commands share, each group turned into what it says before the command sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["with_options"]

F = TypeVar("F", bound="Callable[..., Any]")


def with_options(command: F, options: Sequence[Callable[[Any], Any]], said: Callable[[dict[str, Any]], None]) -> F:
    """Give a command options.

    Args:
        command: the command's function, which may have options already.
        options: what `click.option` gave, in the order of the help.
        said: takes the options out of what the command is called with, and puts in what they say.
    """

    def called(context: click.Context, *args: object, **params: Any) -> object:
        said(params)
        return context.invoke(command, *args, **params)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    wrapped: Any = click.pass_context(called)
    wrapped.__click_params__ = list(getattr(command, "__click_params__", []))
    for option in reversed(options):
        wrapped = option(wrapped)
    return cast("F", wrapped)
