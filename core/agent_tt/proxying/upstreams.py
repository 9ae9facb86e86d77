"""The providers that are proxied: the variables by which their SDKs are told an address, and where they really are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PROVIDERS", "Provider", "from_arguments", "to_arguments", "upstreams_of"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider.

    Attributes:
        name: what it is called in the path that the program asks.
        variables: those by which an SDK is told the address, the one that counts first.
        address: where the provider is, as the SDK would have it in the first variable.
    """

    name: str
    variables: tuple[str, ...]
    address: str


PROVIDERS: Final = (
    Provider("openai", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"),
    Provider("anthropic", ("ANTHROPIC_BASE_URL",), "https://api.anthropic.com"),
    Provider("gemini", ("GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"), "https://generativelanguage.googleapis.com"),
)


def upstreams_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Where each provider is: as the user's variables say, else where it is for everybody.

    Raises:
        UsageError: a variable holds no address of HTTP.
    """
    found: dict[str, str] = {}
    for provider in PROVIDERS:
        named = [(name, environment[name]) for name in provider.variables if environment.get(name)]
        name, address = named[0] if named else ("", provider.address)
        check_address(address, name)
        found[provider.name] = address.rstrip("/")
    return found


def check_address(address: str, name: str) -> None:
    """Refuse what is no address that can be asked.

    Raises:
        UsageError: it is none, or holds a password, which would be kept with the run.
    """
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        parts, is_address = urlsplit(""), False
    if not is_address:
        raise UsageError(
            f"{name or 'the address of a provider'} is no address: {address!r}", hint="write https://host/path"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"{name or 'the address of a provider'} has more than a host and a path",
            hint="keys go into the SDK's own variable",
        )


def to_arguments(upstreams: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """The arguments of the proxy's program: the recorded run keeps them, so that a replay asks the same addresses."""
    return [*(f"{name}={address}" for name, address in upstreams.items()), "--", *command]


def from_arguments(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """What `to_arguments` was given.

    Raises:
        UsageError: they are others.
    """
    given = list(arguments)
    if "--" not in given or given[-1] == "--":
        raise UsageError("there is no program to start", hint="write agent-tt record --proxy -- node agent.js")
    cut = given.index("--")
    upstreams = dict(each.partition("=")[::2] for each in given[:cut])
    known = {provider.name for provider in PROVIDERS}
    if upstreams.keys() != known:
        raise UsageError(f"the addresses of {', '.join(sorted(known))} have to be given", hint="NAME=https://host/path")
    for name, address in upstreams.items():
        check_address(address, name)
    return upstreams, given[cut + 1 :]
