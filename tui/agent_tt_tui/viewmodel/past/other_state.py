"""Any checkpoint of any run, as the state that a step is compared with."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import RunNotFound
from agent_tt.querying.checkpoints import parse_checkpoint, split_file
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource


@dataclass(frozen=True, slots=True)
class OtherState:
    """A state that a person named.

    Attributes:
        name: The run's name, after that of its file if it is another.
        step: The checkpoint.
        state: What it holds; it is read once, and not followed.
    """

    name: str
    step: int
    state: Wire


def find_state(source: RunSource, run: Run, number: int, letters: Mapping[int, str], text: str) -> OtherState:
    """The state that a text names, as somebody sees it who looks at a step.

    Args:
        source: Where the run is that is looked at.
        run: That run.
        number: That step.
        letters: The run's marks, by step.
        text: A step of this run (also by its mark's letter), `RUN@STEP`, another run's name for its state at the same
            step, each after `FILE:` for a run of another file.

    Raises:
        AgentTTError: It names nothing, or nothing that can be read.
    """
    file, rest = split_file(text)
    if file is not None:
        with closing(open_source(file)) as other:
            return _named(other, f"{file.name}:", number, rest)
    marked = next((step for step, letter in letters.items() if letter == rest), None)
    if marked is not None or rest.isdigit() or rest.startswith(("~", "@")):
        step = marked if marked is not None else source.step_number(run, rest)
        return OtherState(run.name, step, source.state(run.id, step))
    return _named(source, "", number, rest)


def _named(source: RunSource, file: str, number: int, text: str) -> OtherState:
    try:
        run = source.run(text)  # a whole name that holds an `@` comes first
        step = min(number, source.step_count(run.id))
    except RunNotFound:
        if "@" not in text:
            raise
        name, step_text = parse_checkpoint(text)
        run = source.run(name)
        step = source.step_number(run, step_text)
    return OtherState(f"{file}{run.name}", step, source.state(run.id, step))
