"""The example of `docs/hold.md` runs as written, is held as the page says, and replays."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from tests.patience import PATIENCE_SECONDS

from agent_tt.model import Edit
from agent_tt.store import open_store

PAGE = Path(__file__).parents[3] / "docs/hold.md"


def test_the_agent_of_the_page_is_held_where_the_page_says(tmp_path: Path) -> None:
    (code,) = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script, path = tmp_path / "shop.py", tmp_path / "runs.db"
    wait = "    import sys, time\n    sys.stdin.readline()\n"  # until it is held
    script.write_text(code.replace("    for amount", f"{wait}    for amount", 1), encoding="utf-8")
    (when,) = re.findall(r"--when '([^']+)'", PAGE.read_text(encoding="utf-8"))
    with closing(open_store(path, create=True)) as store:
        agent = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, env={"AGENT_TT_STORE": str(path)}, text=True
        )
        ends = time.monotonic() + PATIENCE_SECONDS
        while not store.runs():
            assert time.monotonic() < ends
            time.sleep(0.01)
        (run,) = store.runs()
        store.hold_run(run.id, when=when)
        assert agent.stdin is not None
        agent.stdin.write("\n")
        agent.stdin.close()
        while not (waiting := store.questions(run.id)):
            assert time.monotonic() < ends
            time.sleep(0.01)
        (question,) = waiting
        assert (question.args, question.state) == ({"amount": 30}, {"budget": 100, "charged": [{"charged": 20}]})
        decision = question.with_state(question.run(amount=25), [Edit("set", "budget", 30)])
        store.answer_question(question.id, decision)
        assert agent.wait(PATIENCE_SECONDS) == 0
        state = store.state(run.id, 2)
        assert state == {"budget": 30, "charged": [{"charged": 20}, {"charged": 25}]}
        assert store.run(run.id).status == "succeeded"
