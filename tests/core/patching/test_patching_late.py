"""Patching is loaded while something else has replaced the clock: what it takes for the originals are the originals."""

import contextlib
import subprocess
import sys
import time

import pytest

import agent_tt
from agent_tt.intercepting.asking import Asking
from agent_tt.intercepting.standing_still import standing_still

PROGRAM = """
import time
real = time.monotonic
from agent_tt.recording.lanes.hooks import Patch
over = Patch(time, "monotonic", lambda original: lambda: original() - 1000.0)
over.apply()
assert time.monotonic is not real
from agent_tt.patching.patches import KINDS
from agent_tt.patching.replacements import Replacements
over.undo()
assert time.monotonic is real
assert Replacements(KINDS).replacement(real) is not None
"""


def test_what_is_replaced_is_known_where_patching_is_loaded_below_another_patch():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("is_held", [True, False], ids=["while it can be held", "after that"])
def test_the_clock_of_a_module_that_loaded_while_its_agent_could_be_held_is_recorded(project, is_held):
    real = time.monotonic
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(contextlib.ExitStack())
        held.enter_context(standing_still(Asking()))
        assert time.monotonic is not real
        agent = project.load(
            "held_agent_for_tests", "from time import monotonic\n\ndef now(clock=monotonic):\n    return monotonic()\n"
        )
        if not is_held:
            held.close()
        with agent_tt.patched("clock", root=project.root) as patching:
            run_id, got = project.record(agent.now)
        (call,) = project.calls(run_id)
        assert (call.name, call.result) == ("time.monotonic", got)
        assert patching.unreached == ("held_agent_for_tests.now(clock=)",)
        assert agent.monotonic is real
    assert time.monotonic is real
