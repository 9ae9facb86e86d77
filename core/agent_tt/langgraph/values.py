"""Values as LangGraph's serializer writes them, as wire values that people can read, and back.

What the serializer gave is unpacked, without importing what it names, and packed again at once: only where that gives
the same bytes is it kept as a readable value. Everything else (encrypted, pickled, of a kind that is not known here) is
kept as its bytes, in an opaque value that says so. Either way the serializer is given what it had written.
"""

from __future__ import annotations

import base64
import marshal
import math
import threading
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde import types as serde_types
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.codec.plain import is_own_wire, is_plain_dict, is_plain_scalar, is_tree_of_json_types
from agent_tt.codec.wire import TYPE, VALUE, Encoded, envelope_type, is_envelope, is_int64
from agent_tt.errors import AgentTTError, Damaged
from agent_tt.interop.langgraph.decode import Extension, Sealed, read_value, unpack_extension
from agent_tt.interop.langgraph.envelopes import made, opaque, to_wire
from agent_tt.interop.threads.shown import SNAPSHOT, in_snapshot
from agent_tt.langgraph.memory import Memory
from agent_tt.langgraph.messages import EXACT, Chunk, Form, Template, copies

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agent_tt.codec.wire import Wire

__all__ = ["Typed", "Values", "compared", "packed"]

Typed = tuple[str, bytes]
"""What a serializer gives: how the bytes are written, and the bytes."""

_STORED: Final = "stored"
"""Key of an opaque envelope: the bytes, in base64."""
_ENCODING: Final = "encoding"
_CODE: Final = "code"

_DEEPEST: Final = 32
"""Containers around a typed value; what lies deeper is kept as bytes."""

_PACK: Final = ormsgpack.OPT_NON_STR_KEYS | ormsgpack.OPT_PASSTHROUGH_DATACLASS
_SET_MARKS: Final = (b"\xa3set", b"\xa9frozenset")
_CHUNK: Final = 64
"""Messages that are looked at together, at most."""
_TOGETHER: Final = (64, 8, 1)
"""How many messages are copied together: a list grows at its end, so that most of them are where they were."""
_FEW: Final = 2048
"""Bytes up to which a value has so few parts that it is quickest to look at each of them."""
_MOST_SHOWN: Final = 400
_CODES: Final = {"method": 3, "many": 1, "one": 0, "keywords": 2, "pydantic": 5, "snapshot": 7}
_MODULE: Final = "langchain_core.messages."
_MESSAGES: Final = _MODULE.encode()
_MOST_NAME: Final = 40
"""Bytes in which a message's module begins."""
_Snapshot: Final[Any] = getattr(serde_types, "_DeltaSnapshot", None)
"""In what LangGraph keeps the whole value of a delta channel now and then; None where it has no such channels."""


class _TooDeep(Exception):
    """A value lies deeper than it can be kept readable."""


class _NotPackable(Exception):
    """A wire value that no value of LangGraph's is kept as."""


