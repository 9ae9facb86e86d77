"""The runs that the pictures are of: made by the sample agents under a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import importlib
import io
import shutil
import sys
from contextlib import closing, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.core.store.rows import update
from tests.core.sweeping.by_hand import GONE
from tests.tui.snapshots.still_world import Takes

from agent_tt import samples
from agent_tt.codec.decode import decode
from agent_tt.forking.request import ForkRequest
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.running import results_path
from agent_tt.model import AgentCode, CallEnd, Edit, ErrorInfo, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.model.facts import CallFacts, GoldenFacts, RunFacts
from agent_tt.questions import NewQuestion
from agent_tt.recording.session import SESSION
from agent_tt.store import copy_run, open_store
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.plan import run_name
from agent_tt_tui.cli.root import run as run_command

if TYPE_CHECKING:
    from tests.tui.snapshots.still_world import HandClock

    from agent_tt.protocols import RunWriter
    from agent_tt.store import SqliteStore

NOW: Final = 12.0
"""The hour of that Monday at which one looks at them."""

SHOP: Final = """import agent_tt


@agent_tt.tool(effect="read")
def look_up(order):
    return {"order": order, "amount": 20}


@agent_tt.tool(effect="write")
def charge(order, amount):
    return {"receipt": 1}


def main(state=None):
    with agent_tt.record("shop", state=state) as run:
        with run.step("look"):
            found = look_up("12-7")
        with run.step("charge"):
            charge(**found)
