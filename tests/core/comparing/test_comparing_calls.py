"""What differs between the calls of two steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent_tt.comparing.runs.call_changes import call_changes
from agent_tt.model import Call, ErrorInfo


def tool(name: str, result: Any, number: int = 1, **asked: Any) -> Call:
    return Call(1, number, "tool", name, "ok", args=asked, result=result)


def said(a: list[Call], b: list[Call]) -> list[tuple[str, str, Any, Any]]:
    return [(change.op, change.path, change.old, change.new) for change in call_changes(a, b)]


def test_a_call_that_came_back_with_something_else_shows_where() -> None:
    a, b = tool("rate", {"eur": 1.5, "usd": [1]}, q="x"), tool("rate", {"eur": 1.7, "usd": [1]}, q="x")
    assert said([a], [b]) == [("change", "rate result.eur", 1.5, 1.7)]
    assert said([a], [a]) == []
    assert said([tool("now", 1)], [tool("now", 2)]) == [("change", "now result", 1, 2)]
    assert said([tool("list", [1])], [tool("list", [2])]) == [("change", "list result[0]", 1, 2)]


def test_what_was_asked_how_it_ended_and_calls_of_one_side_are_shown_too() -> None:
    first, again = tool("rate", 1, q="x"), tool("rate", 1, 2, q="y")
    failed = replace(again, status="error", result=None, error=ErrorInfo("ValueError", "no such rate", ""))
    assert said([first, again], [first, replace(again, args={"q": "z"})]) == [("change", "rate #2 asked.q", "y", "z")]
    assert ("change", "rate #2 ended", "ok", failed.error.short if failed.error else "") in said(
        [first, again], [first, failed]
    )
    assert said([first], [first, again]) == [("add", "rate #2", None, {"q": "y"})]
    assert said([first, again], [first]) == [("remove", "rate #2", {"q": "y"}, None)]


def test_ids_of_what_a_model_says_are_no_difference_and_other_words_are() -> None:
    def ask(number: int, words: str, system: str = "Be nice.") -> Call:
        asked = {"messages": [{"role": "system", "content": system, "id": f"m{number}"}]}
        return Call(1, 1, "llm", "model", "ok", args=asked, result={"id": f"msg_{number}", "content": words})

    assert said([ask(1, "yes")], [ask(2, "yes")]) == []
    assert said([ask(1, "yes")], [ask(2, "no")]) == [("change", "model result.content", "yes", "no")]
    (change,) = said([ask(1, "yes")], [ask(2, "yes", "Be rude.")])
    assert change[1] == "model asked.messages[0].content"
