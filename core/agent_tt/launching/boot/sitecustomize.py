"""Python imports this before the first line of a program that is recorded from outside.

Its folder stands first on PYTHONPATH. It takes itself out of the way, lets the `sitecustomize` that it hides run as it
would have without us, and then begins the recording.
"""

import os
import sys


def _step_aside() -> None:
    """Leave no trace in `sys.path` and `sys.modules`: the program finds them as it would without us."""
    here = os.path.realpath(os.path.dirname(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != here]
    sys.modules.pop("sitecustomize", None)


def _begin() -> None:
    try:
        from agent_tt.launching.process import begin
    except ImportError as error:
        # Another interpreter, in which agent-tt is not installed. The program is not ours to stop.
        report = os.environ.get("AGENT_TT_REPORT")
        if report:
            with open(report, "a", encoding="utf-8") as file:
                file.write(f'{{"event": "foreign", "pid": {os.getpid()}}}\n')
        if os.environ.get("AGENT_TT_DEBUG"):
            sys.stderr.write(f"agent-tt cannot be imported by {sys.executable}: {error}\n")
        return
    begin()


_step_aside()
try:
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  the one that this one hides; where there is none, Python is told so as ever
finally:
    _begin()
