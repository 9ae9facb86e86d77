"""LangGraph databases do what every `RunSource` must do."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop import graphs
from tests.core.interop.support import database_of

from agent_tt.interop.langgraph.source import LangGraphSource

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", graphs.ALL)
def test_it_is_a_run_source_in_every_respect(name: str, tmp_path: Path) -> None:
    with closing(LangGraphSource(database_of(name, tmp_path))) as source:
        check_source(source)
