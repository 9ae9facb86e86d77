"""`agent-tt record --proxy`: what it refuses before anything runs, and what its run is called."""

import pytest

from agent_tt_tui.cli.running.record import name_of


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--call", "my.tool=read", "--", "node", "a.js"), 2, "--proxy does not"),
        (("--", "no-such-program-at-all"), 3, "there is no program 'no-such-program-at-all'"),
    ],
)
def test_what_cannot_be_recorded_through_the_proxy_is_one_clear_line(command, tmp_path, arguments, code, words):
    done = command("record", "--proxy", "--store", str(tmp_path / "runs.db"), *arguments)
    assert (done.code, words in done.err) == (code, True)


def test_a_variable_that_holds_no_address_is_named(command, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "nowhere")
    done = command("record", "--proxy", "--store", str(tmp_path / "runs.db"), "--", "python", "a.py")
    assert done.code == 2
    assert "ANTHROPIC_BASE_URL is no address: 'nowhere'" in done.err


def test_a_run_is_called_after_the_script_of_its_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.js").touch()
    assert name_of(("node", "--no-warnings", "agent.js", "--fast")) == "agent"
    assert name_of(("my-agent", "--fast")) == "my-agent"
