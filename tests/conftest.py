"""What holds for every test."""

from __future__ import annotations

import itertools
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# A test never depends on how fast the machine is.
settings.register_profile("agent-tt", settings.default, deadline=None)
settings.load_profile("agent-tt")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell without job control, which has its commands ignore Ctrl-C; the processes
    # that tests start and interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_COUNT = itertools.count()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test searches by an index in the cache folder of whoever runs the tests, nor by another test's."""
    # Not the test's own `monkeypatch`, which would then be undone after what other fixtures look at in the end.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{next(_COUNT)}"))
        yield
