"""Signatures of bundles: Ed25519, with a key as `ssh-keygen -t ed25519` or `openssl genpkey` makes it.

A bundle goes to somebody who has to be able to check it and must not be able to make another one, so a secret that both
share (HMAC, or the key of a vault) will not do. What is signed is the digest of the manifest, which has the digests of
all else. That a signature fits says that whoever has the key made the bundle; who that is, the reader has to know.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.interop.bundle.container import Container

__all__ = ["Signature", "check_signature", "signer"]

_CONTEXT: Final = b"agent-tt bundle 1\0"
"""What begins the signed bytes, so that the signature of something else never fits."""

_MOST_KEY: Final = 10_000
"""Bytes of a key's file."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of who made a bundle.

    Attributes:
        state: `signed` where the signature fits, `unchecked` where what checks it is not installed, `unsigned` where
            there is none.
        key: the fingerprint of the key as `ssh-keygen -l` shows it, `SHA256:…`; "" where it is unsigned.
    """

    state: Literal["signed", "unchecked", "unsigned"]
    key: str = ""

    @property
    def words(self) -> str:
        """`signed with the key SHA256:…`, in words that say no more than is known."""
        match self.state:
            case "signed":
                return f"signed with the key {self.key}"
            case "unchecked":
                return f"signature not checked (its key would be {self.key}): pip install 'agent-tt[vault]'"
            case "unsigned":
                return "unsigned"


def signer(file: Path) -> Callable[[bytes], bytes]:
    """Read a private key, and give what makes the member of a signature of the bytes of a manifest.

    Args:
        file: of the key, in OpenSSH's format or PEM (PKCS #8), without a passphrase.

    Raises:
        UsageError: it is no such key, or the library is not installed.
    """
    try:
        text = file.read_bytes()[:_MOST_KEY]
    except OSError as error:
        raise UsageError(f"the key {file} cannot be read: {error.strerror}") from error
    key = _private_key(file, text)

    def sign(manifest: bytes) -> bytes:
        public = key.public_key().public_bytes_raw()
        signature = key.sign(_signed_part(manifest))
        return orjson.dumps(
            {"ed25519": base64.b64encode(public).decode(), "signature": base64.b64encode(signature).decode()}
        )

    return sign


def check_signature(container: Container) -> Signature:
    """Check who signed a bundle.

    Raises:
        Damaged: its signature does not fit, or is none.
    """
    if container.signature is None:
        return Signature("unsigned")
    try:
        said = orjson.loads(container.signature)
        public, signature = (base64.b64decode(said[name], validate=True) for name in ("ed25519", "signature"))
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{container.path}: its signature cannot be read") from error
    fingerprint = _fingerprint(public)
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return Signature("unchecked", fingerprint)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _signed_part(container.said))
    except (InvalidSignature, ValueError) as error:
        raise Damaged(
            f"{container.path}: its signature does not fit: it is not what the key {fingerprint} signed",
            hint="Ask whoever sent it.",
        ) from error
    return Signature("signed", fingerprint)


def _private_key(file: Path, text: bytes) -> Any:
    """The key in a file's text."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise UsageError("signing needs cryptography", hint="pip install 'agent-tt[vault]'") from error
    for load in (serialization.load_ssh_private_key, serialization.load_pem_private_key):
        with suppress(ValueError, TypeError, UnsupportedAlgorithm):
            key = load(text, password=None)
            if isinstance(key, Ed25519PrivateKey):
                return key
    raise UsageError(
        f"{file} is not a private Ed25519 key without a passphrase",
        hint="`ssh-keygen -t ed25519 -N '' -f bundle-key` makes one.",
    )


def _signed_part(manifest: bytes) -> bytes:
    return _CONTEXT + hashlib.sha256(manifest).digest()


def _fingerprint(public: bytes) -> str:
    """The fingerprint of a public key as OpenSSH shows it: of its blob (RFC 8709, 4), in base64 without padding."""
    parts = (b"ssh-ed25519", public)
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"SHA256:{base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip('=')}"
