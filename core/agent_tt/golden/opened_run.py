"""A recorded run for the assertions of tests: its steps with their states, and its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.codec.decode import decode
from agent_tt.errors import StepNotFound
from agent_tt.golden.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.model import Call, ErrorInfo, Run, RunStatus
    from agent_tt.protocols import RunSource

__all__ = ["MadeCall", "OpenedRun", "OpenedStep", "OpenedSteps"]


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of a run, with plain Python values; what cannot be made of data stays an envelope.

    Attributes:
        step, number: its place.
        name: what was called.
        args: what it was given, by name; or a request.
        result: what came back; None where it raised.
        error: what it raised.
    """

    step: int
    number: int
    name: str
    args: object
    result: object
    error: ErrorInfo | None

    @classmethod
    def of(cls, call: Call) -> MadeCall:
        """The same of a recorded one."""
        args, result = decode(call.args, lenient=True), decode(call.result, lenient=True)
        return cls(call.step, call.number, call.name, args, result, call.error)


class OpenedStep:
    """A step of a run; number 0 is the input."""

    def __init__(self, source: RunSource, run: Run, number: int) -> None:
        self._source, self._run, self.number = source, run, number

    @property
    def name(self) -> str:
        """What the agent calls it; `input` for number 0."""
        return self._source.steps(self._run.id, self.number, self.number + 1)[0].name if self.number else "input"

    @property
    def state(self) -> object:
        """The state after it, as plain Python values.

        Raises:
            StepNotFound: no checkpoint of it is kept.
        """
        found = self._source.steps(self._run.id, self.number, self.number + 1) if self.number else ()
        if any(step.is_unkept for step in found):
            raise StepNotFound(f"no checkpoint is kept of step {self.number} of {self._run.name}")
        return decode(self._source.state(self._run.id, self.number), lenient=True)


class OpenedSteps:
    """The steps of a run by their numbers: `steps[3]` is step 3, `steps[0]` the input, `steps[-1]` the last."""

    def __init__(self, source: RunSource, run: Run) -> None:
        self._source, self._run = source, run
        self._count = source.step_count(run.id)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[OpenedStep]:
        return (OpenedStep(self._source, self._run, number) for number in range(1, self._count + 1))

    def __getitem__(self, number: int) -> OpenedStep:
        at = number if number >= 0 else self._count + 1 + number
        if not 0 <= at <= self._count or (number < 0 and not at):
            raise IndexError(f"{self._run.name} has no step {number}: it took {self._count}")
        return OpenedStep(self._source, self._run, at)


class OpenedRun:
    """A recorded run.

    Args:
        source: where it lies; whoever opened it closes it.
        run: the run.

    Raises:
        Damaged: something of it is not as it was recorded, or is missing.
    """

    def __init__(self, source: RunSource, run: Run) -> None:
        self._source, self._run = source, run
        self._evidence = Evidence(source, run)
        self.steps = OpenedSteps(source, run)

    @property
    def name(self) -> str:
        """Its name."""
        return self._run.name

    @property
    def status(self) -> RunStatus:
        """How it ended."""
        return self._run.status

    @property
    def answer(self) -> str | None:
        """What the agent answered in the end; None where its last state says none.

        Raises:
            StepNotFound: no checkpoint of its last step is kept.
        """
        return self._evidence.answer

    def calls(self, name: str | None = None) -> list[MadeCall]:
        """Its calls in their order, those of a tool or model by its name; None for all."""
        found = self._source.call_page(self._run.id, 1, len(self.steps) + 1)
        return [MadeCall.of(call) for call in found if name in (None, call.name)]

    def assert_tool_called(self, name: str, *, times: int | None = None, **arguments: object) -> None:
        """Assert that a tool was called.

        Args:
            name: the tool.
            times: how often; None for at least once.
            arguments: those that count, by name; the call may have others too.

        Raises:
            AssertionError: it was not; the message says what was called.
        """
        calls = [call for call in self.calls(name) if _has(call.args, arguments)]
        if len(calls) == times or (times is None and calls):
            return
        used = ", ".join(f"{use.name} (step {use.step})" for use in self._evidence.tools) or "no tool"
        given = f" with {arguments}" if arguments else ""
        wanted = "" if times is None else f", not {times} times"
        raise AssertionError(f"{name}{given} was called {len(calls)} times{wanted}; {self.name} called {used}")


def _has(args: object, wanted: dict[str, object]) -> bool:
    if not wanted:
        return True
    return isinstance(args, dict) and all(name in args and args[name] == value for name, value in wanted.items())
