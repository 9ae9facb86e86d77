"""The file format read once more, from its description alone: SQLite, zstd, JSON and BLAKE2b, and nothing of ours."""

from __future__ import annotations

import json
import sqlite3
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard
from tests.core.reference_digest import reference_digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEQ = (1 << 32) - 1


class Segment(NamedTuple):
    track: int
    first: int
    last: int


class Answer(NamedTuple):
    number: int
    step: int
    call: int
    kind: str
    data: Any


class IndependentReader:
    """Reads a store of format 1."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert self._one("PRAGMA application_id") == 0x41545431
        assert self._one("PRAGMA user_version") == 1
        assert self._one("SELECT value FROM meta WHERE key = 'format'") == "1"
        assert self._one("PRAGMA page_size") == 4096
        assert self._one("PRAGMA encoding") == "UTF-8"

    def close(self) -> None:
        self.db.close()

    def _one(self, sql: str, *parameters: Any) -> Any:
        row = self.db.execute(sql, parameters).fetchone()
        return None if row is None else row[0]

    # ------------------------------------------------------------ frames and blobs

    def plain(self, frame: bytes, size: int, dictionary: int = 0) -> bytes:
        assert zstandard.get_frame_parameters(frame).has_checksum
        content = None
        if dictionary:
            copies = self.db.execute("SELECT data FROM dicts WHERE id = ? ORDER BY copy", (dictionary,)).fetchall()
            assert len(copies) == 2
            contents = {zstandard.ZstdDecompressor().decompress(data) for (data,) in copies}
            (raw,) = contents
            assert row_id(blake2b(raw, digest_size=20).digest()) == dictionary
            content = zstandard.ZstdCompressionDict(raw, zstandard.DICT_TYPE_RAWCONTENT)
        plain = zstandard.ZstdDecompressor(dict_data=content).decompress(frame)
        assert len(plain) == size
        return plain

    def blob(self, name: str) -> Any:
        digest = bytes.fromhex(name)
        number = row_id(digest)
        while True:
            found = self.db.execute("SELECT hash, form, size, data FROM blobs WHERE id = ?", (number,)).fetchone()
            assert found is not None, f"blob {name} is missing"
            if found[0] == digest:
                break
            number += 1
        assert found[1] == "json"
        plain = self.plain(found[3], found[2])
        assert blake2b(plain, digest_size=20).digest() == digest
        return json.loads(plain)

    # ------------------------------------------------------------ states

    def segments(self, track: int, seq: int) -> list[Segment]:
        parent, fork_seq = self.db.execute("SELECT parent, fork_seq FROM tracks WHERE track = ?", (track,)).fetchone()
        if parent is None:
            return [Segment(track, 0, seq)]
        return [*self.segments(parent, min(seq, fork_seq)), Segment(track, fork_seq, seq)]

    def rows(
        self, segments: list[Segment], after: tuple[int, int] | None = None
    ) -> Iterator[tuple[int, int, list[Any]]]:
        """Track, seq and operations of each row in the order in which they apply; those after (position, seq)."""
        for position, segment in enumerate(segments):
            first = segment.first
            if after is not None and position < after[0]:
                continue
            if after is not None and position == after[0]:
                first = after[1] + 1
            found = self.db.execute(
                "SELECT id, dict, size, refs, ops FROM deltas WHERE id BETWEEN ? AND ? ORDER BY id",
                (segment.track << 32 | first, segment.track << 32 | segment.last),
            ).fetchall()
            assert [key & SEQ for key, *_ in found] == list(range(first, segment.last + 1)), "a checkpoint is missing"
            for key, dictionary, size, refs, ops in found:
                payload = json.loads(self.plain(ops, size, dictionary))
                yield segment.track, key & SEQ, self._operations(payload, refs)

    def _operations(self, payload: Any, refs: bytes | None) -> list[Any]:
        if isinstance(payload, list):
            assert refs is None
            return payload
        assert payload.keys() == {"o", "r"}
        named = []
        for rel, kind, name in payload["r"]:
            assert kind == "b"
            op = payload["o"][rel[0]]
            op[-1] = put(op[-1], rel[1:], self.blob(name))
            named.append(bytes.fromhex(name))
        assert b"".join(named) == refs
        return payload["o"]

    def load(self, track: int, seq: int, *, use_keyframes: bool = True) -> Any:
        segments = self.segments(track, seq)
        state: Any = None
        after = None
        if use_keyframes:
            for position in range(len(segments) - 1, -1, -1):
                segment = segments[position]
                found = self.db.execute(
                    "SELECT id, size, refs, state FROM keyframes WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
                    (segment.track << 32 | segment.first, segment.track << 32 | segment.last),
                ).fetchone()
                if found is not None:
                    after = (position, found[0] & SEQ)
                    state = self._keyframe(found, [*segments[:position], segment._replace(last=after[1])])
                    break
        for _, _, ops in self.rows(segments, after):
            for op in ops:
                state = apply(state, op)
        return state

    def _keyframe(self, found: tuple[Any, ...], segments: list[Segment]) -> Any:
        key, size, refs, frame = found
        payload = json.loads(self.plain(frame, size))
        assert payload["d"] == self._one("SELECT lower(hex(digest)) FROM deltas WHERE id = ?", key)
        state, named = payload["v"], []
        for rel, kind, what in payload["r"]:
            part: Any
            if kind == "b":
                part = self.blob(what)
                named.append(what)
            elif kind == "l":
                part = [item for name in what for item in self.blob(name)]
                named += what
            elif kind == "g":
                part = {key: item for name in what for key, item in self.blob(name).items()}
                named += what
            else:
                assert kind == "a"
                part = self._grown(rel, what, segments)
            state = put(state, rel, part)
        assert "".join(named) == (refs or b"").hex()
        return state

    def _grown(self, path: list[Any], born: int, segments: list[Segment]) -> list[Any]:
        """An append-only list: set by row `born`, and only appended to since."""
        items: list[Any] | None = None
        for _, seq, ops in self.rows(segments):
            if seq < born:
                continue
            for op in ops:
                if op[0] == "s" and seq == born and path[: len(op[1])] == op[1]:
                    items = list(get(op[2], path[len(op[1]) :]))
                elif op[0] == "a" and op[1] == path and items is not None:
                    assert op[2] == len(items)
                    items += op[3]
        assert items is not None
        return items

    def check_track(self, track: int) -> list[Any]:
        """Every checkpoint of a track and its ancestors: chain, digest, and both ways of loading it; the states."""
        last = self._one("SELECT max(id) FROM deltas WHERE id BETWEEN ? AND ?", track << 32, track << 32 | SEQ) & SEQ
        state: Any = None
        chain = b""
        states = []
        for row_track, seq, ops in self.rows(self.segments(track, last)):
            for op in ops:
                state = apply(state, op)
            digest, stored, dictionary, size, frame = self.db.execute(
                "SELECT digest, chain, dict, size, ops FROM deltas WHERE id = ?", (row_track << 32 | seq,)
            ).fetchone()
            plain = self.plain(frame, size, dictionary)
            chain = blake2b(chain + seq.to_bytes(8, "big") + digest + plain, digest_size=16).digest()
            assert chain == stored
            assert reference_digest(state) == digest
            assert as_text(self.load(row_track, seq)) == as_text(state)
            if row_track == track:
                states.append(json.loads(json.dumps(state)))
        return states

    # ------------------------------------------------------------ runs

    def run(self, run_id: str) -> int:
        found = self._one("SELECT run FROM runs WHERE id = ?", run_id)
        assert isinstance(found, int)
        return found

    def holder(self, run: int, step: int) -> int:
        """The run whose row a step is: a fork's steps up to its fork step are its parent's."""
        parent, fork_step = self.db.execute("SELECT parent, fork_step FROM runs WHERE run = ?", (run,)).fetchone()
        return run if parent is None or step > fork_step else self.holder(parent, step)

    def checkpoint(self, run: int, step: int) -> tuple[int, int]:
        """Track and seq of the state after a step of a run whose steps all have states."""
        parent, fork_step = self.db.execute("SELECT parent, fork_step FROM runs WHERE run = ?", (run,)).fetchone()
        if parent is not None and step <= fork_step:
            there = self.checkpoint(parent, step)
            edited = self._one("SELECT track FROM tracks WHERE run = ? AND parent = ? AND fork_seq = ?", run, *there)
            return (edited, there[1]) if edited is not None and step == fork_step else there
        if step == 0:
            return self._one("SELECT track FROM tracks WHERE run = ? AND name = 'main'", run), 0
        return self.db.execute("SELECT track, seq FROM steps WHERE run = ? AND step = ?", (run, step)).fetchone()

    def state(self, run_id: str, step: int) -> Any:
        return self.load(*self.checkpoint(self.run(run_id), step))

    def call(self, run_id: str, step: int, call: int) -> tuple[str, Any, Any]:
        """Status, arguments and result of a call."""
        status, args, result, refs = self.db.execute(
            "SELECT status, args, result, refs FROM calls WHERE run = ? AND step = ? AND call = ?",
            (self.holder(self.run(run_id), step), step, call),
        ).fetchone()
        named: list[str] = []
        values = [self._call_value(text, named) for text in (args, result)]
        assert "".join(named) == (refs or b"").hex()
        return status, *values

    def _call_value(self, text: str | None, named: list[str]) -> Any:
        value = None if text is None else json.loads(text)
        if not isinstance(value, dict) or value.keys() != {"v", "r"}:
            return value
        whole = value["v"]
        for rel, kind, name in value["r"]:
            assert kind == "b"
            whole = put(whole, rel, self.blob(name))
            named.append(name)
        return whole

    def answers(self, run_id: str) -> list[Answer]:
        """Everything that reached the agent in the run itself, in order."""
        run = self.run(run_id)
        found = [
            Answer(number, step, call, "whole", None)
            for number, step, call in self.db.execute(
                "SELECT delivered, step, call FROM calls WHERE run = ? AND delivered IS NOT NULL", (run,)
            )
        ]
        for key, step, call, kind, data in self.db.execute(
            "SELECT id, step, call, kind, data FROM deliveries WHERE id >> 32 = ?", (run,)
        ):
            value = self.blob(data) if isinstance(data, str) else None if data is None else json.loads(data)
            found.append(Answer(key & SEQ, step, call, kind, value))
        found.sort()
        assert [answer.number for answer in found] == list(range(found[0].number, found[0].number + len(found)))
        return found


def row_id(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big") >> 1


def as_text(value: Any) -> str:
    """Equal only for values of the same types, in the same order."""
    return json.dumps(value)


def get(root: Any, path: list[Any]) -> Any:
    for step in path:
        root = root[step]
    return root


def put(root: Any, path: list[Any], part: Any) -> Any:
    if not path:
        return part
    parent = get(root, path[:-1])
    assert parent[path[-1]] is None
    parent[path[-1]] = part
    return root


def apply(root: Any, op: list[Any]) -> Any:
    """One operation, in place; the new root."""
    code, path, *rest = op
    if code == "s" and not path:
        return rest[0]
    parent = get(root, path[:-1])
    if code == "s":
        parent[path[-1]] = rest[0]
    elif code == "d":
        del parent[path[-1]]
    elif code == "a":
        length, items = rest
        target = get(root, path)
        assert len(target) == length
        target += items
    elif code == "x":
        start, removed, items = rest
        target = get(root, path)
        assert start + removed <= len(target)
        target[start : start + removed] = items
    elif code == "t":
        length, suffix = rest
        text = get(root, path)
        assert len(text) == length
        if not path:
            return text + suffix
        parent[path[-1]] = text + suffix
    elif code == "o":
        target = get(root, path)
        assert sorted(target) == sorted(rest[0])
        entries = {key: target[key] for key in rest[0]}
        target.clear()
        target.update(entries)
    else:
        assert code == "m"
        value = parent.pop(path[-1])
        get(root, rest[0][:-1])[rest[0][-1]] = value
    return root
