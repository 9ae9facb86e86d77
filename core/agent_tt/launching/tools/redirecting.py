"""Redirecting a Python function in place, so that every reference to it is caught, whoever keeps it.

The function object stays the same; only its code is exchanged for a trampoline that hands the call on. A framework's
registry, a closure, a slot, a tuple, a partial and a bound method all go on holding the very same function. Parameters,
defaults, annotations, name, file and first line stay, so `inspect.signature` and `inspect.getsource` answer as before,
and so do `iscoroutinefunction` and its siblings: the trampoline has the flags of the code that it stands for, and
returns the coroutine or generator that the recorded function makes.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import threading
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.recording.calls.boundary import say_recorded
from agent_tt.recording.calls.site import not_the_agents
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Accepts: TypeAlias = Callable[[tuple[object, ...]], bool]

__all__ = ["IsBelow", "IsReceiver", "NotInside", "copies_of", "is_redirected", "redirect"]

_NATURE: Final = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
)
"""Flags that say what a call gives. Since 3.11 they are only read: what makes a generator is an instruction."""

_TARGET: Final = "agent_tt: the target of a trampoline"
"""A constant that stands for the target while the trampoline is compiled."""

_LOCAL: Final = "_agent_tt_target"

_OWN: Final = "agent_tt"

_LOCK: Final = threading.RLock()


class _Redirection:
    """One function whose code was exchanged.

    Attributes:
        function: the function.
        before: its code as it was.
        untouched: a function that runs that code, with the same globals, defaults and closure.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.before = function.__code__
        self.untouched = _twin(function)
        self._is_library = function.__module__.partition(".")[0] in sys.stdlib_module_names
        self._ways: list[tuple[Accepts | None, Callable[..., object]]] = []
        self.code = _trampoline(function, self._hand_on)
        not_the_agents(self.code)
        function.__code__ = self.code

    def add(self, recorded: Callable[..., object], accepts: Accepts | None) -> Callable[[], None]:
        """Hand calls on to `recorded`; what takes it back."""
        way = (accepts, recorded)
        # Who was named alone goes before who is meant in general.
        self._ways.insert(len(self._ways) if accepts is None else 0, way)
        say_recorded(self.function, as_in=recorded)

        def undo() -> None:
            with _LOCK:
                if way in self._ways:
                    self._ways.remove(way)
                say_recorded(self.function, as_in=self._ways[0][1] if self._ways else self.untouched)
                if not self._ways and self.function.__code__ is self.code:
                    self.function.__code__ = self.before
                    _REDIRECTED.pop(id(self.function), None)

        return undo

    def has(self, accepts: Accepts | None) -> bool:
        """Whether there is a way already for these calls, or for all."""
        return any(known is None or known == accepts for known, _ in self._ways)

    def _hand_on(self, *args: object, **kwargs: object) -> object:
        # The recorder uses the standard library as well: its own calls are not the program's.
        if self._is_library and _is_ours(sys._getframe(2).f_globals.get("__name__")):  # noqa: SLF001
            return self.untouched(*args, **kwargs)
        for accepts, recorded in self._ways:
            if accepts is None or accepts(args):
                return recorded(*args, **kwargs)
        return self.untouched(*args, **kwargs)


_REDIRECTED: Final[dict[int, _Redirection]] = {}
"""By the identity of the function, which is kept alive by it."""


@dataclass(frozen=True, slots=True, eq=False)
class IsReceiver:
    """Whether a method is called on one object."""

    receiver: object

    def __call__(self, args: tuple[object, ...]) -> bool:
        """Whether it is that one."""
        return bool(args) and args[0] is self.receiver

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IsReceiver) and other.receiver is self.receiver

    def __hash__(self) -> int:
        return id(self.receiver)


@dataclass(frozen=True, slots=True)
class IsBelow:
    """Whether a method is called on objects of a class, or on the class or one below it."""

    owner: type

    def __call__(self, args: tuple[object, ...]) -> bool:
        """Whether it is."""
        if not args:
            return False
        return issubclass(args[0] if isinstance(args[0], type) else type(args[0]), self.owner)


