"""What agent-tt says of a run in its metadata: the keys of ours in `Run.metadata`.

People and agents put into the metadata what they like, under any other key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.model.facts.edits import EDITS
from agent_tt.model.facts.fact import Fact, Facts, Flag, Shape, record, records
from agent_tt.model.facts.shapes import LIST, NUMBER, OBJECT, PLACES, TEXT, TEXT_BY_NAME, TEXTS, TRUTH, VALUE, WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model.edits import Edit
    from agent_tt.model.facts.shapes import Place

__all__ = [
    "AskedAgainFacts",
    "BisectedFacts",
    "DecidedFacts",
    "DroppedFacts",
    "GoldenFacts",
    "GoldenRuleFacts",
    "IncompleteFacts",
    "LimitFacts",
    "ProcessFacts",
    "RedactFacts",
    "RedactedFacts",
    "ResumedFacts",
    "RunFacts",
    "SweepFacts",
    "TermFacts",
    "UnnoticedFacts",
    "UserFacts",
    "WithoutEffectFacts",
]

_WORDS: Final[Shape[tuple[str, ...] | None]] = Shape(
    "list of texts",
    lambda found: tuple(map(str, found)) if isinstance(found, list) else None,
    lambda words: None if words is None else [*words],
)

_ENTRIES: Final[Shape[list[Wire] | None]] = Shape(
    "list of objects", lambda found: found if isinstance(found, list) else None
)


class ProcessFacts(Facts):
    """The process that recorded a run."""

    __slots__ = ()

    id = Fact(TEXT, "what tells the process from others")
    run = Fact(WHOLE, "which of its recordings the run is, from 1; 0 is the one around all others")

    @classmethod
    def of_run(cls, process: str, number: int) -> dict[str, Wire]:
        """What the metadata of a run says of the process that records it."""
        return {RunFacts.process.key: {cls.id.key: process, cls.run.key: number}}


class RedactFacts(Facts):
    """What was taken out of a run beside secrets and the patterns in `redaction`."""

    __slots__ = ()

    profile = Fact(TEXT, "personal data: `personal` or `strict`")
    fields = Fact(_WORDS, "names of fields, as words")
    allow = Fact(_WORDS, "values that stayed, `*` for any letters")
    key = Fact(TEXT, "what tells the key of the marks from others")

    @classmethod
    def of_rules(cls, profile: str, fields: tuple[str, ...], allow: tuple[str, ...], key: str) -> dict[str, Wire]:
        """What the metadata of a run says of the rules that held."""
        said: dict[str, Wire] = {
            cls.profile.key: profile,
            cls.fields.key: [*fields],
            cls.allow.key: [*allow],
            cls.key.key: key,
        }
        return {key: value for key, value in said.items() if value}


class DroppedFacts(Facts):
    """One time that states of steps were dropped."""

    __slots__ = ()

    at = Fact(WHOLE, "when, in microseconds since the epoch")
    steps = Fact(LIST, "the numbers of the steps")

    @classmethod
    def once(cls, at: int, steps: list[int]) -> Wire:
        """What the metadata of a run says of it."""
        return {cls.at.key: at, cls.steps.key: [*steps]}


class RedactedFacts(Facts):
    """One time that something was taken out of a run after it was recorded."""

    __slots__ = ()

    at = Fact(WHOLE, "when, in microseconds since the epoch")
    profile = Fact(TEXT, "the profile that held; absent for none")
    patterns = Fact(TEXTS, "names of the patterns that held")
    fields = Fact(_WORDS, "names of the fields that held, as words")
    unsure = Fact(WHOLE, "questions that changed, and that a replay may not recognise any more; absent for none")

    @classmethod
    def once(cls, at: int, profile: str, patterns: tuple[str, ...], fields: tuple[str, ...], unsure: int) -> Wire:
        """What the metadata of a run says of it."""
        said: dict[str, Wire] = {
            cls.at.key: at,
            cls.profile.key: profile,
            cls.patterns.key: [*patterns],
            cls.fields.key: [*fields],
            cls.unsure.key: unsure,
        }
        return {key: value for key, value in said.items() if value}


class IncompleteFacts(Facts):
    """Where a recording stopped."""

    __slots__ = ()

    step = Fact(WHOLE, "the last step that was recorded, 0 for none")
    reason = Fact(TEXT, "why nothing was recorded after it")

    @classmethod
    def after(cls, step: int, reason: str) -> dict[str, Wire]:
        """What the metadata of such a run says."""
        return {RunFacts.incomplete.key: {cls.step.key: step, cls.reason.key: reason}}


class UnnoticedFacts(Facts):
    """A write into a tracked state that was not noticed at once, and which states may lack it."""

    __slots__ = ()

    track = Fact(TEXT, "the state history")
    path = Fact(TEXT, "where it was written")
    sure = Fact(WHOLE, "the last step before it whose state is known to hold everything; 0 for none")
    step = Fact(WHOLE, "the first step whose state holds it; absent where the run had no step after it")

    @classmethod
    def found(cls, track: str, path: str, sure: int, step: int | None) -> Wire:
        """What the metadata of a run says of it."""
        said: dict[str, Wire] = {cls.track.key: track, cls.path.key: path, cls.sure.key: sure, cls.step.key: step}
        return {key: value for key, value in said.items() if value is not None}


class DecidedFacts(Facts):
    """What a person said of a call that was in flight when its run died."""

    __slots__ = ()

    step = Fact(WHOLE, "its step")
    call = Fact(WHOLE, "its number in there")
    happened = Fact(TRUTH, "whether it did happen: then it is not made again")
    result = Fact(VALUE, "what it gave")

    @classmethod
    def said(cls, place: Place, *, happened: bool, result: Wire) -> DecidedFacts:
        """What was said of the call at that place."""
        return cls({cls.step.key: place[0], cls.call.key: place[1], cls.happened.key: happened, cls.result.key: result})


class ResumedFacts(Facts):
    """One time that a run was resumed: what was said of its calls and steps."""

    __slots__ = ()

    run = Fact(TEXT, "id of the run: forks of it inherit this, and were not resumed")
    status = Fact(TEXT, "its status before")
    open = Fact(PLACES, "calls that an interruption ended, and not what they asked: they count as not answered")
    cut = Fact(PLACES, "calls that the agent made because it was interrupted: they do not count")
    steps = Fact(LIST, "numbers of the steps that an interruption ended, or that the agent took because of it")
    redo_unrecorded = Flag("what is not recorded may be done again")
    decided = Fact(records(DecidedFacts), "what was said of calls that were in flight")


class LimitFacts(Facts):
    """How far a fork may go."""

    __slots__ = ()

    stop_at = Fact(WHOLE, "number of the last step that is taken")
    seconds = Fact(NUMBER, "how long its process may run")
    tokens = Fact(WHOLE, "tokens that models may read and write")
    cost_usd = Fact(NUMBER, "US dollars that models may cost")
    memory = Fact(WHOLE, "bytes of memory that its processes may hold")
    breaks = Fact(TEXTS, "expressions: it ends after the first step after which one of them begins to hold")


class TermFacts(Facts):
    """On what terms a fork runs."""

    __slots__ = ()

    executor = Fact(TEXT, "who runs the agent: `mock`, or a registered name; absent for `python`")
    overrides = Fact(OBJECT, "what the agent is told beside its state, by name")
    limits = Fact(record(LimitFacts), "how far it may go")
    script = Fact(_ENTRIES, "answers of models, in order: objects with `answer` or `error`, and perhaps `match`")
    seed = Fact(WHOLE, "chooses among made-up answers; absent for 0")
    originals = Flag("the agent was given what marks of personal data stand for")


class SweepFacts(Facts):
    """The place of a fork in a sweep."""

    __slots__ = ()

    id = Fact(TEXT, "id of the sweep")
    cell = Fact(WHOLE, "the combination of values that it tries")
    sample = Fact(WHOLE, "which of the runs of that combination it is")

    @classmethod
    def at(cls, sweep: str, cell: int, sample: int) -> SweepFacts:
        """What the metadata of that run says."""
        return cls({cls.id.key: sweep, cls.cell.key: cell, cls.sample.key: sample})


class WithoutEffectFacts(Facts):
    """An edit of a fork that had no effect."""

    __slots__ = ()

    edit = Fact(WHOLE, "its position among the fork's edits, from 0")
    reason = Fact(TEXT, "why, in words")

    @classmethod
    def of_edit(cls, edit: int, reason: str) -> WithoutEffectFacts:
        """What is said of the edit at that position."""
        return cls({cls.edit.key: edit, cls.reason.key: reason})


class BisectedFacts(Facts):
    """What a fork was asked as a probe of a bisection."""

    __slots__ = ()

    key = Fact(TEXT, "what tells one probe from another: a digest of the question, the step, the edits and the code")
    expression = Fact(TEXT, "what was asked of its own steps")
    step = Fact(WHOLE, "the step that it began after")
    holds = Fact(TRUTH, "the answer")

    @classmethod
    def answer(cls, key: str, expression: str, step: int, *, holds: bool) -> BisectedFacts:
        """What a probe answered."""
        return cls({cls.key.key: key, cls.expression.key: expression, cls.step.key: step, cls.holds.key: holds})


class GoldenRuleFacts(Facts):
    """What a rule of a golden said of a run; see `agent_tt.golden.rule.Judgement`."""

    __slots__ = ()

    kind = Fact(TEXT, "its kind")
    sentence = Fact(TEXT, "the rule as people read it")
    verdict = Fact(TEXT, "`passed`, `failed` or `unknown`")
    said = Fact(TEXT, "what was found, in words")
    step = Fact(WHOLE, "the step at which that shows")
    differences = Fact(LIST, "objects `{path, old, new}`: what was expected and what came")


class GoldenFacts(Facts):
    """What came of running a golden."""

    __slots__ = ()

    run = Fact(TEXT, "id of the run: forks and copies of it inherit this, and came of none")
    file = Fact(TEXT, "the golden's file")
    when = Fact(WHOLE, "when, in microseconds since the epoch")
    kept = Fact(TEXT, "id of the run that is kept, in the same file")
    outcome = Fact(TEXT, "`passed`, `failed`, or `unknown` where it could not be run or judged")
    first = Fact(TEXT, "why it did not pass, in one line")
    rules = Fact(records(GoldenRuleFacts), "what each rule said, of those that were on")


class AskedAgainFacts(Facts):
    """Which recorded call a run asked again, and how; see `agent_tt.asking_again`."""

    __slots__ = ()

    run = Fact(TEXT, "id of the run that the call was recorded in")
    step = Fact(WHOLE, "its step")
    call = Fact(WHOLE, "its number in there")
    times = Fact(WHOLE, "how often it was to be asked")
    edits = Fact(EDITS, "what was changed of its request, in that order")
    model = Fact(TEXT, "the model that was asked in place of the recorded one")

    @classmethod
    def of_call(
        cls, run: str, step: int, call: int, *, times: int, edits: Sequence[Edit], model: str | None
    ) -> AskedAgainFacts:
        """What is said where a call is asked again."""
        facts: dict[str, Wire] = {cls.run.key: run, cls.step.key: step, cls.call.key: call, cls.times.key: times}
        if edits:
            cls.edits.put(facts, tuple(edits))
        if model:
            facts[cls.model.key] = model
        return cls(facts)


class UserFacts(Facts):
    """What people write down about runs and checkpoints, as far as the application knows it by name."""

    __slots__ = ()

    ticket = Fact(TEXT, "the ticket or issue that it belongs to")
    purpose = Fact(TEXT, "what it is for")
    retention = Fact(TEXT, "of a run: when it may be pruned: a class of runs, an age as `30d`, or `never`")


class RunFacts(Facts):
    """The keys of ours in `Run.metadata`. All others are the user's."""

    __slots__ = ()

    script = Fact(TEXT, "the script that ran the agent, where it cannot be started from a state")
    module = Fact(TEXT, "the same of a module that was run with `python -m`")
    arguments = Fact(_WORDS, "the arguments of that script or module")
    command = Fact(
        _WORDS, "what Python was told, of a program that was recorded from outside: options, program, arguments"
    )
    session = Fact(TEXT, "id that the runs of one `agent-tt record` command share")
    hash_seed = Fact(
        TEXT, "the variable of this name: lists that are made of sets are ordered by it", key="PYTHONHASHSEED"
    )
    python_options = Fact(_WORDS, "options of its Python that decide what a program does, such as `-O`")
    patched = Fact(TEXTS, "what was recorded around it by patches: `clock`, `random`, `ids`, `env`")
    process = Fact(record(ProcessFacts), "the process that recorded it")
    headers = Fact(_WORDS, "names of HTTP headers that count as part of a question")
    redaction = Fact(TEXT_BY_NAME, "the patterns of its project's own for what is secret, by name")
    redact = Fact(record(RedactFacts), "what else was taken out: a profile, fields, and what stayed")
    redacted = Fact(records(RedactedFacts), "each time that something was taken out of it afterwards, oldest first")
    dropped = Fact(records(DroppedFacts), "each time that states of its steps were dropped, oldest first")
    model_parameters = Fact(OBJECT, "what the agent said of its model beside the fields of `model`")
    calls = Fact(TEXT_BY_NAME, "functions named from outside: the effect (`read`, `write`, `llm`) by dotted path")
    calls_named = Fact(TEXT_BY_NAME, "under which names they are recorded, by dotted path")
    calls_unmatched = Fact(TEXTS, "the dotted paths of which no call was made")
    calls_held = Fact(TEXT_BY_NAME, "what keeps a function where it cannot be replaced, in words by dotted path")
    asked_unrecorded = Fact(
        OBJECT, "tools that models asked for and were told the result of, with no call recorded: how often, by name"
    )
    effects = Fact(TEXT_BY_NAME, "what a person who forked it said that tools do: `read` or `write`, by name")
    unseen_libraries = Fact(
        _WORDS, "loaded libraries in C, and a program behind the proxy, that may reach the world where no rule holds it"
    )
    jobs_came = Fact(TEXTS, "lanes of jobs that worker processes did, in the order in which what they gave came back")
    incomplete = Fact(record(IncompleteFacts), "it was not recorded to its end")
    unnoticed = Fact(records(UnnoticedFacts), "writes into its tracked state that were noticed late, oldest first")
    resumed = Fact(records(ResumedFacts), "each time that it was resumed, oldest first")
    fork_terms = Fact(record(TermFacts), "of a fork: on what terms it runs, where they differ from the usual")
    fork_sweep = Fact(record(SweepFacts), "of a fork that a sweep took: its place in there")
    fork_expect = Fact(TEXT, "of a fork: the expression that was hoped to hold after its last step")
    edits_without_effect = Fact(records(WithoutEffectFacts), "of a fork: the edits of which nothing came")
    bisected = Fact(record(BisectedFacts), "of a fork that a bisection took: what it was asked, and the answer")
    title = Fact(TEXT, "of a run in another program's file of messages: its title there")
    parts_left_out = Fact(TEXT, "of a run in another program's file: what of it is not shown, being too much")
    golden_result = Fact(
        record(GoldenFacts), "of a run that came of a golden, or of the kept one where none came: what came of it"
    )
    asked_again = Fact(record(AskedAgainFacts), "of a run that only asked a model again what a recorded call had asked")
    attached = Flag("its agent waits before its next calls where somebody holds it")
    traceparent = Fact(TEXT, "the span of OpenTelemetry in which it began, as W3C's Trace Context writes it")
    sample = Fact(TEXT, "of a sample run that comes with agent-tt: the sample's name")
    langgraph_thread = Fact(TEXT, "of a thread that LangGraph's checkpointer keeps here: its id")
    stopped_before = Fact(TEXTS, "of a thread of LangGraph that was interrupted: the nodes that run next")
    asks_in = Fact(TEXTS, "of a thread of LangGraph that waits for a person: the nodes that asked")
    langgraph_early_writes = Fact(
        LIST,
        "of such a thread: writes that came before their checkpoint, each `[namespace, checkpoint, writes of a task]`",
    )
