"""Reading an expression: the grammar of the package, by recursive descent with a bounded depth."""

from __future__ import annotations

import difflib
from typing import Final, NoReturn, cast

from agent_tt.querying.expressions import tree
from agent_tt.querying.expressions.lexer import Token, refuse, tokens
from agent_tt.querying.expressions.patterns import BadPattern, compile_pattern

__all__ = ["parse"]

_MOST_DEPTH: Final = 40
"""Parentheses, functions and signs inside each other."""

_MOST_STEPS: Final = 64
"""Keys and positions of one path."""

_RELATIONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "=~"})
_OPERATORS: Final = {
    "and": "Write `and`, in small letters.",
    "or": "Write `or`, in small letters.",
    "not": "Write `not`, in small letters.",
    "is": "Write `==`; whether something is there is asked by exists(x), whether a step failed by `error` alone.",
    "contains": 'Write the part first: "words" in state.text.',
    "includes": 'Write the part first: "words" in state.text.',
    "like": 'Write a pattern: state.text =~ "words".',
    "matches": 'Write a pattern: state.text =~ "words".',
    "startswith": 'Write a pattern: state.text =~ "^words".',
    "endswith": 'Write a pattern: state.text =~ "words$".',
    "if": "An expression is one question: use `and` and `or`.",
    "for": "An expression is one question; of an item of a list ask by its position, state.items[0].",
}
"""What people write who know another language, and what to write here."""

_MEANT: Final = {
    **dict.fromkeys(("nil", "undefined", "none", "null"), "null"),
    "true": "true",
    "false": "false",
    **dict.fromkeys(("duration", "time", "seconds", "elapsed"), "ms, in milliseconds"),
    **dict.fromkeys(("arguments", "arg", "params", "input"), "args"),
    **dict.fromkeys(("output", "answer", "returned", "results"), "result"),
    **dict.fromkeys(("tool_name", "function"), "tool"),
    **dict.fromkeys(("exception", "failed", "errors"), "error"),
    **dict.fromkeys(("total_tokens", "token"), "tokens"),
    **dict.fromkeys(("price", "usd"), "cost"),
    **dict.fromkeys(("number", "step_number"), "step"),
}
"""Names that people guess, and what there is."""

_CONSTANTS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


def parse(text: str, *, bare_state: bool = False) -> tree.Expression:
    """Read an expression.

    Args:
        text: as a person wrote it.
        bare_state: whether a name that is not a fact is a key of the state, so that `state.` may be left out.

    Raises:
        InvalidExpression: it cannot be read; the error says where.
    """
    return _Parser(text, bare_state=bare_state).read()


