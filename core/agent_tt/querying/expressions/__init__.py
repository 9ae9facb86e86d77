r"""A small language for questions about steps: `state.budget < 0`, `tool == "charge" and args.amount > 100`.

It is read and answered here and by nothing else: no text of it ever becomes Python, a regular expression of the `re`
module, or SQL. Whatever is written, the answer comes in bounded time, or an `InvalidExpression` with its place.

**What can be asked about**

| name | is |
|---|---|
| `state.plan[0].done`, `state["odd key"]`, `state.messages[-1]` | a value of the state after the step |
| `step` `name` `agent` `kind` `status` `lane` `decision` | of the step: its number, its name, ... |
| `error` | what the step failed with, as text |
| `tokens` `tokens_in` `tokens_out` `cost` `ms` | of the step; `cost` in US dollars, `ms` milliseconds |
| `cost_usd` `duration_ms` | the same two, as JSON names them; also `call.duration_ms` |
| `tool` `args.amount` `result.items[0]` `model` | of one call: the tool's name, what was asked, what came back |
| `call.name` `call.kind` `call.effect` `call.status` `call.error` `call.ms` `call.lane` | further facts of that call |
| `changed("messages[-1]")`, `changed(state.plan)` | whether the step changed the value at a path of the state |
| `len(x)` `type(x)` `exists(x)` `lower(x)` | of a text, list or mapping; `"int"`, `"str"`, ...; of a text |

**What can be said**: `and or not`, `== != < <= > >=`, `in` (a text in a text, an item in a list, a key in a mapping),
`=~` (a text matches a pattern anywhere), `+ - * / %`, parentheses, numbers, texts in either kind of quotes, lists in
brackets, `true false null`. There is no power, no call of anything else, and no way to reach a Python object.

**What it means**

- *Calls.* An expression that asks about calls holds at a step where it holds for one of its calls, all parts of it
  taken together: `tool == "charge" and args.amount > 100` is about one call that is both. A step without calls is
  asked once, with every fact about a call missing.
- *Missing.* What is not there is *missing*, never an error: a path that leads nowhere, a fact of no call, `len` of a
  number, a sum of a text and a number, a division by zero. Every comparison with something missing is false, `!=`
  too; `not` of that is true. `exists(x)` says whether it is there (null is).
- *Truth.* Alone, a value counts as no when it is missing, null, false, 0, or empty; `error` alone asks for any error.
- *Equality.* Numbers are equal by value, so `1 == 1.0`: who asks for `amount == 3` means the number. `true` and `1` are
  not equal, nor are `"1"` and `1`: here a comparison of states and this language agree. `type(x)` tells `int` from
  `float`. Lists and mappings are equal by content, whatever the order of keys.
- *Order.* Numbers compare with numbers, texts with texts and moments with moments; every other comparison is false.
- *Typed values* count as what they stand for: a Decimal is the nearest float, a timedelta its seconds, a date, time,
  path or UUID its text, a tuple or set a list, a dataclass or pydantic model the mapping of its fields, an enum its
  value. Compared, they are exact: a Decimal has all its digits, beside a float that is the number as it is written
  (`state.price == 0.1`). A date or datetime is a moment, and so is the text that it is compared with:
  `state.due < "2026-01-01"`, `state.due >= "2026-01-01T09:00+02:00"`; a day, month or year is its beginning, and a text
  that is not a date is neither before nor after one. Times with zones are compared as instants; where only one side
  has a zone, both are taken as the clock shows them. Two plain texts are compared as texts, whatever they say.
- *Patterns* have letters, `.`, `[a-z]`, `\d \w \s` and their opposites, `^ $` (of the whole text), `( )`, `|`,
  `* + ? {2,5}` and `(?i)` in front. They are matched in time that grows with the text alone.

```
or      := and { "or" and }
and     := not { "and" not }
not     := "not" not | relation
relation:= sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=" | "=~" | "in" | "not" "in") sum ]
sum     := product { ("+" | "-") product }
product := sign { ("*" | "/" | "%") sign }
sign    := "-" sign | value
value   := number | text | list | "(" or ")" | function "(" or ")" | name { "." key | "[" position-or-text "]" }
```
"""

from __future__ import annotations

from agent_tt.querying.expressions.lexer import EXAMPLES
from agent_tt.querying.expressions.parser import parse
from agent_tt.querying.expressions.tree import Expression

__all__ = ["EXAMPLES", "Expression", "parse"]
