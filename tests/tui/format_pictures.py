"""The pictures of docs/files.md: the app on a file of each format.

`python tests/tui/format_pictures.py` makes them again. The files are the samples that tests read
(`tests/core/interop/format_samples.py`).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.core.interop import test_databases as databases
from tests.core.interop.format_samples import PACKED, SAMPLES, as_bytes
from tests.core.interop.test_opencode import MESSAGES
from tests.core.interop.test_openhands_v1 import EVENTS, conversation
from tests.tui.snapshot import save_svg

from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen

if TYPE_CHECKING:
    from collections.abc import Callable

PICTURES: Final = Path(__file__).parents[2] / ".github" / "pictures" / "formats"
SIZE: Final = (100, 24)
_SETTLE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture of one format.

    Attributes:
        name: of the picture's file.
        title: what it is called in the docs.
        sample: the sample that is shown, or what writes the file or the folder.
        step: the step that it is opened at.
        keys: what is pressed then; `3` shows the conversation, `4` what the file says of it.
    """

    name: str
    title: str
    sample: str | Callable[[Path], Path]
    step: int = 1
    keys: str = "3"


def opencode_database(folder: Path) -> Path:
    """A session in OpenCode's database."""
    path = folder / "opencode.db"
    with closing(databases.opencode(path)) as rows, rows:
        databases.add_session(rows, "ses_1")
        databases.add_messages(rows, "ses_1", MESSAGES)
    return path


SHOWN: Final = (
    Shown("claude_code", "Claude Code: a sub-agent below the call that began it", "claude_code", 2),
    Shown("claude_stream", "Claude Code, as it works", "claude_stream"),
    Shown("codex", "Codex CLI: a command", "codex"),
    Shown("gemini_cli", "Gemini CLI", "gemini_cli"),
    Shown("opencode", "OpenCode: its database", opencode_database),
    Shown("pi", "pi", "pi"),
    Shown("atif", "Harbor's trajectories", "atif"),
    Shown("openhands", "OpenHands before version 1", "openhands"),
    Shown("openhands_v1", "OpenHands: what a condensation dropped", lambda at: conversation(at / "c", EVENTS), 2, ""),
    Shown("swe_agent", "SWE-agent", "swe_agent"),
    Shown("mini_swe_agent", "mini-swe-agent", "mini_swe_agent"),
    Shown("inspect_ai", "Inspect: a sample in its archive", PACKED["zip"]),
    Shown("openai_agents", "OpenAI Agents SDK: a trace", "openai_agents", 2),
    Shown("otlp", "OpenTelemetry, in protocol buffers", PACKED["protocol buffers"]),
    Shown("langfuse", "Langfuse: observations as CSV", PACKED["CSV"]),
    Shown("langsmith", "LangSmith", "langsmith"),
    Shown("phoenix", "Phoenix", "phoenix"),
    Shown("orca", "OrcaReplay", "orca"),
    Shown("agentrr", "agentrr", "agentrr"),
    Shown("clearstone", "clearstone: a checkpoint with a sealed state", "clearstone", 2, ""),
    Shown("vcr", "VCR", PACKED["YAML"]),
    Shown("exchanges", "A batch of OpenAI", "exchanges"),
    Shown("ai_sdk", "Vercel's AI SDK", "ai_sdk"),
    Shown("chat", "A list of messages", "chat"),
)
"""What stands in docs/files.md, in its order."""


def written(shown: Shown, folder: Path) -> Path:
    """The file, or the folder, that a picture is of."""
    if not isinstance(shown.sample, str):
        return shown.sample(folder)
    path = folder / shown.name
    path.write_bytes(as_bytes(SAMPLES[shown.sample]))
    return path


async def picture(shown: Shown, folder: Path) -> Path:
    """Open a sample in the app, and save what is shown."""
    with closing(open_source(written(shown, folder))) as source:
        runs = source.runs()
        run = next((run for run in runs if run.steps and run.parent is None), runs[0])
        app = AgentTT(lambda: DebuggerScreen(source, run, step=min(shown.step, run.steps)), look=Look(theme="tt-dark"))
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause(_SETTLE_SECONDS)
            await pilot.press(*shown.keys)
            await pilot.pause(_SETTLE_SECONDS)
            return save_svg(app, PICTURES / f"{shown.name}.svg")


def section() -> str:
    """The part of docs/files.md that shows them."""
    return "\n\n".join(f"![{each.title}](../.github/pictures/formats/{each.name}.svg)" for each in SHOWN) + "\n"


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    for each in SHOWN:
        with tempfile.TemporaryDirectory() as place:
            print(asyncio.run(picture(each, Path(place))))
