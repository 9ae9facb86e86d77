"""A certificate for the loopback interface, made once per run of the tests."""

from __future__ import annotations

import functools
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path

import pytest


@functools.cache
def certificate() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The context of a server on 127.0.0.1, and the one of a client that trusts it."""
    key, certificate = certificate_files()
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    return serving, ssl.create_default_context(cafile=str(certificate))


@functools.cache
def certificate_files(name: str = "127.0.0.1") -> tuple[Path, Path]:
    """The key of a self-signed certificate, and itself, as PEM files."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = Path(tempfile.mkdtemp(prefix="agent-tt-tests-"))
    key, certificate = folder / "key.pem", folder / "cert.pem"
    # fmt: off
    subprocess.run(
        [
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:127.0.0.1,DNS:{name}",
            "-keyout", str(key), "-out", str(certificate),
        ],
        check=True,
        capture_output=True,
    )
    # fmt: on
    return key, certificate