@dataclass(frozen=True, slots=True)
class NotInside:
    """Whether no call of the same tool is under way here: what it is made of is that call's own doing."""

    name: str

    def __call__(self, args: tuple[object, ...]) -> bool:  # noqa: ARG002  as the others
        """Whether none is."""
        scope = here()
        while scope is not None:
            if scope.call is not None and scope.call.runs and scope.call.spec.name == self.name:
                return False
            scope = scope.outer
        return True


def redirect(
    function: FunctionType,
    make: Callable[[FunctionType], Callable[..., object]],
    accepts: Accepts | None = None,
) -> Callable[[], None] | None:
    """Send the calls of a function, through whatever reference, to what `make` makes of it.

    Args:
        function: the function.
        make: makes the recorded function of an untouched one.
        accepts: which calls, by their positional arguments; None for every call.

    Returns:
        What undoes it; None where its calls go somewhere else already.
    """
    with _LOCK:
        redirection = _REDIRECTED.get(id(function))
        if redirection is None or function.__code__ is not redirection.code:
            redirection = _REDIRECTED[id(function)] = _Redirection(function)
        elif redirection.has(accepts):
            return None
        return redirection.add(make(redirection.untouched), accepts)


def is_redirected(function: object) -> bool:
    """Whether every call of a function is recorded by redirection."""
    redirection = _REDIRECTED.get(id(function))
    return redirection is not None and redirection.function.__code__ is redirection.code and redirection.has(None)


def copies_of(function: FunctionType) -> Iterator[FunctionType]:
    """Find copies of a function: other function objects with the same code. A closure has none."""
    if function.__closure__ is not None:
        return  # each call of the function around it makes one: they are not the same
    ours = {id(redirection.untouched) for redirection in _REDIRECTED.values()}
    for holder in gc.get_referrers(function.__code__):
        if isinstance(holder, FunctionType) and holder is not function and id(holder) not in ours:
            yield holder


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _OWN


def _twin(function: FunctionType) -> FunctionType:
    """Another function with the same code, globals and closure."""
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function, updated=())
    vars(made).clear()
    vars(made).update(vars(function))
    return made


def _trampoline(function: FunctionType, target: Callable[..., object]) -> CodeType:
    """Code with the parameters, the free variables and the nature of the function's own, which calls `target`."""
    code = function.__code__
    made = _compiled(code)
    consts = tuple(target if const == _TARGET else const for const in made.co_consts)
    return made.replace(
        co_consts=consts,
        co_flags=made.co_flags | (code.co_flags & _NATURE),
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        co_freevars=code.co_freevars,
    )


def _compiled(code: CodeType) -> CodeType:
    names = list(code.co_varnames)
    positional = names[: code.co_argcount]
    by_name = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = names[code.co_argcount + code.co_kwonlyargcount :]
    parameters, given = list(positional), list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    if code.co_flags & inspect.CO_VARARGS:
        several = f"*{rest.pop(0)}"
        parameters.append(several)
        given.append(several)
    elif by_name:
        parameters.append("*")
    parameters += by_name
    given += [f"{name}={name}" for name in by_name]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        others = f"**{rest.pop(0)}"
        parameters.append(others)
        given.append(others)
    # Free variables are named and never read: a function's code must have as many as its closure has cells.
    free = ", ".join(code.co_freevars)
    text = (
        "def around():\n"
        + (f" {' = '.join(code.co_freevars)} = None\n" if free else "")
        + f" def call({', '.join(parameters)}):\n"
        + (f"  if 0: {free}\n" if free else "")
        + f"  {_LOCAL} = {_TARGET!r}\n"
        + f"  return {_LOCAL}({', '.join(given)})\n"
        + " return call\n"
    )
    around = compile(text, code.co_filename, "exec", dont_inherit=True)
    return _inner(_inner(around))


def _inner(code: CodeType) -> CodeType:
    return next(const for const in code.co_consts if isinstance(const, CodeType))
