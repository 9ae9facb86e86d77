"""The look at loaded libraries that is taken again only when there is another one."""

import _ctypes
import ctypes
import shutil
import sys
from pathlib import Path

import pytest
from tests.loaded_libraries import LOADED, libraries


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is kept")
def test_what_is_loaded_and_unloaded_is_seen_at_once(tmp_path):
    before = libraries()
    copied = tmp_path / "copied.so"
    shutil.copy(min(before, key=lambda path: Path(path).stat().st_size), copied)
    library = ctypes.CDLL(str(copied))
    try:
        assert libraries() == before | {str(copied)} == frozenset(LOADED())
    finally:
        _ctypes.dlclose(library._handle)
    assert libraries() == before == frozenset(LOADED())
