"""Calls of forks that wait: which they are, and what a client decides about those of forks that this server started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from agent_tt.codec.encode import encode
from agent_tt.errors import QuestionNotFound, UsageError
from agent_tt.forking.policy.answering import is_of_fork
from agent_tt.serving.rest import running_models as models
from agent_tt.serving.rest.desk import Asked, desk_of
from agent_tt.serving.rest.failures import NotAllowed
from agent_tt.serving.rest.forks import starter_of
from agent_tt.serving.rest.ids import LONGEST_ID
from agent_tt.shapes.records import question_shape

if TYPE_CHECKING:
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.shapes.records import Shape

__all__ = ["router"]

router = APIRouter(prefix="/api", tags=["forks"])


@router.get("/questions", response_model=models.Questions)
async def questions(
    request: Request,
    run: Annotated[str | None, Query(max_length=LONGEST_ID, description="only those of this run")] = None,
) -> Response:
    """List the calls that wait for somebody's answer, the oldest question first."""

    def work(asked: Asked) -> Shape:
        found = None if run is None else asked.run(run).id
        waiting = asked.opened.questions(found)
        return {"questions": [question_shape(each, asked.opened.run(each.run_id).name) for each in waiting]}

    return await desk_of(request).ask(request, work)


@router.post("/questions/{number}/answer", response_model=models.Answered)
async def answer(
    request: Request,
    number: Annotated[int, Path(ge=0, le=(1 << 62), description="the question")],
    wanted: models.AnswerText,
) -> Response:
    """Decide about a call that waits, of a fork that this server started."""

    def work(asked: Asked) -> Shape:
        starter = starter_of(asked.desk)
        question = next((each for each in asked.opened.questions() if each.id == number), None)
        if question is None:
            raise QuestionNotFound(f"question {number} does not wait", hint="GET /api/questions lists what waits.")
        handle = next((each for each in starter.running() if is_of_fork(question, each.run_id, each.process)), None)
        if handle is None:
            raise NotAllowed("it is asked by a fork that this server did not start", hint="`agent-tt answer` decides.")
        decision = _decision(question, wanted).said_by("server")
        handle.answer(question, decision)
        asked.did |= {"did": "answered", "run": question.run_id, "question": number, "word": decision.word}
        name = asked.opened.run(question.run_id).name
        return {**question_shape(question, name), "answer": decision.to_facts()}

    return await desk_of(request).ask(request, work, writes=True)


def _decision(question: CallQuestion, wanted: models.AnswerText) -> Decision:
    """What was decided.

    Raises:
        UsageError: it does not fit the call, or something else was said beside it.
    """
    own = {"run": "args", "give": "value", "raise": "error", "refuse": "why"}[wanted.word]
    odd = wanted.model_fields_set - {"word", own}
    if odd:
        raise UsageError(f"{wanted.word} takes {own}, and not {', '.join(sorted(odd))}")
    match wanted.word:
        case "run":
            return question.run_with({name: encode(value) for name, value in (wanted.args or {}).items()})
        case "give":
            return question.give_wire(encode(wanted.value))
        case "raise":
            return question.fail(wanted.error or "")
    return question.refuse(wanted.why or "")
