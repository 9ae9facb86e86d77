"""An agent that tries every way out that its author could think of, and carries the name of each to what it reaches.

Run as a script it records itself; `main` takes a state, so it can be forked. What reached the world is known by the
listener and the folder of marks that the state names, never by what the agent says.
"""

import _ctypes
import _posixsubprocess
import _socket
import _thread
import asyncio
import atexit
import contextlib
import contextvars
import ctypes
import gc
import http.client
import importlib
import json
import logging
import logging.handlers
import multiprocessing
import multiprocessing.connection
import multiprocessing.util
import os
import pty
import shlex
import signal
import smtplib
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import weakref
import webbrowser
import xmlrpc.client
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from ftplib import FTP
from pathlib import Path

import agent_tt

TO = json.loads(os.environ["WAYS_OUT"])
PORT, MARKS, UNIX, DATAGRAMS = TO["port"], TO["marks"], TO["unix"], TO["datagrams"]
AT, URL = ("127.0.0.1", PORT), f"http://127.0.0.1:{PORT}/"
WAYS, LATE = {}, {}


def way(function):
    WAYS[function.__name__] = function
    return function


def late(function):
    """A way that is taken while the program ends, or before it begins."""
    LATE[function.__name__] = function
    return function


def named(name):
    return f"way-{name}\n".encode()


def send(name):
    with socket.create_connection(AT, timeout=5) as made:
        made.sendall(named(name))
        made.shutdown(socket.SHUT_WR)
        made.recv(100)


def touch(name):
    return ["touch", f"{MARKS}/way-{name}"]


def line(name):
    return shlex.join(touch(name))


def python(name):
    return f"import socket; s = socket.create_connection({AT!r}); s.sendall({named(name)!r}); s.close()"


def wait_for(pid):
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def in_fork(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(0)
    wait_for(pid)


def joined(thread):
    thread.start()
    thread.join(10)


# ---------------------------------------------------------------- sockets


@way
def create_connection():
    send("create_connection")


@way
def connect():
    made = socket.socket()
    made.connect(AT)
    made.sendall(named("connect"))
    made.close()


@way
def connect_ex():
    made = socket.socket()
    made.connect_ex(AT)
    made.sendall(named("connect_ex"))
    made.close()


@way
def raw_socket():
    made = _socket.socket()
    made.connect(AT)
    made.send(named("raw_socket"))
    made.close()


@way
def unbound_method():
    made = socket.socket()
    _socket.socket.connect(made, AT)
    _socket.socket.send(made, named("unbound_method"))
    made.close()


@way
def udp_sendto():
    socket.socket(type=socket.SOCK_DGRAM).sendto(named("udp_sendto"), AT)


@way
def udp_sendmsg():
    socket.socket(type=socket.SOCK_DGRAM).sendmsg([named("udp_sendmsg")], [], 0, AT)


@way
def udp_connected():
    made = socket.socket(type=socket.SOCK_DGRAM)
    made.connect(AT)
    made.send(named("udp_connected"))


@way
def unix_stream():
    made = socket.socket(socket.AF_UNIX)
    made.connect(UNIX)
    made.sendall(named("unix_stream"))
    made.close()


@way
def unix_datagram():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(named("unix_datagram"), DATAGRAMS)


async def stream(name):
    _, writer = await asyncio.open_connection(*AT)
    writer.write(named(name))
    await writer.drain()
    writer.close()


@way
def asyncio_connection():
    asyncio.run(stream("asyncio_connection"))


@way
def asyncio_sock_connect():
    async def go():
        made = socket.socket()
        made.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(made, AT)
        await loop.sock_sendall(made, named("asyncio_sock_connect"))
        made.close()

    asyncio.run(go())


async def datagram(name):
    made, _ = await asyncio.get_running_loop().create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=AT)
    made.sendto(named(name))
    await asyncio.sleep(0.05)
    made.close()


@way
def asyncio_datagram():
    asyncio.run(datagram("asyncio_datagram"))


@way
def uvloop_connection():
    uvloop = importlib.import_module("uvloop")
    uvloop.run(stream("uvloop_connection"))


