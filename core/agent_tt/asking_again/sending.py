"""The process that sends: one question after another, each answer a step of the run that it fills.

It stops at the first answer that does not come: whether to ask once more is for the person to say.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import closing
from dataclasses import asdict
from http.client import HTTPException
from typing import TYPE_CHECKING, Final, Self

import agent_tt.seams.install  # noqa: F401  the requests are calls from the first on
from agent_tt._dataclass import dataclass
from agent_tt._version import __version__
from agent_tt.addresses import located
from agent_tt.asking_again.answers import state_of
from agent_tt.asking_again.hosts import Destination, Key
from agent_tt.asking_again.proxies import proxy_of
from agent_tt.errors import AgentTTError, Interrupted, ModelRefused
from agent_tt.intercepting.run_handoff import RunHandoff
from agent_tt.model import NewRun
from agent_tt.providers import read_answer, recognise
from agent_tt.proxying.forwarding import answered
from agent_tt.recording.runs.kept_patterns import own_rules
from agent_tt.recording.runs.recorder import Recording
from agent_tt.recording.session import SESSION
from agent_tt.store import open_patiently

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.providers import ModelAnswer

__all__ = ["Sent", "send"]

_AGENT: Final = ("user-agent", f"agent-tt/{__version__}")


@dataclass(frozen=True, slots=True)
class Sent:
    """What the process is told, on its standard input.

    Attributes:
        store: the store, as `agent_tt.addresses.told` says it.
        run: id of the run that it fills.
        url, headers, body: the request, without its key.
        times: how often it is sent.
        seconds: how long each answer is waited for.
        key: where the key is; None for none.
        redact: the rules by which the recorded run was freed of what else is secret, as `record(redact=…)` has them.
        facts: what the metadata of the run say of it, before anything is taken out.
    """

    store: str
    run: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str
    times: int
    seconds: float
    key: Key | None
    redact: dict[str, Wire]
    facts: dict[str, Wire]

    def to_text(self) -> str:
        """As it is told."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """What `to_text` wrote."""
        fields = json.loads(text)
        key = fields["key"]
        headers = tuple((name, value) for name, value in fields["headers"])
        return cls(**{**fields, "headers": headers, "key": None if key is None else Key(**key)})

    def all_headers(self) -> list[tuple[str, str]]:
        """The headers with the key, which is in the environment of this process."""
        key = self.key
        carried = [] if key is None else [(key.header, key.prefix + os.environ.get(key.variable, "").strip())]
        return [*self.headers, _AGENT, *carried]


def send(sent: Sent) -> int:
    """Send what is to be sent; give the exit code.

    Returns:
        0; 5 where an answer did not come, 130 where it was interrupted, 4 without a store that can be written.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    try:
        with closing(open_patiently(located(sent.store))) as store:
            SESSION.start(RunHandoff(store, sent.run))
            state: dict[str, Wire] = {}
            facts = own_rules(sent.redact, store.path)
            new = NewRun(store.run(sent.run).name, metadata={**sent.facts, **facts})
            with Recording(new, state, store=None, durability="full") as run:
                for number in range(1, sent.times + 1):
                    with run.step(f"answer {number}", state):
                        state.update(state_of(_asked(sent)))
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except AgentTTError as error:
        print(error.message, file=sys.stderr)  # noqa: T201  it is kept as what the process printed
        return error.exit_code
    except (OSError, HTTPException, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  as above
        return ModelRefused.exit_code
    return 0


def _asked(sent: Sent) -> ModelAnswer:
    """Ask once.

    Raises:
        ModelRefused: the provider answered with an error, or something else did.
        OSError, HTTPException: nothing came.
    """
    body = sent.body.encode("utf-8", "surrogatepass")
    call = recognise("POST", sent.url, {}, body)
    proxy = proxy_of(Destination(sent.url, "", sent.key), os.environ)
    for answer in answered("POST", sent.url, sent.all_headers(), body, seconds=sent.seconds, proxy=proxy):
        headers, given = answer.headers, b"".join(answer.pieces())
        found = None if call is None else read_answer(call, answer.status, headers, given)
        if found is None or found.error or answer.status >= 300:
            raise ModelRefused((found.error if found else "") or f"{answer.status} {answer.reason}")
        if not (found.messages or found.turns):
            raise ModelRefused(f"{answer.status} {answer.reason}, but what came is no answer of a model")
        return found
    raise HTTPException("nothing came back")
