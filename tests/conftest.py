"""What holds for every test."""

from __future__ import annotations

import signal

from hypothesis import settings

# A test never depends on how fast the machine is.
settings.register_profile("agent-tt", settings.default, deadline=None)
settings.load_profile("agent-tt")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell without job control, which has its commands ignore Ctrl-C; the processes
    # that tests start and interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
