"""Whose server an address is, and which key of the user's belongs to it.

A recording may come from anybody and name any server, so a key goes only to the server that it is for: its provider's
own, the one that the user's variable names, or this machine. Every other is named with `--key`.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.proxying.upstreams import PROVIDERS, check_address

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Destination", "Key", "destination_of"]

_BEARER: Final = "Bearer "
_AUTHORIZATION: Final = "authorization"


@dataclass(frozen=True, slots=True)
class Key:
    """Where a key is, and how it is sent. The key itself is in no value of ours.

    Attributes:
        variable: the variable of the environment that holds it.
        header: the header that carries it.
        prefix: what stands before it there.
    """

    variable: str
    header: str = _AUTHORIZATION
    prefix: str = _BEARER


@dataclass(frozen=True, slots=True)
class _Host:
    """A provider.

    Attributes:
        names: its hosts; one that begins with a dot stands for all that end so.
        keys: its keys, the one that its SDK prefers first.
        api: the form of requests that an SDK sends there, by the beginning of its name; "" of one that has no form of
            its own, whose variables are no SDK's.
    """

    names: tuple[str, ...]
    keys: tuple[Key, ...]
    api: str = ""


_HOSTS: Final = (
    _Host(("api.openai.com",), (Key("OPENAI_API_KEY"),), "openai"),
    _Host(
        ("api.anthropic.com",),
        (Key("ANTHROPIC_API_KEY", "x-api-key", ""), Key("ANTHROPIC_AUTH_TOKEN")),
        "anthropic",
    ),
    _Host(
        ("generativelanguage.googleapis.com",),
        (Key("GOOGLE_API_KEY", "x-goog-api-key", ""), Key("GEMINI_API_KEY", "x-goog-api-key", "")),
        "gemini",
    ),
    _Host(("api.cohere.com", "api.cohere.ai"), (Key("CO_API_KEY"),), "cohere"),
    _Host((".openai.azure.com",), (Key("AZURE_OPENAI_API_KEY", "api-key", ""),)),
    _Host(("api.groq.com",), (Key("GROQ_API_KEY"),)),
    _Host(("api.mistral.ai",), (Key("MISTRAL_API_KEY"),)),
    _Host(("api.deepseek.com",), (Key("DEEPSEEK_API_KEY"),)),
    _Host(("api.x.ai",), (Key("XAI_API_KEY"),)),
    _Host(("api.together.xyz", "api.together.ai"), (Key("TOGETHER_API_KEY"),)),
    _Host(("api.fireworks.ai",), (Key("FIREWORKS_API_KEY"),)),
    _Host(("openrouter.ai",), (Key("OPENROUTER_API_KEY"),)),
)
"""As their SDKs and pages name the variables."""

_BELOW_BASE: Final = {
    "openai": re.compile(r"/(?:chat/completions|completions|responses)$"),
    "anthropic": re.compile(r"/v\d[^/]*/.*$"),
    "gemini": re.compile(r"/v\d[^/]*/.*$"),
}
"""What of a path follows the address that an SDK is given."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a request goes.

    Attributes:
        url: its whole address.
        base: the variable that says another server than the recorded one; "" where none does.
        key: the key that goes along; None for none.
    """

    url: str
    base: str
    key: Key | None

    @property
    def host(self) -> str:
        """The server, as it is said before something is sent."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_here(self) -> bool:
        """Whether it is this machine."""
        return _is_here(urlsplit(self.url).hostname or "")

    @property
    def is_readable_on_the_way(self) -> bool:
        """Whether others can read what is sent."""
        return urlsplit(self.url).scheme == "http" and not self.is_here


