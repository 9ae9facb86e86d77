"""What the flat database has: tables with their columns, keys, searches and views, each with what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COLUMNS", "INDEXES", "KEYS", "SEARCHED", "TABLES", "VIEWS", "Kind", "descriptions"]

Kind = Literal["text", "integer", "float", "json"]
"""What a column holds; JSON is text, whose values every text in it names by JSON's own escapes."""

TABLES: Final = {
    "runs": "Recorded runs. Tokens and cost are those of a run's own steps.",
    "steps": "Steps of runs. Those that a fork shares with the run it left are that run's, where it is in the file.",
    "calls": "Calls of models, tools, HTTP, clocks and so on.",
    "messages": "What models were shown and said, each message of a conversation once.",
    "state_values": "Values of states: each once for as long as it stayed the same.",
    "notes": "What people wrote down: notes, bookmarks, watches.",
    "tags": "Tags of runs.",
    "metadata": "What tables, views and columns are.",
}

_TIMES: Final[dict[str, tuple[Kind, str]]] = {
    "started": ("text", "as 2026-03-02T09:30:00.000000Z, UTC; so are all times"),
    "started_us": ("integer", "the same in microseconds since 1970"),
    "ended": ("text", ""),
    "ended_us": ("integer", ""),
    "ms": ("float", "how long it took, in milliseconds"),
}
_USAGE: Final[dict[str, tuple[Kind, str]]] = {
    "tokens_in": ("integer", "that models read"),
    "tokens_out": ("integer", "that models wrote"),
    "cost_usd": ("float", "in dollars; calls without a known price are not in it"),
}
_ERROR: Final[dict[str, tuple[Kind, str]]] = {
    "error_type": ("text", "its class, as `module:Name`"),
    "error": ("text", "its message"),
}

COLUMNS: Final[dict[str, dict[str, tuple[Kind, str]]]] = {
    "runs": {
        "run": ("text", "its id"),
        "name": ("text", ""),
        "status": ("text", "running, succeeded, failed, interrupted, crashed"),
        "agent": ("text", "its entry point"),
        "version": ("text", "the agent's version"),
        "model": ("text", "that the agent is configured with"),
        "parent": ("text", "the id of the run that it is a fork of"),
        "parent_run": ("text", "the same where that run is in this file"),
        "fork_step": ("integer", "the step of the parent at which it begins"),
        **_TIMES,
        "steps": ("integer", "the number of its last step"),
        **_USAGE,
        "unpriced": ("integer", "calls of models without a known price"),
        **_ERROR,
        "incomplete": ("text", "why it was not recorded to its end"),
        "damaged": ("text", "what is wrong with what was stored of it"),
        "tags": ("json", "a list"),
        "edits": ("json", "what a person changed for a fork"),
        "metadata": ("json", "facts written down about it"),
    },
    "steps": {
        "id": ("integer", "in this file"),
        "run": ("text", ""),
        "step": ("integer", "its number, from 1"),
        "name": ("text", ""),
        "kind": ("text", "the strongest kind of its calls"),
        "agent": ("text", "which agent took it"),
        "lane": ("text", "`main`, or the task or thread that took it"),
        "parent_step": ("integer", "the number of the step that it is nested in"),
        "status": ("text", "running, ok, error, interrupted"),
        "inherited": ("integer", "1 where it belongs to the run that was forked, which is not in this file"),
        **_TIMES,
        **_USAGE,
        "unpriced": ("integer", "calls of models without a known price"),
        "decision": ("text", "what the agent decided, in its own words"),
        "calls": ("integer", "how many it made"),
        **_ERROR,
        "state_kept": ("integer", "0 where the state after it was not kept"),
        "damaged": ("text", "what is wrong with what was stored of it"),
    },
    "calls": {
        "id": ("integer", "in this file"),
        "step_id": ("integer", "its step"),
        "run": ("text", ""),
        "step": ("integer", "the number of its step"),
        "call": ("integer", "its number in there"),
        "kind": ("text", "llm, tool, http and so on"),
        "name": ("text", ""),
        "status": ("text", "pending, ok, error; in a run that is over, pending means that nobody knows"),
        "effect": ("text", "read or write, where it is known"),
        "lane": ("text", ""),
        "inside": ("integer", "the call whose function made it"),
        **_TIMES,
        "model": ("text", "of a model call: which was asked"),
        "finish_reason": ("text", ""),
        **_USAGE,
        **_ERROR,
        "provider_error": ("text", "the error that a provider answered with"),
        "args": ("json", "what was asked"),
        "result": ("json", "what came back; null also where nothing did"),
        "words": ("text", "the texts of arguments and result, for the search; those of models are messages"),
        "damaged": ("text", "what is wrong with what was stored of it"),
    },
    "messages": {
        "id": ("integer", "in this file"),
        "run": ("text", ""),
        "conversation": ("integer", "its number in the run; one that parts from another begins after `previous`"),
        "position": ("integer", "from 1; what is before a parting counts"),
        "previous": ("integer", "the message before it"),
        "call_id": ("integer", "the call that said it, or was the first to be shown it"),
        "said": ("integer", "1 where that call said it"),
        "role": ("text", "who speaks"),
        "text": ("text", ""),
        "reasoning": ("text", "what the model thought, as far as it was shown"),
        "tool_calls": ("json", "what it asked for: `[{id, name, arguments}]`"),
        "answers": ("text", "of a tool's result: the id of the call that it answers"),
    },
    "state_values": {
        "id": ("integer", "in this file"),
        "run": ("text", ""),
        "track": ("text", "the history of states; `main`, where there is one"),
        "path": ("text", "where it is in the state; items of lists are told by their position"),
        "value": ("text", "a text as it is, anything else as JSON"),
        "type": ("text", "text, number, truth, null, list or object (both empty), typed"),
        "from_step": ("integer", "the first step after which it was so; 0 is the input"),
        "to_step": ("integer", "the last one"),
        "step_id": ("integer", "the step that wrote it; null of the input and of what a fork began with"),
    },
    "notes": {
        "id": ("integer", "in this file"),
        "run": ("text", ""),
        "step": ("integer", ""),
        "step_id": ("integer", ""),
        "kind": ("text", "note, bookmark, watch and so on"),
        "body": ("text", ""),
        "created": ("text", ""),
        "created_us": ("integer", ""),
    },
    "tags": {"id": ("integer", "in this file"), "run": ("text", ""), "tag": ("text", "")},
    "metadata": {
        "id": ("integer", "in this file"),
        "of": ("text", "a table or a view"),
        "column": ("text", "one of its columns; null where all of it is described"),
        "description": ("text", ""),
    },
}
"""Of each table its columns, the key first."""

