"""What a person decided about a call before it went out, as the Call tab tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.model.facts import CallFacts
from agent_tt.model.facts.calls import is_held
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import TextLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt_tui.glyphs import Glyphs

__all__ = ["decided_lines", "not_made_words", "waiting_line"]

_WORDS: Final = {
    "run": "{} let it go out",
    "give": "it was not made: {} gave its answer",
    "raise": "it was not made: {} raised an error in its place",
    "refuse": "{} refused it",
}
_SHOWN: Final = 60


def decided_lines(call: Call, glyphs: Glyphs) -> Iterator[TextLine]:
    """Whose answer it was given; what was decided, why, and which arguments a person changed."""
    answered, before = call.facts.answered, call.facts.args_asked
    again = not_made_words(call)
    if again is not None:
        yield TextLine()
        yield TextLine(((clean(again), "note"),))
    if not answered:
        return
    who = "a program" if answered.by == "program" else "you"
    words = _WORDS.get(answered.word or "", "").format(who)
    if answered.by == "nobody" and answered.word == "run":
        words = "it was held, and let go as it was"
    elif answered.by == "nobody":
        words = "it was refused, because nobody could be asked"
    if before:
        words = f"{who} edited it, and let it go out"
    told = f": {clean(answered.why)}" if answered.why is not None and answered.by != "nobody" else ""
    yield TextLine()
    yield TextLine(((f"{glyphs.person} {words}", "yours"), (told, "muted")))
    now = call.args if isinstance(call.args, dict) else {}
    for name, value in before.items():
        yield _changed(name, value, now.get(name), glyphs)
    for edit in call.facts.hold.state:
        yield _changed(f"state.{edit.path}", edit.old, edit.value, glyphs)


def _changed(name: str, before: Wire, after: Wire, glyphs: Glyphs) -> TextLine:
    return TextLine(
        (
            (f"  {clean(name)} ", "muted"),
            (clean(summary(before, _SHOWN)), "removed"),
            (f" {glyphs.to} ", "muted"),
            (clean(summary(after, _SHOWN)), "added"),
        )
    )


def not_made_words(call: Call) -> str | None:
    """Where the answer of a call came from that a key, a policy or an edit kept from being made; None for any other."""
    once, policy = call.facts.once, call.facts.policy
    if once.run is not None:
        return f"not made: {once.key} is done once; the answer of run {once.run}, step {once.step}, call {once.call}"
    if policy.word == "stub":
        return "not made: this answer was given instead"
    if CallFacts.replayed.is_in(call.meta) and call.status == "ok":
        return "not made: a replay answered it as recorded"
    taken = policy.taken_from
    if taken.run is not None:
        return f"not made: the recorded answer of run {taken.run}, step {taken.step}, call {taken.call}"
    return None


def waiting_line(call: Call, glyphs: Glyphs, *, is_running: bool) -> TextLine | None:
    """What is there in place of an answer to a call that waits, or waited when its run ended; None for any other."""
    if not is_held(call.meta):
        return None
    if is_running:
        return TextLine(((f"  {glyphs.person} waits for you", "yours"),))
    return TextLine(((f"  {glyphs.interrupted} it never went out: nobody had decided", "note"),))
