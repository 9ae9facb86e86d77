"""Models' answers that no model gave: made up from those that were recorded, or given in a script.

For the `mock` executor. Each question to a model is answered here; everything else runs as the fork's policy says. The
next recorded answer of the same function (or address) is given, or, as the seed has it, another one of its answers: so
a run of many forks with several seeds takes several ways. A script gives its answers in its order, each once; those
with a `match` only to questions that hold that text. An answer gets the form in which the recorded ones came: the
provider's own, plain or streamed.

What was made up is marked: `made_up` among the facts of its call and of the step, and among the tags of the run.
"""

from __future__ import annotations

import json
import random
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.errors import InvalidEdit, InvalidScript
from agent_tt.forking.editing.call_edits import edited_call
from agent_tt.model import Call, Edit
from agent_tt.model.facts import CallFacts
from agent_tt.recording.calls.at_hand import AtHand
from agent_tt.replaying.answers.rebuilt_errors import rebuild_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.terms import Terms
    from agent_tt.model import Delivery, Run
    from agent_tt.protocols import RunSource
    from agent_tt.recording.calls.answers import Question, Served

__all__ = ["MadeUpAnswers", "check_script", "recorded_answers"]

_OTHER: Final = 0.5
"""How often another recorded answer is given than the next one."""

Recorded = tuple[Call, "Sequence[Delivery]"]


class MadeUpAnswers:
    """Answers every question to a model; see the module.

    Args:
        recorded: what models answered in the run that is forked, in order.
        after: the last step that the fork keeps: answers are given from the step after it on.
        terms: the script, or the seed.
    """

    def __init__(self, recorded: Iterable[Recorded], after: int, terms: Terms) -> None:
        self._lock = threading.Lock()
        self._draw = random.Random(terms.seed)  # noqa: S311  chooses among answers
        self._varies = terms.seed != 0
        self._script = None if terms.script is None else list(terms.script)
        self._given = 0
        self._by_name: dict[str, list[Recorded]] = {}
        self._next: dict[str, int] = {}
        for call, pieces in recorded:
            answers = self._by_name.setdefault(call.name, [])
            if call.step <= after:
                self._next[call.name] = len(answers) + 1
            answers.append((call, pieces))

    def ask(self, question: Question) -> Served | None:
        """The answer to a question; None for what asks no model, and runs.

        Raises:
            InvalidScript: the script has no answer left, or there is no recorded one to make up another from.
        """
        if question.kind != "llm":
            return None
        with self._lock:
            answers = self._by_name.get(question.name) or _of_any(self._by_name)
            if self._script is None:
                call, pieces = self._choose(question.name, answers)
            else:
                call, pieces = self._scripted(question, answers)
        label = "mock" if self._script is None else "script"
        return MadeUp(replace(call, meta={**call.meta, **CallFacts.made_up.entry(label)}), pieces)

    def _choose(self, name: str, answers: Sequence[Recorded]) -> Recorded:
        if not answers:
            raise InvalidScript(
                f"nothing was recorded from which an answer of {name} could be made up",
                hint="give the answers: --script FILE.json",
            )
        index = self._next.get(name, 0)
        self._next[name] = index + 1
        if self._varies and self._draw.random() < _OTHER:
            index = self._draw.randrange(len(answers))
        return answers[index % len(answers)]

    def _scripted(self, question: Question, answers: Sequence[Recorded]) -> Recorded:
        script = self._script or []
        text = json.dumps(question.args, ensure_ascii=False, default=str)
        for index, entry in enumerate(script):
            if str(entry.get("match", "")) in text:
                script.pop(index)
                self._given += 1
                return scripted(entry, answers, question.name)
        why = f"the script has no answer left for {question.name}: {self._given} were given"
        raise InvalidScript(why, hint="add answers to it, or leave out a match that does not fit")


def scripted(entry: Mapping[str, Wire], answers: Sequence[Recorded], name: str) -> Recorded:
    """A scripted answer in the form of the recorded ones.

    Raises:
        InvalidScript: it cannot be given in that form.
    """
    whole = [pair for pair in answers if pair[0].status == "ok"]
    target = "error" if "error" in entry else "answer"
    blank = Call(step=0, number=0, kind="llm", name=name, status="ok")
    call, pieces = whole[0] if whole else (blank, ())
    try:
        return edited_call(call, pieces, [Edit("set", "", entry[target], target=target)])  # type: ignore[arg-type]
    except InvalidEdit as error:
        raise InvalidScript(f"the script does not fit: {error.message}", hint=error.hint) from error


def check_script(script: Iterable[Mapping[str, Wire]], recorded: Sequence[Recorded]) -> None:
    """Refuse a script with answers that have no form in which what was recorded could say them.

    Raises:
        InvalidScript: the answer, and why.
    """
    names = list(dict.fromkeys(call.name for call, _ in recorded))
    for entry in script if len(names) == 1 else ():
        scripted(entry, recorded, names[0])


def recorded_answers(source: RunSource, run: Run) -> list[Recorded]:
    """What models answered in a run, with what reached its agent in pieces; those inside others left out."""
    return [
        (call, source.deliveries(run.id, step.number, call.number))
        for step in source.steps(run.id)
        if step.calls
        for call in source.calls(run.id, step.number)
        if call.kind == "llm" and call.status in ("ok", "error")
    ]


def _of_any(by_name: Mapping[str, Sequence[Recorded]]) -> Sequence[Recorded]:
    """The answers of the only function that was recorded, for one that was renamed since."""
    return next(iter(by_name.values())) if len(by_name) == 1 else ()


class MadeUp(AtHand):
    """An answer that was made up."""

    def read_past(self, why: str = "it was not read to its end") -> BaseException:
        """What to raise where the agent wants more of an answer than was recorded."""
        return InvalidScript(f"of the recorded answer of {self._call.name} none can be made up: {why}")

    def failure(self) -> BaseException:
        """The exception that the answer is."""
        info = self._call.error
        return rebuild_error(None if info is None else info.value, text="" if info is None else info.message)
