"""The `agent-tt` command. `--version` is answered here, before anything else is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command with the arguments of the process."""
    if sys.argv[1:] == ["--version"]:
        from agent_tt._version import __version__

        sys.stdout.write(f"agent-tt {__version__}\n")
        return
    import gc

    # What is imported stays, so there is nothing to collect. Whatever runs for longer enables it again.
    gc.disable()
    from agent_tt_tui.cli.root import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
