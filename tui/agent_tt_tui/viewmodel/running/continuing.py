"""The models that a conversation can go on with, where the program that held it is not at hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.forking.entry.conversation_forms import FORMS

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["Named", "asked_model", "named_models"]

_MAKERS: Final = (("claude", "anthropic"), ("gemini", "google"), ("gpt-", "openai"), ("o1", "openai"), ("o3", "openai"))
"""How models' names begin, and who is asked for them."""


def asked_model(source: RunSource, run: Run) -> str:
    """The model that a run asked last, as its recording names it; "" where it names none."""
    models = (call.facts.model for call in source.call_heads(run.id) if call.kind == "llm")
    return next((model for model in reversed([*models]) if isinstance(model, str)), "")


@dataclass(frozen=True, slots=True)
class Named:
    """A model that can be named.

    Attributes:
        text: what names it, `openai:MODEL`; its provider alone, `openai:`, where no model is known.
        label: the same for people.
        said: what is known of the provider's key.
    """

    text: str
    label: str
    said: str


def named_models(model: str) -> list[Named]:
    """The providers that can be asked, each with its model where that is known.

    Args:
        model: the model that was asked; its provider comes first.
    """
    maker = next((provider for start, provider in _MAKERS if model.startswith(start)), "")
    found = []
    for name, form in sorted(FORMS.items(), key=lambda row: row[0] != maker):
        said = f"{form.key} is {'set' if os.environ.get(form.key) else 'not set'}"
        known = model if name == maker else ""
        found.append(Named(f"{name}:{known}", f"{name}:{known or 'MODEL'}", f"as it asked; {said}" if known else said))
    return found
