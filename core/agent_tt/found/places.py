"""Where programs keep their sessions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PLACES", "Place", "folders_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one program keeps its sessions.

    Attributes:
        program: what people call it.
        roots: the folder, by each of the variables that may name it, with what follows there; the strongest first.
        home: the folder where none is set, from the user's own.
        patterns: the sessions below it, one file each (of OpenHands a folder). A `*` stands for one name.
        source: where that is written down.
        without: names of files among these that are parts of other sessions.
    """

    program: str
    roots: tuple[tuple[str, str], ...]
    home: str
    patterns: tuple[str, ...]
    source: str
    without: str = ""


PLACES: Final = (
    Place(
        "Claude Code",
        (("CLAUDE_CONFIG_DIR", ""),),
        ".claude",
        ("projects/*/*.jsonl",),
        "https://code.claude.com/docs/en/settings and the files that it writes",
        without="agent-*",
    ),
    Place(
        "Codex",
        (("CODEX_HOME", ""),),
        ".codex",
        ("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
        "github.com/openai/codex, codex-rs/rollout/src: SESSIONS_SUBDIR, ARCHIVED_SESSIONS_SUBDIR",
    ),
    Place(
        "Gemini CLI",
        (("GEMINI_CLI_HOME", ".gemini"),),
        ".gemini",
        ("tmp/*/chats/session-*.jsonl", "tmp/*/chats/session-*.json"),
        "github.com/google-gemini/gemini-cli, packages/core/src/services/chatRecordingService.ts and utils/paths.ts",
    ),
    Place(
        "OpenCode",
        (("XDG_DATA_HOME", "opencode"),),
        ".local/share/opencode",
        ("opencode.db", "storage/session/*/*.json"),
        "github.com/anomalyco/opencode, packages/opencode/src/global and storage",
    ),
    Place(
        "pi",
        (("PI_CODING_AGENT_DIR", ""),),
        ".pi/agent",
        ("sessions/*/*.jsonl",),
        "github.com/badlogic/pi-mono, packages/coding-agent/src/config.ts",
    ),
    Place(
        "OpenHands",
        (("OPENHANDS_CONVERSATIONS_DIR", ""), ("OPENHANDS_PERSISTENCE_DIR", "conversations")),
        ".openhands/conversations",
        ("*/events",),
        "github.com/OpenHands/OpenHands-CLI, openhands_cli/locations.py",
    ),
)
"""The programs whose sessions are looked for."""


def folders_of(place: Place, environ: Mapping[str, str] | None = None) -> list[Path]:
    """The folders in which a program's sessions may be; they need not be there.

    Args:
        place: the program's.
        environ: the environment; the process's own by default.
    """
    variables = os.environ if environ is None else environ
    for variable, below in place.roots:
        if named := variables.get(variable):
            return [Path(named).expanduser() / below]
    return [Path.home() / place.home]
