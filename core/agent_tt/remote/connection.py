"""One question to a server over HTTP: the token with it, and an error of the server raised as it was there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from agent_tt import errors
from agent_tt.errors import AgentTTError, NotFound, StoreUnreadable, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Connection", "checked_url"]

_SECONDS: Final = 60.0
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")
_MISSING: Final = "asking a server needs httpx, which is not installed"


def checked_url(url: str) -> str:
    """The address of a server as it is asked.

    Raises:
        UsageError: it is none, or the token would be sent over a network in clear.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not the address of a server: {error}") from error
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or not url.isprintable():
        raise UsageError(f"{url!r} is not the address of a server", hint="Write http://127.0.0.1:8411, or https://…")
    if parts.username or parts.password:
        raise UsageError("the address of a server holds no token", hint="Give that by AGENT_TT_SERVER_TOKEN or a file.")
    if parts.scheme == "http" and host not in _LOCAL:
        raise UsageError(
            f"the token would be sent to {host} in clear", hint="Use https://, or a tunnel to a port of this machine."
        )
    return url.rstrip("/")


class Connection:
    """Asks one server. Safe to use from several threads.

    Args:
        url: its address.
        token: what it was started with.

    Raises:
        UsageError: the address is none, or httpx is not installed.
    """

    def __init__(self, url: str, token: str) -> None:
        try:
            import httpx
        except ImportError as error:
            raise UsageError(_MISSING, hint="pip install 'agent-tt[remote]'") from error
        self.url = checked_url(url)
        self._failed = httpx.HTTPError
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {token}"},
            timeout=_SECONDS,
            trust_env=self.url.startswith("https:"),  # no proxy stands before this machine
            follow_redirects=False,
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def ask(self, question: str, about: Mapping[str, Any]) -> bytes:
        """The answer to a question, as JSON.

        Raises:
            StoreUnreadable: the server is not there, or does not answer.
            AgentTTError: what the server says.
        """
        return self.send("POST", f"/api/source/{question}", about)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None, seconds: float = _SECONDS) -> bytes:
        """The answer to a request, as JSON.

        Args:
            method: of HTTP.
            path: of the interface of the server.
            body: what is sent, as JSON.
            seconds: how long the answer is waited for.

        Raises:
            StoreUnreadable: the server is not there, or does not answer.
            AgentTTError: what the server says.
        """
        try:
            answer = self._client.request(method, f"{self.url}{path}", json=body, timeout=seconds)
        except self._failed as error:
            why = str(error) or type(error).__name__
            raise StoreUnreadable(f"{self.url} does not answer: {why}", hint="Is `agent-tt serve` running?") from error
        if answer.is_success:
            return answer.content
        raise _raised(self.url, answer.status_code, answer.content)


def _raised(url: str, status: int, body: bytes) -> AgentTTError:
    """The error that a server answered with."""
    try:
        told = json.loads(body)["error"]
        kind, message, hint = str(told["kind"]), str(told["message"]), str(told.get("hint", ""))
    except (ValueError, TypeError, KeyError, RecursionError):
        return StoreUnreadable(f"{url} answered with status {status}, and not as agent-tt does")
    found = next((each for each in _kinds(AgentTTError) if each.kind == kind), None)
    if found is not None and issubclass(found, NotFound):
        nearest = told.get("nearest", [])
        return found(message, hint=hint, nearest=[str(each) for each in nearest] if isinstance(nearest, list) else [])
    if found is not None and found.__init__ is AgentTTError.__init__:
        return found(message, hint=hint)
    if kind == "no_token":
        return UsageError(f"{url} takes another token", hint="Give it by AGENT_TT_SERVER_TOKEN or --token-file.")
    return (UsageError if status in (422, 403) else StoreUnreadable)(message, hint=hint)


def _kinds(kind: type[AgentTTError]) -> Iterator[type[AgentTTError]]:
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
        yield from _kinds(each)
