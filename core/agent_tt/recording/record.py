"""`agent_tt.record(...)`: what it is told, and who calls it."""

from __future__ import annotations

import inspect
import logging
from dataclasses import fields
from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.codec.looking import looking, must_go_on, shown
from agent_tt.config import load
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.model import AgentCode, ModelConfig, NewRun
from agent_tt.model.facts import RunFacts, UserFacts
from agent_tt.model.retention import check_keep
from agent_tt.model.sampling import sampling_of
from agent_tt.recording.calls.kept_headers import as_metadata
from agent_tt.recording.errors.exceptions import MOST_TEXT
from agent_tt.recording.runs.entry import Maker, agent_code, script_facts
from agent_tt.recording.runs.kept_patterns import own_rules
from agent_tt.recording.runs.recorder import Recording, store_path_of
from agent_tt.recording.steps.checkpointing import parse_rules

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.runs.recorder import Durability, OnStoreError, StepsFrom
    from agent_tt.recording.steps.recorded_step import RecordedStep

    CheckpointRule = str | Callable[[RecordedStep], object]

__all__ = ["record"]

_LOG = logging.getLogger(__name__)


def record(
    name: str,
    *,
    state: object = None,
    agent: str | None = None,
    version: str | None = None,
    user_id: str | None = None,
    model: str | Mapping[str, object] | ModelConfig | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, object] | None = None,
    store: str | os.PathLike[str] | None = None,
    durability: Durability = "full",
    steps: StepsFrom = "names",
    headers: Sequence[str] | None = None,
    checkpoints: CheckpointRule | Iterable[CheckpointRule] = "all",
    on_store_error: OnStoreError | None = None,
    redact: str | Mapping[str, object] | None = None,
    keep: str | None = None,
    sampling: Mapping[str, object] | None = None,
    attach: bool = False,
) -> Recording:
    """Record one run of an agent: `with agent_tt.record("refund-loop", state=state) as run:` (or `async with`).

    The run begins and ends with the block. Exceptions are recorded and pass on; one that leaves the block makes the run
    failed, or interrupted when somebody stopped it.

    ```python
    state = {"question": "Do you have gift cards?", "answer": None}
    with agent_tt.record("my-agent", state=state, tags=["demo"]) as run:
        with run.step("answer", state):
            state["answer"] = "Yes."
    print(run.id)
    ```

    Args:
        name: what people call the run.
        state: what the agent works on: a tree of values, an object with `get_state()`, or any object, of which the
            attributes are kept. It is read at every step's end, so change it in place or give `step.state` another one.
        agent: the entry point that a fork runs, `module:callable` or `path/file.py:callable`; else the function that
            calls `record` is taken, or where that only makes the recording for others, the one that enters it. It can
            be forked when it takes `state=`, or its object has `load_state`.
        version: the agent's own version name.
        user_id: for whom it ran.
        model: the model it is configured with: a name, or a mapping of `model`, `temperature`, `max_tokens`, `seed` and
            `prompt_version`. Other parameters are kept with the metadata.
        tags: words to find the run by.
        metadata: further facts by name.
        store: the file to record into, else the project's or the user's own.
        durability: `full` commits each call before it is made and each result before the agent has it; `normal` may
            lose the last moments before a crash of the machine, and is faster.
        steps: `names` for an agent that says `run.step(...)`; with `model calls` each call of a model makes a step, and
            the conversation with it is the state.
        headers: names of request headers that count as part of a question, beside those that always do; else those of
            the project's settings.
        checkpoints: which steps get a checkpoint, see `recording.steps.checkpointing`: `all`, `none`, `every:10`,
            `error`, `write`, `sample:0.1`, a function of the step, or several of them.
        on_store_error: what becomes of the agent where the store cannot be written. With `continue` it goes on: the
            run is recorded into a file beside the store, or in the folder for temporary files, and taken into the
            store later; where nothing can be written at all, it ends there and is marked incomplete. With `stop` the
            agent gets the error, before anything happens that would not be on record. Else what the project's settings
            say, else `continue`. In a process that runs a fork it is always `stop`.
        redact: what else is taken out before anything is kept, beside secrets and what the project's settings say:
            `personal`, `strict`, or a mapping of `profile`, `patterns`, `fields`, `allow`.
        keep: when the run may be pruned: an age as `30d`, a class of runs (`flagged`), or `never`; else by its class.
        sampling: what holds in place of the project's settings for which runs are kept when they are over: a mapping
            of `successes` and `slow`.
        attach: whether the agent waits before its next call when somebody holds it (`agent-tt hold`, `Z` in the app).

    Raises:
        UsageError: the name is empty, `agent` does not name an entry point, `checkpoints` is not a rule,
            `on_store_error` is another word, or `redact`, `keep` or `sampling` cannot be used.
        StoreUnreadable: with `stop`, on entering the block: the store cannot be opened, or not be written.
    """
    rules = parse_rules(checkpoints)
    if on_store_error is None:
        on_store_error = load().on_store_error or "continue"
    if on_store_error not in ("continue", "stop"):
        raise UsageError(f"on_store_error={on_store_error!r}", hint='write on_store_error="continue" or "stop"')
    if not name.strip():
        raise UsageError("a run needs a name", hint='write agent_tt.record("my-agent")')
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None:
        raise UsageError("record(...) was not called from Python code")
    config, parameters = _model_config(model)
    facts: dict[str, Wire] = {_fact_name(key): encode(value) for key, value in (metadata or {}).items()}
    if parameters:
        facts[RunFacts.model_parameters.key] = encode(parameters)
    try:
        with looking():
            code = agent_code(caller, state=state, agent=agent, version=version)
            facts |= script_facts(caller, code)
    except AgentTTError:
        raise
    except BaseException as error:
        if must_go_on(error):
            raise
        _LOG.warning("the code that run %r runs could not be found", name, exc_info=True)
        code = AgentCode(entry=agent, version=version)
    if keep is not None:
        facts |= UserFacts.retention.entry(check_keep(keep))
    facts |= as_metadata(headers) | own_rules(redact, store_path_of(store))
    new = NewRun(
        name=name,
        code=code,
        model=config,
        user_id=user_id,
        tags=tuple(tags),
        metadata=facts,
    )
    maker = Maker.of(caller) if agent is None else None
    return Recording(
        new,
        state,
        maker=maker,
        store=store,
        durability=durability,
        steps=steps,
        rules=rules,
        is_agents=True,
        on_store_error=on_store_error,
        sampling=sampling_of({**load().sampling, **(sampling or {})}),
        retention=load().retention,
        attach=attach,
    )


def _fact_name(key: object) -> str:
    """A key of metadata as text that a file can hold: lone surrogates are written as escapes."""
    return shown(str, key, MOST_TEXT).encode("utf-8", "backslashreplace").decode()


def _model_config(
    model: str | Mapping[str, object] | ModelConfig | None,
) -> tuple[ModelConfig | None, dict[str, object]]:
    """What is known of the model, and the parameters that are none of `ModelConfig`'s."""
    if model is None or isinstance(model, ModelConfig):
        return model, {}
    if isinstance(model, str):
        return ModelConfig(model=model), {}
    known = {field.name for field in fields(ModelConfig)}
    config = ModelConfig(**{name: value for name, value in model.items() if name in known})  # type: ignore[arg-type]
    return config, {name: value for name, value in model.items() if name not in known}
