r"""The vault of a store: what marks of personal data stand for, encrypted, for those who have its key.

It is a text file beside the store, `runs.db.vault`: a line that begins it, and one for each mark. A line is the mark, a
space, and in base64 a nonce of 12 bytes with what AES-256-GCM makes of the value as it was first written; the mark is
authenticated with it, so that no line can stand for another mark. The first line has `agent-tt-vault-1` for a mark.
What a line lacks that a process did not finish is skipped.

The key is 32 bytes in base64, as `new_key` gives them. It comes from the variable `AGENT_TT_VAULT_KEY`, else from the
file that `AGENT_TT_VAULT_KEY_FILE` names, else from the user's keyring (service `agent-tt`, name `vault`).

Secrets have no original in there: they let somebody in, and are gone.
"""

from __future__ import annotations

import base64
import logging
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.errors import UsageError, VaultLocked
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import KEYED, KEYED_MARK, as_one

if TYPE_CHECKING:
    from collections.abc import Collection

    from agent_tt.codec.wire import Wire

__all__ = ["KEY_VARIABLE", "VAULT", "Vault", "find_key", "new_key", "vault_path"]

_LOG = logging.getLogger(__name__)

KEY_VARIABLE: Final = "AGENT_TT_VAULT_KEY"
_FILE_VARIABLE: Final = "AGENT_TT_VAULT_KEY_FILE"
_SERVICE, _NAME = "agent-tt", "vault"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_BEGIN: Final = "agent-tt-vault-1"
_LIBRARY: Final = "cryptography.hazmat.primitives.ciphers.aead"
_NEW_KEY: Final = "`agent-tt originals --new-key` makes one."


def vault_path(store: Path) -> Path:
    """Where the vault of a store lies.

    Args:
        store: its file.
    """
    return store.with_name(f"{store.name}.vault")


def new_key() -> str:
    """A key for a vault."""
    return base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def find_key() -> bytes:
    """The key that this user has.

    Raises:
        VaultLocked: there is none, or it is no key.
    """
    found, where = os.environ.get(KEY_VARIABLE), KEY_VARIABLE
    if not found and (name := os.environ.get(_FILE_VARIABLE)):
        where = name
        try:
            found = Path(name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise VaultLocked(f"the vault's key cannot be read from {name}: {error}", hint=_NEW_KEY) from None
    if not found and find_spec("keyring") is not None:
        where = "the keyring"
        with suppress(Exception):  # there may be none on this machine; each has errors of its own
            found = import_module("keyring").get_password(_SERVICE, _NAME)
    if not found:
        hint = f"Set {KEY_VARIABLE}, or {_FILE_VARIABLE} to the file that holds it. {_NEW_KEY}"
        raise VaultLocked("there is no key to the vault", hint=hint)
    try:
        key = base64.urlsafe_b64decode(found)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise VaultLocked(f"{where} holds no key of a vault, which is {_KEY_BYTES} bytes in base64", hint=_NEW_KEY)
    GIVEN.add(found)  # a program that prints its environment does not give it away
    return key


class Vault:
    """A vault that is open.

    Args:
        store: the file of the store.
        key: its key.

    Raises:
        VaultLocked: it is not the key of this vault.
        UsageError: the library that it takes is not installed, or the file is no vault.
        OSError: the file cannot be read or made.
    """

    def __init__(self, store: Path, key: bytes) -> None:
        if find_spec("cryptography") is None:
            raise UsageError("a vault needs cryptography, which is not installed", hint="pip install 'agent-tt[vault]'")
        library: Any = import_module(_LIBRARY)
        self._cipher: Any = library.AESGCM(key)
        self._path = vault_path(store)
        self._values: dict[str, str | None] = {}
        if not self._path.exists():
            self._make([])
        self._read()

    def keep(self, mark: str, value: str) -> None:
        """Keep what a mark stands for, unless that is known."""
        if mark not in self._values:
            self._values[mark] = value
            self._append(self._line(mark, value))
        elif (known := self._values[mark]) is not None and as_one(known) != as_one(value):
            self._values[mark] = None
            self._append(self._line(mark, value))  # whoever reads both sees that neither is sure

    def original(self, mark: str) -> str | None:
        """What a mark stands for; None where that is not kept, or two values have the same mark."""
        return self._values.get(mark)

    def has(self, mark: str) -> bool:
        """Whether anything is kept of a mark."""
        return mark in self._values

    def shown(self, text: str) -> str:
        """A text with the originals of its marks, as far as they are known."""
        if "~" not in text:
            return text
        return KEYED_MARK.sub(lambda match: self.original(match[0]) or match[0], text)

    def forget(self, marks: Collection[str]) -> int:
        """Remove the originals of marks for good; how many there were."""
        gone = self._values.keys() & {*marks}
        if gone:
            for mark in gone:
                del self._values[mark]
            kept = self._path.read_text(encoding="ascii", errors="replace").splitlines()[1:]
            self._make([line for line in kept if line.partition(" ")[0] not in gone])
        return len(gone)

    # ---------------------------------------------------------------- the file

    def _line(self, mark: str, value: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        packed = nonce + self._cipher.encrypt(nonce, value.encode("utf-8", "surrogatepass"), mark.encode())
        return f"{mark} {base64.b64encode(packed).decode()}"

    def _append(self, line: str) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, f"{line}\n".encode("ascii"))
        finally:
            os.close(descriptor)

    def _make(self, lines: list[str]) -> None:
        """Write the file whole, for its owner alone to read."""
        made, name = tempfile.mkstemp(dir=self._path.parent, prefix=f"{self._path.name}.")
        try:
            with os.fdopen(made, "w", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in (self._line(_BEGIN, ""), *lines))
                file.flush()
                os.fsync(file.fileno())
            if lines or self._values or self._path.exists():
                Path(name).replace(self._path)
            else:
                with suppress(FileExistsError):  # of processes that make it at once one wins
                    self._path.hardlink_to(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def _read(self) -> None:
        refused: Any = import_module("cryptography.exceptions").InvalidTag
        if not stat.S_ISREG(self._path.stat().st_mode):
            raise UsageError(f"{self._path} is no vault", hint="Put it away; a new one is made.")
        lines = self._path.read_text(encoding="ascii", errors="replace").splitlines()
        for number, line in enumerate(lines):
            mark, _, packed = line.partition(" ")
            if number == 0 and mark != _BEGIN:
                raise UsageError(f"{self._path} is no vault of this version", hint="Put it away; a new one is made.")
            try:
                raw = base64.b64decode(packed, validate=True)
                value = self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], mark.encode()).decode(
                    "utf-8", "surrogatepass"
                )
            except (refused, ValueError):
                if number == 0:
                    raise VaultLocked(
                        f"the key is not that of {self._path}",
                        hint="It takes the one that it was made with.",
                    ) from None
                continue  # a line that is damaged, or was not finished
            if number:
                known = self._values.get(mark, value)
                self._values[mark] = value if known is not None and as_one(known) == as_one(value) else None