"""

_AGENTS: Final = ("sample_model", "refund_loop", "trip_planner", "flaky_checkout", "research_team")


def record_all(clock: HandClock) -> Path:
    """Record all runs into the store of the working directory, and give that."""
    folder = Path.cwd()
    for name in _AGENTS:
        shutil.copy(samples.folder() / f"{name}.py", folder)
        sys.modules.pop(name, None)
    try:
        with SESSION.joined(Takes(clock)):
            for day, hour, agent, entry in (
                (-4, 9.5, "trip_planner", "main"),
                (-3, 16, "refund_loop", "main_v2"),
                (-1, 11, "research_team", "main"),
                (-1, 15.25, "flaky_checkout", "main"),
                (0, 8, "trip_planner", "main"),
                (0, 9.2, "refund_loop", "main"),
            ):
                clock.go_to(day, hour)
                with suppress(TimeoutError):
                    made = getattr(importlib.import_module(agent), entry)()
                    if asyncio.iscoroutine(made):
                        asyncio.run(made)
    finally:
        for name in _AGENTS:
            sys.modules.pop(name, None)
    with closing(open_store(folder / "runs.db")) as store:
        _fork(store, clock)
        _sweep(store, clock)
        _break_off(store, clock)
        _forget_folder(store)
        _keep_tests(store, clock)
    clock.go_to(0, NOW)
    return folder / "runs.db"


def _fork(store: SqliteStore, clock: HandClock) -> None:
    """Fork the loop twice: version 2 answers, and a smaller budget fails earlier."""
    clock.go_to(0, 9.6)
    failed, mended = store.run("refund-loop"), store.runs()[-2]
    new = NewRun("", code=replace(failed.code, entry="refund_loop:main_v2", version="2"), model=failed.model)
    begun = store.begin_fork(NewFork(failed.id, 1, store.state(failed.id, 1), new, policy={"search_docs": "live"}))
    writer = store.adopt_run(begun, new, _state(store, failed.id, 1))
    _copy_step(store, mended.id, 2, writer, clock)
    writer.finish("succeeded")
    clock.go_to(0, 9.8)
    edit = Edit("set", "budget.max_searches", 3, 20)
    wire = store.state(failed.id, 2)
    wire["budget"]["max_searches"] = 3  # type: ignore[index, call-overload]
    new = NewRun("", code=failed.code, model=failed.model)
    begun = store.begin_fork(NewFork(failed.id, 2, wire, new, edits=[edit], policy={"search_docs": "live"}))
    writer = store.adopt_run(begun, new, decode(wire))
    state = _copy_step(store, failed.id, 3, writer, clock, max_searches=3)
    gave_up = ErrorInfo("builtins:TimeoutError", "gave up after 3 searches without an answer")
    writer.close_step(writer.open_step(NewStep("search_docs")), StepEnd("error", gave_up), state)
    writer.finish("failed", gave_up)
    store.set_tags(failed.id, ["incident"])
    store.add_note(failed.id, None, "note", "Reported by two customers; the help centre has no such article.")
    store.add_note(failed.id, 7, "bookmark", "a")


def _copy_step(
    store: SqliteStore, run_id: str, number: int, writer: RunWriter, clock: HandClock, **budget: int
) -> dict[str, Any]:
    """Write a step as another run has it, with another budget in its state; give that."""
    (made,) = store.steps(run_id, number, number + 1)
    opened = writer.open_step(NewStep(made.name, made.agent))
    for call in store.calls(run_id, number):
        new = NewCall(call.kind, call.name, call.args, call.signature, call.effect, meta=call.meta)
        begun = writer.begin_call(opened, new)
        clock.go_on(0.4)
        writer.end_call(opened, begun, CallEnd(call.status, call.result, call.error))
    end = StepEnd(made.status, made.error, made.tokens_in, made.tokens_out, made.cost_usd, made.decision)
    state = _state(store, run_id, number)
    state["budget"] |= budget
    writer.close_step(opened, end, state)
    return state


def _state(store: SqliteStore, run_id: str, step: int) -> dict[str, Any]:
    """The state after a step as the agent had it."""
    return decode(store.state(run_id, step))  # type: ignore[return-value]


def _sweep(store: SqliteStore, clock: HandClock) -> None:
    """Sweep a budget over three values: one always fails, one sometimes, one has samples to go."""
    clock.go_to(0, 10.5)
    trip = store.run("trip-planner")
    axis = Axis("set", "trip.budget_euros", (400, 800, 1_200))
    sweep = store.begin_sweep(trip.id, 3, Definition((axis,), fork=ForkRequest(3), samples=5, jobs=2).to_mapping())
    dear = "Your trip would cost 584 euros, and you can spend 400: nothing is booked."
    answers = (
        (dear,) * 5,
        ("You go to Lisbon on 14 May with TP 571.", "", "You go to Lisbon on 14 May with TP 571.", "", ""),
        ("You go to Lisbon on 14 May with TP 571.",) * 3,
    )
    for cell, row in enumerate(answers, 1):
        for sample, answer in enumerate(row, 1):
            place = {RunFacts.fork_sweep.key: {"id": sweep.id, "cell": cell, "sample": sample}}
            state = {**_state(store, trip.id, 3), "answer": answer or None}
            new = NewRun(run_name(sweep.name, cell, sample), metadata=place)
            run_id = store.begin_fork(NewFork(trip.id, 3, store.state(trip.id, 3), new))
            writer = store.adopt_run(run_id, NewRun(""), None)
            opened = writer.open_step(NewStep("reply"))
            clock.go_on(2 + sample / 4)
            gave_up = None if answer else ErrorInfo("builtins:TimeoutError", "find_hotels did not answer")
            writer.close_step(opened, StepEnd("error" if gave_up else "ok", gave_up, 1_200, 90, 0.0124), state)
            writer.finish("failed" if gave_up else "succeeded", gave_up)
    with store.database.transaction() as tx:
        update(tx, "sweeps", "id = ?", (sweep.id,), owner=GONE, beat_us=0)


def _break_off(store: SqliteStore, clock: HandClock) -> None:
    """A run whose process was killed while it charged somebody."""
    clock.go_to(0, 11)
    Path("shop.py").write_text(SHOP)
    code = AgentCode("shop:main", "1", root=str(Path.cwd()), cwd=str(Path.cwd()), restore="state")
    writer = store.begin_run(NewRun("shop", code=code), {"order": "12-7", "amount": 20, "receipt": None})
    state = {"order": "12-7", "amount": 20, "receipt": None}
    opened = writer.open_step(NewStep("look"))
    call = writer.begin_call(opened, NewCall("tool", "look_up", {"order": "12-7"}, "01" * 16, "read"))
    clock.go_on(0.3)
    writer.end_call(opened, call, CallEnd("ok", {"order": "12-7", "amount": 20}))
    writer.close_step(opened, StepEnd("ok"), state)
    opened = writer.open_step(NewStep("charge"))
    writer.begin_call(opened, NewCall("tool", "charge", {"order": "12-7", "amount": 20}, "02" * 16, "write"))
    with store.database.transaction() as tx:
        update(tx, "runs", "id = ?", (writer.run_id,), owner=GONE, beat_us=0)


def _keep_tests(store: SqliteStore, clock: HandClock) -> None:
    """Keep two runs as tests, of which one has been run: it passed, and fails now."""
    clock.go_to(0, 11.5)
    for name, kept in (("refund-mended", "refund-loop/fork-1"), ("trip", store.run("trip-planner").id)):
        with redirect_stdout(io.StringIO()):
            assert run_command(["golden", "save", kept, "--name", name]) == 0
    golden = read_golden(Path("tests/agents/trip.toml"))
    with closing(open_store(results_path(golden), create=True)) as results:
        run_id = store.run("trip-planner").id
        for outcome, verdict, said in (
            ("passed", "passed", "succeeded"),
            ("failed", "failed", "failed: no seat is left"),
        ):
            copied = copy_run(store, results, run_id, root="")
            rule = {"kind": "ends", "sentence": "ends well", "verdict": verdict, "said": said, "step": 11}
            results.set_metadata(
                copied,
                {
                    RunFacts.golden_result.key: {
                        GoldenFacts.run.key: copied,
                        GoldenFacts.file.key: str(golden.path.resolve()),
                        GoldenFacts.when.key: clock.at_us,
                        GoldenFacts.kept.key: run_id,
                        GoldenFacts.outcome.key: outcome,
                        GoldenFacts.first.key: "" if outcome == "passed" else f"ends well: {said}",
                        GoldenFacts.rules.key: [{**rule, "differences": [], "shown": []}],
                    }
                },
            )
            clock.go_on(900)


def _forget_folder(store: SqliteStore) -> None:
    """Let tracebacks name files without the folder that they lie in."""
    with store.database.transaction() as tx:
        for table, *keys in (("runs", "run"), ("steps", "run", "step"), ("calls", "run", "step", "call")):
            for *row, error in tx.query(f"SELECT {', '.join(keys)}, error FROM {table} WHERE error IS NOT NULL"):
                where = " AND ".join(f"{key} = ?" for key in keys)
                update(tx, table, where, tuple(row), error=error.replace(f"{Path.cwd()}/", ""))


def begin_live(store: SqliteStore, clock: HandClock) -> RunWriter:
    """A run whose agent is this process: it has looked something up, and goes on."""
    clock.go_to(0, NOW)
    writer = store.begin_run(NewRun("shop", metadata=RunFacts.attached.true()), {"order": "12-7", "log": []})
    opened = writer.open_step(NewStep("look"))
    clock.go_on(1.2)
    writer.close_step(opened, StepEnd("ok", tokens_in=640, tokens_out=32), {"order": "12-7", "log": ["looked up"]})
    return writer


def record_talk(store: SqliteStore, clock: HandClock) -> str:
    """A run that asked a model over HTTP, so that its request can be sent again; give its id."""
    clock.go_to(0, 11.9)
    writer = store.begin_run(NewRun("refund-mail", code=AgentCode("refund_mail:main", "1")), {"order": "K-20417"})
    opened = writer.open_step(NewStep("write the mail"))
    url = "https://api.openai.com/v1/chat/completions"
    told = "You answer customers of a coffee machine shop in two sentences."
    asked = "K-20417 came back unopened. Tell the customer when the 249 euros are paid."
    said = "Your machine is back with us, thank you. We pay the 249 euros within five working days."
    messages = [{"role": "system", "content": told}, {"role": "user", "content": asked}]
    body = {"model": "gpt-4o-mini", "messages": messages, "temperature": 0.7}
    args = {"method": "POST", "url": url, "headers": {"content-type": "application/json"}, "body": body}
    facts = {CallFacts.headers.key: {"authorization": "<redacted>"}, CallFacts.model.key: "gpt-4o-mini"}
    facts |= {CallFacts.tokens_in.key: 46, CallFacts.tokens_out.key: 21}
    call = writer.begin_call(opened, NewCall("llm", f"POST {url}", args, "04" * 16, meta=facts))
    clock.go_on(1.1)
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
    answer = {"model": "gpt-4o-mini", "choices": [choice], "usage": {"prompt_tokens": 46, "completion_tokens": 21}}
    writer.end_call(opened, call, CallEnd("ok", {"status": 200, "headers": {}, "body": answer}))
    writer.close_step(opened, StepEnd("ok", tokens_in=46, tokens_out=21), {"order": "K-20417", "mail": said})
    writer.finish("succeeded")
    clock.go_to(0, NOW)
    return writer.run_id


def ask(writer: RunWriter, clock: HandClock, hold: int | None = None) -> None:
    """A call of such a run that waits for a person."""
    opened = writer.open_step(NewStep("pay"))
    args = {"card": "card_4417", "amount": 249, "note": "espresso machine, 2 cups"}
    call = writer.begin_call(opened, NewCall("tool", "charge", args, "03" * 16, "write"))
    held = {} if hold is None else {"hold": hold, "state": {"budget": 300}, "can_edit_state": True}
    writer.ask(opened, call, NewQuestion(editable=tuple(args), **held))
    clock.go_on(4)
