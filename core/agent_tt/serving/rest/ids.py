"""How requests name things: exactly. What cannot be an id is refused before anything is looked for."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from fastapi import Path, Query

LONGEST_ID: Final = 512
LONGEST_TEXT: Final = 4_096
MOST_STEPS: Final = 999_999_999

_NO_CONTROLS: Final = r"^[^\x00-\x1f\x7f]+$"

RunId: TypeAlias = Annotated[
    str, Path(description="the whole id of a run", min_length=1, max_length=LONGEST_ID, pattern=_NO_CONTROLS)
]

RunRef: TypeAlias = Annotated[
    str, Query(description="the whole id of a run", min_length=1, max_length=LONGEST_ID, pattern=_NO_CONTROLS)
]

_CHECKPOINT: Final = r"^[^\x00-\x1f\x7f]+@(0|[1-9][0-9]{0,8})$"

CheckpointId: TypeAlias = Annotated[
    str,
    Path(
        description="RUN@STEP: the id of a run and the number of a step, 0 being the input",
        max_length=LONGEST_ID + 10,
        pattern=_CHECKPOINT,
    ),
]

CheckpointRef: TypeAlias = Annotated[
    str, Query(description="RUN@STEP, as above", max_length=LONGEST_ID + 10, pattern=_CHECKPOINT)
]

StepNumber: TypeAlias = Annotated[int, Path(description="the number of a step; 0 is the input", ge=0, le=MOST_STEPS)]
CallNumber: TypeAlias = Annotated[int, Path(description="the number of a call in its step", ge=1, le=MOST_STEPS)]
Text: TypeAlias = Annotated[str, Query(max_length=LONGEST_TEXT)]
Many: TypeAlias = Annotated[list[str], Query(max_length=50)]
Most: TypeAlias = Annotated[int, Query(description="at most so many", ge=1, le=500)]
