"""`python -m agent_tt.proxying openai=URL anthropic=URL gemini=URL -- node agent.js`: see `agent_tt.proxying`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

from agent_tt.errors import AgentTTError
from agent_tt.proxying.child import Child
from agent_tt.proxying.server import Proxy
from agent_tt.proxying.upstreams import from_arguments
from agent_tt.recording.modules.native_libraries import declare_uncovered
from agent_tt.recording.scope import here


def main() -> NoReturn:
    """Start the program, forward its requests until it ends, and end as it did."""
    try:
        upstreams, command = from_arguments(sys.argv[1:])
        child = Child(command)
        proxy = Proxy(upstreams, child.end)
        declare_uncovered(f"{Path(command[0]).name} (the program behind the proxy, with its tools)")
        scope = here()
        if scope is not None:
            scope.recording.keep_no_output()  # the program writes past this process
        proxy.start()
        child.start(proxy.environment())
    except AgentTTError as error:
        print(f"agent-tt: {error.message}" + (f". {error.hint}" if error.hint else ""), file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    try:
        code = child.wait()
    finally:
        child.end()
    if proxy.halted is not None:
        raise proxy.halted
    if child.is_interrupted and code:
        raise KeyboardInterrupt
    sys.exit(code)


if __name__ == "__main__":
    main()
