"""Advice of the library that names options, said where a person has a dialog and keys."""

from __future__ import annotations

import pytest

from agent_tt_tui.viewmodel.running.option_words import with_keys, without_options


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        (
            "name the graph, or a function that gives one, with --agent module:graph",
            "name the graph, or a function that gives one, with the key a: module:graph",
        ),
        (
            "put it back, or name it with --agent FILE.py:__main__",
            "put it back, or name it with the key a: FILE.py:__main__",
        ),
        ("name another entry point with --agent", "name another entry point with the key a"),
        ("say it with --as-node: plan, maps", "say it with “as node”: plan, maps"),
        (
            "give one with --resume, or leave out --reuse-answers: the question is asked again",
            "give one with “answer”, or leave out “a question”: the question is asked again",
        ),
        ("fork after a later step; `agent-tt show` lists them", "fork after a later step; `agent-tt show` lists them"),
        ("change it with --set, --insert or --delete", "change it with --set, --insert or --delete"),
    ],
)
def test_options_that_have_a_place_in_the_dialog_are_called_as_there(advice: str, said: str) -> None:
    assert without_options(advice, "a") == said


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        ("name the variable (--key VARIABLE), or none (--key '')", "name the variable (k), or none (k)"),
        ("write it (--set 'messages[0].content=…'), or leave it out (--delete)", "write it (e), or leave it out (e)"),
        ("--key names the variable; --other does not", "k names the variable; --other does not"),
        ("`agent-tt show` lists them", "`agent-tt show` lists them"),
    ],
)
def test_keys_stand_in_the_place_of_options(advice: str, said: str) -> None:
    assert with_keys(advice, {"key": "k", "set": "e", "delete": "e"}) == said
