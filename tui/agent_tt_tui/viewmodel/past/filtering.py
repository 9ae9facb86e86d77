"""What is typed to find steps: words, a question after `?`, or words for parts of one, such as `kind:model took>2s`.

| written | holds at steps |
|---|---|
| `kind:model`, `kind:write` | of that kind, see `KINDS`; the beginning of a word is enough |
| `agent:lead`, `lane:main/2` | of agents, or in lanes, whose name holds this |
| `name:plan`, `tool:search`, `model:gpt` | whose name, or that of one of whose tools or models, holds this |
| `error:`, `error:timeout` | that failed; whose error holds this |
| `changed:plan.open` | that changed the value at a path of the state |
| `took>2s`, `tokens>2000`, `cost>0.05` | that took so long, or used so much; also `<`, `>=`, `<=` and `=` |

All of them are to hold, and all other words are to stand in what the step recorded. Every part becomes one of an
expression (`agent_tt.querying.expressions`), which is asked as one that was typed. Of `tool:`, `agent:`, `step:` and
`in:` beside words a search of text has its own meaning (`agent_tt.querying.search.query`): of the text's own call.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import parse_path
from agent_tt.errors import InvalidExpression, InvalidPath, UsageError
from agent_tt.forking.terms import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt_tui.viewmodel.debugger.overview import Overview

__all__ = ["KINDS", "Asked", "TermsRow", "read_asked", "terms_at_hand"]

KINDS: Final[Mapping[str, str]] = {
    "model": 'kind == "llm"',
    "llm": 'kind == "llm"',
    "tool": "exists(tool)",
    "read": 'kind == "read"',
    "write": 'kind == "write"',
    "http": 'kind == "http"',
    "person": 'kind == "human"',
    "human": 'kind == "human"',
    "clock": 'kind == "other"',
    "other": 'kind == "other"',
    "code": "not exists(kind) and step > 0",
}
"""The words for kinds of steps, and the question that each is."""

_PIECE: Final = re.compile(
    r'(?P<name>[a-z]+):(?P<value>"[^"]*"?|\S*)|(?P<figure>took|tokens|cost)(?P<sign>>=|<=|>|<|=)(?P<amount>\S*)'
    r'|(?P<text>"[^"]*"?|\S+)'
)
_OF_TEXTS: Final = frozenset({"in", "tool", "agent", "step"})
_COUNTED: Final = (
    *(("model", "llm"), ("read", "read"), ("write", "write"), ("http", "http"), ("person", "human")),
    *(("clock", "other"), ("code", "")),
)
_MOST_LANES: Final = 6
_STEPS: Final = re.compile(r"(?P<first>\d{0,18})(?P<dash>-?)(?P<last>\d{0,18})")
_NUMBER: Final = re.compile(r"\d{0,15}(\.\d{0,9})?")
_DURATION_SO_FAR: Final = re.compile(r"\d*\.?\d*m?")
_MILLISECONDS: Final = re.compile(r"\d{1,12}(\.\d{1,6})?ms")


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed.

    Attributes:
        question: The expression that is to hold; "" where only words are looked for.
        words: What the texts of a step are to hold, as a search takes it; "" where only an expression is to hold.
        begins: Where in what was typed the question begins, if it was typed as one.
        is_search: Whether a search of text takes all that was typed, too.
    """

    question: str = ""
    words: str = ""
    begins: int | None = None
    is_search: bool = False


def read_asked(text: str) -> Asked:
    """Read what was typed.

    Raises:
        InvalidExpression: A part cannot be read; the error says where.
    """
    begun = len(text) - len(text.lstrip())
    if text[begun : begun + 1] == "?":
        if not text[begun + 1 :].strip():
            _refuse(text, len(text), "what is to hold: state.budget < 0, changed(state.plan), error")
        return Asked(text[begun + 1 :], begins=begun + 1)
    questions: list[str] = []
    of_texts: list[tuple[str, str]] = []
    words: list[str] = []
    for piece in _PIECE.finditer(text):
        name = piece["name"]
        if piece["figure"]:
            questions += _figure(text, piece)
        elif name in _OF_TEXTS:
            of_texts.append((piece[0], _named(text, piece)))
        elif name in _TERMS:
            questions += filter(None, [_named(text, piece)])
        else:
            words.append(piece[0])
    is_search = not questions
    if words or (of_texts and any(written.startswith("in:") for written, _ in of_texts)):
        words = [written for written, _ in of_texts] + words
    else:
        questions += [question for _, question in of_texts if question]
    return Asked(" and ".join(f"({question})" for question in questions), " ".join(words), is_search=is_search)


class TermsRow(NamedTuple):
    """Some of what can be typed.

    Attributes:
        title: What it is about.
        terms: Each with how many steps it holds at, as far as that is at hand; None for what is to be completed.
    """

    title: str
    terms: Sequence[tuple[str, int | None]]


