"""A store in which sweeps are written by hand."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.sweeping.by_hand import ByHand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[ByHand]:
    made = ByHand(tmp_path)
    with closing(made.store):
        yield made
