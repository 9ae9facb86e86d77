"""What a user has configured: `[tool.agent-tt]` of the project, a TOML file of the user, and the environment.

| key | means |
|---|---|
| `store` | the file that runs are kept in, from the folder of the file that says it; or the address of a database |
| `theme` | name of a Textual theme, or `auto` |
| `glyphs` | `auto`, `unicode` or `ascii` |
| `keys` | a table: id of a command to its keys, joined by commas |
| `columns` | a list: the columns of the timeline, in their order; the app writes it into the user's own file |
| `commands` | a table, in the user's own file alone: a name to a command line for the app, or to one with its `key` |
| `checkpoints` | which steps `agent-tt record` takes a checkpoint of: `all`, `every:10`, `error`, …; with commas |
| `calls` | a table: dotted path of a function that `agent-tt record` records to `read`, `write` or `llm` |
| `on_store_error` | `continue` or `stop`: whether an agent goes on where its store cannot be written |
| `effects` | a table: name or pattern of tools (`search_*`) that do not say what they do, to `read` or `write` |
| `headers` | a list: names of request headers that count as part of a question, beside those that always do |
| `policy` | a table: what a fork does with calls; see `agent_tt.intercepting.rules` |
| `redaction` | a table: what else is secret, patterns by name; see `agent_tt.redaction.own` |
| `redact` | `personal` or `strict`, or a table of `profile`, `fields` and `allow`; see `agent_tt.redaction.rules` |
| `retention` | a table: which runs `agent-tt prune` lets go; see `agent_tt.model.retention` |
| `sampling` | a table: which runs are kept when they are over; see `agent_tt.model.sampling` |
| `search_index` | `true` or `false`: whether searches keep an index in the user's cache folder |
| `sessions` | `true` or `false`: whether sessions of coding agents are looked for; see `agent_tt.found.places` |
| `hints` | `true` or `false`: whether the app explains itself when it is first used |
| `seen` | a list: what the app has explained; it writes that into the user's own file |

The environment (`AGENT_TT_STORE`, `AGENT_TT_THEME`, `AGENT_TT_GLYPHS`, `AGENT_TT_FORK_POLICY`, `AGENT_TT_EFFECTS`, and
`AGENT_TT_SEARCH_INDEX`, `AGENT_TT_SESSIONS` and `AGENT_TT_HINTS`, which are `on` or `off`) is stronger than the
project, and that is stronger than the user's file; options of a command are stronger than all of them. Nothing is ever
created by reading.
The words of a policy are read where a fork is planned.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from agent_tt._dataclass import dataclass
from agent_tt.addresses import located
from agent_tt.errors import UsageError
from agent_tt.redaction.rules import Rules, patterns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

GlyphSetting: TypeAlias = Literal["auto", "unicode", "ascii"]
CallEffect: TypeAlias = Literal["read", "write", "llm"]
ToolEffect: TypeAlias = Literal["read", "write"]
StoreErrorSetting: TypeAlias = Literal["continue", "stop"]

_GLYPHS: Final = ("auto", "unicode", "ascii")
_KEYS: Final = (
    *("store", "theme", "glyphs", "keys", "calls", "headers", "checkpoints", "policy", "search_index"),
    *("on_store_error", "redaction", "redact", "effects", "retention", "sampling", "sessions", "commands", "columns"),
    *("hints", "seen"),
)
_POLICY_VARIABLE: Final = "AGENT_TT_FORK_POLICY"
"""The table of a policy, as JSON. (`AGENT_TT_POLICY` is what a fork hands on to the processes that it starts.)"""

EFFECTS_VARIABLE: Final = "AGENT_TT_EFFECTS"
"""What tools do, as JSON: a fork hands it on to its agent."""

_EFFECTS: Final = ("read", "write", "llm")
_TOOL_EFFECTS: Final = ("read", "write")


PolicySource: TypeAlias = Literal["user", "project", "environment"]


@dataclass(frozen=True, slots=True)
class PolicyTable:
    """What one source says of the policy of forks; see `agent_tt.intercepting.rules`.

    Attributes:
        source: What says it.
        place: The file or variable.
        where: The same for messages.
        table: Words by name, as they are written.
    """

    source: PolicySource
    place: str
    where: str
    table: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """A command of the user's own in the app.

    Attributes:
        line: The command line; `{run}`, `{name}`, `{step}`, `{path}`, `{value}` and `{store}` in it stand for what is
            shown. It is no line of a shell: each word is handed on as it is.
        key: Its key; "" for none.
    """

    line: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings that hold.

    Attributes:
        store: The file that runs are kept in; None where nobody said.
        theme: Name of a theme; None where nobody said.
        glyphs: Which set of glyphs; None where nobody said.
        keys: Ids of commands to keys, joined by commas.
        commands: Commands of the user's own, by name.
        columns: Columns of the timeline, by name in their order; None where nobody said.
        calls: Dotted paths of functions that are recorded from outside, to what their calls do.
        effects: Names of tools, and patterns of names, to what their calls do; see `effect_of_tool`.
        headers: Names of request headers that count as part of a question, beside those that always do.
        checkpoints: Which steps `agent-tt record` takes a checkpoint of; None where nobody said.
        on_store_error: Whether an agent goes on where its store cannot be written; None where nobody said: it does.
        policies: What a fork does with calls, from the weakest source to the strongest.
        redaction: What else is secret.
        vault: Whether what marks of personal data stand for is kept, encrypted; see `agent_tt.redaction.vault`.
        retention: What `agent-tt prune` lets go: words by name, as they are written and known to be right; see
            `agent_tt.model.retention`.
        sampling: Which runs are kept: as `retention`; see `agent_tt.model.sampling`.
        search_index: Whether searches keep an index in the user's cache folder; None where nobody said, which is yes.
        sessions: Whether sessions of coding agents are looked for; None where nobody said, which is yes.
        hints: Whether the app explains itself when it is first used; None where nobody said, which is yes.
        seen: What the app has explained.
    """

    store: Path | None = None
    theme: str | None = None
    glyphs: GlyphSetting | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, OwnCommand] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    calls: Mapping[str, CallEffect] = field(default_factory=dict)
    effects: Mapping[str, ToolEffect] = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    checkpoints: str | None = None
    on_store_error: StoreErrorSetting | None = None
    policies: tuple[PolicyTable, ...] = ()
    redaction: Rules = field(default_factory=Rules)
    vault: bool | None = None
    retention: Mapping[str, str | int] = field(default_factory=dict)
    sampling: Mapping[str, str | float] = field(default_factory=dict)
    search_index: bool | None = None
    sessions: bool | None = None
    hints: bool | None = None
    seen: tuple[str, ...] = ()


