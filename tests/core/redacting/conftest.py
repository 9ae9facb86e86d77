from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(either_store: Path) -> Path:
    """Where runs are recorded."""
    return either_store
