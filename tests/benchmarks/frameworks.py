"""Whether the tools of agent frameworks are recorded, replayed, denied and resumed, with what the registry has now.

`python -m tests.benchmarks.frameworks [NAME …] [--into FOLDER]` installs each framework into a folder of its own, and
runs its agents of `tests/core/frameworks/other_agents.py` as the suite runs its own. What came is written into
`frameworks.json` beside this file, of which `python -m tests.tui.readme_parts` makes the table in `docs/frameworks.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from tests.core.frameworks.other_agents import OTHER_AGENTS

RESULTS: Final = Path(__file__).with_name("frameworks.json")
TESTS: Final = "tests/core/frameworks/test_framework_agents.py"
ROOT: Final = Path(__file__).parents[2]

INSTALLED: Final = {
    "ag2": ("ag2[openai]",),
    "agno": ("agno", "openai"),
    "autogen": ("autogen-agentchat", "autogen-ext[openai]"),
    "crewai": ("crewai",),
    "dspy": ("dspy",),
    "google-adk": ("google-adk",),
    "langchain": ("langchain", "langchain-openai"),
    "llama-index": ("llama-index-core", "llama-index-llms-openai"),
    "smolagents": ("smolagents[openai]",),
    "strands": ("strands-agents[openai]",),
}
"""By name: what is installed; the version of the first counts. Its agents have names that begin so."""


def main() -> None:
    """Try the frameworks that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(INSTALLED))
    parser.add_argument("--into", type=Path, help="a folder that is kept; what is installed there is taken as it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.names or INSTALLED:
            found = trial(name, (options.into or Path(temporary)) / name / "site-packages")
            kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            RESULTS.write_text(json.dumps(dict(sorted({**kept, name: found}.items())), indent=2) + "\n")
            print(name, json.dumps(found))


def trial(name: str, folder: Path) -> dict[str, object]:
    """Install a framework and run its agents; what came of it."""
    requirements = INSTALLED[name]
    package = requirements[0].partition("[")[0]
    agents = [agent for agent in OTHER_AGENTS if agent.startswith(name)]
    if not folder.exists():
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--target",
            str(folder),
        ]
        subprocess.run([*pip, *requirements], check=True)
    version = next(each.version for each in distributions(path=[str(folder)]) if each.name == package)
    told = folder.parent / "told.xml"
    paths = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    wanted = [f"{TESTS}::{test}[{agent}]" for agent in agents for test in (RECORDED, RESUMED)]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={told}", *wanted],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "FRAMEWORK_AGENTS": ",".join(agents)},
        check=False,
    )
    failed = {
        case.get("name", "").partition("[")[0]: f"{each.get('message', '').splitlines()[0][:200]}"
        for case in ET.parse(told).iter("testcase")
        for each in (*case.iter("failure"), *case.iter("error"), *case.iter("skipped"))
    }
    return {
        "package": package,
        "version": version,
        "date": datetime.now(UTC).date().isoformat(),
        "uncovered": sorted({library for agent in agents for library in OTHER_AGENTS[agent].uncovered}),
        "recorded": failed.get(RECORDED, ""),
        "resumed": failed.get(RESUMED, ""),
    }


def table() -> str:
    """The table of `docs/frameworks.md`."""
    lines = [
        "| framework | rows, 5 of 5 replays, denied in a fork | resumed after SIGKILL | found |\n|---|---|---|---|\n"
    ]
    for each in json.loads(RESULTS.read_text()).values():
        unseen = ", ".join(each["uncovered"])
        yes = f"yes, with a reservation: {unseen} may reach the world unseen" if unseen else "yes"
        said = [f"no: {each[key]}" if each[key] else yes for key in ("recorded", "resumed")]
        lines.append(f"| {each['package']} {each['version']} | {said[0]} | {said[1]} | {each['date']} |\n")
    return "".join(lines)


RECORDED: Final = "test_tools_are_rows_that_are_replayed_and_denied"
RESUMED: Final = "test_a_tool_that_wrote_before_a_crash_does_not_write_again"


if __name__ == "__main__":
    main()
