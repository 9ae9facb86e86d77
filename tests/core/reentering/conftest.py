"""A project on disk with agents that cannot be handed a state, a store, and forks that re-enter them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.core.reentering.support import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    for handle in made.handles:
        handle.stop(grace=0)