@way
def uvloop_datagram():
    uvloop = importlib.import_module("uvloop")
    uvloop.run(datagram("uvloop_datagram"))


@way
def uvloop_process():
    async def go():
        started = await asyncio.create_subprocess_exec(*touch("uvloop_process"))
        await started.wait()

    importlib.import_module("uvloop").run(go())


@way
def named_pipe():
    with Path(TO["pipe"]).open("w") as pipe:
        pipe.write("way-named_pipe\n")


@way
def named_pipe_by_number():
    number = os.open(TO["pipe"], os.O_WRONLY)
    os.write(number, named("named_pipe_by_number"))
    os.close(number)


# ---------------------------------------------------------------- clients


@way
def urllib_request():
    urllib.request.urlopen(URL + "way-urllib_request", b"{}", timeout=5)


@way
def http_client():
    http.client.HTTPConnection(*AT, timeout=5).request("POST", "/way-http_client")


@way
def smtp():
    smtplib.SMTP(*AT, local_hostname="way-smtp", timeout=5).ehlo()


@way
def ftp():
    made = FTP(timeout=5)
    made.connect(*AT)
    made.sendcmd("USER way-ftp")


@way
def xmlrpc_client():
    xmlrpc.client.ServerProxy(URL + "way-xmlrpc_client").ping()


def log(handler, name):
    handler.handleError = lambda record: None
    handler.emit(logging.makeLogRecord({"msg": f"way-{name} ", "levelno": 50, "levelname": "CRITICAL"}))
    handler.close()


@way
def log_socket():
    log(logging.handlers.SocketHandler(*AT), "log_socket")


@way
def log_datagram():
    log(logging.handlers.DatagramHandler(*AT), "log_datagram")


@way
def log_syslog():
    log(logging.handlers.SysLogHandler(AT), "log_syslog")


@way
def log_http():
    log(logging.handlers.HTTPHandler(f"127.0.0.1:{PORT}", "/way-log_http", method="POST"), "log_http")


@way
def httpx_post():
    importlib.import_module("httpx").post(URL + "way-httpx_post", timeout=5)


@way
def requests_post():
    importlib.import_module("requests").post(URL + "way-requests_post", timeout=5)


@way
def urllib3_put():
    importlib.import_module("urllib3").PoolManager().request("PUT", URL + "way-urllib3_put", retries=False, timeout=5)


@way
def aiohttp_delete():
    async def go():
        async with importlib.import_module("aiohttp").ClientSession() as session:
            await session.delete(URL + "way-aiohttp_delete")

    asyncio.run(go())


@way
def multiprocessing_client():
    made = multiprocessing.connection.Client(AT)
    made.send_bytes(named("multiprocessing_client"))
    made.close()


@way
def multiprocessing_client_unix():
    made = multiprocessing.connection.Client(UNIX)
    made.send_bytes(named("multiprocessing_client_unix"))
    made.close()


@way
def browser():
    webbrowser.GenericBrowser(["touch", "%s"]).open(touch("browser")[1])


# ---------------------------------------------------------------- processes


@way
def os_system():
    os.system(line("os_system"))


@way
def os_popen():
    os.popen(line("os_popen")).read()


@way
def run():
    subprocess.run(touch("run"), check=False)


@way
def run_shell():
    subprocess.run(line("run_shell"), shell=True, check=False)


@way
def run_without_environment():
    subprocess.run(["/usr/bin/env", "-i", *touch("run_without_environment")], env={}, check=False)


@way
def run_isolated_python():
    subprocess.run([sys.executable, "-I", "-S", "-c", python("run_isolated_python")], env={}, check=False)


@way
def reloaded_subprocess():
    importlib.reload(subprocess).run(touch("reloaded_subprocess"), check=False)


@way
def posix_spawn():
    wait_for(os.posix_spawnp("touch", touch("posix_spawn"), os.environ))


@way
def spawn_and_wait():
    os.spawnlp(os.P_WAIT, "touch", *touch("spawn_and_wait"))


@way
def spawn_and_go_on():
    wait_for(os.spawnvp(os.P_NOWAIT, "touch", touch("spawn_and_go_on")))


