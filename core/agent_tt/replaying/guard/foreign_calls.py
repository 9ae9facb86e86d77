"""Functions in C that Python code calls through ctypes and cffi: asked about where Python's audit events do not tell.

An event is raised where a function is looked up by its name, and none where it is called, nor where a function is
made of a bare address (CPython 3.11). So while a guard stands the class of all such functions is replaced by one that
asks before each call: by the name that the function was looked up by, else by its address, unless that came from such
a look-up or is a function of Python's own. cffi raises no events; there the opening of a library is asked about.
"""

from __future__ import annotations

import sys
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.modules.import_watch import ImportWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, ModuleType

    Ask = Callable[[str, tuple[Any, ...], FrameType | None], None]

__all__ = ["ADDRESS", "CFFI", "FUNCTION", "asking"]

FUNCTION: Final = "ctypes.function"
"""A function that was looked up by its name is called: the name."""

ADDRESS: Final = "ctypes.address"
"""A function is called of which only the address is known: the address."""

CFFI: Final = "cffi.dlopen"
"""cffi opens a library: its name, None for the process itself."""

_BACKEND: Final = "_cffi_backend"


class _Known:
    """The addresses of functions that were looked up by name or made of Python's own."""

    def __init__(self) -> None:
        self.addresses: set[int] = set()
        self.names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


@contextmanager
def asking(ask: Ask) -> Iterator[None]:
    """Ask about each such call while the block lasts.

    Args:
        ask: told an event, its arguments and the frame that calls; what it raises is raised there.
    """
    before: dict[ModuleType, tuple[Any, Any]] = {}

    def put(_: str, module: ModuleType) -> None:
        before[module] = _over_cffi(module, ask)

    watch = ImportWatch(put)
    undo = _over_ctypes(ask)
    backend = sys.modules.get(_BACKEND)
    if backend is not None:
        put(_BACKEND, backend)
    watch.watch(_BACKEND)
    try:
        yield
    finally:
        watch.stop()
        undo()
        for module, (load, ffi) in before.items():
            module.load_library, module.FFI = load, ffi  # type: ignore[attr-defined]


def _over_ctypes(ask: Ask) -> Callable[[], None]:
    """Put the asking class in place; what takes it away again."""
    try:
        import _ctypes
        import ctypes
    except ImportError:  # this Python was built without
        return lambda: None
    made = _asking_class(_ctypes.CFuncPtr, ask)
    places = [(ctypes, "_CFuncPtr"), (_ctypes, "CFuncPtr")]
    before = [getattr(module, name) for module, name in places]

    def put(classes: list[Any]) -> None:
        for (module, name), each in zip(places, classes, strict=True):
            setattr(module, name, each)
        for kept in ("_c_functype_cache", "_win_functype_cache"):
            getattr(ctypes, kept, {}).clear()  # classes of before, made again where they are wanted

    put([made] * len(places))
    return lambda: put(before)


def _asking_class(base: Any, ask: Ask) -> Any:
    """The class of functions in C, asking before each call."""
    import ctypes

    known = _Known()

    def address_of(function: Any) -> int:
        return ctypes.c_void_p.from_buffer(function).value or 0

    class CFuncPtr(base):  # type: ignore[misc]
        _flags_ = base._flags_ if hasattr(base, "_flags_") else 1  # cdecl; each kind of function says its own

        def __new__(cls, *args: Any, **named: Any) -> Any:
            function = super().__new__(cls, *args, **named)
            given = args[0] if args else None
            if isinstance(given, tuple) or callable(given):
                known.addresses.add(address_of(function))
                if isinstance(given, tuple) and isinstance(given[0], (str, bytes)):
                    name = given[0]
                    function._agent_tt_name = name.decode("latin-1") if isinstance(name, bytes) else name
            return function

        def __call__(self, *args: Any, **named: Any) -> Any:
            name = vars(self).get("_agent_tt_name")
            if name is not None:
                ask(FUNCTION, (name,), sys._getframe(1))  # noqa: SLF001
            elif (address := address_of(self)) not in known.addresses:
                ask(ADDRESS, (address,), sys._getframe(1))  # noqa: SLF001
            return super().__call__(*args, **named)

    CFuncPtr.__qualname__ = "CFuncPtr"
    return CFuncPtr


def _over_cffi(module: ModuleType, ask: Ask) -> tuple[Any, Any]:
    """Let cffi's backend ask before it opens a library; what stood there before."""
    backend: Any = module
    load, ffi = backend.load_library, backend.FFI

    def load_library(*args: Any, **named: Any) -> Any:
        ask(CFFI, (args[0] if args else None,), sys._getframe(1))  # noqa: SLF001
        return load(*args, **named)

    class FFI(ffi):  # type: ignore[misc,valid-type]
        def dlopen(self, *args: Any, **named: Any) -> Any:
            ask(CFFI, (args[0] if args else None,), sys._getframe(1))  # noqa: SLF001
            return super().dlopen(*args, **named)

    backend.load_library, backend.FFI = load_library, FFI
    return load, ffi
