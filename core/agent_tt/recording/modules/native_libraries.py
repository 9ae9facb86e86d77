"""Which libraries of this process are in C (or the like) and reach the world by themselves, where no guard sees them.

They are found by what they link to: a library that opens connections or starts programs imports the function of the C
library that does it (`connect`, `sendto`, `execve`, …), and that stands in its table of symbols (ELF: on Linux and
the BSDs). Where that cannot be read, a list of known ones decides.
"""

from __future__ import annotations

import functools
import mmap
import re
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "REACHES",
    "declare_uncovered",
    "find_library",
    "is_everywhere",
    "links_to_world",
    "shown_name",
    "uncovered_libraries",
]

REACHES: Final = lazy_re(
    r"""_*(?:libc_|GI_)?(?:
      socket | connect | bind | listen | accept4? | send | sendto | sendm?msg | sendfile(?:64)? | v?m?splice
    | write | writev | pwrite(?:64)? | pwritev2?(?:64)? | getaddrinfo(?:_a)? | getnameinfo | gethostby\w+ | n?res_\w+
    | rcmd\w* | rexec\w* | sctp_\w+ | mq_send | msgsnd | io_(?:uring_\w+|submit)
    | system | popen | v?fork | Fork | clone[23]? | forkpty | daemon | posix_spawnp? | f?exec[vl]\w* | exect | wordexp
    | syscall | dlopen(?:_mode)? | dlmopen | dlv?sym | ptrace | process_vm_writev
    | kill | killpg | tgkill | pidfd_\w+ | sigqueue
    | (?:Py_|PySys_|PyRuntime)(?:ClearAuditHooks|NewInterpreter\w*|Finalize\w*|Main|BytesMain|RunMain|Initialize\w*|)
    )(?:_np|_r|@.*)?""",
    re.VERBOSE,
)
"""Names of functions by which C code reaches the world, or what would lead there."""

_LINKED: Final = frozenset(
    {
        "connect",
        "sendto",
        "sendmsg",
        "sendmmsg",
        "execve",
        "execv",
        "execvp",
        "posix_spawn",
        "posix_spawnp",
        "system",
        "popen",
    }
)
_EVERYWHERE: Final = lazy_re(r"(?:lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+|System)|ld-linux[\w-]*|linux-vdso)[.-]")
_KNOWN_HARMLESS: Final = lazy_re(
    r"(?:lib(?:python[\d.]+|uuid|crypto|ssl|resolv|nss_\w+|nsl|util|gfortran|tinfo|ncurses\w*|readline)[.-]|_rust\.abi3\.so|loop\.cpython-.*)"
)
"""Link to such functions, and call them for nobody or only for what the guard sees: Python itself, OpenSSL (also that
of `cryptography`), parts of the C library; uvloop's `loop`, whose methods ask the guard themselves."""

_ONLY_FOR: Final = {"/pillow.libs/libxcb-": "PIL.ImageGrab"}
"""Libraries that are loaded with others and called by one module alone: Pillow's, which takes pictures of a screen."""

_FOLDERS: Final = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
_INSTALLED: Final = lazy_re(r".*/(?:site|dist)-packages/([^/]+?)(?:\.libs)?/")
_ELF: Final = b"\x7fELF"
_DYNSYM: Final = 11
_STRTAB_LINK: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")

_BY_NAME: Final[Mapping[str, str]] = {
    "grpc._cython.cygrpc": "grpc",
    "psycopg2._psycopg": "psycopg2",
    "psycopg.pq": "psycopg",
    "MySQLdb._mysql": "mysqlclient",
    "_mysql_connector": "mysql-connector-python",
    "pymssql._pymssql": "pymssql",
    "pyodbc": "pyodbc",
    "pycurl": "pycurl",
    "curl_cffi": "curl_cffi",
    "primp": "primp",
    "tls_client": "tls-client",
    "zmq": "pyzmq",
    "confluent_kafka.cimpl": "confluent-kafka",
    "pycares": "pycares",
    "gevent._gevent_cares": "gevent",
    "pyarrow._flight": "pyarrow.flight",
    "duckdb": "duckdb",
    "lancedb._lancedb": "lancedb",
    "deltalake._internal": "deltalake",
    "awscrt": "awscrt",
    "ray._raylet": "ray",
}
"""Modules with sockets of their own, and what they are known as."""


