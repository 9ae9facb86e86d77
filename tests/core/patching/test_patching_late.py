"""Patching is loaded while something else has replaced the clock: what it takes for the originals are the originals."""

import subprocess
import sys

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
