"""Sources are parsed from several threads at once, whatever the interpreter makes of that."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agent_tt.replaying.tape.source_trees import parse_source

SOURCE = "\n".join(f"def f{n}(x):\n    return [x, {{'k': (x + {n}) * 2}}]" for n in range(200))


def test_threads_that_parse_at_once_all_get_the_tree() -> None:
    expected = ast.dump(ast.parse(SOURCE))
    with ThreadPoolExecutor(4) as pool:
        assert {ast.dump(tree) for tree in pool.map(parse_source, [SOURCE] * 12)} == {expected}


def test_what_another_thread_disturbs_is_done_again_and_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [SystemError("AST constructor recursion depth mismatch")] * 2
    parse = ast.parse

    def disturbed(*given: Any, **named: Any) -> ast.Module:
        if failures:
            raise failures.pop()
        return parse(*given, **named)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert isinstance(parse_source("x = 1"), ast.Module)
    with pytest.raises(SyntaxError):
        parse_source("x =", "agent.py")
    failures[:] = [SystemError("broken")] * 9
    with pytest.raises(SystemError, match="broken"):
        parse_source("x = 1")
