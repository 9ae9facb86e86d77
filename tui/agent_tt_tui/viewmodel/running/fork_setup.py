"""All that a person has chosen for a fork, and the plan that comes of it."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.forking.editing.assignments import parse_assignment, split_assignment
from agent_tt.forking.editing.request_edits import model_edit, parse_parameter, system_edit
from agent_tt.forking.graphs import told_graph
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.forking.terms import MOCK, PYTHON, parse_overrides, terms_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.config import ToolEffect
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.forking.policy.policies import ToolPolicy
    from agent_tt.forking.terms import Terms
    from agent_tt.model import Edit, Run, WayBackIn
    from agent_tt.protocols import RunSource

__all__ = ["SETTINGS", "ForkSetup", "Setting", "settings_of"]

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that can be chosen.

    Attributes:
        id: What it is called here.
        label: What it is called on the screen.
        hint: What is typed for it.
        default: What holds where nothing was chosen.
        kind: `text`: one text; `choice`: one of a few; `list`: several, each `NAME=VALUE`.
    """

    id: str
    label: str
    hint: str
    default: str
    kind: Literal["text", "choice", "list"] = "text"


SETTINGS: Final = (
    Setting("model", "model", "of every later request; empty as recorded", "as recorded"),
    Setting("parameter", "parameters", "NAME=VALUE of every later request; null leaves it out", "as recorded", "list"),
    Setting("system", "system", "the system prompt of every later request; empty as recorded", "as recorded"),
    Setting("stop_at", "stop after", "the last step that it takes", "when it ends"),
    Setting("breaks", "break when", "an expression that begins to hold: state.budget < 0", "never", "list"),
    Setting("time_limit", "time limit", "30s, 5m or 1h30m", "none"),
    Setting("max_tokens", "tokens", "tokens that models may read and write", "no limit"),
    Setting("max_cost", "cost", "US dollars that models may cost: 0.50", "no limit"),
    Setting("max_memory", "memory", "512MB or 2GB", "no limit"),
    Setting("by", "way in", "", "chosen", "choice"),
    Setting("accept_changes", "changed code", "", "halts where it asks something else", "choice"),
    Setting("executor", "executor", "", PYTHON, "choice"),
    Setting("override", "overrides", "KEY=VALUE that the agent is told beside its state", "none", "list"),
    Setting("input", "input", "PATH=VALUE, with VALUE in JSON; the fork begins at the input", "as recorded", "list"),
    Setting("script", "script", "a JSON file with the answers of a scripted model", "none"),
    Setting("seed", "seed", "a number that chooses among made-up answers", "0"),
)
"""In the order in which they are shown."""

GRAPH_SETTINGS: Final = (
    Setting("as_node", "as node", "the node that the edited state counts as", "LangGraph finds it"),
    Setting("resume", "answer", "the answer to its question, in JSON or as a text", "none"),
    Setting("reuse_answers", "a question", "", "is asked again", "choice"),
)
"""What is chosen only of a thread of LangGraph."""

_OF_GRAPHS: Final = frozenset({"stop_at", "breaks", "time_limit", "max_tokens", "max_cost", "max_memory"})
"""What is chosen of such a thread too: its models and its input are the graph's own."""

_AS_THEN: Final = "is answered as it was then"
_WAYS: Final = ("", "restore", "replay")
_ACCEPTS: Final = "goes live from there"


