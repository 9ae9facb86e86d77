"""Which calls of two steps are the same, and whether they came in another order: lane by lane, as that alone is known.

Calls of lanes that run beside each other (threads, tasks, jobs) are recorded as they came, and which came first is
chance. So calls are paired by what they asked wherever they stand, and of the order counts only what is known:

- Where two lanes made the same calls, those were made in the same order.
- Where the work was shared out otherwise, as among workers that take it from a queue, no two calls that one lane of
  each run made come the other way round.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, TypeAlias

from agent_tt.comparing.steps.moves import asked_by, call_key, lanes_of, out_of_order, value_key
from agent_tt.model import ACTING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call

__all__ = ["CallPair", "calls_told", "pair_calls", "same_calls_reordered"]

CallPair: TypeAlias = "tuple[Call | None, Call | None]"


def pair_calls(a: Sequence[Call], b: Sequence[Call]) -> list[CallPair]:
    """Set calls of one sort beside each other: equal ones, then those of one name, then what is left, in order.

    No call stands alone, or beside another one, where the other step has one that asked the same and is left over.

    Args:
        a: calls of the one step that act, or those that ask models.
        b: the same of the other.

    Returns:
        Each call once, in the order of `a`; those that only `b` has come last.
    """
    keys: list[Callable[[Call], Hashable]] = [_asked_key, lambda call: (call.kind, call.name), lambda _: None]
    if any(len({call.lane for call in calls}) > 1 for calls in (a, b)):
        keys.insert(0, call_key)  # of equal questions of two lanes, the one that came back alike
    beside: dict[int, int] = {}
    for key in keys:
        taken = set(beside.values())
        left_a, left_b = ([i for i in range(len(a)) if i not in beside], [j for j in range(len(b)) if j not in taken])
        if not left_a or not left_b:
            break
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for j in left_b:
            waiting[key(b[j])].append(j)
        for i in left_a:
            there = waiting.get(key(a[i]))
            if there:
                beside[i] = there.popleft()
    taken = set(beside.values())
    pairs: list[CallPair] = [(call, b[beside[i]] if i in beside else None) for i, call in enumerate(a)]
    return pairs + [(None, call) for j, call in enumerate(b) if j not in taken]


def same_calls_reordered(a: Sequence[Call], b: Sequence[Call]) -> bool:
    """Whether two steps made the same calls, and their order is known to differ."""
    lanes_a, lanes_b = lanes_of(a), lanes_of(b)
    counts = [Counter(key for lane in lanes for key in lane) for lanes in (lanes_a, lanes_b)]
    return counts[0] == counts[1] and out_of_order(lanes_a, lanes_b)


def calls_told(calls: Sequence[Call]) -> list[Wire]:
    """What calls asked, in order, each under its name."""
    return [{call.name: asked_by(call)} for call in calls if call.kind in ACTING or call.kind == "llm"]


def _asked_key(call: Call) -> Hashable:
    return call.kind, call.name, value_key(asked_by(call))