def load(folder: Path | None = None, env: Mapping[str, str] | None = None, user: Path | None = None) -> Config:
    """Read what is configured.

    Args:
        folder: Where to look for the project from, upwards; the working directory by default.
        env: The environment; the process's own by default.
        user: The user's own file; `user_file()` by default.

    Raises:
        UsageError: A file cannot be read as TOML, or a key or value in it is unknown.
    """
    env = os.environ if env is None else env
    config = read_user(user or user_file())
    with suppress(FileNotFoundError):  # a working directory that is gone belongs to no project
        config = _merge(config, _project_config(Path.cwd() if folder is None else folder))
    return _merge(config, _environment_config(env))


def effect_of_tool(effects: Mapping[str, ToolEffect], name: str) -> ToolEffect | None:
    """What is said of a tool: by its name, else by the pattern with the most letters that fits; None for nothing.

    Args:
        effects: names and patterns to `read` or `write`.
        name: the tool's name.
    """
    said = effects.get(name)
    if said is not None or not effects:
        return said
    fitting = [pattern for pattern in effects if fnmatchcase(name, pattern)]
    best = max(fitting, key=lambda pattern: sum(letter not in "*?[]" for letter in pattern), default=None)
    return None if best is None else effects[best]


def user_file() -> Path:
    """Where the user's own file is, or would be."""
    from platformdirs import user_config_path

    return user_config_path("agent-tt", appauthor=False) / "config.toml"


def _merge(weak: Config, strong: Config) -> Config:
    return replace(
        weak,
        store=strong.store or weak.store,
        theme=strong.theme or weak.theme,
        glyphs=strong.glyphs or weak.glyphs,
        keys={**weak.keys, **strong.keys},
        commands={**weak.commands, **strong.commands},
        columns=weak.columns if strong.columns is None else strong.columns,
        calls={**weak.calls, **strong.calls},
        effects={**weak.effects, **strong.effects},
        headers=tuple(dict.fromkeys([*weak.headers, *strong.headers])),
        checkpoints=strong.checkpoints or weak.checkpoints,
        on_store_error=strong.on_store_error or weak.on_store_error,
        policies=(*weak.policies, *strong.policies),
        redaction=weak.redaction.joined(strong.redaction),
        vault=weak.vault if strong.vault is None else strong.vault,
        retention={**weak.retention, **strong.retention},
        sampling={**weak.sampling, **strong.sampling},
        search_index=weak.search_index if strong.search_index is None else strong.search_index,
        sessions=weak.sessions if strong.sessions is None else strong.sessions,
        hints=weak.hints if strong.hints is None else strong.hints,
        seen=tuple(dict.fromkeys([*weak.seen, *strong.seen])),
    )


def read_user(path: Path) -> Config:
    """The settings of a user's own file; none where there is no such file.

    Raises:
        UsageError: as `load`.
    """
    return _read_table(_parse(path), path, "", "user") if path.is_file() else Config()


