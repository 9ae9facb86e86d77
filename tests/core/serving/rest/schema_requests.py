"""Everything that the served description allows, and more: asked by schemathesis, never answered with a 500.

The suite asks a few of each kind, the same each time. `make schema` asks 10,000.
"""

from __future__ import annotations

import collections
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from tests.core.serving.asking import FLAKY, SAMPLES
from tests.core.serving.rest.served import BEARER, PORT, TOKEN, client

from agent_tt.serving.listening import hosts_of, origins_of
from agent_tt.serving.otlp.receiver import Receiver
from agent_tt.serving.rest.app import application, gated
from agent_tt.serving.rest.audit import Audit
from agent_tt.serving.rest.desk import Desk
from agent_tt.serving.rest.gate import Room
from agent_tt.serving.starting import Leave, Starter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

schemathesis = pytest.importorskip("schemathesis")

MOST = int(os.environ.get("AGENT_TT_SCHEMA_EXAMPLES", "8"))
"""Requests of each kind."""

NOT_KEPT = 501
"""How metrics are refused, which is meant."""

ENDLESS = "/api/events"
RUN = client(SAMPLES).get("/api/runs", params={"name": FLAKY}).json()["runs"][0]["id"]
REAL = {"run": RUN, "trace_id": RUN, "replay_id": RUN, "checkpoint_id": f"{RUN}@6", "step": 6, "call": 1}
"""What is asked about every second time in place of what was made up."""

asked: collections.Counter[int] = collections.Counter()


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("schema")
    store = folder / "runs.db"
    store.write_bytes(SAMPLES.read_bytes())
    receiver = Receiver(store)
    # No agent is started: what would be is planned, and then refused.
    desk = Desk(store, folder / "goldens", starter=Starter(Leave(runs=0)), receiver=receiver)
    gate = gated(
        application(desk),
        token=TOKEN,
        hosts=hosts_of(PORT, more=("testserver", "localhost")),
        origins=origins_of(PORT),
        audit=Audit(None),
        room=Room(rate=1e9),
    )
    yield schemathesis.openapi.from_asgi("/openapi.json", gate, headers=BEARER).exclude(path=ENDLESS)
    receiver.stop()


def _ask(case: Any) -> None:
    """Ask, and hold the answer to what the description says of it."""
    if asked.total() % 2:
        case.path_parameters = {name: REAL.get(name, given) for name, given in (case.path_parameters or {}).items()}
        for name in {"a", "b"} & {*(case.query or {})}:
            case.query[name] = f"{RUN}@{3 + (name == 'b')}" if case.path == "/api/diff" else RUN
    answer = case.call(headers=BEARER)
    asked[answer.status_code] += 1
    checks = [
        schemathesis.specs.openapi.checks.status_code_conformance,
        schemathesis.specs.openapi.checks.content_type_conformance,
        schemathesis.specs.openapi.checks.response_schema_conformance,
    ]
    if answer.status_code != NOT_KEPT:
        checks.append(schemathesis.checks.not_a_server_error)
    case.validate_response(answer, checks=checks)


def test_no_request_that_can_be_made_up_is_answered_with_a_500(schema: Any) -> None:
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    held = settings(
        max_examples=MOST,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    paths: set[str] = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        paths.add(operation.path)
        for mode in modes:
            strategy = operation.as_strategy(generation_mode=mode)
            with suppress(SkipTest, Unsatisfiable):  # what takes nothing has no request that is wrong
                held(given(strategy)(_ask))()
    assert len(paths) > 30
    assert asked.total() >= MOST * len(paths)
    assert {200, 404, 422} <= asked.keys()
    print(f"{asked.total():,} requests of {len(paths)} paths: {dict(sorted(asked.items()))}")
