"""Programs whose tasks and threads ask one and the same question at once: each gets its own answer again."""

from __future__ import annotations

import itertools
import json
import random
import time

import pytest
from tests.core.replaying import lane_programs
from tests.core.replaying.recorded import record
from tests.core.web_server import OPENAI_ANSWER, serving

REPLAYS = 3
MADE = itertools.count()


def fresh_answer(path, _):
    """Never the same, and never as fast."""
    time.sleep(0.2 if path == "/slow" else random.random() * 0.02)
    choice = {"index": 0, "message": {"role": "assistant", "content": f"answer {next(MADE)}"}, "finish_reason": "stop"}
    return json.dumps({**OPENAI_ANSWER, "choices": [choice]}).encode()


@pytest.mark.parametrize("name", lane_programs.PROGRAMS)
def test_everybody_who_asks_the_same_gets_their_own_answer_again(name, tmp_path):
    with serving(fresh_answer) as web:
        recorded = record(tmp_path, lambda: lane_programs.run(name, web.url))
    assert isinstance(recorded.result, list), recorded.result
    assert len(set(recorded.result)) == len(recorded.result) >= 4
    for _ in range(REPLAYS):
        result, replay = recorded.replay(lambda: lane_programs.run(name, web.url))
        assert result == recorded.result
        assert replay.failure is None
        assert replay.findings == ()
        assert replay.notes.all() == ()
