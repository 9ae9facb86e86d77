"""Putting the seams, and the adapters of frameworks, in place while recordings or replays run, and taking them away.

A library that the program has loaded is patched at once, any other when it is imported; none is imported here. The
seams are counted by who needs them. Importing this module makes them go with the recorder's own hooks.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Final

from agent_tt.frameworks.adapters import ADAPTERS
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.recording.modules.import_watch import ImportWatch
from agent_tt.recording.modules.loaded_modules import looking_anew
from agent_tt.redaction.given import GIVEN

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.frameworks.adapters import Adapter
    from agent_tt.plugins import Plugin
    from agent_tt.recording.modules.rebinding import Replaced


_LOG = logging.getLogger(__name__)

LIBRARIES: Final = {
    "httpx": "agent_tt.seams.http.httpx_seam",
    "httpx2": "agent_tt.seams.http.httpx_seam",
    "urllib3": "agent_tt.seams.http.urllib3_seam",
    "http.client": "agent_tt.seams.http.http_client_seam",
    "aiohttp": "agent_tt.seams.http.aiohttp_seam",
    "aiohttp.client": "agent_tt.seams.ws.aiohttp_ws_seam",
    "websockets.asyncio.client": "agent_tt.seams.ws.websockets_seam",
    "websockets.sync.client": "agent_tt.seams.ws.websockets_seam",
    "websockets.legacy.client": "agent_tt.seams.ws.websockets_legacy_seam",
    "websocket._core": "agent_tt.seams.ws.websocket_client_seam",
    "websocket._dispatcher": "agent_tt.seams.ws.websocket_client_seam",
    "httpx_ws._api": "agent_tt.seams.ws.httpx_ws_seam",
    "mcp.client.stdio": "agent_tt.seams.mcp.mcp_seam",
    "mcp.client.streamable_http": "agent_tt.seams.mcp.mcp_http_seam",
    "mcp.client.sse": "agent_tt.seams.mcp.mcp_http_seam",
    "subprocess": "agent_tt.seams.processes.popen_seam",
    "asyncio": "agent_tt.seams.processes.async_process_seam",
    "multiprocessing.util": "agent_tt.seams.processes.spawn_seam",
}
"""The modules that are patched, and who knows how: `patches(module)` of the seam gives what to replace."""


class Seams:
    """All seams of the process, counted by who needs them.

    Attributes:
        unfit: libraries that are loaded and could not be patched, with the reason. Their requests, or the tools of a
            framework, are not recorded; a replay's guard stops requests.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._patches: dict[tuple[int, str], Replaced] = {}
        self._adapters: dict[str, Plugin] = {}
        self._imports = ImportWatch(self.patch)
        self.unfit: dict[str, str] = {}

    def acquire(self) -> None:
        """Patch what is loaded, and everything else as soon as it is."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            GIVEN.begin(os.environ)
            self._adapters = ADAPTERS.declared()
            for name in (*LIBRARIES, *self._adapters):
                self._imports.watch(name)
                module = sys.modules.get(name)
                if module is not None and not _is_loading(module):
                    self.patch(name, module)

    def release(self) -> None:
        """Take everything away when nobody needs it any more."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            self._imports.stop()
            for patch in reversed(self._patches.values()):
                patch.undo()

    def patch(self, name: str, module: ModuleType) -> None:
        """Patch one library; never raises, because the program that imports it did nothing wrong."""
        with self._lock:
            if not self._users:
                return
            applied: list[Replaced] = []
            try:
                for patch in self._patches_of(name)(module):
                    # By class, not by module: two names may lead to the same one (`httpx2.alias_httpx`).
                    known = self._patches.setdefault(patch.place, patch)
                    applied.append(known)
                    known.apply()
            except Exception as error:  # noqa: BLE001  a version of the library that we do not know
                for known in reversed(applied):
                    known.undo()
                library = sys.modules.get(name.partition(".")[0], module)
                version = getattr(library, "__version__", "?")
                self.unfit[name] = f"{name} {version}: {error}"
                what = "requests through" if name in LIBRARIES else "the tools and agents of"
                _LOG.warning("%s %s %s cannot be recorded: %s", what, name, version, error)

    def _patches_of(self, name: str) -> Adapter:
        """What knows how to patch a module."""
        place = LIBRARIES.get(name) or self._adapters[name].value.partition(":")[0]
        # What is imported for the first time may import more, which is to be looked through as well.
        with nullcontext() if place in sys.modules else looking_anew():
            if name not in LIBRARIES:
                return ADAPTERS.load(self._adapters[name])
            seam: Adapter = import_module(place).patches
            return seam


def _is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


SEAMS = Seams()
HOOKS.join(SEAMS)
