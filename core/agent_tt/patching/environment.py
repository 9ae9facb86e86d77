"""The environment: `os.environ` and `os.getenv`.

Secrets are not recorded: of a variable whose name says that it holds one only that it was there. A replay gives the
value that its own environment has, else a placeholder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, overload

from agent_tt._pattern import lazy_re
from agent_tt.patching.draws import draw
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.marks import MARK
from agent_tt.redaction.texts import redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ENVIRON", "HIDDEN", "OS_ENVIRONMENT_NAMES", "variable"]

T = TypeVar("T")

HIDDEN: Final = MARK
"""What is recorded of a secret."""

_SECRET: Final = lazy_re(r"KEY|TOKEN|SECRET|PASSW|.PWD$|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|DSN|CERT", re.IGNORECASE)

_real = os.environ


def _shown(name: str, value: str | None) -> str | None:
    """What is recorded of a variable."""
    if value is None or not (_SECRET.search(name) or redact_text(value) != value):
        return value
    GIVEN.add(value)
    return HIDDEN


def _meant(name: str, recorded: str | None) -> str | None:
    """What the agent gets for what was recorded."""
    if recorded != HIDDEN:
        return recorded
    value = _real.get(name, HIDDEN)
    GIVEN.add(value)  # what is asked with it is the same question
    return value


def variable(name: str) -> str | None:
    """The value of a variable, None where there is none."""
    return _meant(name, draw("env", "os.environ", lambda: _shown(name, _real.get(name)), name=name))


def _everything() -> dict[str, str]:
    def live() -> dict[str, str | None]:
        return {name: _shown(name, value) for name, value in _real.items()}

    recorded = draw("env", "os.environ", live)
    return {name: _meant(name, value) or "" for name, value in recorded.items()}


class _Environ(MutableMapping[str, str]):
    """In place of `os.environ`: what is read is drawn, what is written goes to the environment."""

    def __getitem__(self, name: str) -> str:
        if type(name) is not str:
            return _real[name]  # raises what it raises
        value = variable(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and variable(name) is not None

    def __setitem__(self, name: str, value: str) -> None:
        _real[name] = value

    def __delitem__(self, name: str) -> None:
        del _real[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_everything())

    def __len__(self) -> int:
        return len(_everything())

    def copy(self) -> dict[str, str]:
        """As `os.environ.copy`."""
        return _everything()

    def items(self) -> Any:
        """As of a dict."""
        return _everything().items()

    def values(self) -> Any:
        """As of a dict."""
        return _everything().values()

    def __or__(self, other: Mapping[str, str]) -> dict[str, str]:
        return {**_everything(), **other}

    def __ror__(self, other: Mapping[str, str]) -> dict[str, str]:
        return {**other, **_everything()}

    def __ior__(self, other: Any) -> Self:  # type: ignore[misc]  # `|` gives a dict, as of os.environ
        self.update(other)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(_real, name)

    def __repr__(self) -> str:
        return f"environ({_everything()!r})"


ENVIRON: Final = _Environ()


@overload
def getenv(key: str) -> str | None: ...
@overload
def getenv(key: str, default: T) -> str | T: ...


def getenv(key: str, default: object = None) -> object:
    """As `os.getenv`."""
    if type(key) is not str:
        return os.getenv(key)  # raises what it raises
    value = variable(key)
    return default if value is None else value


OS_ENVIRONMENT_NAMES: Final[Mapping[str, object]] = {"environ": ENVIRON, "getenv": getenv}
"""What `os` has instead, by name."""
