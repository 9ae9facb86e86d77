"""What uvloop's event loops reach for: they connect and start programs in C, where no audit event is raised.

While a guard stands their methods that do so ask it first, as the standard loop's are asked about by their events.
"""

from __future__ import annotations

import functools
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.import_watch import ImportWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType, ModuleType

    Ask = Callable[[str, tuple[Any, ...], FrameType | None], None]
    Target = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]

__all__ = ["asking_uvloop"]

_UVLOOP: Final = "uvloop"


def _given(args: tuple[Any, ...], named: Mapping[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else named.get(name)


def _address(args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Where `create_connection(factory, host, port)` leads; None where it has a socket, whose opening was seen."""
    return None if named.get("sock") is not None else (_given(args, named, 1, "host"), _given(args, named, 2, "port"))


def _path(args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    return None if named.get("sock") is not None else _given(args, named, 1, "path")


def _far_end(args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Where datagrams may go; what is sent later to an address of its own is not seen, so all of it is meant."""
    return None if named.get("sock") is not None else (_given(args, named, 2, "remote_addr") or ("*", 0))


def _command(args: tuple[Any, ...], _named: Mapping[str, Any]) -> Any:
    return list(args[1:])


_METHODS: Final[Mapping[str, tuple[str, Target]]] = {
    "create_connection": ("socket.connect", _address),
    "create_unix_connection": ("socket.connect", _path),
    "create_datagram_endpoint": ("socket.sendto", _far_end),
    "sock_connect": ("socket.connect", lambda args, named: _given(args, named, 1, "address")),
    "subprocess_exec": ("subprocess.Popen", _command),
    "subprocess_shell": ("subprocess.Popen", _command),
}
"""The methods that reach the world, by the event of what the standard loop would raise, and what they reach."""


@contextmanager
def asking_uvloop(ask: Ask) -> Iterator[None]:
    """Ask before a loop of uvloop's reaches for something, while the block lasts.

    Args:
        ask: told an event, its arguments and the frame that calls; what it raises is raised there.
    """
    patches: list[Patch] = []

    def put(_: str, module: ModuleType) -> None:
        loop = getattr(module, "Loop", None)
        if isinstance(loop, type):
            made = [Patch(loop, name, functools.partial(_asking, ask, *_METHODS[name])) for name in _METHODS]
            for patch in made:
                patch.apply()
            patches.extend(made)

    watch = ImportWatch(put)
    watch.watch(_UVLOOP)
    loaded = sys.modules.get(_UVLOOP)
    if loaded is not None:
        put(_UVLOOP, loaded)
    try:
        yield
    finally:
        watch.stop()
        for patch in reversed(patches):
            patch.undo()


def _asking(ask: Ask, event: str, target: Target, original: Callable[..., Any]) -> Callable[..., Any]:
    def method(loop: Any, *args: Any, **named: Any) -> Any:
        reached = target(args, named)
        if reached is not None:
            ask(event, (None, reached), sys._getframe(1))  # noqa: SLF001
        return original(loop, *args, **named)

    return method
