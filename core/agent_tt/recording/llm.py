"""`@agent_tt.llm`: functions that ask a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, overload

from agent_tt.recording.tools import mark

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


@overload
def llm(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def llm(*, model: str | None = None, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def llm(
    function: Callable[P, R] | None = None, /, *, model: str | None = None, name: str | None = None
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Record every call of a function as a model call; `@llm` or `@llm(model="rules-1")`.

    An answer that has `usage` (a key or attribute, with `tokens_in`, `tokens_out` and `cost_usd`, or the words of
    OpenAI or Anthropic for them) adds it to the call and to its step. Functions keep their nature as with `tool`.

    ```python
    @agent_tt.llm(model="rules-1")
    def decide(messages):
        return {"content": "Yes.", "usage": {"tokens_in": 12, "tokens_out": 2, "cost_usd": 0.0001}}
    ```

    Args:
        function: the function, when the decorator is used without arguments.
        model: the model that it asks; else the run's own.
        name: what the calls are called, in place of the function's own name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return mark(function, "llm", None, name=name, model=model)

    return decorate if function is None else decorate(function)