def read_project(path: Path) -> Config:
    """The settings of `[tool.agent-tt]` in a pyproject.toml; none where there is no such file or table.

    Raises:
        UsageError: as `load`.
    """
    tool = _parse(path).get("tool") if path.is_file() else None
    table = tool.get("agent-tt") if isinstance(tool, dict) else None
    return _read_table(table, path, "[tool.agent-tt] ", "project") if isinstance(table, dict) else Config()


def _project_config(folder: Path) -> Config:
    """The settings of the nearest pyproject.toml."""
    files = (parent / "pyproject.toml" for parent in (folder, *folder.parents))
    nearest = next((file for file in files if file.is_file()), None)
    return Config() if nearest is None else read_project(nearest)


def _environment_config(env: Mapping[str, str]) -> Config:
    store = env.get("AGENT_TT_STORE")
    glyphs = env.get("AGENT_TT_GLYPHS")
    return Config(
        store=located(store) if store else None,
        theme=env.get("AGENT_TT_THEME") or None,
        glyphs=_glyphs(glyphs, "AGENT_TT_GLYPHS") if glyphs else None,
        effects=_environment_effects(env.get(EFFECTS_VARIABLE)),
        policies=_environment_policy(env.get(_POLICY_VARIABLE)),
        search_index=_switch(env, "AGENT_TT_SEARCH_INDEX"),
        sessions=_switch(env, "AGENT_TT_SESSIONS"),
        hints=_switch(env, "AGENT_TT_HINTS"),
    )


def _switch(env: Mapping[str, str], variable: str) -> bool | None:
    word = env.get(variable)
    if not word:
        return None
    if word not in ("on", "off"):
        raise UsageError(f"{variable} cannot be {word!r}", hint="Use on or off.")
    return word == "on"


def _environment_policy(text: str | None) -> tuple[PolicyTable, ...]:
    if not text:
        return ()
    table = _json_of(_POLICY_VARIABLE, text, """For example '{"charge": "ask"}'.""")
    return (_policy(table, _POLICY_VARIABLE, _POLICY_VARIABLE, "environment"),)


def _environment_effects(text: str | None) -> dict[str, ToolEffect]:
    if not text:
        return {}
    return _tool_effects(_json_of(EFFECTS_VARIABLE, text, """For example '{"search_*": "read"}'."""), EFFECTS_VARIABLE)


def _json_of(variable: str, text: str, hint: str) -> object:
    try:
        found: object = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{variable} is not valid JSON: {error}", hint=hint) from error
    return found


def _parse(path: Path) -> dict[str, object]:
    import tomllib

    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", hint="Correct the file; nothing was changed.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


@lru_cache(maxsize=4)  # every recording and replay of a process asks, and a pyproject.toml takes milliseconds
def _parsed(text: str) -> dict[str, object]:
    import tomllib

    return tomllib.loads(text)


def _read_table(table: Mapping[str, object], path: Path, section: str, source: PolicySource) -> Config:
    for key in table:
        if key not in _KEYS:
            import difflib

            close = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known are {', '.join(_KEYS)}."
            raise UsageError(f"{path}: {section}has no key {key!r}", hint=hint)
    store, theme, glyphs = (_text(table, key, path) for key in ("store", "theme", "glyphs"))
    if store == "":
        raise UsageError(f"{path}: store is empty", hint='Write the file\'s path: store = "runs.db".')
    return Config(
        store=None if store is None else located(store, path.parent),
        theme=theme,
        glyphs=None if glyphs is None else _glyphs(glyphs, f"{path}: glyphs"),
        keys=_keymap(table.get("keys", {}), path),
        commands=_commands(table["commands"], path, source) if "commands" in table else {},
        columns=_names(table["columns"], f"{path}: columns", "took") if "columns" in table else None,
        calls=_calls(table.get("calls", {}), path),
        effects=_tool_effects(table.get("effects", {}), f"{path}: effects"),
        headers=_names(table.get("headers", []), f"{path}: headers", "x-tenant"),
        checkpoints=_text(table, "checkpoints", path),
        on_store_error=_on_store_error(_text(table, "on_store_error", path), path),
        policies=(_policy(table["policy"], f"{path}: policy", str(path), source),) if "policy" in table else (),
        redaction=_rules(table, path),
        vault=_vault(table),
        retention=_checked(table["retention"], f"{path}: retention", _retention) if "retention" in table else {},
        sampling=_checked(table["sampling"], f"{path}: sampling", _sampling) if "sampling" in table else {},
        search_index=_truth(table, "search_index", path),
        sessions=_truth(table, "sessions", path),
        hints=_truth(table, "hints", path),
        seen=_names(table.get("seen", []), f"{path}: seen", "tour"),
    )


