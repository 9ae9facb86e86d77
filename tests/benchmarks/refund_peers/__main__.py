"""Try the tools, print who paid the refund again, and keep what was found where the README takes its table from."""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks.refund_peers.tables import FILE, Report, Result, load, markdown, text
from tests.benchmarks.refund_peers.tools import TOOLS
from tests.benchmarks.refund_peers.trial import FAILED, NotInstalledError, environment_of, try_tool


def main() -> int:
    """Run the benchmark; 1 where a trial failed, so that nothing can be said of that tool."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.refund_peers", description=__doc__)
    keys = [tool.key for tool in TOOLS]
    parser.add_argument("--only", nargs="+", choices=keys, default=keys, metavar="NAME", help=", ".join(keys))
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="keep what is installed, for the next time")
    parser.add_argument(
        "--write", action="store_true", help=f"write {FILE.name}, from which the pages take their table"
    )
    parser.add_argument("--markdown", action="store_true", help="print that file as a table and try nothing")
    options = parser.parse_args()
    if options.markdown:
        print(markdown(load()), end="")
        return 0
    if options.write and options.only != keys:
        parser.error("--write takes what was found of all tools, and --only tries some")
    with tempfile.TemporaryDirectory(prefix="refund-peers-") as temporary:
        report = _try_all(options.only, options.environments or Path(temporary))
    if options.write:
        report.write()
    return int(any(outcome.result == FAILED for result in report.results for outcome in result.outcomes))


def _try_all(keys: list[str], environments: Path) -> Report:
    results = []
    for tool in TOOLS:
        if tool.key not in keys:
            continue
        try:
            result = Result.of(tool, try_tool(tool, environment_of(tool, environments)))
        except NotInstalledError as reason:
            result = Result.of(tool, [], not_installed=str(reason))
        results.append(result)
        print(text(result), flush=True)
    return Report(datetime.now(UTC).date().isoformat(), sys.version.split()[0], tuple(results))


if __name__ == "__main__":
    sys.exit(main())
