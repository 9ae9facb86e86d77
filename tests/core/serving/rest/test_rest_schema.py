"""What the served description allows is asked in a process of its own: what asks it loads foreign libraries."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

REQUESTS = Path(__file__).with_name("schema_requests.py")


@pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not installed")
def test_no_request_that_can_be_made_up_is_answered_with_a_500() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(REQUESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REQUESTS.parents[4])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
