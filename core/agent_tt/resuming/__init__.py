"""Going on with a run that broke off: it crashed, was killed, or was interrupted.

The agent runs from its beginning in a process of its own. What its calls were answered is given to it again from the
recording, in the same order, and they are not made again. When all of that has been given, it goes on for real. A
call that was in flight is made again where it only reads, asks a model, or has an idempotency key; of any other that
writes somebody has to say whether it happened.

It goes on in the run itself, which then is as if nothing had happened, with one row for each call. No row that was
there is changed: a call that was in flight stays as it was, and the one in its place names it. (A fork would hold what
was served a second time, and count its tokens twice; and a second crash would leave the calls that the first run had
finished, and the second had not yet come to, in neither's reach.)

| module | what it does |
|---|---|
| `past` | what the run had done: what is given again, what was in flight |
| `plan` | what is to be asked about before anything runs |
| `said` | what a person says that a call gave |
| `engine` | questions in; recorded answers out, or the world |
| `writer`, `continued` | keep what is recorded already, and what is the parent's, from being written again |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from agent_tt.resuming.plan import Happened

__all__ = ["Happened"]


__getattr__ = lazily(__name__, {"Happened": "agent_tt.resuming.plan"})