KEYS: Final = {
    "runs": {"parent_run": ("runs", "run")},
    "steps": {"run": ("runs", "run")},
    "calls": {"step_id": ("steps", "id"), "run": ("runs", "run"), "inside": ("calls", "id")},
    "messages": {"run": ("runs", "run"), "previous": ("messages", "id"), "call_id": ("calls", "id")},
    "state_values": {"run": ("runs", "run"), "step_id": ("steps", "id")},
    "notes": {"run": ("runs", "run"), "step_id": ("steps", "id")},
    "tags": {"run": ("runs", "run")},
}

SEARCHED: Final = {
    "messages": ["text", "reasoning"],
    "calls": ["name", "words", "error"],
    "state_values": ["path", "value"],
    "notes": ["body"],
}

INDEXES: Final = {
    "runs": [["parent_run"]],
    "steps": [["run", "step"]],
    "calls": [["step_id"], ["run", "step", "call"], ["kind", "name"], ["inside"]],
    "messages": [["run", "conversation", "position"], ["previous"], ["call_id"]],
    "state_values": [["run", "path", "from_step"], ["step_id"]],
    "notes": [["run"], ["step_id"]],
    "tags": [["run"], ["tag"]],
}

VIEWS: Final = {
    "cost_by_model": (
        "Model calls by model. Of a call whose function asked a model itself the tokens are those of the call inside.",
        """
        SELECT c.model, count(*) AS calls, sum(c.status = 'error') AS errors,
          sum(CASE WHEN o.id IS NULL THEN c.tokens_in END) AS tokens_in,
          sum(CASE WHEN o.id IS NULL THEN c.tokens_out END) AS tokens_out,
          sum(CASE WHEN o.id IS NULL THEN c.cost_usd END) AS cost_usd
        FROM calls c JOIN steps s ON s.id = c.step_id
        LEFT JOIN (SELECT DISTINCT inside AS id FROM calls WHERE kind = 'llm') o ON o.id = c.id
        WHERE c.kind = 'llm' AND NOT s.inherited GROUP BY c.model ORDER BY cost_usd DESC
        """,
    ),
    "slow_steps": (
        "Steps by how long they took, the longest first.",
        """
        SELECT r.name AS run_name, s.run, s.step, s.name, s.kind, s.agent, s.ms, s.status
        FROM steps s JOIN runs r ON r.run = s.run WHERE s.ms > 0 AND NOT s.inherited ORDER BY s.ms DESC
        """,
    ),
    "errors": (
        "Calls that failed, then steps and runs: what failed in a call is there in its step again.",
        """
        SELECT r.name AS run_name, c.run, c.step, c.call, c.name, c.error_type,
          coalesce(c.error, c.provider_error) AS error
        FROM calls c JOIN runs r ON r.run = c.run WHERE c.status = 'error' OR c.provider_error IS NOT NULL
        UNION ALL SELECT r.name, s.run, s.step, NULL, s.name, s.error_type, s.error
        FROM steps s JOIN runs r ON r.run = s.run WHERE s.status = 'error'
        UNION ALL SELECT name, run, NULL, NULL, name, error_type, error FROM runs WHERE error_type IS NOT NULL
        """,
    ),
    "writes": (
        "Who wrote which value, and until when it stood.",
        """
        SELECT r.name AS run_name, v.run, v.path, v.value, v.from_step, v.to_step, s.name AS step_name, s.agent
        FROM state_values v JOIN runs r ON r.run = v.run LEFT JOIN steps s ON s.id = v.step_id
        ORDER BY v.run, v.path, v.from_step
        """,
    ),
}
"""Of each view what it says, and its query."""


def descriptions() -> Iterator[tuple[str, str | None, str]]:
    """Yield of each table, view and column its name, with that of the column where it is one, and what it is."""
    for name, text in TABLES.items():
        yield name, None, text
        yield from ((name, column, said) for column, (_, said) in COLUMNS[name].items() if said)
    for name, (text, _) in VIEWS.items():
        yield name, None, text
