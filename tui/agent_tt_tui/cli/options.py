"""Options that every command has, and what they lead to: the store, the run, the step."""

from __future__ import annotations

import functools
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource
    from agent_tt_tui.cli.terminal import Terminal

F = TypeVar("F", bound="Callable[..., object]")
P = ParamSpec("P")
R = TypeVar("R")


class Options(NamedTuple):
    """What every command was told.

    Attributes:
        store: The file, or the address, given by `--store`; None to find it as configured.
        as_json: Whether output is for programs.
    """

    store: Path | None = None
    as_json: bool = False

    def store_path(self) -> Path:
        """Where the store is, or would be."""
        from agent_tt.store.file.locate import resolve_store_path

        return resolve_store_path(self.store)

    @contextmanager
    def source(self, *samples: str) -> Iterator[RunSource]:
        """Open the store for reading.

        Args:
            samples: Names of runs that will be asked for: one that is not there, but is a sample's, is copied in first.

        Raises:
            StoreNotFound, StoreUnreadable: There is none, or none that can be read.
        """
        from agent_tt.errors import StoreNotFound
        from agent_tt.sources import open_source

        path = self.store_path()
        for name in samples:
            ensure_sample(name.partition("@")[0], path, show_progress=not self.as_json)
        try:
            source = open_source(path)
        except StoreNotFound as error:
            if self.store is not None:
                raise
            hint = "`agent-tt open refund-loop` brings a sample; an agent that records makes it too."
            raise StoreNotFound(f"nothing is recorded here yet: there is no {path}", hint=hint) from error
        finally:
            tell_waiting(path)
        try:
            yield source
        finally:
            source.close()

    def terminal(self) -> Terminal:
        """Where output for people goes."""
        from agent_tt_tui.cli.terminal import Terminal

        return Terminal.of(sys.stdout)

    @property
    def can_ask(self) -> bool:
        """Whether a question can be asked: standard input is a terminal, and output is not JSON."""
        return not self.as_json and sys.stdin.isatty()

    def agreed(self, what: str, question: str, show: Callable[[Terminal], object] = lambda _: None) -> bool:
        """Ask before something is done that cannot be undone.

        Args:
            what: What is about to be done, for the error: `deleting`.
            question: The question; enter alone means no.
            show: Shows what would be affected, before the question.

        Raises:
            UsageError: Nobody is there to be asked.
        """
        from agent_tt.errors import UsageError

        if not self.can_ask:
            raise UsageError(f"{what} asks first, and nobody can be asked here", hint="--yes does not ask.")
        show(self.terminal())
        return click.confirm(question, default=False)


def tell_waiting(path: Path) -> None:
    """Say on standard error which runs are not, or not whole, in a store, because they were recorded beside it."""
    from agent_tt.store.spill.taking_in import waiting

    for left in waiting(path):
        from agent_tt_tui.cli.terminal import Terminal

        terminal = Terminal.of(sys.stderr)
        files = ", ".join(str(file) for file in left.files)
        words = f"run {left.run} is not, or not whole, in this store: it was recorded into {files} ({left.why})"
        sys.stderr.write(f"{terminal.paint('agent-tt:', 'muted')} {terminal.safe(words)}\n")


class StorePath(click.Path):
    """A file with runs, or the address of a database with runs."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn what was typed into a path; the hidden password of an address is taken from AGENT_TT_STORE."""
        from agent_tt.addresses import found_again, is_address

        if isinstance(value, str) and is_address(value):
            return found_again(value)
        return super().convert(value, param, ctx)


def common_options(function: Callable[Concatenate[Options, P], R]) -> Callable[..., R]:
    """Give a command the options that every command has; it gets them as its first argument."""

    @click.option(
        "--store",
        type=StorePath(),
        metavar="FILE",
        help="The file with the runs: agent-tt's, or another system's; or a database's address.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Write JSON for programs.")
    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @functools.wraps(function)
    def command(*args: P.args, **kwargs: P.kwargs) -> R:
        store, as_json = kwargs.pop("store"), kwargs.pop("as_json")
        # `errors.guarded` reads it off the command line, as it must when that cannot be understood.
        del kwargs["debug"]
        inherited = click.get_current_context().find_object(Options) or Options()
        options = Options(store if isinstance(store, Path) else inherited.store, bool(as_json) or inherited.as_json)
        return function(options, *args, **kwargs)

    return command


def with_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Give a command several options, which its help lists in this order."""

    def give(command: F) -> F:
        return functools.reduce(lambda given, option: option(given), reversed(options), command)

    return give


def gathering(name: str, rows: Sequence[tuple[str, str, str]], read: Callable[[str, str], object]) -> Callable[[F], F]:
    """Give a command several options whose values it gets as one list, in the order of the command line.

    Args:
        name: The parameter of the command that gets the list.
        rows: The name, the metavar and the help of each option.
        read: Makes an item of the list of an option's name and a value.
    """

    def keep(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> None:
        context.params.setdefault(name, []).extend(read(option.name or "", text) for text in given)

    return with_options(
        *(
            click.option(f"--{flag}", metavar=shape, multiple=True, expose_value=False, callback=keep, help=words)
            for flag, shape, words in rows
        )
    )


def ensure_sample(name: str, path: Path, *, show_progress: bool) -> None:
    """Copy a sample's run into a store of ours that has no run of that name; for other names nothing is done."""
    from agent_tt import samples
    from agent_tt.errors import NotFound
    from agent_tt.sources import open_source

    if samples.find(name) is None:
        return
    if path.exists():
        source = open_source(path)
        try:
            if source.read_only:
                return
            source.run(name)
            return
        except NotFound:
            pass
        finally:
            source.close()
    from agent_tt_tui.cli.progress import counter

    with counter(f"making {name}", show=show_progress) as report:
        samples.ensure(name, path, report)


def in_file(options: Options, run: str | None) -> tuple[Options, str | None]:
    """What to look at, and the run in it, where a file was named in place of a run or before it.

    Raises:
        UsageError: `--store` names another file.
    """
    from agent_tt.errors import UsageError
    from agent_tt.querying.checkpoints import split_file

    if run is None:
        return options, None
    file, rest = split_file(run)
    whole = Path(run).expanduser()
    if file is None and (whole.suffix or len(whole.parts) > 1) and whole.is_file():
        file, rest = whole, ""
    if file is None:
        return options, run
    if options.store is not None and options.store != file:
        raise UsageError(f"{file} and --store {options.store} are two files", hint="Name one of them.")
    return options._replace(store=file), rest or None


def write_json(value: Wire, *, one_line: bool = False) -> None:
    """Write a value for programs, laid out for people when a terminal reads it, unless it is one of many lines."""
    click.echo(json.dumps(value, indent=2 if sys.stdout.isatty() and not one_line else None))


def complete_runs(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of runs for the shell's completion; nothing where the store cannot be read."""
    from agent_tt.errors import AgentTTError

    store = context.params.get("store")
    try:
        with Options(store if isinstance(store, Path) else None).source() as source:
            return [run.name for run in source.runs() if run.name.startswith(incomplete)]
    except AgentTTError:
        return []


runs_argument = click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_runs)
"""Several runs, at least one."""
