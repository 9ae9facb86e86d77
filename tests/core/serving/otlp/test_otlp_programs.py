"""Programs that others instrument, over a server that is a process: live while they run, and equal to an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.core.serving.otlp.instrumented import MODULES, instrumented
from tests.core.serving.otlp.received_runs import imported, run_now, told, until
from tests.core.serving.rest.served import asking, serving

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", MODULES)
def test_an_instrumented_program_is_a_run_while_it_runs_and_the_one_that_its_file_gives(
    tmp_path: Path, kind: str
) -> None:
    pytest.importorskip(MODULES[kind], exc_type=ImportError)
    store, file = tmp_path / "runs.db", tmp_path / "spans.pb"
    with serving(store, tmp_path) as address, asking(address) as asked:
        with instrumented(kind, address, tmp_path) as program:
            program.asked()
            (run,) = until(lambda: asked.get("/api/runs").json()["runs"])
            assert (run["status"], run["steps"]) == ("unknown", 1)
            program.goes_on()
            program.asked()
            until(lambda: run_now(asked, run["id"]).get("steps") == 2)
            program.ends()
        until(lambda: run_now(asked, run["id"]).get("status") == "succeeded")
        state = asked.get(f"/api/runs/{run['id']}/states/2").json()["value"]
        assert [message["role"] for message in state["messages"]] == ["user", "assistant", "tool", "assistant"]
        assert asked.get(f"/api/runs/{run['id']}").json()["tokens_in"] == 40
    assert told(store) == imported(file, tmp_path)
