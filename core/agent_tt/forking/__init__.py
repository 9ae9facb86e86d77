"""Forking: run an agent again from one of its checkpoints, with an edited state, in a process of its own.

| module | what it does |
|---|---|
| `edits`, `json_text` | edits of a state: checked, applied to a copy; those that lead into a JSON text |
| `assignments`, `written` | edits as people write them, and as a Python program gives them |
| `call_edits` | edits of what came back of a call: results, errors, models' answers |
| `said` | what a model said, in the form in which that is edited |
| `request_edits` | edits of every later request: system prompt, model, parameters |
| `kept_conversations` | conversations that a provider keeps, and whether a recording holds all of one |
| `muting` | undoing a step, as if it had never happened |
| `advice`, `without_effect` | what is odd about an edit that fits, and which edits nothing came of |
| `between` | the edits that lie between two states |
| `first_question` | what stands for the input of an agent that names none |
| `checks` | where a fork may start, and which values it can carry over |
| `code`, `entry_point`, `entry_source` | which code will run, where it lies and how it takes a state |
| `breaking` | stopping it where an expression begins to hold |
| `terms` | who runs it, what it is told beside the state, how far it may go |
| `executors`, `code_by_executor` | who runs agents of other frameworks, by name |
| `boundary` | what the run called and spent, and what else it may call |
| `declared_tools`, `shown_tools` | tools that the agent's code declares, and those that its conversations show |
| `policies`, `stand_ins` | what it does with calls, and the answers of those that it does not make |
| `prepared` | answers that are there before they are asked for: recorded, or given by a person |
| `request` | a fork as it is asked for: in code, by the command, in the app |
| `plan` | all of that in one: the pre-flight |
| `launch`, `handle` | the child process, and what can be done with it |
| `answering`, `standing_still` | deciding about calls that wait, while the agent's deadlines stand still |
| `left_open` | connections and programs that an allowed call leaves open, ruled when it is over |
| `outside` | what a fork's process does outside the fork's recording, written down for the ledger |
| `guarding`, `ledger` | what reaches for the world outside of every call; what went out and what was held back |
| `accepting` | going live from where the code has changed |
| `child_environment`, `entry_run`, `rebuild`, `under_terms`, `made_up` | the child's side |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.forking.answering import Asked
    from agent_tt.forking.handle import ForkHandle
    from agent_tt.model import Edit, Run, WayBackIn

__all__ = ["fork"]


def fork(
    run: str | Run,
    step: int | str | None = None,
    changes: Mapping[str, object] | Sequence[Edit] | None = None,
    *,
    results: Mapping[str, object] | None = None,
    errors: Mapping[str, str] | None = None,
    answers: Mapping[str, object] | None = None,
    system: str | None = None,
    model: str | None = None,
    parameters: Mapping[str, object] | None = None,
    mute: Iterable[int] = (),
    store: str | Path | None = None,
    agent: str | None = None,
    allow: Iterable[str] = (),
    policy: Mapping[str, object] | None = None,
    name: str | None = None,
    by: WayBackIn | None = None,
    accept_changes: bool = False,
    executor: str | None = None,
    overrides: Mapping[str, object] | None = None,
    stop_at: int | None = None,
    time_limit: str | float | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    max_memory: str | int | None = None,
    breaks: Iterable[str] = (),
    script: str | Path | Sequence[object] | None = None,
    seed: int | None = None,
    asked: Asked | None = None,
) -> ForkHandle:
    """Run the agent of `run` again from the state after `step`, changed as asked.

    The agent really runs, in a child process: models are asked and reading tools run. Tools that write are denied, as
    an error that the agent sees, unless `allow` names them. An agent that takes a state is handed it; any other runs
    from its beginning, with what it asked up to `step` answered from the recording.

    ```python
    handle = agent_tt.fork("refund-loop", 1, {"budget.max_searches": 3})
    print(handle.result().status)
    agent_tt.fork("refund-loop", results={"6": {"status": "refunded"}}).wait()
    ```

    Args:
        run: a run, or its id, name, unique id prefix, or `latest`.
        step: number of the step whose state it starts from (0: the input), or `~1`, `@error`. Where a call is edited
            it may be left out.
        changes: new values by path (`{"messages[3].content": "hello"}`), or edits of any kind.
        results: what tools came back with, by `STEP[.CALL][.PATH]`: `{"6.items[0].price": 20}`.
        errors: what calls raised, by `STEP[.CALL]`: `{"6": "TimeoutError: no answer"}`.
        answers: what the model said, by `STEP[.CALL]`: words, or `[{"name": "tool", "arguments": {...}}]`.
        system: the system prompt of every later request.
        model: the model of every later request.
        parameters: parameters of every later request; None leaves one out.
        mute: numbers of steps that are undone, as if they had never happened.
        store: the store that holds the run; else the one that this project uses.
        agent: another entry point, `module:callable` or `path/file.py:callable`; `path/file.py:__main__` is a script.
        allow: names of writing tools that may run: the short form of `policy={name: "live"}`.
        policy: what becomes of calls, by a tool's name, a pattern (`search_*`) or a boundary (`*llm`, `*read`,
            `*write`, `*http`, `*subprocess`, `*socket`): `live`, `recorded`, `recorded-or-ask`, `stub:JSON`,
            `error:Class: text`, `ask` or `deny`. It is stronger than what is configured; what writes is denied where
            nobody says more.
        name: the new run's name; else `NAME/fork-N`.
        by: `restore` or `replay`; None chooses.
        accept_changes: where the agent runs from its beginning and asks something else than was recorded, because its
            code has changed, let it go live from there.
        executor: who runs it: `python`, `mock` (models are not asked) or the name of a registered one.
        overrides: what the agent is told beside its state, by name.
        stop_at: the last step that it takes.
        time_limit: seconds, or `5m`.
        max_tokens: tokens that models may read and write.
        max_cost: US dollars that they may cost.
        max_memory: bytes of memory that its process may take up, or `2GB`.
        breaks: expressions such as `state.budget < 0` or `tool == "charge"`: it stops after the first step with which
            one of them begins to hold, before the agent's next line.
        script: answers of a scripted model, or a JSON file with them; see `agent_tt.forking.terms.read_script`.
        seed: varies the answers that `mock` makes up.
        asked: decides about calls whose policy is `ask`: given an `agent_tt.questions.CallQuestion` it returns
            `question.run()`, `question.run(amount=5)`, `question.give(value)`, `question.fail("TimeoutError: …")` or
            `question.refuse("why")`. Without it they wait for `handle.answer`, `agent-tt answer` or the app.

    Returns:
        A handle with `run_id`, `wait()`, `result()` and `stop()`.

    Raises:
        NotFound: there is no such store, run or step.
        UsageError: an edit does not fit, or the run cannot be forked there; the message says why.
        NotRebuildable: the state holds a value that cannot become a Python object again.
    """
    from contextlib import closing

    from agent_tt.forking.launch import start_fork
    from agent_tt.forking.plan import plan_fork
    from agent_tt.forking.policies import configured_policy, written_rules
    from agent_tt.forking.request import ForkRequest
    from agent_tt.forking.terms import terms_from
    from agent_tt.forking.written import call_edits, request_edits
    from agent_tt.model import Edit
    from agent_tt.store import open_store
    from agent_tt.store.locate import resolve_store_path

    by_path: Mapping[str, object] = changes if isinstance(changes, Mapping) else {}
    edits = () if isinstance(changes, Mapping) else changes or ()
    request = ForkRequest(
        step=step,
        changes=by_path,
        edits=(
            *edits,
            *call_edits(results=results, errors=errors, answers=answers),
            *request_edits(system=system, model=model, parameters=parameters),
            *(Edit("mute", "", target="step", step=number) for number in mute),
        ),
        agent=agent,
        allow=tuple(allow),
        policy=configured_policy().with_all(written_rules((), policy or {})),
        name=name,
        by=by,
        accept_changes=accept_changes,
        terms=terms_from(
            executor=executor,
            overrides=overrides or {},
            stop_at=stop_at,
            time_limit=time_limit,
            max_tokens=max_tokens,
            max_cost=max_cost,
            max_memory=max_memory,
            breaks=breaks,
            script=script,
            seed=seed,
        ),
    )
    with closing(open_store(resolve_store_path(store))) as source:
        plan = plan_fork(source, run, request)
    return start_fork(plan, asked=asked)
