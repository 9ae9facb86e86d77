"""The stand-in for a value that was recorded only as text: any use of it raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Unusable"]

_USES: Final = """
    getattribute setattr delattr dir
    bool len length_hint iter next reversed contains getitem setitem delitem missing
    call enter exit aenter aexit await aiter anext
    eq ne lt le gt ge hash
    str format bytes int float complex index round trunc floor ceil fspath buffer
    neg pos abs invert
    add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor
    radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand ror rxor
    iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor
    copy deepcopy reduce reduce_ex getstate sizeof instancecheck subclasscheck
""".split()  # noqa: SIM905  a table


class Unusable:
    """An object that was not recorded. Holding it and asking whether it `is` another does nothing; all else raises.

    `repr` gives the recorded text where that is whole, as it did in the recorded run.

    Attributes:
        is_stand_in: tells its class from others, for who must not touch it (of the class, not of the object).
    """

    __slots__ = ("_refusal", "_shown")

    is_stand_in: ClassVar = True

    def __init__(self, refusal: Callable[[], BaseException], shown: str | None = None) -> None:
        object.__setattr__(self, "_refusal", refusal)
        object.__setattr__(self, "_shown", shown)

    def __repr__(self) -> str:
        shown = object.__getattribute__(self, "_shown")
        if shown is None:
            _refuse(self)
        return str(shown)


def _refuse(unusable: object, *_: object, **__: object) -> NoReturn:
    refusal: Callable[[], BaseException] = object.__getattribute__(unusable, "_refusal")
    raise refusal()


for _use in _USES:
    setattr(Unusable, f"__{_use}__", _refuse)