class Values:
    """Converts values, and remembers typed ones: the states of a thread share most of them.

    Several threads may call `kept` and `given`.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._wires: Memory[tuple[int, bytes], Wire] = Memory()
        self._extensions: Memory[bytes, Extension] = Memory()
        self._known: Memory[int, Chunk] = Memory()
        self._templates: Memory[bytes, tuple[SerializerProtocol, list[Template]]] = Memory()

    def kept(self, serde: SerializerProtocol, value: object) -> tuple[Wire, object]:
        """What is kept of a value, and the value unpacked, as `to_wire` gives them.

        A list of messages is taken message by message: those that are as they were are not written again.
        """
        if type(serde) is JsonPlusSerializer:
            if value is None:
                return None, None
            plain = _plain_copy(value)
            if plain is not None:
                return plain, plain
            if type(value) is list:
                with self._lock:
                    wires = self._messages(serde, value)
                if wires is not None:
                    return wires, None
        typed = serde.dumps_typed(value)
        with self._lock:
            return self.to_wire(typed)

    def _messages(self, serde: SerializerProtocol, items: list[object]) -> list[Wire] | None:
        """What is kept of a list of messages; None where it holds anything else."""
        found: list[Chunk] = []
        at = 0
        try:
            while at < len(items):
                chunk = self._known.get(id(items[at]))
                if chunk is None or not chunk.is_of(items[at : at + len(chunk.messages)]):
                    room = _CHUNK - len(found[-1].messages) % _CHUNK if found else _CHUNK
                    new = items[at : at + room]
                    if not all(isinstance(item, BaseMessage) for item in new):
                        return None
                    form = Form.of(new)  # first: what changes meanwhile is then seen to have changed the next time
                    chunk = Chunk(new, form, [self._of_message(serde.dumps_typed(item)) for item in new])
                    self._known.put(id(new[0]), chunk, len(form.fields))
                at += len(chunk.messages)
                if found and len(found[-1].messages) + len(chunk.messages) <= _CHUNK:
                    found[-1] = found[-1].joined(chunk)
                    self._known.put(id(found[-1].messages[0]), found[-1], len(chunk.form.fields))
                else:
                    found.append(chunk)
        except (TypeError, AttributeError):
            return None
        return list(chain.from_iterable([chunk.wires for chunk in found]))

    def _of_message(self, typed: Typed) -> Wire:
        """What is kept of a message; nearly all hold nothing but plain data."""
        encoding, blob = typed
        value = read_value(encoding, blob) if encoding == "msgpack" else None
        if isinstance(value, Extension) and value.code == _CODES["pydantic"] and packed(value) == blob:
            wire = _message(value.data)
            if wire is not None:
                return wire
        return self.to_wire(typed)[0]

    def given(self, serde: SerializerProtocol, wire: Wire) -> object:
        """The value that was kept as `wire`, the caller's own.

        Raises:
            Damaged: no value is kept so.
        """
        with self._lock:
            if type(serde) is JsonPlusSerializer:
                inside = in_snapshot(wire) if _Snapshot is not None and type(wire) is dict else None
                held = wire if inside is None else inside[0]
                if type(held) is list and held:
                    messages = self._given_messages(serde, held)
                    if messages is not None:
                        return messages if inside is None else _Snapshot(messages)
            return self._loaded(serde, wire)

    def given_each(self, serde: SerializerProtocol, wires: list[Wire]) -> list[object]:
        """The values that were kept as `wires`, the caller's own; lists of messages are made together.

        Raises:
            Damaged: no value is kept as one of them.
        """
        if type(serde) is JsonPlusSerializer and all(type(wire) is list and wire for wire in wires):
            together: list[Wire] = [*chain.from_iterable(wires)]  # type: ignore[arg-type]  # lists, all of them
            with self._lock:
                messages = self._given_messages(serde, together)
            if messages is not None:
                left = iter(messages)
                return [[*islice(left, len(wire))] for wire in wires]  # type: ignore[arg-type]
        return [self.given(serde, wire) for wire in wires]

    def _loaded(self, serde: SerializerProtocol, wire: Wire) -> object:
        try:
            typed = self.to_typed(wire)
        except (_NotPackable, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
            what = f"a value that LangGraph kept cannot be read ({type(error).__name__}: {error})"
            raise Damaged(what, hint="`agent-tt verify` says what is damaged.") from error
        return serde.loads_typed(typed)

    def _given_messages(self, serde: SerializerProtocol, wires: list[Wire]) -> list[object] | None:
        """The messages of a list; None where it holds anything else.

        Those that were met before are copied, many at once: that takes a third of the time of making them.
        """
        found: list[object] = []
        while len(found) < len(wires):
            size = next(size for size in _TOGETHER if len(found) + size <= len(wires))
            messages = self._some_messages(serde, wires[len(found) : len(found) + size])
            if messages is None:
                return None
            found += messages
        return found

    def _some_messages(self, serde: SerializerProtocol, wires: list[Wire]) -> list[object] | None:
        try:
            key = ormsgpack.packb(wires, option=EXACT)
        except TypeError:
            return None
        serde_of, templates = self._templates.get(key) or (None, [])
        if serde_of is serde:
            return copies(templates)
        if not all(map(_is_model, wires)):
            return None
        if len(wires) == 1:
            made = [self._loaded(serde, wires[0])]
        else:
            made = [message for wire in wires for message in self._some_messages(serde, [wire]) or ()]
        templates = [template for message in made if (template := Template.of(message)) is not None]
        if len(templates) == len(made):
            self._templates.put(key, (serde, templates), 3 * len(key))
        return made

    def to_wire(self, typed: Typed) -> tuple[Wire, object]:
        """What is kept of a value, and the value unpacked (typed parts are `Extension`s; None where it is sealed).

        The wire value may share parts with others: never change it.
        """
        encoding, blob = typed
        try:
            value = read_value(encoding, blob)
            if not isinstance(value, Sealed):
                wire = self._wire(value, 0)
                again = self.to_typed(wire)
                if again == (encoding, blob) or (_has_sets(blob) and self._wire(read_value(*again), 0) == wire):
                    return wire, value
        except (AgentTTError, _TooDeep, _NotPackable, RecursionError, ValueError, TypeError):
            value = None
        kept = opaque(f"langgraph:{encoding}", f"{len(blob)} bytes", "sealed")
        return _with_bytes(kept, blob, **{_ENCODING: encoding}), None if isinstance(value, Sealed) else value

    def to_typed(self, wire: Wire) -> Typed:
        """What the serializer had written.

        Raises:
            _NotPackable: it is not a value that `to_wire` gives.
        """
        if wire is None:
            return "null", b""
        kind = envelope_type(wire)
        if kind in ("bytes", "bytearray"):
            return str(kind), bytes(decode(wire))  # type: ignore[call-overload]  # one of the two
        if kind == "opaque" and isinstance(wire, dict) and _ENCODING in wire:
            return str(wire[_ENCODING]), base64.b64decode(str(wire[_STORED]))
        return "msgpack", packed(self._plain(wire))

    # ---------------------------------------------------------------- to wire values

    def _wire(self, value: object, depth: int) -> Wire:
        if is_plain_scalar(value):
            return value
        if depth > _DEEPEST:
            raise _TooDeep
        kind = type(value)
        if kind is list:
            return [self._wire(item, depth + 1) for item in value]  # type: ignore[attr-defined]
        if kind is dict:
            if is_plain_dict(value):
                return {str(key): self._wire(item, depth + 1) for key, item in value.items()}
            pairs: list[Wire] = [[self._wire(key, depth), self._wire(item, depth + 1)] for key, item in value.items()]  # type: ignore[attr-defined]
            return {TYPE: "dict", VALUE: pairs}
        if kind is Extension:
            return self._extension(value)  # type: ignore[arg-type]
        return encode(value)

    def _extension(self, extension: Extension) -> Wire:
        key = (extension.code, extension.data)
        wire = self._wires.get(key)
        if wire is None:
            if extension.code == _CODES["snapshot"]:
                wire = made(SNAPSHOT, [self._wire(unpack_extension(extension), 0)], {})
            else:
                wire = to_wire(Extension(extension.code, extension.data))
            if not self._comes_back(wire, extension):
                kept = opaque(f"langgraph:msgpack {extension.code}", _shown(wire), "type")
                wire = _with_bytes(kept, extension.data, **{_CODE: extension.code})
            self._wires.put(key, wire, len(extension.data))
        return wire

    def _comes_back(self, wire: Wire, extension: Extension) -> bool:
        try:
            again = self._pack(wire)
        except (AgentTTError, _NotPackable, RecursionError, ValueError, TypeError, AttributeError):
            return False
        if (again.code, again.data) == (extension.code, extension.data):
            self._extensions.put(marshal.dumps(wire, 2), again, len(again.data))  # it is asked for at once
            return True
        # A set has no order: its items are kept in one of ours.
        is_other_order = again.code == extension.code and _has_sets(extension.data)
        return is_other_order and wire == to_wire(Extension(again.code, again.data))

    # ---------------------------------------------------------------- and back

    def _plain(self, wire: Wire) -> object:
        """What packs to what a wire value was unpacked from."""
        if type(wire) is list:
            return [item if is_plain_scalar(item) else self._plain(item) for item in wire]
        if type(wire) is not dict:
            return wire
        if not is_envelope(wire):
            return {key: item if is_plain_scalar(item) else self._plain(item) for key, item in wire.items()}
        key = marshal.dumps(wire, 2)
        known = self._extensions.get(key)
        if known is None:
            found = self._unwrapped(wire)
            if not isinstance(found, Extension):
                return found
            known = found
            self._extensions.put(key, known, len(key) + len(known.data))
        return known

    def _pack(self, wire: Wire) -> Extension:
        found = self._unwrapped(wire) if is_envelope(wire) else None
        if not isinstance(found, Extension):
            raise _NotPackable
        return found

    def _unwrapped(self, wire: dict[str, Wire]) -> object:
        """The msgpack extension, or the plain value that JSON lacks, which an envelope stands for."""
        kind, payload = wire.get(TYPE), wire.get(VALUE)
        if kind == "dict" and isinstance(payload, list):
            return {self._plain(pair[0]): self._plain(pair[1]) for pair in payload}  # type: ignore[index]  # pairs
        if kind == "opaque" and _CODE in wire:
            return Extension(int(wire[_CODE]), base64.b64decode(str(wire[_STORED])))  # type: ignore[arg-type]
        if kind == "pydantic":
            module, _, name = str(wire["class"]).partition(":")
            return _extension(_CODES["pydantic"], [module, name, self._plain(payload), "model_validate_json"])
        if kind == "made" and isinstance(payload, list):
            return self._made(wire, payload)
        if kind in ("set", "frozenset", "deque") and isinstance(payload, list):
            module = "collections" if kind == "deque" else "builtins"
            return _extension(_CODES["one"], [module, str(kind), [self._plain(item) for item in payload]])
        value = decode(wire)
        return value if type(value) in (bytes, float, int) else _as_written(value)

    def _made(self, wire: dict[str, Wire], payload: list[Wire]) -> Extension:
        arguments, keywords = (self._plain(part) for part in payload)
        if in_snapshot(wire) is not None and isinstance(arguments, list):
            return Extension(_CODES["snapshot"], packed(arguments[0]))
        module, _, name = str(wire["class"]).partition(":")
        method = wire.get("method")
        if keywords:
            return _extension(_CODES["keywords"], [module, name, keywords])
        if not isinstance(arguments, list):
            raise _NotPackable
        if method is not None:
            return _extension(_CODES["method"], [module, name, arguments[0], method])
        if len(arguments) == 1:
            return _extension(_CODES["one"], [module, name, arguments[0]])
        return _extension(_CODES["many"], [module, name, arguments])


def _plain_copy(value: object) -> Wire:
    """A dict or list that holds nothing but what JSON has, as new containers; None for everything else."""
    if type(value) is not dict and type(value) is not list:
        return None
    try:
        blob = ormsgpack.packb(value, option=EXACT)
    except TypeError:
        return None
    copy = ormsgpack.unpackb(blob)
    if len(blob) <= _FEW:
        return copy if _is_plain(copy, _DEEPEST - 1) else None
    is_plain = is_tree_of_json_types(copy, most=len(blob)) and is_own_wire(copy, deepest=_DEEPEST - 1)
    return copy if is_plain else None


def _is_plain(value: dict[str, object] | list[object], deepest: int) -> TypeGuard[Wire]:
    """Whether what was unpacked, with texts for all keys, is its own wire value; for few parts the fastest way."""
    if type(value) is dict and (TYPE in value or VALUE in value):
        return False
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if kind is dict or kind is list:
            if not (deepest and _is_plain(item, deepest - 1)):  # type: ignore[arg-type]  # it is one of them
                return False
        elif kind is int:
            if not is_int64(item):  # type: ignore[arg-type]
                return False
        elif kind is float:
            if not math.isfinite(item):  # type: ignore[arg-type]
                return False
        elif kind is not str and item is not None and kind is not bool:
            return False
    return True


def _message(data: bytes) -> Wire:
    """What is kept of a message, as nearly all typed values are; None of what is none, or holds more than plain data.

    It is what `to_wire` gives, in a third of the time.
    """
    if _MESSAGES not in data[:_MOST_NAME]:
        return None
    try:
        content = ormsgpack.unpackb(data)
    except ValueError:  # it holds typed values
        return None
    if type(content) is not list or len(content) != 4 or content[3] != "model_validate_json":
        return None
    module, name, fields, _ = content
    if type(module) is not str or type(name) is not str or type(fields) is not dict or not module.startswith(_MODULE):
        return None
    if ":" in module or not _is_plain(fields, _DEEPEST - 1) or packed(content) != data:
        return None
    names: list[Wire] = [*sorted(content[2])]
    return {TYPE: "pydantic", "class": f"{module}:{name}", "set": names, "extra": None, "private": None, VALUE: fields}


def compared(state: dict[str, Wire]) -> Encoded:
    """A state as the store is to compare it with the last one."""
    if TYPE in state or VALUE in state:
        pairs: list[Wire] = [[key, item] for key, item in state.items()]
        return Encoded({TYPE: "dict", VALUE: pairs})
    return Encoded(state)


def _has_sets(blob: bytes) -> bool:
    return any(mark in blob for mark in _SET_MARKS)


def _is_model(wire: Wire) -> bool:
    return type(wire) is dict and wire.get(TYPE) == "pydantic"


def _with_bytes(envelope: Wire, blob: bytes, **more: Wire) -> Wire:
    kept = dict(envelope) if isinstance(envelope, dict) else {}
    payload = kept.pop(VALUE)
    return {**kept, **more, _STORED: base64.b64encode(blob).decode("ascii"), VALUE: payload}


def _shown(wire: Wire) -> str:
    """A value in one line, for people."""
    from agent_tt.codec.text import summary

    return summary(wire, _MOST_SHOWN)


def _extension(code: int, content: list[object]) -> Extension:
    return Extension(code, packed(content))


def packed(value: object) -> bytes:
    """Plain data with `Extension`s in it, as msgpack.

    Raises:
        TypeError, ValueError: it holds anything else, or lies too deep.
    """
    return ormsgpack.packb(value, default=_as_ext, option=_PACK)


def _as_ext(value: object) -> ormsgpack.Ext:
    if type(value) is not Extension:
        raise TypeError
    return ormsgpack.Ext(value.code, value.data)


def _as_written(value: object) -> Extension:
    """Turn an object of Python's own into the form in which LangGraph writes it."""
    _, blob = _SERIALIZER.dumps_typed(value)
    found = ormsgpack.unpackb(blob, ext_hook=Extension)
    if not isinstance(found, Extension):
        raise _NotPackable
    return found


_SERIALIZER: Final = JsonPlusSerializer()
