"""A request over HTTP and its answer, as a run keeps them: what each says, and all of both where it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.text import pretty, summary
from agent_tt.codec.wire import is_envelope
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt_tui.glyphs import Glyphs

_MOST_TEXT: Final = 20_000
_MOST_HEADERS: Final = 60


class Exchange(NamedTuple):
    """A request and what came back.

    Attributes:
        method: `GET`, `POST`, ….
        url: Where it went.
        asked: The request's body.
        sent_headers: Its headers.
        status: The answer's status; None where there is no answer.
        answered: The answer's body.
        headers: Its headers.
    """

    method: str
    url: str
    asked: Wire
    sent_headers: Mapping[str, Wire]
    status: int | None
    answered: Wire
    headers: Mapping[str, Wire]

    @property
    def address(self) -> str:
        """Where it went, without the scheme."""
        return self.url.partition("://")[2] or self.url


def exchange_of(call: Call) -> Exchange | None:
    """Read a call; None if it is not a request over HTTP."""
    args, result = _mapping(call.args), _mapping(call.result)
    method, url = args.get("method"), args.get("url")
    if call.kind not in ("http", "llm") or not isinstance(method, str) or not isinstance(url, str):
        return None
    status = result.get("status")
    return Exchange(
        method=method,
        url=url,
        asked=args.get("body"),
        sent_headers=call.facts.headers or _mapping(args.get("headers")),
        status=status if isinstance(status, int) else None,
        answered=result.get("body"),
        headers=_mapping(result.get("headers")),
    )


def raw_lines(exchange: Exchange, columns: int, glyphs: Glyphs, toggled: Container[str]) -> Iterator[TextLine]:
    """Both sides as they were recorded, each folded at first."""
    asked = f"{exchange.method} {exchange.address}"
    yield from _raw("request", asked, exchange.sent_headers, exchange.asked, columns, glyphs, toggled)
    if exchange.status is not None or exchange.answered is not None:  # what comes over a WebSocket has no status
        status = "" if exchange.status is None else str(exchange.status)
        yield from _raw("answer", status, exchange.headers, exchange.answered, columns, glyphs, toggled)


def _raw(
    name: str,
    said: str,
    headers: Mapping[str, Wire],
    body: Wire,
    columns: int,
    glyphs: Glyphs,
    toggled: Container[str],
) -> Iterator[TextLine]:
    fold = f"raw {name}"
    opened = fold in toggled
    sign = glyphs.unfolded if opened else glyphs.folded
    yield TextLine(((f"  {sign} {name}", "text"), (f"  {clean(said)}", "muted")), fold=fold)
    if not opened:
        return
    for key in list(headers)[:_MOST_HEADERS]:
        value = headers[key]
        shown = f"{key}: {value if isinstance(value, str) else summary(value, columns)}"
        for pieces in wrap_text(shown, columns - 4, "muted", glyphs.cut, limit=_MOST_TEXT):
            yield TextLine((("    ", "text"), *pieces))
    text = body if isinstance(body, str) else "" if body is None else pretty(body)
    for pieces in wrap_text(text, columns - 4, "text", glyphs.cut, limit=_MOST_TEXT):
        yield TextLine((("    ", "text"), *pieces))


def _mapping(value: Wire) -> Mapping[str, Wire]:
    return value if isinstance(value, dict) and not is_envelope(value) else {}
