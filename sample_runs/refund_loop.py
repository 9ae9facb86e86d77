"""A support agent that answers from the help centre, and the loop that it got stuck in.

Asked about the refund policy, version 1 searches for it, finds nothing, and searches again with the same words until
its budget of searches is used up: it goes on as long as it has no document, and never notices that the answer was
"there is none". Version 2 takes an empty result for an answer and says so.

Run it: `python refund_loop.py`. The second version is `refund_loop.py:main_v2`.
"""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import agent_tt
from sample_model import Answer, Message, ask_for, hosted, requested, say, takes, tool_message, used_tokens

if TYPE_CHECKING:
    from agent_tt.recording.steps import RecordedStep

State = dict[str, Any]

MODEL = {"model": "rules-1", "temperature": 0.0, "max_tokens": 200, "prompt_version": "support-3"}

HELP_CENTRE = {
    "Returning goods": "Unused goods can be sent back within 30 days. You have your money five working days later.",
    "Delivery": "Orders placed before 14:00 leave our warehouse the same day and arrive within three working days.",
    "Warranty": "Every machine has a warranty of two years. Keep the invoice: it is your proof.",
    "Gift cards": "Gift cards are valid for three years. They cannot be paid out.",
}

SMALL_WORDS = frozenset(
    {"a", "about", "are", "do", "does", "for", "have", "how", "i", "is", "my", "of", "the", "to", "what", "your"}
)


@agent_tt.tool(effect="read")
def search_docs(query: str) -> dict[str, Any]:
    """The articles of the help centre that hold every word of `query`."""
    takes(0.08, 0.4)
    words = query.lower().split()
    docs = [
        {"title": title, "text": text}
        for title, text in HELP_CENTRE.items()
        if all(word in f"{title} {text}".lower() for word in words)
    ]
    return {"docs": docs, "count": len(docs)}


@agent_tt.llm(model="rules-1")
@hosted
def support_model(messages: list[Message], tools: list[str]) -> Answer:
    """The policy: answer from the documents found; without any, search if it may, else say that there are none."""
    found = [doc for result in search_results(messages) for doc in result["docs"]]
    if found:
        return say(messages, f"{found[0]['text']} (from our article “{found[0]['title']}”)")
    question = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    topic = keywords(question)
    if "search_docs" in tools:
        return ask_for(messages, "search_docs", f"I will look up “{topic}” in the help centre.", query=topic)
    return say(messages, f"Our help centre has no article about “{topic}”. I have asked a colleague to write to you.")


def main(state: State | None = None) -> State:
    """Version 1: search until there is a document."""
    state = state or new_conversation()
    with agent_tt.record("refund-loop", state=state, model=MODEL, version="1") as run:
        while state["answer"] is None:
            must_search = not any(result["docs"] for result in search_results(state["messages"]))
            with run.step("search_docs" if must_search else "answer", state) as step:
                take_turn(state, step, must_search=must_search)
    return state


def main_v2(state: State | None = None) -> State:
    """Version 2: search once; an empty result is an answer too."""
    state = state or new_conversation()
    with agent_tt.record("refund-loop", state=state, model=MODEL, version="2") as run:
        while state["answer"] is None:
            must_search = not search_results(state["messages"])
            with run.step("search_docs" if must_search else "answer", state) as step:
                take_turn(state, step, must_search=must_search)
    return state


def take_turn(state: State, step: RecordedStep, *, must_search: bool) -> None:
    """One turn: ask the model, then do what it asks for, or keep its answer.

    Raises:
        TimeoutError: the model wants to search, and the budget of searches is used up.
    """
    budget = state["budget"]
    answer = support_model(state["messages"], tools=["search_docs"] if must_search else [])
    budget["tokens_left"] -= used_tokens(answer)
    request = requested(answer)
    if request is None:
        step.decision = "answer"
        state["messages"].append(answer["message"])
        state["answer"] = answer["message"]["content"]
        return
    _, arguments = request
    step.decision = f"search for “{arguments['query']}”"
    if state["attempts"] >= budget["max_searches"]:
        raise TimeoutError(f"gave up after {state['attempts']} searches without an answer")
    result = search_docs(**arguments)
    state["messages"] += [answer["message"], tool_message(answer, result)]
    state["attempts"] += 1
    state["notes"] = (
        f"{state['attempts']} of {budget['max_searches']} searches used, the last one found {result['count']}"
    )


def new_conversation() -> State:
    """What the agent starts from: a customer's question and the order it is about."""
    return {
        "messages": [
            {"role": "system", "content": "You answer customers of a coffee machine shop, only from its help centre."},
            {"role": "user", "content": "What is your refund policy?"},
        ],
        "attempts": 0,
        "notes": "no search yet",
        "order": {
            "id": "K-20417",
            "item": "espresso machine, 2 cups",
            "price": Decimal("249.00"),
            "delivered": date(2026, 3, 2),
            "status": "delivered",
        },
        "budget": {"tokens_left": 40_000, "max_searches": 20},
        "answer": None,
    }


def search_results(messages: list[Message]) -> list[dict[str, Any]]:
    """What the searches of a conversation came back with, oldest first."""
    return [json.loads(message["content"]) for message in messages if message["role"] == "tool"]


def keywords(question: str) -> str:
    """The words of a question that are worth searching for."""
    return " ".join(word for word in re.findall(r"\w+", question.lower()) if word not in SMALL_WORDS)


if __name__ == "__main__":
    main()
