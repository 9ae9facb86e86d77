"""Values as people type them: strict JSON, with envelopes for what JSON cannot say."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Final, NoReturn

from agent_tt._pattern import lazy_re
from agent_tt.codec.decode import check_envelopes
from agent_tt.codec.encode import encode
from agent_tt.codec.wire import MAX_DEPTH, TYPE, Wire
from agent_tt.errors import InvalidValue, NotRebuildable

__all__ = ["parse_value"]

_MOST_DIGITS: Final = 4000
"""Decimal digits of an integer; Python itself reads 4,300."""

_TOKEN: Final = lazy_re(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_QUOTE_HINT: Final = 'Write text in double quotes, like "Paris"; in a shell put single quotes around all of it.'


class _Refused(Exception):  # internal: becomes InvalidValue once the place is known
    """Something that JSON allows and we do not. `token` is how it is written; empty for a key that occurs twice."""

    def __init__(self, why: str, token: str = "") -> None:
        super().__init__(why)
        self.token = token


def parse_value(text: str) -> Wire:
    """Read JSON as a wire value.

    Integers outside 64 bits and keys that need it are put into envelopes; envelopes that stand in the text must be well
    formed. NaN, infinities and keys that occur twice are refused.

    Raises:
        InvalidValue: with line and column, from 1.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
        wire = _checked_text(value, 0)
        check_envelopes(wire)
    except json.JSONDecodeError as error:
        hint = _QUOTE_HINT if _looks_like_words(text) else ""
        raise _invalid(f"not JSON: {_lower(error.msg)}", text, error.pos, hint) from error
    except _Refused as error:
        position = _token_at(text, error.token) if error.token else _second_key_at(text)
        raise _invalid(str(error), text, position) from error
    except RecursionError as error:
        raise _invalid(f"nested more than {MAX_DEPTH} levels deep", text, 0) from error
    except NotRebuildable as error:
        position = text.find(f'"{TYPE}"')
        raise _invalid(error.message, text, max(position, 0)) from error
    return wire


def _checked_text(value: Wire, depth: int) -> Wire:
    r"""Put text with lone surrogates (`"\ud800"`) into envelopes, in place."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if type(value) is str:
        return encode(value)
    if type(value) is list:
        value[:] = [_checked_text(item, depth + 1) for item in value]
    elif type(value) is dict:
        for key, item in value.items():
            value[key] = _checked_text(item, depth + 1)
    return value


def _object(pairs: list[tuple[str, Wire]]) -> Wire:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for index, key in enumerate(names) if key in names[:index])
        raise _Refused(f"the key {json.dumps(twice)} occurs twice in one object")
    if TYPE in found:
        return found
    keys = encode(dict.fromkeys(found))  # an envelope exactly where the keys need one
    if type(keys) is dict and TYPE in keys:
        return {TYPE: "dict", "$v": [[encode(key), value] for key, value in pairs]}
    return found


def _constant(name: str) -> NoReturn:
    number = name.lower().replace("infinity", "inf")
    raise _Refused(f'{name} is not JSON; write {{"$type":"float","$v":"{number}"}}', name)


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Refused(f"{digits[:40]} is too large for a float", digits)
    return number


def _int(digits: str) -> Wire:
    if len(digits) > _MOST_DIGITS:
        raise _Refused(f"an integer has more than {_MOST_DIGITS} digits", digits)
    return encode(int(digits))


def _token_at(text: str, token: str) -> int:
    return next((match.start() for match in _TOKEN.finditer(text) if match.group() == token), 0)


def _second_key_at(text: str) -> int:
    """Where a key stands that its object has already."""
    tokens = list(_TOKEN.finditer(text))
    objects: list[set[str]] = []
    for match, following in itertools.pairwise(tokens):
        written = match.group()
        if written == "{":
            objects.append(set())
        elif written == "}":
            objects.pop()
        elif written.startswith('"') and following.group() == ":":
            key = json.loads(written)
            if key in objects[-1]:
                return match.start()
            objects[-1].add(key)
    return 0


def _looks_like_words(text: str) -> bool:
    """Whether someone seems to have left out the quotes."""
    return re.match(r"\s*[^\s\d\[{\"-]", text) is not None and text.strip() not in ("true", "false", "null")


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _invalid(why: str, text: str, position: int, hint: str = "") -> InvalidValue:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return InvalidValue(f"line {line}, column {column}: {why}", line=line, column=column, hint=hint)
