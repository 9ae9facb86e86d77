"""Commands that log in, which say a password after an option or a word: `curl -u user:…`, `login ann password …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS, Place
from agent_tt.redaction.judging import is_placeholder, is_wordy
from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

__all__ = ["is_code", "is_login", "logins_in"]

_LOGINS: Final = (
    (
        ("-u",),
        ("curl", "wget", "http"),
        lazy_re(r"-(?:u|U|-user|-proxy-user)[ =\t]{0,4}\\{0,7}[\"']?[^\s:\"'\\/]{1,100}:(?P<it>[^\s\"'\\]{1,400})"),
    ),
    (("sshpass",), ("sshpass",), lazy_re(r"sshpass[ \t]{1,4}-p[ \t]{0,4}\\{0,7}[\"']?(?P<it>[^\s\"'\\]{1,400})")),
    (
        ("mysql", "mariadb"),
        ("mysql", "mariadb"),
        lazy_re(r"(?:mysql|mysqldump|mysqladmin|mariadb)[ \t][^\r\n|;&]{0,200}?(?<=[ \t])-p(?P<it>[^\s\"'\\]{1,400})"),
    ),
    *(
        (
            ("password",),
            (word,),
            lazy_re(word + r"\s{1,40}[^\s:=]{1,100}\s{1,40}password\s{1,40}(?P<it>[^\s\"'\\]{1,400})"),
        )
        for word in ("login", "user", "account")  # a pattern each: one that begins with a word is searched much faster
    ),
)
"""What a text holds where a command logs in, words of the command, one of which stands near, and how it does."""
_COMMAND: Final = 300
"""Characters before the login of a command in which the command's name stands."""
_ANCHORS: Final = frozenset(anchor for anchors, _, _ in _LOGINS for anchor in anchors)
ANCHORS.use("logins", {Place.ANYWHERE: _ANCHORS})
_CALLED: Final = lazy_re(r"[A-Za-z_][\w.]{0,100}[(\[]|\$\(")


def logins_in(text: str, held: AbstractSet[str]) -> Iterator[Span]:
    """Yield where commands that log in say a password: after an option, or the word itself.

    Args:
        text: any text.
        held: the words of `ANCHORS` that it holds.
    """
    if held.isdisjoint(_ANCHORS):
        return
    lower = text.lower()
    for anchors, words, pattern in _LOGINS:
        if held.isdisjoint(anchors) or not any(word in lower for word in words):
            continue
        for match in pattern.finditer(text):
            near = text[max(0, match.start() - _COMMAND) : match.end()].lower()
            if any(word in near for word in words) and is_login(match["it"]):
                yield Span(*match.span("it"))


def is_login(value: str) -> bool:
    """Whether what stands where a login does is one: no mark, no placeholder, no expression, no words."""
    return not is_mark(value) and not is_placeholder(value) and not is_code(value) and not is_wordy(value)


def is_code(value: str) -> bool:
    """Whether a value is an expression: `os.environ["KEY"]`, `getpass()`, `$(pass show x)`."""
    return _CALLED.match(value) is not None