@way
def pty_spawn():
    pty.spawn(touch("pty_spawn"), lambda fd: os.read(fd, 1024), lambda fd: b"")


@way
def fork_terminal():
    pid, fd = os.forkpty()
    if pid == 0:
        os.execvp("touch", touch("fork_terminal"))
    with contextlib.suppress(OSError):
        while os.read(fd, 1000):
            pass
    wait_for(pid)


@way
def fork_and_execute():
    in_fork(lambda: os.execvp("touch", touch("fork_and_execute")))


@way
def fork_and_connect():
    in_fork(lambda: send("fork_and_connect"))


@way
def fork_in_fork():
    in_fork(lambda: in_fork(lambda: send("fork_in_fork")))


def process(method, name):
    made = multiprocessing.get_context(method).Process(target=send, args=(name,))
    made.start()
    made.join(20)


@way
def process_forked():
    process("fork", "process_forked")


@way
def process_spawned():
    process("spawn", "process_spawned")


@way
def process_from_server():
    process("forkserver", "process_from_server")


@way
def process_pool():
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(send, "process_pool").exception(20)


@way
def asyncio_process():
    async def go():
        await (await asyncio.create_subprocess_exec(*touch("asyncio_process"))).wait()

    asyncio.run(go())


@way
def asyncio_shell():
    async def go():
        await (await asyncio.create_subprocess_shell(line("asyncio_shell"))).wait()

    asyncio.run(go())


@way
def fork_exec():
    ready, done = os.pipe()
    words = [os.fsencode(word) for word in touch("fork_exec")]
    tried = [os.fsencode(f"{folder}/touch") for folder in os.get_exec_path()]
    given = (
        words,
        tried,
        True,
        (done,),
        None,
        None,
        *[-1] * 6,
        ready,
        done,
        False,
        False,
        -1,
        None,
        None,
        None,
        -1,
        None,
    )
    wait_for(_posixsubprocess.fork_exec(*given, *[False] * (23 - len(given))))


@way
def spawn_passing_files():
    tried = [f"{folder}/touch" for folder in os.get_exec_path()]
    path = next(path for path in tried if os.access(path, os.X_OK))
    wait_for(multiprocessing.util.spawnv_passfds(os.fsencode(path), touch("spawn_passing_files"), ()))


# ---------------------------------------------------------------- C


def text(value):
    return ctypes.c_char_p(value.encode())


@way
def c_system():
    ctypes.CDLL(None).system(text(line("c_system")))


@way
def c_system_of_libc():
    ctypes.CDLL("libc.so.6")["system"](text(line("c_system_of_libc")))


@way
def c_prototype():
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(("system", ctypes.CDLL(None)))(line("c_prototype").encode())


@way
def c_python_library():
    ctypes.pythonapi.system(text(line("c_python_library")))


@way
def c_connect():
    libc = ctypes.CDLL(None)
    fd = libc.socket(2, 1, 0)
    address = (2).to_bytes(2, sys.byteorder) + PORT.to_bytes(2, "big") + socket.inet_aton("127.0.0.1") + bytes(8)
    libc.connect(fd, address, len(address))
    libc.write(fd, named("c_connect"), len(named("c_connect")))
    libc.close(fd)


@way
def c_sendto():
    libc, made = ctypes.CDLL(None), socket.socket(type=socket.SOCK_DGRAM)
    address = (2).to_bytes(2, sys.byteorder) + PORT.to_bytes(2, "big") + socket.inet_aton("127.0.0.1") + bytes(8)
    libc.sendto(made.fileno(), named("c_sendto"), len(named("c_sendto")), 0, address, len(address))


@way
def c_popen():
    libc = ctypes.CDLL(None)
    libc.popen.restype = ctypes.c_void_p
    libc.pclose(ctypes.c_void_p(libc.popen(text(line("c_popen")), text("r"))))


@way
def c_fork():
    pid = ctypes.PyDLL(None).fork()
    if pid == 0:
        send("c_fork")
        os._exit(0)
    wait_for(pid)


