"""The base of context managers that work alike with `with` and `async with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class Block(ABC):
    """Something that is begun and ended. It never swallows the exception that ends it."""

    @abstractmethod
    def _enter(self) -> None:
        """Begin."""

    @abstractmethod
    def _exit(self, error: BaseException | None) -> None:
        """End with the exception that leaves the block, if one does."""

    def __enter__(self) -> Self:
        self._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit(error)

    async def __aenter__(self) -> Self:
        self._enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit(error)