def _policy(table: object, where: str, place: str, source: PolicySource) -> PolicyTable:
    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table of words by name", hint='For example policy = { charge = "ask" }.')
    return PolicyTable(source, place, where, table)


def _text(table: Mapping[str, object], key: str, path: Path) -> str | None:
    value = table.get(key)
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{path}: {key} must be a string", hint=f'Write {key} = "…".')


def _truth(table: Mapping[str, object], key: str, path: Path) -> bool | None:
    value = table.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise UsageError(f"{path}: {key} must be true or false", hint=f"Write {key} = true or {key} = false.")


def _glyphs(value: str, where: str) -> GlyphSetting:
    if value not in _GLYPHS:
        raise UsageError(f"{where} cannot be {value!r}", hint=f"Use one of {', '.join(_GLYPHS)}.")
    return cast("GlyphSetting", value)


def _on_store_error(word: str | None, path: Path) -> StoreErrorSetting | None:
    if word not in (None, "continue", "stop"):
        raise UsageError(f"{path}: on_store_error cannot be {word!r}", hint="Use continue or stop.")
    return cast("StoreErrorSetting | None", word)


def _commands(value: object, path: Path, source: PolicySource) -> dict[str, OwnCommand]:
    """Commands of the user's own: a project that was fetched from elsewhere brings none."""
    if source != "user":
        raise UsageError(f"{path}: commands stand in your own settings alone", hint=f"Write them into {user_file()}.")
    if not isinstance(value, dict):
        raise UsageError(
            f"{path}: commands must be a table", hint='For example commands = { issue = "gh issue list" }.'
        )
    found = {}
    for name, said in value.items():
        table = {"run": said} if isinstance(said, str) else said
        if not isinstance(table, dict) or not {"run"} <= table.keys() <= {"run", "key"}:
            raise UsageError(f"{path}: commands.{name} must be a line or a table with run and key")
        line, key = table["run"], table.get("key", "")
        if not isinstance(line, str) or not line.strip() or not isinstance(key, str):
            raise UsageError(f"{path}: run and key of commands.{name} must be strings, and run not empty")
        found[name] = OwnCommand(line, key)
    return found


def _keymap(value: object, path: Path) -> dict[str, str]:
    if isinstance(value, dict) and all(isinstance(keys, str) for keys in value.values()):
        return value
    raise UsageError(
        f"{path}: keys must be a table of strings", hint='For example keys = { "time.next" = "right,ctrl+n" }.'
    )


def _calls(value: object, path: Path) -> dict[str, CallEffect]:
    if isinstance(value, dict) and all(effect in _EFFECTS for effect in value.values()):
        return value
    raise UsageError(
        f"{path}: calls must be a table of {', '.join(_EFFECTS)} by dotted path",
        hint='For example calls = { "my_app.api.charge" = "write" }.',
    )


def _tool_effects(value: object, where: str) -> dict[str, ToolEffect]:
    if not isinstance(value, dict):
        hint = 'For example effects = { "search_*" = "read" }.'
        raise UsageError(f"{where} must be a table of read or write by name", hint=hint)
    for name, effect in value.items():
        if effect not in _TOOL_EFFECTS:
            raise UsageError(f"{where}: {name} cannot be {effect!r}", hint="Use read or write.")
    return value


def _rules(table: Mapping[str, object], path: Path) -> Rules:
    said = table.get("redaction", {})
    if _vault(table) is not None and isinstance(said, dict):
        said = {name: text for name, text in said.items() if name != "vault"}
    patterns = patterns_of(said, f"{path}: redaction")
    return Rules.read(table.get("redact"), f"{path}: redact").joined(Rules(patterns=patterns))


def _vault(table: Mapping[str, object]) -> bool | None:
    """`vault = true` among the patterns; a text of that name is a pattern."""
    said = table.get("redaction")
    vault = said.get("vault") if isinstance(said, dict) else None
    return vault if isinstance(vault, bool) else None


def _checked(value: object, where: str, check: Callable[[Mapping[str, object]], None]) -> dict[str, Any]:
    """A table that something else than this module can read."""
    if not isinstance(value, dict):
        raise UsageError(
            f"{where} must be a table", hint='For example retention = { success = "14d", max_size = "2GB" }.'
        )
    try:
        check(value)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error
    return value


def _retention(words: Mapping[str, object]) -> None:
    from agent_tt.model.retention import retention_of

    retention_of(words)


def _sampling(words: Mapping[str, object]) -> None:
    from agent_tt.model.sampling import sampling_of

    sampling_of(words)


def _names(value: object, where: str, example: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(value)
    key = where.rpartition(": ")[2]
    raise UsageError(f"{where} must be a list of names", hint=f'For example {key} = ["{example}"].')
