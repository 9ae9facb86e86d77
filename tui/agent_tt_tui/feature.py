"""A feature: one thing that a screen can do, in an object of its own. A screen lists its features."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from textual.actions import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from textual.message import Message

    from agent_tt_tui.commands import Command
    from agent_tt_tui.viewmodel.offers import Offer

F = TypeVar("F", bound="Feature")
M = TypeVar("M", bound="Message")

_HEARS: Final = "_hears"


def hears(kind: type[M]) -> Callable[[Callable[[F, M], None]], Callable[[F, M], None]]:
    """Mark a method of a feature as what it does with each message of a kind that reaches its screen.

    Args:
        kind: The class of the messages, exactly: a subclass is another kind.
    """

    def mark(method: Callable[[F, M], None]) -> Callable[[F, M], None]:
        setattr(method, _HEARS, kind)
        return method

    return mark


class Feature:
    """Something that a screen can do: it has its own state, its commands, and what it does with Esc and messages.

    A subclass names its commands and has the method `action_...` that the declaration of each command names.
    """

    COMMANDS: ClassVar[frozenset[str]] = frozenset()
    """The ids of the commands that it answers."""

    HEARD: ClassVar[Mapping[type[Message], tuple[str, ...]]] = {}
    """The names of the methods that are called with a message, by its class."""

    def __init_subclass__(cls) -> None:
        """Collect the methods that are marked with `hears`."""
        heard = dict(cls.HEARD)
        for name, method in vars(cls).items():
            kind = getattr(method, _HEARS, None)
            if kind is not None:
                heard[kind] = (*heard.get(kind, ()), name)
        cls.HEARD = heard

    def blocked(self, command_id: str) -> str | None:
        """Say why one of its commands cannot be used now; `None` if it can."""
        del command_id
        return None

    def run(self, command: Command) -> None:
        """Run one of its commands."""
        _, name, arguments = parse(command.action)
        getattr(self, f"action_{name}")(*arguments)

    def escape(self) -> bool:
        """Close or clear what it has open; tell whether that was all that Esc is to do."""
        return False

    def before_leaving(self) -> str:
        """What to ask a person who leaves the screen, as something would be lost; "" for nothing."""
        return ""

    def places(self, words: str) -> Iterable[Offer]:
        """Offer the palette places to go to, out of what is at hand: nothing is read for it.

        Args:
            words: What was typed so far, without the sign of a kind.
        """
        del words
        return ()

    def parting_words(self, below: Sequence[Feature]) -> str:
        """What the screen below, which has other features, is to say when this one is left; "" for nothing."""
        del below
        return ""


def hearing(features: Sequence[Feature]) -> Mapping[type[Message], Sequence[Callable[[Message], None]]]:
    """What features do with messages, by their class: a screen gets fifty for a key, of which they hear a few."""
    found: dict[type[Message], list[Callable[[Message], None]]] = {}
    for feature in features:
        for kind, names in feature.HEARD.items():
            found.setdefault(kind, []).extend(getattr(feature, name) for name in names)
    return found
