"""The chain of a Python process that a forked agent starts: the fork's policy holds there, too.

The process finds the policy in its environment; `import agent_tt` loads this module where there is one.
"""

from __future__ import annotations

import os

from agent_tt.intercepting.approvals import Approvals
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.recording.session import SESSION

_policy = ToolPolicy.from_environment(os.environ)
if _policy is not None:
    SESSION.start(PolicyEnforcement(_policy), Approvals())