class _Process:
    """The vault of this process.

    Attributes:
        reveals: the vault whose originals this process's agent is given in place of marks; None for none.
    """

    def __init__(self) -> None:
        self.reveals: Vault | None = None

    def keep_at(self, store: Path) -> None:
        """Keep what marks stand for from now on. Where that cannot be, it is told, and the agent goes on."""
        try:
            self.keep(store)
        except (UsageError, OSError) as error:
            _LOG.warning("originals are not kept: %s", error)
            KEYED.kept_by = None

    def keep(self, store: Path) -> None:
        """Keep what marks stand for from now on.

        Raises:
            VaultLocked: there is no key, or it is another one's.
            UsageError: the library that it takes is not installed, or the file is no vault.
            OSError: it cannot be read or made.
        """
        KEYED.kept_by = Vault(store, find_key()).keep

    def keep_nowhere(self) -> None:
        """Keep nothing any more."""
        KEYED.kept_by = None

    def reveal(self, store: Path) -> None:
        """Give the agent of this process originals in place of marks from now on.

        Raises:
            VaultLocked, UsageError: the vault cannot be opened.
        """
        self.reveals = open_vault(store)

    def shown(self, value: Wire) -> Wire:
        """A recorded value as the agent is given it."""
        return value if self.reveals is None else _shown(value, self.reveals)


VAULT: Final = _Process()


def open_vault(store: Path) -> Vault:
    """The vault that is there, with the key that this user has.

    Raises:
        VaultLocked: there is no key, or another one.
        UsageError: there is no vault, or it cannot be read.
    """
    if not vault_path(store).exists():
        hint = "With `vault = true` in [tool.agent-tt.redaction] runs that are recorded from then on have one."
        raise UsageError(f"{store} has no vault", hint=hint)
    try:
        return Vault(store, find_key())
    except OSError as error:
        raise UsageError(f"{vault_path(store)} cannot be read: {error.strerror}", hint="Look at its rights.") from None


def _shown(value: Wire, vault: Vault) -> Wire:
    if isinstance(value, str):
        return vault.shown(value)
    if isinstance(value, list):
        return [_shown(item, vault) for item in value]
    if isinstance(value, dict):
        packed = value.get(VALUE)
        if value.get(TYPE) in ("bytes", "bytearray") and isinstance(packed, str):
            with suppress(ValueError):
                text = base64.b64decode(packed).decode("latin-1")
                if (shown := vault.shown(text)) != text:
                    return {**value, VALUE: base64.b64encode(shown.encode("latin-1", "replace")).decode()}
            return value
        return {vault.shown(key): _shown(item, vault) for key, item in value.items()}
    return value
