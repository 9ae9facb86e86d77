"""An unmodified LangGraph agent as a golden: it passes offline, and one changed word fails at the changed request."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.core.frameworks.framework_agents import AGENTS
from tests.core.frameworks.scripted_models import playing
from tests.core.frameworks.test_framework_agents import Recorded
from tests.fresh_source import write_source

from agent_tt.golden.evidence import Evidence
from agent_tt.golden.proposing import propose
from agent_tt.golden.running import run_golden
from agent_tt.golden.saving import save_golden
from agent_tt.golden.tool_rules import Tools
from agent_tt.store import open_store

pytestmark = pytest.mark.warm("langgraph.prebuilt", "openai")


def test_one_changed_word_of_a_langgraph_agent_fails_its_golden_at_the_changed_request(tmp_path, monkeypatch):
    agent = AGENTS["langgraph"]
    with playing(agent.script) as server:
        recorded = Recorded(agent, tmp_path, server)
        done = recorded.record()
        assert done.returncode == 0, done.stderr
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with closing(open_store(recorded.store_path)) as store:
            run = store.run("it")
            rules = [*propose(Evidence(store, run)), Tools(("lookup", "charge"))]
            golden = save_golden(store, run, tmp_path / "goldens", "it", rules)
        asked = server.hits, recorded.done()
        passed = run_golden(golden, store=tmp_path / "tests.db")
        assert (passed.outcome, passed.first) == ("passed", "")
        write_source(tmp_path / "agent.py", agent.source.replace("Charge A-7.", "Charge A-8."))
        failed = run_golden(golden, store=tmp_path / "tests.db")
        assert (failed.outcome, failed.new_request.step) == ("failed", 1)
        assert "body.messages[0].content" in failed.first
        assert (server.hits, recorded.done()) == asked
        hits = server.hits
        live = run_golden(golden, store=tmp_path / "tests.db", live="changed")
        assert {call.kind for call in live.live.made} == {"llm"}
        broken = [kept.rule.kind for kept, judged in live.judgements if judged.verdict == "failed"]
        assert broken == ["answer"]  # the model says something else each time
        assert (server.hits - hits, recorded.done()) == (len(live.live.made), asked[1])
        assert live.live.answered == 2  # both tools, whatever they do
