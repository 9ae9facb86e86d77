"""What commands print of files of other programs whose texts are made to harm a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.interop.format_samples import SAMPLES, as_bytes
from tests.tui.cli.conftest import HOSTILE

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

CODES = f"\x1b]0;owned\x07\x9b2J{HOSTILE}"
KEPT = (
    "role",
    "type",
    "source",
    "action",
    "observation",
    "subtype",
    "schema_version",
    "trajectory_format",
    "key",
    "name",
    "kind",
    "object",
    "log_format_version",
)
"""Names of fields by which a format is known, or whose values are names that formats look for."""


def spoilt(value: Any, name: str = "") -> Any:
    """A value with codes behind every text that is not needed to recognise the format."""
    if isinstance(value, dict):
        return {key: spoilt(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return type(value)(spoilt(inner, name) for inner in value)
    is_json = isinstance(value, str) and value[:1] in ("{", "[")
    return value + CODES if isinstance(value, str) and name not in KEPT and not is_json else value


@pytest.mark.parametrize("name", SAMPLES)
def test_no_control_code_of_a_file_reaches_the_terminal(command: Command, tmp_path: Path, name: str) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(as_bytes(spoilt(SAMPLES[name])))
    source = open_source(path)
    (run, *_) = source.runs()
    source.close()
    printed = ""
    for line in (["runs"], ["show", run.id], ["show", f"{run.id}@1"], ["verify"], ["find", "--all", "owned"]):
        done = command(*line, "--store", str(path))
        printed += done.out + done.err
    assert "Traceback" not in printed
    assert {code for code in printed if not code.isprintable()} <= {"\n"}
    whole = command("show", run.id, "--store", str(path), "--json").out
    assert {code for code in whole if not code.isprintable()} <= {"\n"}
    assert "owned" in json.dumps(json.loads(whole))