@way
def c_syscall():
    libc, made = ctypes.CDLL(None), socket.socket(type=socket.SOCK_DGRAM)
    address = (2).to_bytes(2, sys.byteorder) + PORT.to_bytes(2, "big") + socket.inet_aton("127.0.0.1") + bytes(8)
    number = {"x86_64": 44, "aarch64": 206}[os.uname().machine]  # sendto
    libc.syscall(number, made.fileno(), named("c_syscall"), len(named("c_syscall")), 0, address, len(address))


@way
def c_looked_up_by_hand():
    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "system")
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(address)(line("c_looked_up_by_hand").encode())


def system_by_distance():
    libc = ctypes.CDLL(None)
    return ctypes.cast(libc.abs, ctypes.c_void_p).value + TO["distance"]


@way
def c_address():
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(system_by_distance())(line("c_address").encode())


@way
def c_address_cast():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
    ctypes.cast(system_by_distance(), kind)(line("c_address_cast").encode())


@way
def c_address_in_memory():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
    place = ctypes.c_void_p(system_by_distance())
    kind.from_buffer(place)(line("c_address_in_memory").encode())


@way
def c_address_in_structure():
    class Holds(ctypes.Structure):
        _fields_ = (("call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),)

    Holds.from_buffer(ctypes.c_void_p(system_by_distance())).call(line("c_address_in_structure").encode())


@way
def c_call_function():
    words = line("c_call_function").encode()
    _ctypes.call_function(system_by_distance(), (words,))


@way
def cffi_system():
    ffi = importlib.import_module("cffi").FFI()
    ffi.cdef("int system(const char *);")
    ffi.dlopen(None).system(line("cffi_system").encode())


@way
def subinterpreter():
    made = importlib.import_module("_xxsubinterpreters")
    made.run_string(made.create(), python("subinterpreter"))


# ---------------------------------------------------------------- odd places


@way
def executed_text():
    exec(python("executed_text"), {"__name__": "something"})


@way
def executed_as_library():
    file = os.__file__.replace("os.py", "site-packages/something.py")
    exec(compile(python("executed_as_library"), file, "exec"), {"__name__": "something"})


@way
def imported_library():
    importlib.import_module("a_library_that_calls_home")


@way
def reloaded_socket():
    importlib.reload(socket)
    send("reloaded_socket")


@way
def traced():
    def trace(*_):
        sys.settrace(None)
        send("traced")

    sys.settrace(trace)
    len("".join(map(str, json.loads("[1]"))))
    touch("nothing")
    sys.settrace(None)


@way
def signalled():
    before = signal.signal(signal.SIGUSR1, lambda *_: send("signalled"))
    try:
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


class Finalized:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        with contextlib.suppress(Exception):
            send(self.name)


@way
def finalized():
    Finalized("finalized")


@way
def collected():
    made = Finalized("collected")
    made.itself = made
    del made
    gc.collect()


@way
def finalizer():
    def quietly():
        with contextlib.suppress(Exception):
            send("finalizer")

    weakref.finalize(type("Short", (), {})(), quietly)


def quiet(name):
    with contextlib.suppress(Exception):
        send(name)


@way
def thread():
    joined(threading.Thread(target=quiet, args=("thread",)))


@way
def timer():
    joined(threading.Timer(0.01, quiet, ("timer",)))


@way
def bare_thread():
    done = threading.Event()
    _thread.start_new_thread(lambda: (quiet("bare_thread"), done.set()), ())
    done.wait(10)


@way
def pool():
    with ThreadPoolExecutor(1) as made:
        made.submit(send, "pool").result(10)


@way
def empty_context():
    contextvars.Context().run(send, "empty_context")


# ---------------------------------------------------------------- what an allowed tool leaves open

LEFT = {}


@agent_tt.tool(effect="write")
def leave_open(name):
    """Open something and say nothing; what is sent there later is not part of this call."""
    if name in ("left_shell", "left_shell_by_number", "left_shell_as_file"):
        LEFT[name] = subprocess.Popen(["sh"], stdin=subprocess.PIPE)
    elif name == "left_pipe":
        LEFT[name] = os.popen("sh", "w")
    elif name == "left_workers":
        LEFT[name] = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
        LEFT[name].submit(int).result(20)
    elif name == "left_terminal":
        pid, LEFT[name] = pty.fork()
        if pid == 0:
            os.execvp("sh", ["sh"])
    else:
        LEFT[name] = socket.create_connection(AT)
    return name


def tell_shell(name, write):
    leave_open(name)
    write(LEFT[name], f"{line(name)}; exit\n".encode())


@way
def left_connection():
    LEFT[leave_open("left_connection")].sendall(named("left_connection"))


@way
def left_connection_sendmsg():
    LEFT[leave_open("left_connection_sendmsg")].sendmsg([named("left_connection_sendmsg")])


@way
def left_connection_by_number():
    os.write(LEFT[leave_open("left_connection_by_number")].fileno(), named("left_connection_by_number"))


@way
def left_connection_as_file():
    with open(LEFT[leave_open("left_connection_as_file")].fileno(), "wb", closefd=False) as file:
        file.write(named("left_connection_as_file"))


@way
def left_connection_made_file():
    with LEFT[leave_open("left_connection_made_file")].makefile("wb") as file:
        file.write(named("left_connection_made_file"))


@way
def left_connection_copied():
    made = LEFT[leave_open("left_connection_copied")].dup()
    made.sendall(named("left_connection_copied"))
    made.close()


@way
def left_connection_in_loop():
    leave_open("left_connection_in_loop")

    async def go():
        _, writer = await asyncio.open_connection(sock=LEFT["left_connection_in_loop"])
        writer.write(named("left_connection_in_loop"))
        await writer.drain()

    asyncio.run(go())


@way
def left_shell():
    def write(process, words):
        process.stdin.write(words)
        process.stdin.flush()
        process.wait(20)

    tell_shell("left_shell", write)


@way
def left_shell_by_number():
    tell_shell(
        "left_shell_by_number", lambda process, words: (os.write(process.stdin.fileno(), words), process.wait(20))
    )


@way
def left_shell_as_file():
    def write(process, words):
        with open(process.stdin.fileno(), "wb", closefd=False) as file:
            file.write(words)
        process.wait(20)

    tell_shell("left_shell_as_file", write)


@way
def left_pipe():
    leave_open("left_pipe")
    LEFT["left_pipe"].write(line("left_pipe") + "\n")
    LEFT["left_pipe"].close()


@way
def left_workers():
    leave_open("left_workers")
    LEFT["left_workers"].submit(send, "left_workers").exception(20)
    LEFT["left_workers"].shutdown()


@way
def left_terminal():
    leave_open("left_terminal")
    os.write(LEFT["left_terminal"], f"{line('left_terminal')}; exit\n".encode())
    with contextlib.suppress(OSError):
        while os.read(LEFT["left_terminal"], 1000):
            pass


# ---------------------------------------------------------------- before and after the recording


@late
def imported():
    send("imported")


@late
def imported_thread():
    threading.Thread(target=lambda: (time.sleep(0.2), quiet("imported_thread"))).start()


@late
def imported_process():
    subprocess.run(touch("imported_process"), check=False)


@late
def at_exit():
    atexit.register(send, "at_exit")


@late
def at_exit_process():
    atexit.register(os.system, line("at_exit_process"))


@late
def at_exit_finalized():
    sys.modules["something_kept"] = Finalized("at_exit_finalized")


def attempt(function):
    if TO.get("dry"):
        return "not taken"
    try:
        function()
    except BaseException as error:  # an agent that lets nothing stop it
        return type(error).__name__
    return "done"


if __name__ in ("__main__", "ways_out"):
    TAKEN = {name: attempt(function) for name, function in LATE.items()}


def main(state=None):
    state = state or {"taken": {}}
    TAKEN["main_before"] = attempt(lambda: send("main_before"))
    with agent_tt.record("ways", state=state) as run:
        for name, function in WAYS.items():
            with run.step(name):
                state["taken"][name] = attempt(function)
                importlib.reload(subprocess) if name == "reloaded_subprocess" else None
    with agent_tt.record("second", state={}) as run, run.step("one"):
        attempt(lambda: send("second_recording"))
    attempt(lambda: send("main_after"))


LATE_NAMES = {*LATE, "main_before", "second_recording", "main_after"}

if __name__ == "__main__":
    main()
