"""The source that the documentation of `RunSource` shows is one in every respect."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from tests.core.conformance.reading import check_source

from agent_tt.model import Run, Step
from agent_tt.protocols import RunSource

if TYPE_CHECKING:
    from pathlib import Path


def test_the_example_does_what_every_source_must(tmp_path: Path) -> None:
    shown = re.search(r"```python\n(.*?)```", inspect.getdoc(RunSource) or "", re.DOTALL)
    assert shown
    names: dict[str, Any] = {"Run": Run, "RunSource": RunSource, "Step": Step}
    exec(compile(shown[1], "RunSource", "exec"), names)
    path = tmp_path / "poem.txt"
    path.write_text("roses\nviolets\nsugar\n")
    source = names["Lines"](path)
    check_source(source)
    assert source.state("lines", 2) == ["roses", "violets"]
    assert source.last_write("lines", 3, (0,)) == 1
