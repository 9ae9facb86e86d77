"""Adding runs: a sample is copied into the store, and one's own agent is shown how to be recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.widgets import Static

from agent_tt import samples
from agent_tt.errors import AgentTTError
from agent_tt_tui import format as fmt
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import PICK, READING
from agent_tt_tui.screens.dialogs.pick import Choice, ChoiceList

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult


_RECORD: Final = "how to record"

HOW_TO_RECORD: Final = """\
import agent_tt

@agent_tt.tool(effect="read")        # "write" where it changes the world
def search_docs(query): ...

def main(state=None):                # state= lets a fork go on from here
    state = state or {"messages": []}
    with agent_tt.record("my-agent", state=state) as run:
        while not state.get("answer"):
            with run.step("think", state):
                ...                  # your loop, as it is

Then run it as always, and open it:  agent-tt open my-agent"""
"""The five lines that an agent needs."""


class RecordHelp(Dialog[None]):
    """Shows how an agent is recorded."""

    CONTEXT = READING
    AUTO_FOCUS = ""
    HELP = "How to record an agent of your own."

    def compose_content(self) -> ComposeResult:
        """Yield the title and the lines."""
        yield DialogTitle("Record your agent", detail="five lines")
        yield Static(HOW_TO_RECORD, classes="dialog-text", markup=False)


class AddDialog(Dialog[str]):
    """Lists the samples; returns the id of the run that was copied into the store."""

    CONTEXT = PICK
    HELP = "What can be added: enter adds a sample, esc leaves everything as it is."

    def __init__(self, store_path: Path) -> None:
        """Offer what can be added.

        Args:
            store_path: the store that a sample is copied into; it is created when it is not there.
        """
        super().__init__()
        self._store_path = store_path
        self._choices = [
            *(
                Choice(sample.name, sample.name, f"{fmt.count(sample.steps):>6} steps  {sample.title}")
                for sample in samples.names()
            ),
            Choice(_RECORD, "your own", "the lines that record an agent"),
        ]

    def compose_content(self) -> ComposeResult:
        """Yield the title and what can be added."""
        yield DialogTitle("Add a run", detail="samples", hint=fmt.count(len(self._choices)))
        yield ChoiceList(self._choices)

    def on_line_view_chosen(self) -> None:
        """Copy the sample, or show how to record."""
        choice = self._choices[self.query_one(ChoiceList).number].id
        if choice == _RECORD:
            self.app.push_screen(RecordHelp())
        else:
            self.say(f"adding {choice}", None)
            self.run_worker(lambda: self._add(choice), group="add", exclusive=True, thread=True, exit_on_error=False)

    def _add(self, name: str) -> None:
        def progress(done: int, steps: int) -> None:
            self.app.call_from_thread(
                self.say, f"recording {name}: {fmt.count(done)} of {fmt.count(steps)} steps", None
            )

        try:
            run_id = samples.ensure(name, self._store_path, progress)
        except AgentTTError as error:
            self.app.call_from_thread(self.say, error.message, None)
            return
        self.app.call_from_thread(self.dismiss, run_id)
