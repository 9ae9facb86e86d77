"""One run while it is recorded, from its first row to its last."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from agent_tt.codec.looking import must_go_on
from agent_tt.codec.track_reader import tracked
from agent_tt.codec.tracked import TRACKED
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.model.facts import RunFacts
from agent_tt.model.sampling import Sampling, is_in_sample, sample_id
from agent_tt.recording.calls.pending_draws import LEFT_OVER
from agent_tt.recording.calls.signature import Parameters
from agent_tt.recording.errors.exceptions import error_info
from agent_tt.recording.errors.outcome import run_status
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.recording.modules.native_libraries import uncovered_libraries
from agent_tt.recording.open_run import OpenRun
from agent_tt.recording.runs.attaching import attached
from agent_tt.recording.runs.block import Block
from agent_tt.recording.runs.entry import Maker, agent_code, entering_frame
from agent_tt.recording.runs.journal import Journal
from agent_tt.recording.runs.process_runs import number_of_this_run, said_of_every_run
from agent_tt.recording.runs.traced import said_of_span
from agent_tt.recording.scope import enter, innermost_step, is_answered, leave, nowhere
from agent_tt.recording.session import SESSION
from agent_tt.recording.steps.checkpointing import Rules
from agent_tt.recording.steps.model_steps import ModelSteps
from agent_tt.recording.steps.recorded_step import RecordedStep
from agent_tt.recording.tools import mark
from agent_tt.redaction.given import GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import NewRun, Output
    from agent_tt.protocols import RunWriter, Store
    from agent_tt.recording.lanes.lanes import Lanes
    from agent_tt.recording.runs.fallback import FallbackWriter
    from agent_tt.recording.scope import Scope

_LOG = logging.getLogger(__name__)
R = TypeVar("R")
S = TypeVar("S")
Durability = Literal["full", "normal"]
StepsFrom = Literal["names", "model calls"]
OnStoreError = Literal["continue", "stop"]
"""Whether an agent whose store fails goes on, recorded elsewhere or not at all, or gets the error."""


class Recording(OpenRun, Block):
    """A run while it is recorded; made by `record(...)`.

    Attributes:
        is_sampled_out: whether it was not kept when it was over, see `agent_tt.model.sampling`.
        is_part: whether the run is another process's, which says what is said of it as a whole.
    """

    def __init__(
        self,
        new: NewRun,
        state: object,
        *,
        store: str | os.PathLike[str] | None,
        durability: Durability,
        maker: Maker | None = None,
        steps: StepsFrom = "names",
        is_agents: bool = False,
        rules: Rules = Rules(),  # noqa: B008  frozen: all steps
        on_store_error: OnStoreError = "stop",
        lanes: Lanes | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008  frozen: all are kept
        retention: Mapping[str, object] = MappingProxyType({}),
        attach: bool = False,
    ) -> None:
        super().__init__(new, state, rules)
        if lanes is not None:
            self.lanes = lanes
        self._maker = maker
        self._is_agents = is_agents
        self._store_path = store
        self._durability: Durability = durability
        self._store: Store | None = None
        self._owns_store = True
        self._on_store_error: OnStoreError = on_store_error
        self._sampling = sampling
        self._retention = retention
        self._attach = attach
        self._attached = ExitStack()
        self._fallback: FallbackWriter | None = None
        self._tags = list(new.tags)
        self._scope: Scope | None = None
        self.is_sampled_out = False
        self._process: int | None = None
        self.is_part = False
        if steps == "model calls":
            self.model_steps = ModelSteps(self)

    # ------------------------------------------------------------ for agents

    def step(
        self, name: str, state: object = None, *, agent: str | None = None, track: str | None = None
    ) -> RecordedStep:
        """A step of the run, for a `with` (or `async with`) block.

        Args:
            name: what the agent calls it.
            state: the object that the step works on; else the run's own.
            agent: which agent takes it. One that brings a state object of its own has a state history of its own.
            track: name of the state history, where it is not to follow from the rest.
        """
        return RecordedStep(self, name, state=state, agent=agent, track=track)

    def llm(self, function: Callable[..., R], /, *args: object, model: str | None = None, **kwargs: object) -> R:
        """Call `function(*args, **kwargs)` as a model call and give its answer; an async one is awaited by the caller.

        Args:
            function: what asks the model.
            args: its arguments.
            model: the model that is asked; also given to a function that takes a parameter of this name.
            kwargs: its arguments by name.
        """
        if model is not None and "model" in Parameters(function):
            kwargs["model"] = model
        asked = mark(function, "llm", None, model=model)
        return asked(*args, **kwargs)

    def track(self, state: S) -> S:
        """Copy a dict or list into one that knows what is written into it: a step then costs what it changed.

        All dicts and lists in it are copied too. The copy passes for a dict or list everywhere, and is the run's state
        from now on where the run has none yet, or has had `state` itself. Go on with it: writes into `state` are not
        seen.

        Args:
            state: the dict or list.

        Raises:
            UsageError: it is neither, or of a class of its own.
        """
        kind: type = type(state)
        if kind in TRACKED:
            return state
        if kind is not dict and kind is not list:
            raise UsageError(
                f"a {type(state).__name__} cannot be tracked", hint="give run.track(...) a plain dict or list"
            )
        copy: S = tracked(state)
        with self._lock:
            if self.tracks.main.state is None or self.tracks.main.state is state:
                self.tracks.main.state = copy
        return copy

    def note(self, text: str) -> None:
        """Write a note on the step that this code is in, or on the run."""
        self.check_open("a note cannot be written")
        step = innermost_step(self)
        number = None if step is None else step.number
        self.journal.write(lambda _: self._write_note(number, text))

    def _write_note(self, step: int | None, text: str) -> None:
        if self._fallback is not None:
            self._fallback.add_note(step, "note", text)
        else:
            cast("Store", self._store).add_note(self.journal.run_id, step, "note", text)

    def tag(self, *tags: str) -> None:
        """Add tags to the run."""
        self.check_open("a tag cannot be written")
        with self._lock:
            self._tags += [tag for tag in dict.fromkeys(tags) if tag not in self._tags]
            every = tuple(self._tags)
        self.journal.write(lambda _: self._write_tags(every))

    def _write_tags(self, tags: Sequence[str]) -> None:
        if self._fallback is not None:
            self._fallback.set_tags(tags)
        else:
            cast("Store", self._store).set_tags(self.journal.run_id, tags)

    # ------------------------------------------------------------ beginning and ending

    def _enter(self) -> None:
        if self._journal is not None:
            raise UsageError("a recording was used twice", hint="call record(...) for each run")
        self._find_agent()
        if self._is_agents:
            self._say_which()
        # In a replay nothing goes out: there is nothing to decide, and its clock is one of its own to the end.
        self.is_attached = self._attach and SESSION.chain.goes_live
        if self.is_attached:
            self._new = replace(self._new, metadata={**self._new.metadata, **RunFacts.attached.true()})
        with nowhere():
            writer = self._writer()
        self._process = os.getpid()
        self._journal = Journal(writer)
        self.file = store_path_of(self._store_path) if self._store is None else getattr(self._store, "path", None)
        self.lanes.begin_here()
        HOOKS.acquire()
        GIVEN.learn(os.environ)
        if self.is_attached:
            self._attached.enter_context(attached())
        self._scope = enter(self, None)
        self._printed.open(lambda: is_answered(self))
        for begun in SESSION.chain.run_begun:
            begun(self)

    def _say_which(self) -> None:
        """Say which of its process's recordings it is, where a replay has to start the whole program again."""
        process = number_of_this_run()
        facts = {**self._new.metadata, **said_of_every_run(), **said_of_span()}
        if RunFacts.script.is_in(facts):
            facts |= process
        self._new = replace(self._new, metadata=facts)

    def _find_agent(self) -> None:
        """Take who enters the recording for the agent, where a function made it for others and has returned."""
        frame = entering_frame()
        if self._maker is None or frame is None or self._maker.is_around(frame):
            return
        state = self.tracks.main.state
        code = agent_code(frame, state=state, agent=None, version=self._new.code.version)
        if code.entry is not None:
            self._new = replace(self._new, code=code)
            self._agent = state if code.restore == "attributes" else None

    def _writer(self) -> RunWriter:
        """The open end of a run: of one that a link hands over, else of a new one."""
        state = self._first_state()
        writer = self._handed_over(self._new, state)
        if writer is not None:
            return writer
        if self.goes_on_without_store:
            return self._falling_back(self._new, state)
        self._store = open_for_recording(self._store_path, self._durability)
        try:
            return self._store.begin_run(self._new, state)
        except BaseException:
            self._store.close()
            raise

    def _handed_over(self, new: NewRun, state: object) -> RunWriter | None:
        """The open end of a run that a link says where to write; None where none does."""
        for open_run in SESSION.chain.open_run:
            opened = open_run(new, state)
            if opened is not None:
                self._store, writer = opened
                self._owns_store = False
                return writer
        return None

    @property
    def goes_on_without_store(self) -> bool:
        """Whether the agent goes on where the store fails. A fork's never does: each of its effects is on record."""
        return self._on_store_error == "continue" and not SESSION.chain.rules

    def _falling_back(self, new: NewRun, state: object, joins: str | None = None) -> FallbackWriter:
        """The open end of a run that goes on elsewhere where the store fails.

        Raises:
            UsageError: which store it is cannot be told.
        """
        from agent_tt.recording.runs.fallback import FallbackWriter

        path = store_path_of(self._store_path)
        self._fallback = FallbackWriter(
            lambda: open_for_recording(path, self._durability), path, self._durability, new, state, joins
        )
        return self._fallback

    def _first_state(self) -> object:
        try:
            return self.snapshot(self.tracks.main.state)
        except BaseException as error:
            if must_go_on(error):
                raise
            _LOG.warning("run %r has no initial state: it could not be read", self._new.name, exc_info=True)
            return None

    def _exit(self, error: BaseException | None) -> None:
        if self._scope is not None:
            leave(self._scope)
        if self._process == os.getpid():
            self.journal.when_free(lambda: self._finish(error))
            if error is None:
                for goes_on in SESSION.chain.before_going_on:
                    goes_on()  # what follows the run may not be to come either
        elif self._journal is not None and self._journal.is_open:  # a process that the agent forked ends only its own
            self.end_forked(error)

    def _finish(self, error: BaseException | None) -> None:
        journal, self.is_ending = self.journal, True
        printed = self._printed.close()
        try:
            self.end_steps(error)
            if self.held and not journal.failures:
                with self.step(LEFT_OVER) as step:
                    self.held.write_all(journal, step.number)
            self._keep_last_states()
            self._say_at_end()
            for ends in SESSION.chain.run_ends:
                error = ends(error)
            status = run_status(error, failures=journal.failures)
            journal.finish(status, None if error is None or status == "succeeded" else error_info(error))
            if printed is not None and not self.is_part:
                self._keep_output(printed)
            if status == "succeeded" and self._sampling.successes < 1:
                self._sample()
        except AgentTTError:
            if error is None:
                raise
            _LOG.warning("the end of run %s could not be recorded", self.journal.run_id)
        finally:
            self._attached.close()
            HOOKS.release()
            with nowhere():
                if self._fallback is not None:
                    self._fallback.close()
                if self._owns_store and self._store is not None:
                    self._store.close()
                if self._retention.get("automatic") and self._owns_store and not SESSION.chain.decides:
                    from agent_tt.recording.runs.own_pruning import prune_beside  # not for every program

                    prune_beside(store_path_of(self._store_path), self._retention)

    def _keep_output(self, printed: Output) -> None:
        """Write down what was printed. Where nothing was recorded at all there is no run to write it to."""
        if self._fallback is not None:
            with nowhere():
                self._fallback.keep_output(printed)
            return
        store = self._store
        if store is None:
            return
        try:
            with nowhere():
                store.keep_output(self.journal.run_id, printed)
        except AgentTTError:
            _LOG.warning("what run %s printed could not be recorded", self.journal.run_id, exc_info=True)

    def _sample(self) -> None:
        """Let the run go where it is not among those that are kept. Of a fork or a replay, whoever began it decides."""
        run_id, slow_us = self.journal.run_id, self._sampling.slow_us
        is_kept = is_in_sample(sample_id(run_id, os.environ), self._sampling.successes)
        if is_kept or not self._owns_store or SESSION.chain.decides or self.journal.failures:
            return
        store = self._store if self._fallback is None else None
        try:
            with nowhere():
                self.is_sampled_out = (
                    self._fallback.sample_out(slow_us)
                    if self._fallback is not None
                    else store is not None and store.sample_out(run_id, slow_us)
                )
        except AgentTTError:
            _LOG.warning("run %s could not be sampled out, and stays", run_id, exc_info=True)

    def _say_at_end(self) -> None:
        """Write down which libraries of the process no guard sees, and how jobs came back. A replay says it itself."""
        if self.is_part or SESSION.chain.serves or (self._store is None and self._fallback is None):
            return
        names = uncovered_libraries()
        facts: dict[str, Wire] = {}
        if names:
            RunFacts.unseen_libraries.put(facts, tuple(names))
        if len(self.jobs_came) > 1:
            RunFacts.jobs_came.put(facts, tuple(self.jobs_came))
        if not facts or not self.journal.run_id or self.journal.failures:
            return
        try:
            with nowhere():
                if self._fallback is not None:
                    self._fallback.set_metadata(facts)
                elif self._store is not None:
                    self._store.set_metadata(self.journal.run_id, facts)
        except AgentTTError:
            _LOG.warning("what is known of the process at its end could not be recorded", exc_info=True)

    def _keep_last_states(self) -> None:
        """Take the checkpoint of the last step of each state history, where the rules have left it out."""
        for track, number, live in self.checkpoints.last():
            try:
                state = self.snapshot(live)
            except BaseException as error:
                if must_go_on(error):
                    raise
                _LOG.warning("step %s has no checkpoint: its state could not be read", number, exc_info=True)
                continue
            self._take_checkpoint(number, state, track)

    def _take_checkpoint(self, number: int, state: object, track: str) -> None:
        self.journal.write(lambda writer: writer.take_checkpoint(number, state, track=track))


def open_for_recording(path: str | os.PathLike[str] | None, durability: Durability) -> Store:
    """The store to record into, made where there is none: `path`, else the one that belongs to this project or user."""
    from agent_tt.store import open_store

    return open_store(store_path_of(path), create=True, durability=durability)


def store_path_of(path: str | os.PathLike[str] | None) -> Path:
    """The file to record into: `path`, else the one that belongs to this project or user.

    Raises:
        UsageError: a settings file cannot be read, or something in it is unknown; or `path` is a server's database.
    """
    from agent_tt.store.file.locate import writable_store_path

    return writable_store_path(path)
