"""Patterns that a project says are secret: which are refused and why, and that nothing keeps what they fit."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE_SECONDS

from agent_tt.config import load
from agent_tt.errors import UsageError
from agent_tt.redaction.anchors import ANCHORS
from agent_tt.redaction.own import OWN
from agent_tt.redaction.patterns import check_patterns
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.streams.growing import Growing
from agent_tt.redaction.texts import asked_text, replaced
from agent_tt.redaction.values import redact

GOOD = {
    "customer": "KD-[0-9]{6}",
    "card": r"\b[0-9]{4}(?:[ -]?[0-9]{4}){3}\b",
    "mail": r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,3}",
    "case": r"(?i)case [a-z]{2}\d{4}",
    "ward": r"(?<=ward )\d{1,3}",
    "either": "(?:north|south|n)-gate",
}
BAD = {
    "KD-(": "cannot be read: missing ), unterminated subpattern",
    "KD-[0-9]+": "repeats without an end",
    r"(?:a{1,9}){2,}": "repeats without an end",
    r"(?:a{1,30}){1,30}b": "may take too long",
    r"a{0,64}a{0,64}a{0,64}b": "may take too long",
    r"(?:a|a){1,30}b": "may take too long",
    r"(?:a|ab|b){1,20}c": "may take too long",
    r"KD-\d{1,500}": "may fit 503 characters",
    "(?:KD)?": "fits nothing at all",
    "^KD": "has ^, $",
    "KD(?=x)": "has (?=",
    r"(K|D)\1": "has a reference to a group",
    "(?s)KD.": "has a flag",
    "(?i:kd)x": "changes its flags within",
    "Kündigung": "holds a letter that is not ASCII",
}


PIECES = ["KD-123456", "KD-", "12", " ", "a@b.cc", "x.", "4111-1111-1111-1111", "north", "-gate", "\n"]


@pytest.mark.parametrize("text", BAD)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_patterns({"good": "KD-1", "mine": text}, "here")
    assert refused.value.message.startswith("here: the pattern mine ")
    assert BAD[text] in refused.value.message
    assert refused.value.hint
    OWN.use(Rules(patterns={"mine": text}))  # as a file may say it
    assert not OWN


def test_those_that_are_taken_take_time_in_proportion_to_a_text() -> None:
    check_patterns(GOOD, "here")
    OWN.use(Rules(patterns=GOOD))
    for piece in ("a", "a@", "a.", "1", "1111 ", "case ab", "north-", "KD-12345", "a@a.a.a.", "ward 1"):
        text = piece * (4_000 // len(piece))
        for _ in range(20):  # work of others only makes it longer
            taken = []
            for times in (1, 4):
                before = time.thread_time()
                list(OWN.spans(text * times, ANCHORS.held_in(text * times)))
                taken.append(time.thread_time() - before)
            if taken[1] < 9 * taken[0] or taken[1] < 0.02:
                break
        else:
            pytest.fail(f"{piece}: {taken}")


def test_what_they_fit_is_kept_nowhere() -> None:
    OWN.use(Rules(patterns=GOOD))
    value = {"note": "of KD-123456, see ann@corp.example.com", "card": "4111 1111 1111 1111", "ward": "ward 17, bed"}
    kept = {"note": "of <redacted>, see <redacted>", "card": "<redacted>", "ward": "ward <redacted>, bed"}
    assert redact(value) == kept
    assert asked_text("Case ab1234 at the south-gate") == "<redacted> at the <redacted>"
    assert asked_text("N-GATE is no gate") == "N-GATE is no gate"
    body = '{"card": 4111111111111111, "n": 1}'
    assert json.loads(asked_text(body)) == {"card": "<redacted>", "n": 1}
    OWN.use(Rules())
    assert redact(value) == value  # what was clean then and is not now, and the other way round, is looked at anew


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(["KD-123456", "KD-", "12", " ", "a@b.cc", "x.", "4111-1111-1111-1111", "north", "-gate", "\n"])
    ),
    st.lists(st.integers(1, 9), min_size=1),
)
def test_a_stream_is_judged_as_the_whole_however_it_is_cut(pieces: list[str], cuts: list[int]) -> None:
    OWN.use(Rules(patterns=GOOD))
    text = "".join(pieces)
    growing, found, at, index = Growing(), [], 0, 0
    while at < len(text):
        size = cuts[index % len(cuts)]
        found += growing.feed(text[at : at + size])
        at, index = at + size, index + 1
    found += growing.feed("", is_end=True)
    hide = lambda secret: "~" * len(secret)  # noqa: E731
    assert replaced(text, found, hide) == replaced(text, secrets_in(text), hide)


AGENT = """
import agent_tt

@agent_tt.tool(effect="read")
def look(customer):
    return {"of": customer, "mail": "ann@corp.example.com"}

def main():
    state = {"said": []}
    with agent_tt.record("desk", state=state) as run:
        with run.step("look", state):
            state["said"].append(look("KD-123456"))
    return state

main()
"""
SETTINGS = """
[tool.agent-tt.redaction]
customer = 'KD-[0-9]{6}'
mail = '[a-z]{1,20}@[a-z.]{1,40}'
"""


def test_settings_hold_while_a_run_is_recorded_and_its_own_while_it_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )

    done = run("agent.py")
    assert done.returncode == 0, done.stderr
    command = ("-m", "agent_tt_tui")
    shown = json.loads(run(*command, "show", "desk", "1", "--json").stdout)
    assert shown["state"] == {"said": [{"of": "<redacted>", "mail": "<redacted>"}]}
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".agent-tt").iterdir())
    assert b"KD-123456" not in kept
    assert b"ann@corp" not in kept
    (tmp_path / "pyproject.toml").write_text("")
    replayed = run(*command, "replay", "desk")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    (tmp_path / "pyproject.toml").write_text("[tool.agent-tt.redaction]\nwide = 'KD-.*'\n")
    refused = run(*command, "runs")
    assert refused.returncode == 2
    assert "pyproject.toml: redaction: the pattern wide repeats without an end" in refused.stderr
    assert "{1,64}" in refused.stderr


def test_the_patterns_of_the_documentation_are_taken(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs/secrets.md").read_text()
    (tmp_path / "pyproject.toml").write_text(text.partition("```toml")[2].partition("```")[0])
    OWN.use(load(tmp_path, {}, tmp_path / "none.toml").redaction)
    assert asked_text("KD-123456 is ann@corp.example.com") == "<redacted> is <redacted>"
    (tmp_path / "pyproject.toml").write_text(text.split("```toml")[3].partition("```")[0])
    OWN.use(load(tmp_path, {}, tmp_path / "none.toml").redaction)
    assert redact({"caseId": 17, "to": "ann@example.com"}) == {"caseId": "<redacted>", "to": "ann@example.com"}


def test_settings_of_the_user_and_of_the_project_are_joined(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.agent-tt.redaction]\na = 'A1'\n")
    (tmp_path / "config.toml").write_text("redaction = { a = 'A2', b = 'B' }\n")
    assert load(tmp_path, {}, tmp_path / "config.toml").redaction.patterns == {"a": "A1", "b": "B"}
    (tmp_path / "config.toml").write_text("redaction = ['A2']\n")
    with pytest.raises(UsageError, match="must be a table of patterns by name"):
        load(tmp_path, {}, tmp_path / "config.toml")