def destination_of(
    api: str, url: str, environment: Mapping[str, str], *, key: str | None, carried: str | None
) -> Destination:
    """Say where a recorded request goes now, and with which key.

    Args:
        api: the form of the request, as `recognise` calls it.
        url: the recorded address, without a key in it.
        environment: the user's variables.
        key: the variable that the user names for the key; "" for no key, None where they say nothing.
        carried: the header that carried a key when it was recorded; "" where none did, None where that is not known.

    Raises:
        UsageError: it is no address, which key belongs to it is not known, or that key is not set.
    """
    recorded = _host_of(url)
    owner = recorded or _by_form(api)
    base = ""
    if owner is not None and owner.api and api.startswith(owner.api):
        base, url = _moved(owner.api, url, environment)
    check_address(url.partition("?")[0], base or "the recorded address")
    known = _host_of(url) or (owner if base or _is_here(urlsplit(url).hostname or "") else None)
    if _host_of(url) is not None and urlsplit(url).scheme != "https":
        raise UsageError(f"{url} is not encrypted, and a key would go along", hint="its provider is asked over https")
    return Destination(url, base, _key_for(known, url, environment, key, carried))


def _key_for(
    known: _Host | None, url: str, environment: Mapping[str, str], named: str | None, carried: str | None
) -> Key | None:
    is_here = _is_here(urlsplit(url).hostname or "")
    if named == "" or (named is None and carried == "" and (known is None or is_here)):
        return None  # of a provider's own server a file of another program may leave out what carried a key
    if named is not None:
        like = next((key for key in known.keys if key.variable == named), None) if known else None
        found = like or _carried_as(named, carried or (known.keys[0].header if known else _AUTHORIZATION))
        if not _is_set(found, environment):
            raise UsageError(f"{found.variable} is not set", hint="--key names the variable that holds the key")
        return _usable(found, environment)
    host = urlsplit(url).netloc
    if known is None:
        raise UsageError(
            f"which key is for {host} is not known",
            hint="name the variable that holds it (--key VARIABLE), or say that none is needed (--key '')",
        )
    ours = next((key for key in known.keys if _is_set(key, environment)), None)
    if ours is not None:
        of_many = not known.api and ours.header == _AUTHORIZATION and bool(carried)  # it speaks several forms
        return _usable(_carried_as(ours.variable, carried or "") if of_many else ours, environment)
    if is_here:
        return None
    names = " or ".join(key.variable for key in known.keys)
    raise UsageError(f"{names} is not set, so {host} cannot be asked", hint="set it, or name another (--key VARIABLE)")


def _is_set(key: Key, environment: Mapping[str, str]) -> bool:
    return bool(environment.get(key.variable, "").strip())


def _usable(key: Key, environment: Mapping[str, str]) -> Key:
    """The key, if a header can carry it; what it is stands in no message."""
    value = environment[key.variable].strip()
    if not (value.isascii() and value.isprintable()):
        raise UsageError(f"{key.variable} holds what no header can carry, so it is no key", hint="set it anew")
    return key


def _carried_as(variable: str, header: str) -> Key:
    return Key(variable, header, _BEARER if header == _AUTHORIZATION else "")


def _host_of(url: str) -> _Host | None:
    name = (urlsplit(url).hostname or "").lower()
    return next((host for host in _HOSTS if any(_is_named(name, each) for each in host.names)), None)


def _is_named(name: str, known: str) -> bool:
    return name.endswith(known) if known.startswith(".") else name == known


def _by_form(api: str) -> _Host | None:
    return next((host for host in _HOSTS if host.api and api.startswith(host.api)), None)


def _moved(name: str, url: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The variable that names another server, and the address there; "" and the same address where none does."""
    provider = next((each for each in PROVIDERS if each.name == name), None)
    variable = next((each for each in provider.variables if environment.get(each)), "") if provider else ""
    below = _BELOW_BASE.get(name)
    if not variable or below is None:
        return "", url
    path, question, query = url.partition("?")
    rest = below.search(urlsplit(path).path)
    if rest is None:
        return "", url
    check_address(environment[variable], variable)
    return variable, environment[variable].rstrip("/") + rest[0] + question + query


def _is_here(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