@dataclass(frozen=True, slots=True)
class ForkSetup:
    """What was chosen.

    Attributes:
        step: The step that the fork is to begin after.
        edits: What was edited before the dialog was opened.
        agent: Another entry point; None for the recorded one.
        name: The new run's name; None for the next.
        policy: What the fork does with its calls; None for what is configured.
        effects: What tools do that do not say it themselves, by name.
        texts: Settings of one text, as typed, by id.
        requests: Edits of later requests, by `model`, `system` and the names of parameters.
        overrides: `KEY=VALUE`s, by key.
        inputs: Edits of the input, by path.
        breaks: Expressions at which it stops when one begins to hold.
        continue_with: The model that goes on with the conversation, `openai:MODEL`; None where the program runs.
    """

    step: int
    edits: tuple[Edit, ...] = ()
    agent: str | None = None
    name: str | None = None
    policy: ToolPolicy | None = None
    effects: Mapping[str, ToolEffect] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, Edit] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Edit] = field(default_factory=dict)
    breaks: tuple[str, ...] = ()
    continue_with: str | None = None

    def plan(self, source: RunSource, run: Run) -> ForkPlan:
        """Work out the fork.

        Raises:
            AgentTTError: It cannot be; the message says why.
        """
        return plan_fork(source, run, self.request())

    def request(self) -> ForkRequest:
        """The fork that was chosen.

        Raises:
            AgentTTError: What was chosen does not fit together.
        """
        if self.inputs and self.step and self.edits:
            raise UsageError(
                f"the input is what the run began with: a fork with edits at step {self.step} does not read it",
                hint="clear the input, or take the edits back",
            )
        return ForkRequest(
            step=0 if self.inputs else self.step,
            edits=(*self.edits, *self.inputs.values(), *self.requests.values()),
            agent=self.agent,
            policy=self.policy,
            effects=self.effects,
            name=self.name,
            by=cast("WayBackIn | None", self.texts.get("by")),
            accept_changes="accept_changes" in self.texts,
            terms=self.terms(),
            continue_with=self.continue_with,
        )

    def with_other_effect(self, row: Boundary) -> ForkSetup:
        """With a tool that is said to read where it counted as writing, and the other way round."""
        return replace(self, effects={**self.effects, row.called: "read" if row.effect == "write" else "write"})

    def terms(self) -> Terms:
        """On what terms it runs.

        Raises:
            UsageError, InvalidValue: What was typed makes no sense.
        """
        texts, script = self.texts, self.texts.get("script")
        said = told_graph(as_node=texts.get("as_node"), answer=texts.get("resume"), as_before="reuse_answers" in texts)
        return terms_from(
            executor=texts.get("executor"),
            overrides=(*self.overrides.values(), *said),
            stop_at=_whole(texts.get("stop_at"), least=1),
            time_limit=texts.get("time_limit"),
            max_tokens=_whole(texts.get("max_tokens")),
            max_cost=_amount(texts.get("max_cost")),
            max_memory=texts.get("max_memory"),
            breaks=self.breaks,
            script=Path(script).expanduser() if script else None,
            seed=_whole(texts.get("seed")),
        )

    def text(self, setting: Setting) -> str:
        """What was chosen, "" for nothing."""
        match setting.id:
            case "model" | "system":
                edit = self.requests.get(setting.id)
                return "" if edit is None else str(edit.value)
            case "parameter":
                return ", ".join(
                    f"{name.removeprefix('.')}={'null' if edit.op == 'delete' else edit.value}"
                    for name, edit in self.requests.items()
                    if name.startswith(".")
                )
            case "override":
                return ", ".join(self.overrides.values())
            case "input":
                return ", ".join(f"{path}={edit.value}" for path, edit in self.inputs.items())
            case "breaks":
                return ", ".join(self.breaks)
            case "accept_changes":
                return _ACCEPTS if "accept_changes" in self.texts else ""
        return self.texts.get(setting.id, "")

    def choices(self, setting: Setting, executors: tuple[str, ...]) -> tuple[str, ...]:
        """What a setting of choices can be, "" for its default."""
        known = {"by": _WAYS, "accept_changes": ("", _ACCEPTS), "reuse_answers": ("", _AS_THEN)}
        return known.get(setting.id, ("", *(name for name in executors if name != PYTHON)))

    def typed(self, setting: Setting, text: str) -> ForkSetup:
        """With what was typed for a setting; of a list one more, or in place of that with its name.

        Args:
            setting: The setting.
            text: What was typed; "" for the default, of a list `NAME=` takes that one back, and so does an expression
                that is there already.

        Raises:
            AgentTTError: It makes no sense.
        """
        text = text.strip()
        if not text:
            return self.cleared(setting)
        match setting.id:
            case "model":
                return replace(self, requests={**self.requests, "model": model_edit(text)})
            case "system":
                return replace(self, requests={**self.requests, "system": system_edit(text)})
            case "parameter":
                name, equals, value = text.partition("=")
                key = f".{name.strip()}"
                if equals and not value.strip():
                    return replace(self, requests=_without(self.requests, key))
                return replace(self, requests={**self.requests, key: parse_parameter(text)})
            case "override":
                name, equals, value = text.partition("=")
                if equals and not value.strip():
                    return replace(self, overrides=_without(self.overrides, name.strip()))
                key = next(iter(parse_overrides([text])))
                return replace(self, overrides={**self.overrides, key: text})
            case "input":
                path, value = split_assignment(text) if "=" in text else (text, text)
                if not value.strip():
                    return replace(self, inputs=_without(self.inputs, path))
                return replace(self, inputs={**self.inputs, path: parse_assignment(text)})
            case "breaks":
                if text in self.breaks:
                    return replace(self, breaks=tuple(where for where in self.breaks if where != text))
                added = replace(self, breaks=(*self.breaks, text))
                added.terms()
                return added
        changed = replace(self, texts={**self.texts, setting.id: text})
        if setting.id == "executor" and text != MOCK:  # nobody else reads it
            changed = replace(changed, texts=_without(changed.texts, "seed"))
        changed.terms()
        return changed

    def cleared(self, setting: Setting) -> ForkSetup:
        """With the default of a setting."""
        match setting.id:
            case "model" | "system":
                return replace(self, requests=_without(self.requests, setting.id))
            case "parameter":
                kept = {name: edit for name, edit in self.requests.items() if not name.startswith(".")}
                return replace(self, requests=kept)
            case "override":
                return replace(self, overrides={})
            case "input":
                return replace(self, inputs={})
            case "breaks":
                return replace(self, breaks=())
        texts = _without(self.texts, setting.id)
        return replace(self, texts=_without(texts, "seed") if setting.id == "executor" else texts)


def _without(mapping: Mapping[str, V], key: str) -> dict[str, V]:
    return {name: value for name, value in mapping.items() if name != key}


def _whole(text: str | None, least: int = 0) -> int | None:
    if text is None:
        return None
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or int(digits) < least:
        raise UsageError(f"{text!r} is not a whole number from {least} on", hint="for example 5")
    return int(digits)


def _amount(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise UsageError(f"{text!r} is not an amount of US dollars", hint="for example 0.50")
    return amount


def settings_of(plan: ForkPlan | None) -> tuple[Setting, ...]:
    """What can be chosen of a fork; None while there is none."""
    if plan is None or not plan.terms.is_graph:
        return SETTINGS
    return (*GRAPH_SETTINGS, *(setting for setting in SETTINGS if setting.id in _OF_GRAPHS))
