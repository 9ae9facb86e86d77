"""The interpreter that `tests/warm_processes.py` forks: `python warm_server.py FD MODULE…`.

It imports the modules, does what each process would do first, and once, then forks itself for each request that comes
through the socket FD. What it forks becomes the process that was asked for: with its arguments, environment, folder,
files and session, and an own `__main__`.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import faulthandler
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
import threading
import time
import types
from importlib.machinery import SourceFileLoader
from typing import Final, NoReturn

from agent_tt.providers.reading import _OURS as PROVIDERS
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.rerunning.warm.server import _prepare as prepare_agents

HEAD = 8

LATER: Final = {
    "httpx": ("httpcore",),
    "httpx2": ("httpcore2",),
    "openai": (
        "openai.resources.chat.chat",
        "openai.resources.chat.completions.completions",
        "openai.resources.responses.responses",
    ),
    "pydantic_ai": ("pydantic_ai.models.openai", "pydantic_ai.providers.openai", "genai_prices.data"),
}
"""What a library imports only when it is used: with openai that is half of what a short process of its client does."""


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    del sys.path[0]  # the folder of this file, which no other process looks into
    for module in sys.argv[2:]:
        importlib.import_module(module)
    for library in LATER.keys() & sys.modules:
        for module in LATER[library]:
            importlib.import_module(module)
    prepare()
    gc.collect()
    gc.freeze()  # the pages of what lives on stay shared
    asked = serve(channel)
    channel.close()
    become(asked)
    end(ended(asked))


def prepare() -> None:
    """Do what each process that records would do, and do once: it depends on what is loaded here alone.

    Where the hooks belong is then known of all modules, and what reads requests of models is imported.
    """
    prepare_agents()
    for place in PROVIDERS.values():
        importlib.import_module(place.partition(":")[0])
    if "openai" in sys.modules:
        from openai.types.chat import ChatCompletion
        from openai.types.responses import Response

        for answer in (ChatCompletion, Response):  # pydantic works their schema out when the first one comes
            answer.model_rebuild()
    HOOKS.acquire()
    HOOKS.release()


def serve(channel: socket.socket) -> dict:
    """Fork at each request; returns in what was forked, with what it is to be."""
    while True:
        head, ancillary, _, _ = channel.recvmsg(HEAD, socket.CMSG_SPACE(3 * array.array("i").itemsize))
        if not head:
            os._exit(0)  # whoever started us has ended
        files = array.array("i")
        for _, _, data in ancillary:
            files.frombytes(data)
        asked = json.loads(channel.recv(int(head), socket.MSG_WAITALL))
        between = os.fork()
        if between == 0:
            between = os.getpid()
            pid = os.fork()
            if pid:
                channel.sendall(b"%*d" % (HEAD, pid))
                os._exit(0)  # so that the new process becomes a child of whoever asked
            while os.getppid() == between:
                time.sleep(0.0001)
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return asked
        os.waitpid(between, 0)
        for file in files:
            os.close(file)
        channel.sendall(b"%*d" % (HEAD, 0))  # it is its child now


def become(asked: dict) -> None:
    """Do what the command line says, as the interpreter does after its start."""
    options, kind, what, arguments = asked["options"], asked["kind"], asked["what"], asked["arguments"]
    if asked["new_session"]:
        os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    open_standard_streams(is_unbuffered="-u" in options or bool(os.environ.get("PYTHONUNBUFFERED")))
    if "faulthandler" in options:
        sys._xoptions["faulthandler"] = True
        faulthandler.enable(file=2)
    sys.orig_argv = asked["command"]
    sys.argv = [what if kind == "script" else kind, *arguments]
    importlib.invalidate_caches()
    if "-P" not in options:
        folders = {"script": os.path.dirname(os.path.realpath(what)), "-c": "", "-m": os.getcwd()}  # noqa: PTH109, PTH120
        sys.path.insert(0, folders[kind])
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__builtins__ = __builtins__


def run(asked: dict) -> None:
    """Run the program in the empty `__main__`."""
    kind, what, space = asked["kind"], asked["what"], vars(sys.modules["__main__"])
    if kind == "-m":
        runpy._run_module_as_main(what)
    elif kind == "-c":
        exec(compile(what, "<string>", "exec"), space)
    else:
        path = os.path.join(os.getcwd(), what)  # noqa: PTH109, PTH118  as the interpreter does
        space.update(__file__=path, __loader__=SourceFileLoader("__main__", path), __cached__=None)
        with io.open_code(path) as file:
            source = file.read()
        exec(compile(source, path, "exec"), space)


def ended(asked: dict) -> int:
    """Run the program; the exit code, negative for the signal by which the interpreter ends itself."""
    try:
        run(asked)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
            traceback = traceback.tb_next
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def end(code: int) -> NoReturn:
    """End as the interpreter does, but for what was imported before: to take that apart is half of a short process."""
    threading._shutdown()
    atexit._run_exitfuncs()
    vars(sys.modules["__main__"]).clear()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def open_standard_streams(*, is_unbuffered: bool) -> None:
    """Wrap what now are the files 0, 1 and 2, in the encoding that the interpreter has chosen."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        mode = "rb" if number == 0 else "wb"
        binary = open(number, mode, buffering=0 if is_unbuffered and number else -1, closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(
            binary,
            encoding=before.encoding,
            errors=before.errors,
            newline="\n" if number else None,
            line_buffering=not is_unbuffered and (number == 2 or os.isatty(number)),
            write_through=is_unbuffered and number > 0,
        )
        getattr(binary, "raw", binary).name = f"<{name}>"
        stream.mode = mode[0]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    main()
