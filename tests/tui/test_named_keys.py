"""Sentences on the screen name the keys that a person has, not those that agent-tt comes with."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled

import agent_tt_tui
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import Look

_NAMES_A_KEY = re.compile(
    r"(?<![\w'“*.+-])(?:[b-zB-HJ-Z/?]|\^[a-z]|ctrl\+[a-z]|esc|enter|tab|del|space) (?:[a-z]+s\b|alone|in the)"
    r"|: (?:[b-z]|enter)$|\b(?:with|by|key) (?:[b-zB-Z]|space|tab|enter|esc)$"
)
_TERMINAL = {"own_commands.py", "pdb.py", "external.py"}
"""What is said on a terminal that was handed over: the keys there are not ours."""


def _sentences(path: Path) -> Iterator[str]:
    """All texts of a file but docstrings and `HELP`, which is read in the code only."""
    tree = ast.parse(path.read_text())
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "HELP":
            skipped.update(ast.walk(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


def test_no_sentence_names_a_key_by_itself() -> None:
    folder = Path(agent_tt_tui.__file__).parent
    files = [path for path in folder.rglob("*.py") if "cli" not in path.parts and path.name not in _TERMINAL]
    named = [(path.name, said) for path in files for said in _sentences(path) if _NAMES_A_KEY.search(said)]
    assert len(files) > 200
    assert named == []


@pytest.mark.parametrize(
    "said",
    ["f in the debugger forks it", "no mark yet: m marks one", "esc closes", "run it: r", "two with space"],
)
def test_a_sentence_that_names_a_key_is_found(said: str) -> None:
    assert _NAMES_A_KEY.search(said)


def test_a_look_shows_the_keys_that_the_user_has() -> None:
    mark, back, on = (DEBUGGER.command(f"time.{name}") for name in ("mark", "previous", "next"))
    assert Look().key(mark) == "m"
    assert Look(glyphs=UNICODE).key(back, on) == "←→"
    moved = Look(keymap={"time.mark": "f5, ctrl+b", "time.next": "t"}, glyphs=ASCII)
    assert (moved.key(mark), moved.keys(mark)) == ("f5", ["f5", "^b"])
    assert moved.key(back, on) == f"{ASCII.arrows[0]} t"


@pytest.mark.parametrize(("key", "command", "said"), [
    ("'", "time.mark", "no step is marked yet: f5 marks one"),
    ("u", "edit.value", "nothing was edited yet: f5 edits the selected value"),
    ("n", "find.open", "nothing was searched for yet: f5 searches"),
    ("v", "tab.raw", "only raw text can be cut or wrapped: f5 shows it"),
])  # fmt: skip
async def test_a_reason_names_the_key_that_the_user_has(sample_store, key: str, command: str, said: str) -> None:
    app = debugger(sample_store, look=Look(keymap={command: "f5"}))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await settled(pilot)
        assert said in "\n".join(screen_text(app))
