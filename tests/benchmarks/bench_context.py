"""What it takes to say where each character of a run's requests came from.

`python tests/benchmarks/bench_context.py [FILE]` prints, for a loop of 34 requests that is compacted once, or for the
newest run of a file: characters of requests, processor time of all (reading, tiling, tokens, changes), of a million
characters, and the ratio to a way that keeps every place of every text, and looks at each request anew.
`--growing STEPS…` prints the processor time for chats of so many steps in which each request has all that was said.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.core.memory_store import Did, MemorySource

from agent_tt.context.reading import read_contexts
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.context.shown import RunContexts
    from agent_tt.protocols import RunSource

REQUESTS = 34
COMPACTED_AT = 24
FILE_CHARACTERS = 2_200
ROUNDS = 7
_PIECE = 24
_WORDS = [
    f"{syllable}{ending}" for syllable in ("lamp", "order", "stock", "price", "refund", "card") for ending in "abcdefgh"
]


def a_text(source: random.Random, characters: int) -> str:
    words = []
    while characters > 0:
        words.append(source.choice(_WORDS) + source.choice(("", "", "\n", f" {source.randrange(10**6)}")))
        characters -= len(words[-1]) + 1
    return " ".join(words)


def loop() -> MemorySource:
    """A loop that reads a file at each turn, and is compacted once."""
    chosen = random.Random(7)
    messages: list[Wire] = [
        {"role": "system", "content": a_text(chosen, 6_000)},
        {"role": "user", "content": a_text(chosen, 400)},
    ]
    steps = []
    for number in range(REQUESTS):
        if number == COMPACTED_AT:
            messages = [*messages[:1], {"role": "user", "content": a_text(chosen, 1_500)}, *messages[-4:]]
        name, text = f"file{number}.py", a_text(chosen, FILE_CHARACTERS)
        call: Wire = {"id": f"c{number}", "name": "read_file", "args": {"path": name}}
        answer: Wire = {"role": "assistant", "content": a_text(chosen, 200), "tool_calls": [call]}
        steps.append(Did("ask", answer=answer, asked={"messages": [*messages]}))
        steps.append(Did("read", tool="read_file", args={"path": name}, result=text))
        messages = [*messages, answer, {"role": "tool", "tool_call_id": f"c{number}", "content": text}]
    source = MemorySource()
    source.add("loop", steps, state={})
    return source


def growing(steps: int) -> MemorySource:
    """A chat of so many steps, every other a tool's, in which each request has all that was said before."""
    chosen = random.Random(7)
    messages: list[Wire] = [
        {"role": "system", "content": a_text(chosen, 400)},
        {"role": "user", "content": a_text(chosen, 100)},
    ]
    did = []
    for number in range(steps // 2):
        name, text = f"file{number}.py", a_text(chosen, 80)
        call: Wire = {"id": f"c{number}", "name": "read_file", "args": {"path": name}}
        answer: Wire = {"role": "assistant", "content": a_text(chosen, 60), "tool_calls": [call]}
        did.append(Did("ask", answer=answer, asked={"messages": [*messages]}))
        did.append(Did("read", tool="read_file", args={"path": name}, result=text))
        messages = [*messages, answer, {"role": "tool", "tool_call_id": f"c{number}", "content": text}]
    source = MemorySource()
    source.add("growing", did, state={})
    return source


def time_growing(lengths: list[int]) -> None:
    for steps in lengths:
        source = growing(steps)
        begun = time.process_time()
        contexts = read_contexts(source, "growing")
        took = time.process_time() - begun
        begun = time.process_time()
        last = len(list(contexts.calls[-1].items))
        opened = time.process_time() - begun
        took_words = f"{took:7.2f} s  {took * 1000 / steps:6.2f} ms a step"
        print(f"{steps:6,} steps  {took_words}  the last one, {last:,} items: {opened * 1000:.1f} ms")


def every_place(contexts: RunContexts) -> int:
    """Look at every request anew, with every place of every text before it kept; give the number of tiles."""
    places: dict[str, tuple[str, int]] = {}
    tiles = 0
    for context in contexts.calls:
        for item in context.items:
            text, at = item.part.text, 0
            while at <= len(text) - _PIECE:
                found = places.get(text[at : at + _PIECE])
                if found is None:
                    at += 1
                    continue
                kept, place = found
                length = _alike(text[at:], kept[place:])
                at, tiles = at + length, tiles + 1
            for start in range(len(text) - _PIECE + 1):
                places.setdefault(text[start : start + _PIECE], (text, start))
    return tiles


def _alike(one: str, other: str) -> int:
    low, high = _PIECE, min(len(one), len(other)) + 1
    while low < high - 1:
        middle = (low + high) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle
    return low


def main(source: RunSource, run_id: str) -> None:
    contexts = read_contexts(source, run_id)
    characters = sum(len(item.part.text) for context in contexts.calls for item in context.items)
    tiles = sum(len(item.tiles) for context in contexts.calls for item in context.items)
    ours, other = [], []
    for _ in range(ROUNDS):
        begun = time.process_time()
        read_contexts(source, run_id)
        ours.append(time.process_time() - begun)
        begun = time.process_time()
        every_place(contexts)
        other.append(time.process_time() - begun)
    mine, its = statistics.median(ours), statistics.median(other)
    known = sum(tile.end - tile.start for c in contexts.calls for i in c.items for tile in i.tiles if tile.origins)
    traced = 100 * known / max(characters, 1)
    print(f"{len(contexts.calls)} requests, {characters:,} characters, {tiles:,} tiles, {traced:.1f} % traced")
    print(f"all of it      {mine * 1000:8.1f} ms   {mine * 1e9 / max(characters, 1):6.1f} ms a million characters")
    print(f"every place    {its * 1000:8.1f} ms   {its / mine:6.1f} × as much")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--growing"]:
        time_growing([int(each) for each in sys.argv[2:]] or [2_500, 5_000, 10_000])
    elif len(sys.argv) > 1:
        opened = open_source(sys.argv[1])
        main(opened, opened.runs(limit=1)[0].id)
    else:
        main(loop(), "loop")
