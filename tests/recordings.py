"""Recorded runs of other systems: no part of the project, but of a folder that `AGENT_TT_RECORDINGS` names."""

from __future__ import annotations

import os
from pathlib import Path

MISSING = "AGENT_TT_RECORDINGS names no folder with recorded runs of this kind"
"""Why a test of them is skipped."""


def recordings(kind: str) -> Path:
    """The folder of the recorded runs of a kind, which need not be there.

    Args:
        kind: `langgraph`, `vcr`, `stream_bodies`.
    """
    return Path(os.environ.get("AGENT_TT_RECORDINGS") or os.devnull) / kind
