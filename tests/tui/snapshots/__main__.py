"""Take all pictures anew, or those of some screens: `python -m tests.tui.snapshots [NAME ...]`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.tui.snapshots.kept_pictures import FOLDER, path_of
from tests.tui.snapshots.screen_table import SCREENS
from tests.tui.snapshots.taking import Studio


def main(names: list[str]) -> None:
    """Take them."""
    chosen = [shown for shown in SCREENS if not names or shown.name in names]
    FOLDER.mkdir(exist_ok=True)
    wanted = set()
    with tempfile.TemporaryDirectory() as scratch:
        studio = Studio(Path(scratch))
        for shown in chosen:
            began = time.process_time()
            for size, taken in asyncio.run(studio.take(shown)).items():
                path = path_of(shown.name, size)
                path.write_text(taken.svg, encoding="utf-8")
                wanted.add(path)
            print(f"{shown.name}  {time.process_time() - began:.1f} s")
    if not names:
        for path in set(FOLDER.glob("*.svg")) - wanted:
            path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