class _Parser:
    def __init__(self, text: str, *, bare_state: bool = False) -> None:
        self._text = text
        self._bare_state = bare_state
        self._tokens = list(tokens(text))
        self._at = 0
        self._depth = 0
        self._chain = 0
        self._places: set[tree.Place] = set()
        self._compared: set[tree.Place] = set()
        self._asks_calls = False

    def read(self) -> tree.Expression:
        if self._is_over():
            self._refuse(self._next, "there is nothing to ask")
        root = self._either()
        if not self._is_over():
            self._left_over()
        return tree.Expression(self._text, root, frozenset(self._places), frozenset(self._compared), self._asks_calls)

    def _left_over(self) -> NoReturn:
        """Say what was meant by a word after which nobody reads on."""
        token, before = self._next, self._tokens[self._at - 1]
        word = token.text.lower()
        if token.kind == "sign" and token.text == "," and before.kind == "number":
            self._refuse(token, "thousands are not parted", f"Write {before.text}{self._tokens[self._at + 1].text}.")
        if token.kind == "sign" and token.text == "(":
            self._refuse(token, "values have no methods", "There are lower(x), len(x), type(x) and exists(x).")
        if word in _OPERATORS:
            self._refuse(token, f"there is no `{token.text[:40]}`", _OPERATORS[word])
        self._refuse(token, f"{token.text!r} is not expected here")

    def path(self) -> tree.Place:
        """A path by itself: `messages[-1].content`."""
        if self._next.kind in ("name", "word"):
            self._tokens.insert(0, Token("sign", ".", 0))
        place = self._place()
        if not self._is_over():
            self._refuse(self._next, "the path cannot be read on", "Write paths like messages[3].content.")
        return place

    # ---------------------------------------------------------------- words

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _is_over(self) -> bool:
        return self._next.kind == "end"

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _is(self, text: str, kind: str = "sign") -> bool:
        return self._next.kind == kind and self._next.text == text

    def _expect(self, sign: str, why: str) -> Token:
        if not self._is(sign):
            self._refuse(self._next, why)
        return self._take()

    def _refuse(self, token: Token, why: str, hint: str = "") -> NoReturn:
        refuse(self._text, token.position, why, hint)

    def _deeper(self, by: int) -> None:
        self._depth += by
        if self._depth > _MOST_DEPTH:
            self._refuse(self._next, f"it is nested more than {_MOST_DEPTH} deep")

    # ---------------------------------------------------------------- grammar

    def _either(self) -> tree.Node:
        self._deeper(1)
        parts = [self._both()]
        while self._is("or", "word"):
            self._take()
            parts.append(self._both())
        self._deeper(-1)
        return parts[0] if len(parts) == 1 else tree.Either(tuple(parts))

    def _both(self) -> tree.Node:
        parts = [self._not()]
        while self._is("and", "word"):
            self._take()
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else tree.Both(tuple(parts))

    def _not(self) -> tree.Node:
        negations = 0
        while self._is("not", "word"):
            self._take()
            negations += 1
        node = self._relation()
        for _ in range(negations % 2 or min(negations, 2)):
            node = tree.Negated(node)
        return node

    def _relation(self) -> tree.Node:
        left = self._sum()
        token = self._next
        if token.kind == "sign" and token.text in _RELATIONS:
            self._take()
            node = self._matches(left) if token.text == "=~" else self._related(token.text, left)
        elif self._is("in", "word"):
            self._take()
            node = self._related("in", left)
        elif self._is("not", "word"):
            self._take()
            if not self._is("in", "word"):
                self._refuse(self._next, "`not` between two values is `not in`")
            self._take()
            node = tree.Negated(self._related("in", left))
        else:
            return left
        if self._next.kind == "sign" and self._next.text in _RELATIONS:
            self._refuse(self._next, "comparisons are not chained", "Write a < b and b < c.")
        return node

    def _related(self, sign: str, left: tree.Node) -> tree.Node:
        return tree.Related(cast("tree.Relation", sign), left, self._sum())

    def _matches(self, left: tree.Node) -> tree.Node:
        token = self._take()
        if token.kind != "text":
            self._refuse(token, "after =~ stands a pattern in quotes")
        try:
            return tree.Matches(left, compile_pattern(token.text), token.position)
        except BadPattern as error:
            self._refuse(token, f"the pattern cannot be read: {error}", "See `agent_tt.querying.expressions`.")

    def _sum(self) -> tree.Node:
        node = self._product()
        while self._is("+") or self._is("-"):
            sign = cast("tree.Sum", self._take().text)
            node = tree.Operation(sign, node, self._product())
            self._count_chain()
        return node

    def _product(self) -> tree.Node:
        node = self._sign()
        while self._is("*") or self._is("/") or self._is("%"):
            sign = cast("tree.Sum", self._take().text)
            node = tree.Operation(sign, node, self._sign())
            self._count_chain()
        return node

    def _count_chain(self) -> None:
        """Sums lean to the left, so that a long one is a deep tree: it is answered by recursion, and so bounded."""
        self._chain += 1
        if self._chain > _MOST_DEPTH * 2:
            self._refuse(self._next, f"there are more than {_MOST_DEPTH * 2} sums and products")

    def _sign(self) -> tree.Node:
        if not self._is("-"):
            return self._value()
        self._take()
        self._deeper(1)
        node = self._sign()
        self._deeper(-1)
        if isinstance(node, tree.Constant) and type(node.value) in (int, float):
            return tree.Constant(-cast("int | float", node.value))
        return tree.Operation("-", tree.Constant(0), node)

    def _value(self) -> tree.Node:
        token = self._take()
        if token.kind == "number":
            return tree.Constant(token.value)
        if token.kind == "text":
            return tree.Constant(token.text)
        if token.kind == "word" and token.text in _CONSTANTS:
            return tree.Constant(_CONSTANTS[token.text])
        if token.kind == "name":
            return self._named(token)
        if token.kind == "sign" and token.text == "(":
            node = self._either()
            self._expect(")", "the parenthesis is not closed")
            return node
        if token.kind == "sign" and token.text == "[":
            return self._items()
        what = "it ends where a value is expected" if token.kind == "end" else f"{token.text!r} is not a value"
        return self._refuse(token, what)

    def _items(self) -> tree.Node:
        items: list[tree.Node] = []
        while not self._is("]"):
            items.append(self._either())
            if not self._is(","):
                break
            self._take()
        self._expect("]", "the list is not closed")
        return tree.Items(tuple(items))

    def _named(self, token: Token) -> tree.Node:
        name = token.text
        if self._is("("):
            return self._function(token)
        if name == "state":
            return self._of_state(self._place())
        if name not in tree.STEP_NAMES and name not in tree.CALL_NAMES:
            # What follows a comparison is more likely a text without its quotes.
            if self._bare_state and self._tokens[self._at - 2 if self._at > 1 else -1].text not in _RELATIONS:
                return self._of_state((name, *self._place()))
            self._unknown(token)
        place = self._place()
        refusal = _no_such_fact(name, place)
        if refusal is None:
            self._asks_calls |= name in tree.CALL_NAMES
            return tree.Fact(name, place)
        if self._bare_state:
            return self._of_state((name, *place))
        return self._refuse(token, *refusal)

    def _of_state(self, place: tree.Place) -> tree.Node:
        self._places.add(place)
        return tree.Fact("state", place)

    def _unknown(self, token: Token) -> NoReturn:
        known = ("state", *tree.STEP_NAMES, *tree.CALL_NAMES, "changed", *tree.FUNCTIONS)
        name = token.text[:40]
        meant = _MEANT.get(name.lower())
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"A value of the state is written state.{name}."
        if name.lower() in _OPERATORS:
            hint = _OPERATORS[name.lower()]
        elif meant is not None:
            hint = f"Write {meant}; a value of the state is state.{name}."
        elif self._at > 1 and self._tokens[self._at - 2].text in ("==", "!=", "in", "=~"):
            hint = f'A text stands in quotes: "{name}". A value of the state is state.{name}.'
        elif close:
            hint = f"Did you mean {close[0]}, or state.{name}?"
        self._refuse(token, f"there is no `{name}`", hint)

    def _function(self, token: Token) -> tree.Node:
        if token.text != "changed" and token.text not in tree.FUNCTIONS:
            names = ", ".join(("changed", *tree.FUNCTIONS))
            self._refuse(token, f"there is no function `{token.text[:40]}`", f"There are {names}.")
        self._take()
        if token.text == "changed":
            place = self._changed_place()
            self._compared.add(place)
            node: tree.Node = tree.Changed(place)
        else:
            node = tree.Applied(token.text, self._either())
        self._expect(")", f"{token.text}( ) takes one value and is closed")
        return node

    def _changed_place(self) -> tree.Place:
        token = self._take()
        if token.kind == "name" and token.text == "state":
            return self._place()
        if token.kind == "name" and self._bare_state:
            return (token.text, *self._place())
        if token.kind != "text":
            self._refuse(token, 'changed( ) takes a path of the state: changed("messages[-1]") or changed(state.plan)')
        return _Parser(token.text).path()

    def _place(self) -> tree.Place:
        place: list[str | int] = []
        while self._is(".") or self._is("["):
            if len(place) >= _MOST_STEPS:
                self._refuse(self._next, f"a path has at most {_MOST_STEPS} keys and positions")
            if self._take().text == ".":
                token = self._take()
                if token.kind not in ("name", "word"):
                    self._refuse(token, "after a dot stands a key", 'Write an odd key as ["odd key"].')
                place.append(token.text)
                continue
            negative = self._is("-")
            if negative:
                self._take()
            token = self._take()
            if token.kind == "number" and type(token.value) is int:
                place.append(-token.value if negative else token.value)
            elif token.kind == "text" and not negative:
                place.append(token.text)
            else:
                self._refuse(token, "in brackets stands a position or a key in quotes")
            self._expect("]", "the bracket is not closed")
        return tuple(place)


def _no_such_fact(name: str, place: tree.Place) -> tuple[str, str] | None:
    """Why a fact holds nothing at a place, and what to write; None where it may."""
    if name == "call":
        if len(place) != 1 or place[0] not in tree.CALL_FACTS:
            return f"of a call there are {', '.join(f'call.{fact}' for fact in tree.CALL_FACTS)}", ""
    elif place and name in ("tool", "model"):
        return f"`{name}` is a name and holds nothing else", "What was asked is `args`."
    elif place and name in tree.STEP_NAMES:
        known = place[0] if name == "step" and place[0] in tree.STEP_NAMES else None
        return f"`{name}` holds nothing else", f"Write {known}." if known else f"For the state write state.{name}."
    return None
