"""OTLP as protocol buffers, written from what it is as JSON: a writer that knows nothing of our reader."""

from __future__ import annotations

import base64
import struct
from typing import Any


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def sized(field: int, body: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(body)) + body


def number(field: int, given: int) -> bytes:
    return varint(field << 3) + varint(given)


def fixed64(field: int, given: int) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<Q", given)


def any_value(given: dict[str, Any]) -> bytes:
    ((kind, inner),) = given.items()
    if kind == "stringValue":
        return sized(1, inner.encode())
    if kind in ("boolValue", "intValue"):
        return number(2 if kind == "boolValue" else 3, int(inner))
    if kind == "doubleValue":
        return varint(4 << 3 | 1) + struct.pack("<d", inner)
    if kind == "bytesValue":
        return sized(7, base64.b64decode(inner))
    if kind == "arrayValue":
        return sized(5, b"".join(sized(1, any_value(each)) for each in inner["values"]))
    return sized(6, attributes(1, inner["values"]))


def attributes(field: int, given: list[Any]) -> bytes:
    pairs = (sized(1, each["key"].encode()) + sized(2, any_value(each["value"])) for each in given)
    return b"".join(sized(field, pair) for pair in pairs)


def event(given: dict[str, Any]) -> bytes:
    return sized(2, given["name"].encode()) + attributes(3, given["attributes"]) + number(4, 0)


def span(given: dict[str, Any]) -> bytes:
    ids = ((1, "traceId"), (2, "spanId"), (4, "parentSpanId"))
    found = b"".join(sized(field, bytes.fromhex(given[name])) for field, name in ids if name in given)
    found += sized(5, given["name"].encode()) + number(6, 1)
    found += fixed64(7, int(given["startTimeUnixNano"])) + fixed64(8, int(given["endTimeUnixNano"]))
    found += attributes(9, given["attributes"]) + b"".join(sized(11, event(each)) for each in given.get("events", []))
    if "status" in given:
        found += sized(15, sized(2, given["status"]["message"].encode()) + number(3, given["status"]["code"]))
    return found + varint(16 << 3 | 5) + b"\x01\x00\x00\x00"


def record(given: dict[str, Any]) -> bytes:
    ids = sized(9, bytes.fromhex(given["traceId"])) + sized(10, bytes.fromhex(given["spanId"]))
    times = fixed64(1, int(given["timeUnixNano"])) + fixed64(11, int(given["timeUnixNano"]))
    return times + number(2, 9) + attributes(6, given["attributes"]) + ids + sized(12, given["eventName"].encode())


def request(given: dict[str, Any]) -> bytes:
    """A request, as `TracesData` or `LogsData`."""
    found = b""
    for kind, scopes, each, written in (("resourceSpans", "scopeSpans", "spans", span),
                                        ("resourceLogs", "scopeLogs", "logRecords", record)):  # fmt: skip
        for of_resource in given.get(kind, []):
            inner = sized(1, attributes(1, of_resource.get("resource", {}).get("attributes", [])))
            for scope in of_resource[scopes]:
                inner += sized(
                    2, sized(1, sized(1, b"scope")) + b"".join(sized(2, written(one)) for one in scope[each])
                )
            found += sized(1, inner + sized(3, b"https://opentelemetry.io/schemas/1.40.0"))
    return found
