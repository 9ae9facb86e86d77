"""The text file of a golden: its name, how its agent is run, which recording it needs, and the rules.

People read it, review it and change its rules; so it is TOML, and it names everything that will run. Nothing of the
recording beside it decides which program that is.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.errors import NotFound, UsageError
from agent_tt.golden.header import HEADER, is_golden
from agent_tt.golden.kinds import read_rule
from agent_tt.golden.toml_text import lines_of
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.golden.rule import Rule

__all__ = ["Golden", "KeptRule", "find_goldens", "read_golden", "write_golden"]

_WORDS: Final = ("arguments", "command", RunFacts.python_options.key)
_TEXTS: Final = ("root", "folder", "agent", "script", "module")


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A rule of a golden.

    Attributes:
        rule: the rule.
        is_on: whether it is judged.
    """

    rule: Rule
    is_on: bool = True


@dataclass(frozen=True, slots=True)
class Golden:
    """A recorded run that is kept as a test.

    Attributes:
        path: its file.
        name: what people call it.
        program: the table `run`: `root`, the project folder, from the file's own; `folder`, where the agent runs, from
            the root; `agent`, its entry point; `script`, `module`, `arguments`, `command`, `python_options` and
            `calls`, as `agent_tt.model.facts.RunFacts` says them.
        recording: name of the recording's file, which lies beside.
        digest: of that file's bytes; see `recording_file`.
        run_id: the run in it.
        rules: what has to hold.
        about: what people wrote about it.
        live: names of calls that are made for real where whoever runs it wants that and the policy lets them, and
            patterns of names; see `agent_tt.replaying.live_replay.Lively`.
        passes: of a golden whose calls are made for real, how often of how many times it has to pass.
    """

    path: Path
    name: str
    program: Mapping[str, object]
    recording: str
    digest: str
    run_id: str
    rules: tuple[KeptRule, ...] = field(default=())
    about: str = ""
    live: tuple[str, ...] = ()
    passes: tuple[int, int] = (1, 1)

    @property
    def root(self) -> Path:
        """The folder of the project whose agent is tested."""
        return (self.path.parent / str(self.program.get("root", "."))).resolve()

    @property
    def folder(self) -> Path:
        """Where the agent runs."""
        return (self.root / str(self.program.get("folder", "."))).resolve()

    @property
    def recording_path(self) -> Path:
        """The recording's file."""
        return self.path.parent / self.recording

    def with_rules(self, rules: tuple[KeptRule, ...]) -> Golden:
        """The same with other rules."""
        return replace(self, rules=rules)

    def to_text(self) -> str:
        """The text of its file."""
        head: dict[str, object] = {"name": self.name}
        if self.about:
            head["about"] = self.about
        if self.live:
            head["live"] = self.live
        if self.passes != (1, 1):
            head["passes"] = f"{self.passes[0]} of {self.passes[1]}"
        needs = {"file": self.recording, "digest": self.digest, "run": self.run_id}
        lines = [HEADER, *lines_of(head), "", "[run]", *lines_of(self.program), "", "[recording]", *lines_of(needs)]
        for kept in self.rules:
            table = {"kind": kept.rule.kind, **kept.rule.to_table(), **({} if kept.is_on else {"off": True})}
            lines += ["", f"# {_one_line(kept.rule.sentence)}", "[[rules]]", *lines_of(table)]
        return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """A comment of TOML ends with its line, and has no control characters."""
    return "".join(character if character.isprintable() else " " for character in text)


def write_golden(golden: Golden) -> None:
    """Write the text file of a golden.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        text = golden.to_text()
        golden.path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{golden.path} cannot be written: {error}") from error


def find_goldens(path: Path) -> list[Path]:
    """The goldens in a folder and all below, or the file itself, sorted.

    Raises:
        NotFound: there is no such file or folder.
        UsageError: the file is not a golden.
    """
    if path.is_dir():
        return sorted(found for found in path.rglob("*.toml") if is_golden(found))
    if not path.exists():
        raise NotFound(f"there is no {path}", hint="`agent-tt golden save RUN` makes a golden.")
    if not is_golden(path):
        raise UsageError(f"{path} is not a golden: its first line is not {HEADER!r}")
    return [path]


def read_golden(path: Path) -> Golden:
    """Read the text file of a golden; its recording is not looked at.

    Raises:
        NotFound: there is no such file.
        UsageError: it cannot be read as one; the message says what is wrong, and where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"there is no golden {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    first = text.partition("\n")[0].strip()
    if first != HEADER:
        raise UsageError(f"{path} is not a golden that this agent-tt reads: its first line is not {HEADER!r}")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    try:
        return _golden(path, found)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", hint=error.hint) from error


def _golden(path: Path, found: Mapping[str, object]) -> Golden:
    _check_keys(found, ("name", "about", "live", "passes", "run", "recording", "rules"), "")
    program, needs, rules = (_table(found, "run"), _table(found, "recording"), found.get("rules", []))
    _check_keys(program, (*_TEXTS, *_WORDS, "calls"), "run.")
    _check_keys(needs, ("file", "digest", "run"), "recording.")
    for key, value in program.items():
        is_right = (
            isinstance(value, str)
            if key in _TEXTS
            else _are_texts(value)
            if key in _WORDS
            else isinstance(value, dict) and _are_texts([*value.values()])
        )
        if not is_right:
            raise UsageError(f"run.{key} is not what it should be: {value!r}")
    file = _text(needs, "file", "recording.")
    if Path(file).name != file:
        raise UsageError("recording.file lies beside the golden: it is a name without a folder")
    live = found.get("live", [])
    if not _are_texts(live):
        raise UsageError("live is a list of names")
    live = tuple(cast("list[str]", live))
    if not isinstance(rules, list):
        raise UsageError("rules are written as [[rules]]")
    return Golden(
        path,
        _text(found, "name", ""),
        program,
        file,
        _text(needs, "digest", "recording."),
        _text(needs, "run", "recording."),
        tuple(_rules(rules)),
        str(found.get("about", "")),
        live,
        _passes(found["passes"], is_live=bool(live)) if "passes" in found else (1, 1),
    )


def _passes(said: object, *, is_live: bool) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,3}) of (\d{1,3})", said) if isinstance(said, str) else None
    wanted, times = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if not 1 <= wanted <= times:
        raise UsageError(f"passes is not what it should be: {said!r}", hint='For example passes = "2 of 3".')
    if not is_live:
        raise UsageError("passes is given with live", hint="A recording answers the same each time.")
    return wanted, times


def _rules(tables: list[object]) -> Iterator[KeptRule]:
    for number, table in enumerate(tables, 1):
        if not isinstance(table, dict):
            raise UsageError("rules are written as [[rules]]")
        is_off = table.get("off", False)
        if not isinstance(is_off, bool):
            raise UsageError(f"rule {number}: off is true or false")
        try:
            rule = read_rule({key: value for key, value in table.items() if key != "off"})
        except UsageError as error:
            raise UsageError(f"rule {number} ({table.get('kind')}): {error.message}", hint=error.hint) from error
        yield KeptRule(rule, not is_off)


def _check_keys(table: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{where}{key} is unknown", hint=f"There are {', '.join(known)}.")


def _table(found: Mapping[str, object], name: str) -> Mapping[str, object]:
    table = found.get(name)
    if not isinstance(table, dict):
        raise UsageError(f"the table [{name}] is missing")
    return table


def _text(table: Mapping[str, object], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}{key} is missing, or not a text")
    return value


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
