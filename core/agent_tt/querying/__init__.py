"""Asking a run.

| folder or module | does |
|---|---|
| `expressions` | the language of questions such as `state.budget < 0` |
| `watches` | where an expression holds: once, kept as a watch, as the run grows |
| `provenance` | who wrote a value, and what caused it |
| `search` | searches all texts of a run, or of a store: ranked, by an index |
| `predicates` | what a sweep asks of a last step: `state.` may be left out |
| `expecting` | what was hoped with a fork, and whether it came |
| `places`, `absent` | paths as people write them, and what is said where nothing is |
| `oddities` | repeated calls, cycles, retries, outliers, the first error |
| `marks_in` | the marks of personal data in a run |
| `to_redact` | what redaction would take out of a run or a text |
| `unread` | what of a run cannot be looked at, so that nobody says that it holds nothing |
| `checkpoints` | how people name a step |
| `ranges` | what a range of steps alone took, cost, wrote and changed |
| `prometheus` | statistics as Prometheus reads them |
| `differing` | what differs between two named states |
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.querying.provenance.blaming import Blame
    from agent_tt.querying.search.hits import By, Hits

__all__ = ["blame", "find", "find_steps"]


def blame(
    run: str,
    path: str,
    step: int | str | None = None,
    *,
    words: str | None = None,
    store: str | Path | None = None,
) -> Blame:
    """Say who wrote a value, and what caused it.

    ```python
    found = agent_tt.blame("flaky-checkout", "answer")
    for link in found.trail.links:
        print(link.step, link.kind, link.name, link.path, link.value, link.why)
    print(found.trail.ends)
    for write in found.writes:
        print(write.step, write.what, write.old, write.new)
    ```

    Args:
        run: the run: its id, name, unique id prefix, or `latest`.
        path: the value in the state: `messages[3].content`, `messages[-1]`, `plan["odd key"]`.
        step: the checkpoint in which it is: a number, `~1`, `@error`; the last one when not given.
        words: of a text, the part of it that is asked about, as a sentence of an answer; all of it when not given.
        store: the store that holds the run; else the one that this project uses.

    Returns:
        A `Blame`: `value`, `writes` and `trail`.

        `writes` has every write of the value, the last one first (at most 100; `more` says whether there are earlier
        ones): `step`, `what` (`added`, `changed`, `moved`, `removed`, `edited` by a person for the fork `by`), `path`
        and `old_path`, `old` and `new`.

        `trail.links` is the way back to what caused it: `step`, `call` (number of the call in it, or None), `kind`
        (`value`, `result`, `error`, `answer`, `argument`, `request`, `computed`, `input`, `edit`, `candidates`, `code`,
        `unknown`), `name` of the tool or model, `path` in its result or arguments, `value`, `why` in words, `shared`
        (the text that both have) and `others` (further places that hold it). `trail.ends` says why it goes no further.

        `to_json()` gives what `agent-tt blame --json` writes. Values are JSON, typed ones in envelopes
        (`{"$type": "date", "$v": "2026-03-02"}`).

    Raises:
        NotFound: there is no such store, run or step, or (`PathNotFound`) nothing at the path then; `error.hint` says
            when there was, or which paths are like it.
        InvalidPath: the path cannot be read; `error.position` says where.
    """
    from agent_tt.querying.provenance.blaming import blame_value
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    with closing(open_source(resolve_store_path(store))) as source:
        found = source.run(run)
        number = source.step_count(found.id) if step is None else source.step_number(found, str(step))
        return blame_value(source, found.id, path, number, words=words)


def find(
    text: str,
    run: str | Sequence[str] | None = None,
    *,
    regex: bool = False,
    fields: Sequence[str] = (),
    by: By = "rank",
    limit: int = 100,
    store: str | Path | None = None,
) -> Hits:
    """Search everything that runs recorded: names, messages, arguments, results, errors, states.

    ```python
    found = agent_tt.find("refused", "flaky-checkout")
    for hit in found.hits:
        print(hit.step, hit.where, hit.path, hit.excerpt)
    agent_tt.find('"not found" in:result,error tool:search')  # in the whole store
    ```

    Args:
        text: words, all of which a text has to hold, in any order; `"words in quotes"` as they stand; and what the
            search is kept to: `in:FIELD`, `tool:NAME`, `agent:NAME`, `step:10-20`. Upper and lower case are told
            apart only if a word has upper case.
        run: the run, or several: ids, names, unique id prefixes, or `latest`; all runs of the store when not given.
        regex: whether `text` is a pattern instead, as `matches` of an expression takes it.
        fields: what to search: `name`, `agent`, `decision`, `error`, `call`, `arguments`, `result`, `state`,
            `messages`; all when not given.
        by: `rank` for the best hits first, equal texts as one; `step` for each place, in the order of the steps.
        limit: at most so many hits.
        store: the store that holds the runs; else the one that this project uses.

    Returns:
        The hits, and how many there are.

    Raises:
        NotFound: there is no such store or run.
        InvalidExpression: the text or pattern cannot be read.
        UsageError: there is nothing to look for, or a field is unknown.
    """
    from agent_tt.querying.search.finder import Finder
    from agent_tt.querying.search.query import parse
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    query = parse(text, regex=regex, fields=fields)
    with closing(open_source(resolve_store_path(store))) as source, closing(Finder(source)) as finder:
        named = [run] if isinstance(run, str) else run
        runs = None if named is None else [source.run(each).id for each in named]
        return finder.found(query, runs, by=by, limit=limit)


def find_steps(run: str, where: str, *, store: str | Path | None = None) -> list[int]:
    """List the steps of a run at which an expression holds, in order; 0 is the input.

    ```python
    agent_tt.find_steps("flaky-checkout", 'tool == "charge_card" and args.amount > 100')  # [7, 8, 9]
    ```

    Args:
        run: the run: its id, name, unique id prefix, or `latest`.
        where: the expression, such as `state.budget < 0`, `tokens > 2000`, `error` or `changed("messages[-1]")`; the
            language is described in `agent_tt.querying.expressions`.
        store: the store that holds the run; else the one that this project uses.

    Returns:
        Their numbers; empty where it holds nowhere.

    Raises:
        NotFound: there is no such store or run.
        InvalidExpression: the expression cannot be read, or would take too long to answer; `error.position` says
            where, `error.hint` what to write instead.
    """
    from agent_tt.querying.watches.step_search import Watch
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    with closing(open_source(resolve_store_path(store))) as source:
        return list(Watch(source, source.run(run).id, where).steps())
