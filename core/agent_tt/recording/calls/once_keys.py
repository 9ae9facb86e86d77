"""Making the keys of tools that are done once: `@agent_tt.tool(effect="write", once="order-{id}")`."""

from __future__ import annotations

import inspect
import string
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.model.facts import CallFacts, OnceFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
__all__ = ["Once", "not_recorded", "once_per"]


@dataclass(frozen=True, slots=True)
class Once:
    """How the key of a call is made.

    Attributes:
        template: a format string over the tool's arguments.
        defaults: the values of parameters that a call may leave out.
        is_recognised: whether the outside world recognises the key, so that a call that may have happened can be made
            again.
    """

    template: str
    defaults: Mapping[str, object]
    is_recognised: bool = False

    def key(self, tool: str, arguments: Mapping[str, object]) -> str | None:
        """The key of a call; None where the outside world would recognise one and the call has none.

        Args:
            tool: its name, for messages.
            arguments: the arguments by name.

        Raises:
            UsageError: an argument that the key is made of is missing, empty or has no text of its own.
        """
        try:
            return _KEYS.vformat(self.template, (), {**self.defaults, **arguments})
        except Exception as error:
            if self.is_recognised:
                return None
            why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise UsageError(
                f"{tool} was not run: its key once={self.template!r} cannot be made, {why}",
                hint="a key is made of texts, numbers and the like, none of them empty",
            ) from error

    def facts(self, arguments: Mapping[str, object]) -> dict[str, Wire]:
        """What a call's row says of its key; nothing of one that stands among its arguments, or cannot be made."""
        try:
            key = None if self.is_recognised else self.key("", arguments)
        except UsageError:
            key = None
        return {} if key is None else {CallFacts.once.key: OnceFacts.key.entry(key)}


class _Keys(string.Formatter):
    """Formats keys; of values that are another text each time it makes none."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The value of a field, which tells it from others."""
        found, first = super().get_field(field_name, args, kwargs)
        if found is None or found == "":
            raise ValueError(f"{field_name} is empty")
        kind = type(found)
        of = {name for base in kind.__mro__[:-1] for name in vars(base)}
        if isinstance(found, (set, frozenset)) or ("__str__" not in of and "__repr__" not in of):
            raise ValueError(f"{field_name} is a {kind.__name__}, which has no text of its own")
        return found, first


_KEYS: Final = _Keys()


def once_per(template: str, known: Mapping[str, object], *, is_recognised: bool = False) -> Once:
    """How keys are made by a format string.

    Args:
        template: the format string, `order-{id}`.
        known: the tool's arguments, as `Parameters.defaults` has them.
        is_recognised: as in `Once`.

    Raises:
        UsageError: it cannot be read, or names something that is no argument of the tool.
    """
    try:
        fields = [name for _, name, spec, _ in _parsed(template) if name is not None]
    except ValueError as error:
        raise UsageError(
            f"once={template!r} is not a format string: {error}", hint='write once="order-{id}"'
        ) from error
    for field in fields:
        first = field.partition(".")[0].partition("[")[0]
        if first not in known:
            what = f"{first!r} is not an argument of the tool" if first else "it has a field without a name"
            raise UsageError(f"once={template!r}: {what}", hint=f"its arguments are {', '.join(known) or 'none'}")
    defaults = {name: value for name, value in known.items() if value is not inspect.Parameter.empty}
    return Once(template, defaults, is_recognised)


def _parsed(template: str) -> list[tuple[str, str | None, str | None, str | None]]:
    """The fields of a format string, and those inside their format specs."""
    found = list(string.Formatter().parse(template))
    return found + [inner for _, _, spec, _ in found if spec for inner in string.Formatter().parse(spec)]


def not_recorded(tool: str) -> UsageError:
    """What to raise where no store can be asked."""
    return UsageError(
        f"{tool} was not run: it is done once for its key, and here no recording is open whose store could say whether"
        " it was",
        hint="call it inside agent_tt.record(...)",
    )
