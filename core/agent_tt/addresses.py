"""Addresses of databases on a server, which stand wherever a file can: `postgresql://user@host:port/database`.

A password in an address is for the server alone. It is in no text that is made of the address, so it is in no output,
no message and nothing that is kept.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from agent_tt._pattern import lazy_re
from agent_tt.errors import UsageError

__all__ = [
    "SERVERS",
    "STORE_VARIABLE",
    "Address",
    "beside",
    "found_again",
    "identity_of",
    "is_address",
    "located",
    "told",
]

STORE_VARIABLE: Final = "AGENT_TT_STORE"
"""The variable that names a store, a file or an address."""

SERVERS: Final = "servers"
"""The folder in the user's data for what lies beside stores on servers."""

_SCHEME: Final = re.compile(r"postgres(?:ql)?(\+langgraph)?://", re.IGNORECASE)
_SHOWN: Final = frozenset(
    {"host", "hostaddr", "port", "dbname", "user", "sslmode", "application_name", "connect_timeout", "options",
     "service", "target_session_attrs"}
)  # fmt: skip
"""Parameters of an address whose values are shown."""

_HOST: Final = r"(\[[^]]*\]|[^:,]*)(:\d*)?"
_HOSTS: Final = lazy_re(f"{_HOST}(,{_HOST})*")
"""What stands between the login and the database: hosts, with ports that are numbers."""

_HIDDEN: Final = "***"
_SHORT: Final = 2
"""Characters of a piece of a password that tell nothing of it."""


class Address(type(Path())):  # type: ignore[misc]  # which class of paths it is depends on the system
    """The address of a database, in the place of a file's path. No file has its name.

    As a text it is what may be shown: `postgresql://user:***@host/database`.

    Attributes:
        url: the address as it was given, for the client of the server alone: it may hold a password.
    """

    url: str
    _text: str

    @classmethod
    def of(cls, url: str) -> Address:
        """The address that a text is."""
        shown = _shown(url)
        made: Address = cls(shown)
        made.url, made._text = _SCHEME.sub("postgresql://", url, 1), shown
        return made

    @property
    def is_langgraphs(self) -> bool:
        """Whether it names LangGraph's tables, also of a database that has ours: `postgresql+langgraph://…`."""
        scheme = _SCHEME.match(self._text)
        return scheme is not None and scheme[1] is not None

    def __str__(self) -> str:
        return self._text if "_text" in vars(self) else str(super().__str__())

    def __fspath__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (Path, (str(self),))

    def exists(self, **_: bool) -> bool:
        """Say yes: whether the database is there is known when it is opened."""
        return True

    @property
    def parent(self) -> Path:
        """The folder of what lies beside it, in the user's own data."""
        return beside(self).parent

    def with_name(self, name: str) -> Path:
        """Something that lies beside it, in the user's own data."""
        return beside(self).with_name(name)

    def absolute(self) -> Address:
        """Give the address itself: it depends on no folder."""
        return self

    def expanduser(self) -> Address:
        """Give the address itself: it has no home folder."""
        return self

    def resolve(self, strict: bool = False) -> Address:  # noqa: ARG002, FBT001, FBT002  # as of any path
        """Give the address itself: it has no links."""
        return self

    @property
    def identity(self) -> str:
        """What is the same for all ways to log in as one user of one database."""
        scheme = "postgresql+langgraph://" if self.is_langgraphs else "postgresql://"
        return _SCHEME.sub(scheme, self._text).replace(f":{_HIDDEN}@", "@", 1)

    @property
    def stem(self) -> str:
        """The name of the database."""
        return _parts(self._text)[3].rpartition("/")[2] or "postgresql"

    @property
    def secrets(self) -> list[str]:
        """What of the address may stand in no text, the longest first; in the words of who read it otherwise, too."""
        _, login, _, _, query = _parts(self.url)
        password = login.partition(":")[2]
        pieces = [piece for piece in re.split(r"[/:@?]", password) if len(piece) > _SHORT]
        hidden = [each.partition("=")[2] for each in query if each != _shown_parameter(each)]
        found = {form for each in (password, *pieces, *hidden) for form in (each, unquote(each)) if form}
        return sorted(found, key=len, reverse=True)


def is_address(text: str) -> bool:
    """Whether a text is the address of a database, and not the name of a file."""
    return _SCHEME.match(text) is not None


def located(text: str | os.PathLike[str], folder: Path | None = None) -> Path:
    """The path that a text names, with `~` as the home folder; an address is an `Address`.

    Args:
        text: what somebody wrote.
        folder: where the name of a file counts from.

    Raises:
        UsageError: an address was made a path, which is another text, and would have a password in its name.
    """
    if isinstance(text, Address):
        return text
    if isinstance(text, str) and is_address(text):
        return Address.of(text)
    path = Path(text)
    if is_address(path.as_posix().replace(":/", "://", 1)):
        raise UsageError("the address of a database was given as a path", hint="Give it as a text.")
    path = path.expanduser()
    return path if folder is None else folder / path


def told(path: Path) -> str:
    """What another process of ours is told, so that it opens the same: of an address with the password.

    It goes where nobody else reads it, as into a variable of its environment, and never into a command line.
    """
    return path.url if isinstance(path, Address) else str(path)


def found_again(text: str) -> Path:
    """Give the path that a text names; an address whose password is hidden is completed from `AGENT_TT_STORE`.

    Args:
        text: a file, or an address as it may be shown. Where the variable names another store, the text is taken as
            it is.
    """
    path, known = located(text), os.environ.get(STORE_VARIABLE, "")
    if isinstance(path, Address) and is_address(known) and str(Address.of(known)) == text:
        return Address.of(known)
    return path


def beside(path: Path) -> Path:
    """What lies beside a store lies beside this: the file itself, and of an address a place in the user's own data."""
    if not isinstance(path, Address):
        return path
    import platformdirs

    name = hashlib.blake2b(path.identity.encode(), digest_size=8).hexdigest()
    return platformdirs.user_data_path("agent-tt", appauthor=False) / SERVERS / name / (path.stem[:40] or "store")


def identity_of(path: Path) -> str:
    """What is the same for all names of one file or database."""
    return path.identity if isinstance(path, Address) else os.path.realpath(path)


def _parts(url: str) -> tuple[str, str, str, str, list[str]]:
    """Scheme, login, the `@` behind it, place and parameters of an address.

    Of one that is not well-formed, with an `@` or a `?` in its password say, the login is rather too long.
    """
    scheme = _SCHEME.match(url)
    rest = url[scheme.end() if scheme else 0 :]
    place, _, query = rest.partition("?")
    if "@" not in place and "@" in query:
        place, query = rest, ""
    login, at, host = place.rpartition("@")
    return scheme[0] if scheme else "", login, at, host, query.split("&") if query else []


def _shown(url: str) -> str:
    """An address without what may be secret in it."""
    scheme, login, at, host, query = _parts(url)
    user, colon, _ = login.partition(":")
    if not at and not _HOSTS.fullmatch(host.partition("/")[0]):
        host = _HIDDEN  # a login without its host, perhaps
    parameters = "&".join(map(_shown_parameter, query))
    return f"{scheme}{user}{f':{_HIDDEN}' if colon else ''}{at}{host}{'?' if query else ''}{parameters}"


def _shown_parameter(text: str) -> str:
    name, equals, _ = text.partition("=")
    return text if equals and name in _SHOWN else f"{name if equals else ''}{equals}{_HIDDEN}"