def terms_at_hand(overview: Overview) -> Sequence[TermsRow]:
    """What can be typed, with the counts of what is at hand of the steps."""
    counts = [(f"kind:{word}", overview.count_of(kind)) for word, kind in _COUNTED]
    errors = [("error:", len(overview.errors))] if overview.errors else []
    lanes = [(f"agent:{_quoted(name)}", overview.lane_count(lane)) for lane, name in enumerate(overview.lanes)]
    rows = [TermsRow("here", [each for each in counts if each[1]] + errors)]
    rows += [TermsRow("agents", lanes[:_MOST_LANES])] if len(lanes) > 1 else []
    to_complete = ("tool:", "name:", "model:", "error:", "changed:", "took>2s", "tokens>2000", "cost>0.05")
    rows.append(TermsRow("also", [(word, None) for word in to_complete]))
    rows.append(TermsRow("or ask", [("?tokens > 2000", None), ('?tool == "charge" and args.amount > 100', None)]))
    return rows


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _named(text: str, piece: re.Match[str]) -> str:
    """The question that a name with its value is; "" while there is no value yet."""
    value, at = piece["value"].strip('"'), piece.start("value")
    return "" if not value and piece["name"] != "error" else _TERMS[piece["name"]](text, value, at)


def _holds(fact: str) -> Callable[[str, str, int], str]:
    def question(_text: str, value: str, _at: int) -> str:
        return f"{json.dumps(value.lower(), ensure_ascii=False)} in lower({fact})"

    return question


def _kind(text: str, value: str, at: int) -> str:
    if value in KINDS:
        return KINDS[value]
    found = dict.fromkeys(question for word, question in KINDS.items() if word.startswith(value.lower()))
    if not found:
        _refuse(text, at, f"there is no kind {value!r}", f"Kinds are {', '.join(KINDS)}.")
    return " or ".join(f"({question})" for question in found)


def _agent(text: str, value: str, at: int) -> str:
    return f"{_holds('agent')(text, value, at)} or not exists(agent) and {_holds('lane')(text, value, at)}"


def _error(text: str, value: str, at: int) -> str:
    return _holds("error")(text, value, at) if value else "error"


def _changed(text: str, value: str, at: int) -> str:
    path = value.removeprefix("state.")
    try:
        if parse_path(path):
            return f"changed(state{path if path.startswith('[') else f'.{path}'})"
    except InvalidPath as error:
        _refuse(text, at + len(value) - len(path) + error.position, error.message)
    return ""


def _step(text: str, value: str, at: int) -> str:
    steps = _STEPS.fullmatch(value)
    if steps is None:
        _refuse(text, at, "steps are written 7, 10-20, 10- or -20")
    first, last = steps["first"], steps["last"] if steps["dash"] else steps["first"]
    bounds = [f"step {sign} {int(bound)}" for sign, bound in ((">=", first), ("<=", last)) if bound]
    return " and ".join(bounds)


_TERMS: Final[Mapping[str, Callable[[str, str, int], str]]] = {
    "kind": _kind,
    "agent": _agent,
    "lane": _holds("lane"),
    "name": _holds("name"),
    "tool": _holds("tool"),
    "model": _holds("model"),
    "error": _error,
    "changed": _changed,
    "step": _step,
    "in": lambda _text, _value, _at: "",
}


def _figure(text: str, piece: re.Match[str]) -> Sequence[str]:
    """What a figure is compared with; nothing while none is typed yet."""
    name, sign, amount = piece["figure"], piece["sign"], piece["amount"]
    sign = "==" if sign == "=" else sign
    if not amount:
        return ()
    if name == "took":
        try:
            seconds = float(amount[:-2]) / 1000 if _MILLISECONDS.fullmatch(amount) else parse_duration(amount)
        except UsageError as error:
            if _DURATION_SO_FAR.fullmatch(amount):  # its unit is not typed yet
                return ()
            _refuse(text, piece.start("amount"), error.message, error.hint or "")
        return (f"ms {sign} {_written(seconds * 1000)}",)
    number = amount.removeprefix("$").replace(",", "")
    if number in ("", "."):
        return ()
    if not _NUMBER.fullmatch(number):
        _refuse(text, piece.start("amount"), f"{amount!r} is no number")
    return (f"{name} {sign} {_written(float(number))}",)


def _written(number: float) -> str:
    """A number as an expression takes it."""
    return f"{number:.9f}".rstrip("0").rstrip(".")


def _refuse(text: str, position: int, why: str, hint: str = "") -> NoReturn:
    raise InvalidExpression(f"{text[:80]!r} cannot be asked: {why}", text=text, why=why, position=position, hint=hint)
