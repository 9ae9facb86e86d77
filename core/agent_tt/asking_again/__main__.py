"""`python -m agent_tt.asking_again`, told on its standard input what to send; see `agent_tt.asking_again`."""

from __future__ import annotations

import sys

from agent_tt.asking_again.sending import Sent, send


def main() -> int:
    """Send what standard input says; give the exit code."""
    text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    if not text:
        print("this is the process of `agent-tt again`", file=sys.stderr)  # noqa: T201  whoever started it reads it
        return 2
    return send(Sent.from_text(text))


if __name__ == "__main__":
    sys.exit(main())
