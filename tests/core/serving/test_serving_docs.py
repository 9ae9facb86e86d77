"""The page and the skill for coding agents: what they name is there, and what is to be copied can be read."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import yaml
from tests.core.serving.asking import SAMPLES, TOOLS

from agent_tt.serving.debugger import Debugger
from agent_tt.serving.running import Leave, Runner

DOCS = Path(__file__).parents[3] / "docs"
SKILL = (DOCS / "skill" / "SKILL.md").read_text(encoding="utf-8")
PAGE = (DOCS / "mcp.md").read_text(encoding="utf-8")


def test_the_skill_has_a_name_and_says_when_it_is_of_use():
    _, head, body = SKILL.split("---\n", 2)
    told = yaml.safe_load(head)
    assert set(told) == {"name", "description"}
    assert told["name"] == "agent-tt"
    assert "agent-tt MCP server" in told["description"]
    assert body.lstrip().startswith("# ")


def test_every_word_of_the_skill_that_is_in_code_is_a_tool_or_stands_in_an_answer_or_a_schema():
    tools = Debugger(SAMPLES, Runner(Leave()).tools()).tools
    known = {*tools, *(each.name for tool in tools.values() for each in tool.parameters)}
    answers = ["answer", "status", "first_error", "oddities", "made", "trail", "others", "beside", "next", "left_out"]
    known |= {*answers, "effects", "edits_without_effect", "expect"}
    assert set(re.findall(r"`([a-z_]+)`", SKILL)) <= known
    assert set(TOOLS) - {"effects", "oddities"} <= set(re.findall(r"`([a-z_]+)`", SKILL))


def test_what_is_to_be_copied_into_the_settings_of_a_client_can_be_read():
    read = {"json": json.loads, "toml": tomllib.loads}
    found = re.findall(r"^```(json|toml)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(found) == 3
    for language, text in found:
        (servers,) = read[language](text).values()
        assert (servers["agent-tt"]["command"], servers["agent-tt"]["args"]) == ("agent-tt", ["mcp"])
