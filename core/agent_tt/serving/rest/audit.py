"""Who asked what of the server: a line of JSON for each request, in a file that only its owner reads.

It holds no header, no body and no question of a query, so no token and nothing that was searched for.
"""

from __future__ import annotations

import json
import logging
import os
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import UsageError
from agent_tt.model.as_json import time_text
from agent_tt.redaction.texts import redact_text
from agent_tt.store.liveness import now_us

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from pathlib import Path

    from agent_tt.codec.wire import Wire

__all__ = ["DID", "SLASH", "Audit"]

DID: Final = "agent_tt.did"
"""Where in the scope of a request stands what it changed or started."""

SLASH: Final = "\uffff"
"""What stands in a path for a slash that is part of an id, `%2F`: no text has this character."""

_MOST_BYTES: Final = 10 << 20
_KEPT: Final = 4
_LONGEST_PATH: Final = 400


class _OwnersFile(RotatingFileHandler):
    """A file that begins anew when it is large, and that nobody else reads."""

    def _open(self) -> Any:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")


class Audit:
    """Writes requests down.

    Args:
        file: where; None writes nothing.

    Raises:
        UsageError: it cannot be written.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self._handler: _OwnersFile | None = None
        if file is None:
            return
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._handler = _OwnersFile(file, maxBytes=_MOST_BYTES, backupCount=_KEPT)
        except OSError as error:
            raise UsageError(
                f"the audit log {file} cannot be written: {error.strerror}", hint="Name another file with --audit."
            ) from error

    def write(self, scope: MutableMapping[str, Any], status: int | None, sent: int, took: float) -> None:
        """Write a request down, when its answer is over.

        Args:
            scope: what ASGI says of the request.
            status: that of the answer; None where the client left before there was one.
            sent: bytes of the answer.
            took: seconds.
        """
        client = scope.get("client")
        line: dict[str, Wire] = {
            "at": time_text(now_us()),
            "client": client[0] if client else None,
            "method": str(scope["method"]),
            "path": redact_text(str(scope["path"])[:_LONGEST_PATH].replace(SLASH, "%2F")),
            "status": status,
            "bytes": sent,
            "ms": round(took * 1000, 1),
        }
        if scope.get("agent_tt.refused"):
            line["refused"] = True
        self.tell(line | scope.get(DID, {}))

    def tell(self, line: dict[str, Wire]) -> None:
        """Write a line."""
        if self._handler is not None:
            text = json.dumps(line)
            self._handler.handle(logging.LogRecord("agent_tt", logging.INFO, "", 0, text, None, None))

    def close(self) -> None:
        """Let go of the file."""
        if self._handler is not None:
            self._handler.close()
