"""The file format read once more, from its description alone: SQLite, zstd, JSON and BLAKE2b, and nothing of ours."""

from __future__ import annotations

import json
import sqlite3
import struct
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
    """Reads a store of format 2."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert self._one("PRAGMA application_id") == 0x41545431
        assert self._one("PRAGMA user_version") == 2
        assert self._one("SELECT value FROM meta WHERE key = 'format'") == "2"
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
            chain = hashed(chain + seq.to_bytes(8, "big") + digest + hashed(plain))
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
        assert set(named) <= {refs.hex()[at : at + 40] for refs in [refs or b""] for at in range(0, 2 * len(refs), 40)}
        return status, *values

    def _call_value(self, text: str | None, named: list[str]) -> Any:
        value = None if text is None else json.loads(text)
        if not isinstance(value, dict) or value.keys() != {"v", "r"}:
            return value
        whole = value["v"]
        for rel, kind, name in value["r"]:
            named.append(name)
            if kind == "t":
                assert rel == ["headers"]
                whole["headers"] = filled(self.blob(name), whole["headers"])
            else:
                assert kind == "b"
                whole = put(whole, rel, self.blob(name))
        return whole

    def facts(self, run_id: str, step: int, call: int) -> Any:
        """What is written down of a call, for display."""
        meta = self._one(
            "SELECT meta FROM calls WHERE run = ? AND step = ? AND call = ?",
            self.holder(self.run(run_id), step),
            step,
            call,
        )
        return self._call_value(meta, []) or {}

    # ------------------------------------------------------------ proofs

    def check_proofs(self) -> int:
        """Every row, and that those of each owner are all there; how many rows there are."""
        sums: dict[tuple[str, int], list[int]] = {}
        count = 0
        for table, (columns, parts, kept, owner) in PROVEN.items():
            for *values, proof in self.db.execute(f"SELECT {columns}, proof FROM {table}"):
                names = columns.split(", ")
                digests = {
                    name: None if value is None else hashed(tlv(value))
                    for name, value in zip(names, values, strict=True)
                    if name in parts
                }
                proven = [digests.get(name, value) for name, value in zip(names, values, strict=True)]
                assert proof == hashed(tlv((table, *proven))) + b"".join(digests[name] or bytes(16) for name in kept)
                whose = 0 if owner is None else values[names.index(owner)]
                seal = sums.setdefault((table, whose >> 32 if owner == "id" else whose), [0, 0, 0])
                seal[0] += 1
                member = hashed(tlv((table, *values[: KEYS.get(table, 1)])))
                for at in (0, 1):
                    number = int.from_bytes(member[8 * at : 8 * at + 8], "big") >> 2
                    seal[1 + at] = (seal[1 + at] + number) % (1 << 62)
                count += 1
        sums = {place: found for place, found in sums.items() if place[0] not in UNSEALED}
        stored = {(name, owner): found for name, owner, *found in self.db.execute("SELECT * FROM seals") if any(found)}
        assert stored == sums
        for run, meta, fork_step in self.db.execute("SELECT run, meta, fork_step FROM runs").fetchall():
            self._check_counts(run, json.loads(meta).get("counts"), fork_step or 0)
        return count

    def _check_counts(self, run: int, counts: list[int] | None, fork_step: int) -> None:
        steps = self.db.execute("SELECT step, status, meta FROM steps WHERE run = ? ORDER BY step", (run,)).fetchall()
        assert [step for step, _, _ in steps] == list(range(fork_step + 1, fork_step + 1 + len(steps)))
        for step, status, meta in steps:
            calls = [
                call for (call,) in self.db.execute("SELECT call FROM calls WHERE run = ? AND step = ?", (run, step))
            ]
            assert sorted(calls) == list(range(1, len(calls) + 1))
            assert status == "running" or len(calls) >= json.loads(meta or "{}").get("calls", 0)
        whole = "SELECT delivered FROM calls WHERE run = ? AND delivered IS NOT NULL"
        answers = [number for (number,) in self.db.execute(whole, (run,))]
        answers += [key & SEQ for (key,) in self.db.execute("SELECT id FROM deliveries WHERE id >> 32 = ?", (run,))]
        assert sorted(answers) == list(range(min(answers, default=1), min(answers, default=1) + len(answers)))
        assert counts in (None, [len(steps), len(answers)])

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
            found.append(Answer(key & SEQ, step, call, kind, self._call_value(data, [])))
        found.sort()
        assert [answer.number for answer in found] == list(range(found[0].number, found[0].number + len(found)))
        return found


PROVEN: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], str | None]] = {
    "meta": ("key, value", (), (), None),
    "runs": (
        (
            "run, id, name, status, agent, agent_version, parent, fork_step, started_us, ended_us, error, owner,"
            " beat_us, hidden, meta"
        ),
        ("error", "meta"),
        (),
        None,
    ),
    "tracks": ("track, run, name, parent, fork_seq, indexed_to, dict", (), (), "run"),
    "steps": (
        (
            "run, step, parent_step, kind, name, agent, lane, status, started_us, ended_us, tokens_in, tokens_out,"
            " cost_usd, error, track, seq, meta"
        ),
        ("error", "meta"),
        (),
        "run",
    ),
    "calls": (
        (
            "run, step, call, lane, lane_seq, kind, name, effect, status, signature, args, result, error, refs,"
            " started_us, ended_us, delivered, meta"
        ),
        ("args", "result", "error", "meta"),
        ("args", "result", "error"),
        "run",
    ),
    "deliveries": ("id, step, call, kind, at_us, data, refs", ("data",), (), "id"),
    "deltas": ("id, digest, chain, dict, size, flags, refs, ops", ("ops",), (), "id"),
    "keyframes": ("id, size, refs, state", ("state",), (), "id"),
    "blobs": ("id, hash, form, size, data", ("data",), (), None),
    "dicts": ("id, copy, agent, data", ("data",), (), None),
    "tags": ("run, tag", (), (), "run"),
    "notes": ("note, run, step, kind, body, created_us", ("body",), (), "run"),
    "sweeps": ("sweep, id, run, number, step, definition, created_us, owner, beat_us", ("definition",), (), "run"),
    "foreign_marks": ("mark, file, run, checkpoint, step, kind, body, created_us", ("body",), (), None),
}
"""Columns, parts, parts whose digests are kept, and whose the rows are."""


UNSEALED = {"steps", "calls", "deliveries", "deltas", "keyframes", "blobs"}
"""Tables without seals: their rows are counted, or named by others."""

KEYS = {"steps": 2, "calls": 3, "tags": 2, "dicts": 2}
"""Columns of keys that have more than one; the key comes first."""


def hashed(plain: bytes) -> bytes:
    return blake2b(plain, digest_size=16).digest()


def tlv(value: Any) -> bytes:
    """The byte form of what a column holds."""
    if value is None:
        return b"N"
    if isinstance(value, float):
        return b"g" + struct.pack("<d", value)
    if isinstance(value, int):
        if -(1 << 31) <= value < 1 << 31:
            return b"i" + struct.pack("<i", value)
        digits, rest = [], abs(value)
        while rest:
            digits.append(rest & 0x7FFF)
            rest >>= 15
        count = -len(digits) if value < 0 else len(digits)
        return b"l" + struct.pack(f"<i{len(digits)}H", count, *digits)
    if isinstance(value, str):
        raw = value.encode()
        return b"u" + struct.pack("<I", len(raw)) + raw
    if isinstance(value, bytes):
        return b"s" + struct.pack("<I", len(value)) + value
    assert isinstance(value, tuple)
    return b"(" + struct.pack("<I", len(value)) + b"".join(map(tlv, value))


def filled(template: Any, values: list[str]) -> Any:
    """The headers that a template stands for."""
    given = iter(values)
    pairs = template.items() if isinstance(template, dict) else template
    whole = [[name, next(given) if value is None else value] for name, value in pairs]
    assert list(given) == []
    return dict(whole) if isinstance(template, dict) else whole


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
