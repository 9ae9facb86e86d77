"""`agent_tt.lane(...)`: naming a logical thread of control after what it works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.recording.lanes.lanes import NAMED
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from types import TracebackType

    from agent_tt.recording.lanes.lanes import Lane

__all__ = ["lane"]


class lane:  # noqa: N801  it is used like a function: `with agent_tt.lane(key):`
    """Name the logical thread of control for a `with` block.

    Worker threads that take items from a queue take other items each time, so what they did cannot be told apart by who
    did it. `with agent_tt.lane(item.id):` around the work on one item names its lane after the item instead. A key is
    one item of a run: entered again, it goes on where it was. Outside a recording nothing happens.

    ```python
    with agent_tt.lane("order 7"):
        ...  # what is called here is told apart from what is called for other orders
    ```

    Args:
        key: the name, unlike that of every other item.
    """

    def __init__(self, key: object) -> None:
        self._key = str(key)
        self._outer: tuple[Lane, Lane] | None = None

    def __enter__(self) -> None:
        scope = here()
        self._outer = NAMED.get()
        if scope is not None:
            NAMED.set(scope.recording.lanes.named(self._key))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left, scope = NAMED.get(), here()
        NAMED.set(self._outer)
        steps = None if scope is None else scope.recording.model_steps
        if steps is not None and left is not None:
            steps.lane_ended(left[0].id)
