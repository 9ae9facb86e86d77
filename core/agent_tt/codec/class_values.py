"""How envelopes that name a class are rebuilt, once the caller offers that class.

Objects are made by the `__new__` of the built-in type below the class and filled attribute by attribute: neither the
class's `__init__` nor its `__new__` or `__setattr__` runs.
"""

from __future__ import annotations

import collections
import contextlib
import enum
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.refusal import NeedsClass, Refusal

if TYPE_CHECKING:
    from agent_tt.codec.refusal import Rule, Walk
    from agent_tt.codec.wire import Wire

__all__ = ["CLASSES"]

_FACTORIES: Final = {
    f"builtins:{kind.__name__}": kind for kind in (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)
}
_BASES: Final[dict[str, type]] = {"dict": dict, "list": list, "str": str, "int": int, "float": float}
_ERROR_SLOTS: Final = frozenset({"filename", "filename2"})


def _attributes(value: object) -> dict[str, object]:
    if not isinstance(value, dict) or not all(type(name) is str for name in value):
        raise Refusal("its payload is not a mapping of attributes")
    return value


def _class(envelope: dict[str, Wire], walk: Walk, base: type) -> Any:  # any class below `base`
    offered = walk.offered(envelope)
    if not (isinstance(offered, type) and issubclass(offered, base)):
        raise Refusal(f"the class that is offered for it is not a {base.__name__}")
    return offered


def _enum(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> object:
    value = walk.decode(payload)
    kind = _class(envelope, walk, enum.Enum)
    name = envelope.get("name")
    member = kind.__members__.get(name) if type(name) is str else None
    if member is not None:
        return member
    if issubclass(kind, enum.Flag) and type(value) is int:
        return kind(value)  # a combination of flags, which has no entry of its own
    raise Refusal(f"the enum has no member {name!r} any more")


def _named_tuple(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> object:
    fields = _attributes(walk.decode(payload))
    kind = _class(envelope, walk, tuple)
    if getattr(kind, "_fields", None) != tuple(fields):
        raise Refusal("its fields are not those of the class any more")
    return tuple.__new__(kind, fields.values())


def _dataclass(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> object:
    fields = _attributes(walk.decode(payload))
    made = object.__new__(_class(envelope, walk, object))
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def _pydantic(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> object:
    fields = _attributes(walk.decode(payload))
    names = walk.items(envelope.get("set"))
    extra, private = walk.decode(envelope.get("extra")), walk.decode(envelope.get("private"))
    made = object.__new__(_class(envelope, walk, object))
    object.__setattr__(made, "__dict__", fields)
    object.__setattr__(made, "__pydantic_fields_set__", set(names))
    object.__setattr__(made, "__pydantic_extra__", extra)
    object.__setattr__(made, "__pydantic_private__", private)
    return made


def _exception(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> object:
    content = _attributes(walk.decode(payload))
    args, attributes = content.get("args"), _attributes(content.get("attrs"))
    if type(args) is not list:
        raise Refusal("its arguments are not a list")
    kind = _class(envelope, walk, BaseException)
    native: Any = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    made = native.__new__(kind, *args)
    # A built-in __init__ only reads its arguments (`errno`, `value`, ...); the class's own one does not run. It refuses
    # them where the class gave its base other arguments than `args` shows.
    with contextlib.suppress(TypeError):
        native.__init__(made, *args)
    made.args = tuple(args)
    for name, value in attributes.items():
        if name in _ERROR_SLOTS and isinstance(made, OSError):
            object.__setattr__(made, name, value)
        else:
            made.__dict__[name] = value
    return made


def _subclass(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> object:
    base = _BASES.get(str(envelope.get("base")))
    if base is None:
        raise Refusal("its base is not dict, list, str, int or float")
    content = walk.pairs(payload) if base is dict else walk.decode(payload)
    attributes = _attributes(walk.decode(envelope.get("attrs", {})))
    kind = _class(envelope, walk, base)
    made = _filled_dict(kind, content, envelope, walk) if base is dict else _filled(kind, base, content)
    if attributes:
        made.__dict__.update(attributes)
    return made


def _filled(kind: Any, base: Any, content: Any) -> Any:  # `base` is list, str, int or float, `kind` one below it
    if type(content) is not base:
        raise Refusal(f"its payload is not a {base.__name__}")
    if base is list:
        made = list.__new__(kind)
        list.extend(made, content)
        return made
    return base.__new__(kind, content)


def _filled_dict(kind: Any, content: Any, envelope: dict[str, Wire], walk: Walk) -> Any:
    native: Any = next(
        base for base in (collections.OrderedDict, collections.defaultdict, dict) if issubclass(kind, base)
    )
    made = native.__new__(kind)
    for key, value in content:
        native.__setitem__(made, key, value)
    factory = envelope.get("factory")
    if native is collections.defaultdict and factory is not None:
        known = _FACTORIES.get(str(factory)) or walk.types.get(str(factory))
        if known is None:
            raise NeedsClass(f"its default factory {factory} is not offered")
        made.default_factory = known
    return made


CLASSES: Final[dict[str, Rule]] = {
    "enum": _enum,
    "namedtuple": _named_tuple,
    "dataclass": _dataclass,
    "pydantic": _pydantic,
    "exception": _exception,
    "sub": _subclass,
}
"""By `$type`."""