_DECLARED: Final[list[str]] = []


def declare_uncovered(name: str) -> None:
    """Say that something of this process reaches the world unseen, though it is no library.

    Args:
        name: what it is, for people.
    """
    if name not in _DECLARED:
        _DECLARED.append(name)


def uncovered_libraries() -> tuple[str, ...]:
    """Loaded libraries that may reach the world unseen, by the names that people install them under."""
    ours = _only_ours()
    named = [*_DECLARED]
    named += [shown for module, shown in _BY_NAME.items() if module in sys.modules and shown not in ours]
    for path in _loaded():
        shown = shown_name(path)
        if shown not in named and shown not in ours and links_to_world(path):
            named.append(shown)
    return tuple(named)


def _only_ours() -> tuple[str, ...]:
    """Libraries that the store of a run has loaded to be written, and that nobody else uses."""
    driver = sys.modules.get("agent_tt.store.postgres.driver")
    return () if driver is None else tuple(driver.only_ours())


def _loaded() -> Iterator[str]:
    """The libraries that are mapped into this process, but for Python's own."""
    own = (sys.base_prefix + "/lib/python", sys.base_exec_prefix + "/lib/python")
    seen: set[str] = set()
    with suppress(OSError, UnicodeError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line[line.find("/") :] if "/" in line else ""
            if ".so" not in path or path in seen:
                continue
            seen.add(path)
            if any(part in path and module not in sys.modules for part, module in _ONLY_FOR.items()):
                continue
            if not (path.startswith(own) and "-packages/" not in path):
                yield path


def shown_name(path: str) -> str:
    """The name under which people install a library, else that of its file."""
    installed = _INSTALLED.match(path)
    known = next(
        (shown for module, shown in _BY_NAME.items() if installed and module.partition(".")[0] == installed[1]), None
    )
    return known or (installed[1] if installed else Path(path).name)


def is_everywhere(name: str) -> bool:
    """Whether a library is part of every process: what it can do is known by the names of its functions."""
    return _EVERYWHERE.match(Path(name).name) is not None


@functools.lru_cache(maxsize=4096)
def links_to_world(path: str) -> bool | None:
    """Whether a library imports a function by which it could reach the world; None where that cannot be read."""
    name = Path(path).name
    if _EVERYWHERE.match(name) or _KNOWN_HARMLESS.match(name):
        return False
    try:
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            imported = _imported_symbols(data)
    except (OSError, struct.error, ValueError, MemoryError):
        return None
    return None if imported is None else not _LINKED.isdisjoint(imported)


def _imported_symbols(data: mmap.mmap) -> set[str] | None:
    """The names that an ELF file for 64-bit machines wants from others; None of another file."""
    if data[:4] != _ELF or data[4:6] != b"\x02\x01":
        return None
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [_STRTAB_LINK.unpack_from(data, offset + index * size) for index in range(count)]
    found: set[str] = set()
    for _, kind, _, _, at, length, link, _, _, entry in sections:
        if kind != _DYNSYM or not entry:
            continue
        texts, end = sections[link][4], sections[link][4] + sections[link][5]
        for place in range(at, at + length, entry):
            name, _, _, where, _, _ = _SYMBOL.unpack_from(data, place)
            if where == 0 and name:  # it is defined elsewhere
                stop = data.find(b"\0", texts + name, end)
                found.add(data[texts + name : stop].decode("latin-1"))
    return found


def find_library(name: str) -> str | None:
    """The file that the loader takes for a name, as far as that can be told beforehand."""
    if "/" in name:
        return name if Path(name).is_file() else None
    machine = getattr(sys.implementation, "_multiarch", "")
    for folder in (f"{sys.prefix}/lib", *(f"{each}/{machine}" for each in _FOLDERS), *_FOLDERS):
        path = Path(folder) / name
        if path.is_file():
            return str(path)
    return None
