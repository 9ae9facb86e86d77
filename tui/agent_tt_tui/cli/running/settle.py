"""`agent-tt settle`: say whether a call happened that is done once for its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.errors import NotFound, UsageError
from agent_tt_tui.cli.marks import found_runs, writable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json

if TYPE_CHECKING:
    from agent_tt.model import Call
    from agent_tt.protocols import RunSource


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("key")
@click.option("--happened", metavar="VALUE", help="It happened, and this is what it answered: JSON.")
@click.option("--did-not-happen", is_flag=True, help="It did not: the next call with the key is made.")
@common_options
def command(options: Options, run: str, key: str, *, happened: str | None, did_not_happen: bool) -> None:
    """Say whether the call of RUN with KEY happened, of a tool that is done once for its key.

    Such a call is not made again while nobody knows: it failed, or was in flight when its process ended. Look at the
    world first; the message of the call that was not run names RUN and KEY. A run that is resumed asks by itself.

    Exit code 2 when VALUE is not JSON, or it is known what became of the call; 3 when there is no such run, or no such
    call in it.

    \b
    agent-tt settle shop order-7 --happened '{"charged": 3}'
    --json: {run, tool, key, happened}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.codec.parse import parse_value

    if (happened is None) is not did_not_happen:
        raise UsageError("say whether it happened", hint="Give --happened VALUE or --did-not-happen.")
    value = None if happened is None else parse_value(happened)
    with options.source(run) as source:
        store = writable(source)
        (found,) = found_runs(store, [run])
        calls = _calls(store, found.id, key)
        store.settle_key(found.id, [(call.step, call.number) for call in calls], value, happened=not did_not_happen)
    if options.as_json:
        write_json({"run": found.id, "tool": calls[0].name, "key": key, "happened": not did_not_happen})
    else:
        ended = "is made at the next call" if did_not_happen else "is given that answer from now on"
        options.terminal().line(f"{calls[0].name} for {key} {ended}")


def _calls(source: RunSource, run_id: str, key: str) -> list[Call]:
    """The calls of a run that may have taken a key.

    Raises:
        NotFound: there is none.
    """
    found = [call for call in source.call_heads(run_id) if call.facts.once.key == key and call.status != "denied"]
    if found:
        return found
    raise NotFound(
        f"no call of {run_id} has the key {key!r}", hint="The message of the call that was not run names it."
    )
