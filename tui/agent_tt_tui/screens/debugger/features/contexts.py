"""What models were shown: read in a thread when somebody looks, and followed along the run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.message import Message
from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt_tui.feature import hears
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.features.context_reading import ContextsRead
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.past.blame import Place
from agent_tt_tui.widgets.debugger.context_asked import ContextAsked
from agent_tt_tui.widgets.debugger.inspector import Inspector
from agent_tt_tui.widgets.debugger.inspector_rows import TABS

if TYPE_CHECKING:
    from agent_tt.context.shown import CallContext, Item, Origin, RunContexts
    from agent_tt.context.without import Without
    from agent_tt_tui.screens.debugger.features.context_reading import ContextReading
    from agent_tt_tui.screens.debugger.features.editing import Editing
    from agent_tt_tui.screens.debugger.features.forking import Forking
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.widgets.debugger.context_view import ContextView

_PATIENCE_SECONDS: Final = 0.1
_MOST_ORIGINS: Final = 50


@dataclass
class WithoutRead(Message):
    """How an item is left out of a fork is known."""

    without: Without


class Contexts(DebuggerFeature):
    """Shows what a model call was sent; from there goes to where a part came from, and forks without it."""

    def __init__(self, time: Time, contexts: ContextReading, editing: Editing, forking: Forking) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            contexts: Reads what the models were shown.
            editing: Takes an item out of a state.
            forking: Opens the fork dialog.
        """
        super().__init__(time)
        self._editing, self._forking = editing, forking
        self._reading = contexts
        contexts.needs.append(lambda: self._is_shown)
        self._wanted: tuple[int, int] | None = None
        """The model call that somebody went to, while its step is shown."""
        self._against: tuple[int, int] | None = None
        """The model call that others are compared with; None for the last one in the lane of each."""
        self._compared: dict[tuple[object, ...], CallContext] = {}
        """Calls as they stand to chosen ones, of what was read last."""
        self._left: tuple[tuple[int, int], int] | None = None
        """The model call from which somebody went to where an item came from, and the step that is."""

    @property
    def _contexts(self) -> RunContexts | None:
        return self._reading.contexts

    @property
    def _view(self) -> ContextView | None:
        return self.panes.inspector.context

    @property
    def _is_shown(self) -> bool:
        return self.panes.inspector.tab == "Context"

    # Reading.

    @hears(Inspector.TabShown)
    def _on_tab_shown(self, _message: Inspector.TabShown) -> None:
        if self._is_shown:
            self._reading.read()
            if self._contexts is None:
                self.screen.set_timer(_PATIENCE_SECONDS, self._say_reading)
            self._show()

    def _say_reading(self) -> None:
        if self._reading.is_reading and self._contexts is None and self._is_shown:
            self._show()

    @hears(ContextsRead)
    def _on_contexts_read(self, _message: ContextsRead) -> None:
        self._compared.clear()
        if self._is_shown:
            self._show()

    # Showing.

    @hears(reading.StepRead)
    def _on_step_read(self, _message: reading.StepRead) -> None:
        if self._wanted is not None and self._wanted[0] != self.time.number:
            self._wanted = None
        if self._left is not None and self._left[1] != self.time.number:
            self._left = None
        if self._is_shown:
            self._show()

    def _show(self) -> None:
        """Show the model call of the step, or say why there is none."""
        from agent_tt_tui.widgets.debugger.context_zones import ContextShown

        inspector, glyphs = self.panes.inspector, look_of(self.screen).glyphs
        context = self._context
        if context is not None and self._contexts is not None:
            number = self._contexts.numbers[context.place]
            chosen = self._beside(context)
            inspector.show_context(ContextShown(self._contexts, number, self._reading.standing, chosen))
        elif self._reading.why:
            inspector.show_context(
                None, f"{glyphs.failed} what models were shown cannot be read: {clean(self._reading.why)}"
            )
        elif self._contexts is not None:
            inspector.show_context(None, "this run asked no model, as far as it was recorded: there is no context")
        else:
            inspector.show_context(None, f"{glyphs.still} reading what the models of this run were shown {glyphs.cut}")

    @property
    def _context(self) -> CallContext | None:
        if self._contexts is None:
            return None
        wanted = None if self._wanted is None else self._contexts.at(self._wanted)
        return wanted or self._contexts.near(self.time.number)

    def _beside(self, context: CallContext) -> CallContext | None:
        """A call as it stands to the chosen one; None where none is chosen, or it is that one itself."""
        from agent_tt.context.against import against

        other = None if self._against is None or self._contexts is None else self._contexts.at(self._against)
        if other is None or other is context:
            return None
        key = context.place, other.place
        if key not in self._compared:
            self._compared[key] = against(context, other)
        return self._compared[key]

    def choose_other(self) -> None:
        """Ask for the call to compare with."""
        from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
        from agent_tt_tui.viewmodel.context.facts import tokens_words

        context, contexts, glyphs = self._context, self._contexts, look_of(self.screen).glyphs
        if context is None or contexts is None or len(contexts.calls) < 2:
            self.screen.say("this run has no other model call to compare with")
            return
        choices = [Choice("", "the last call of its lane", "as usual, for each call")]
        choices += [
            Choice(str(at), f"call {at + 1}, step {other.step}", f"{tokens_words(other, glyphs)} tokens")
            for at, other in enumerate(contexts.calls)
            if other.items and other is not context
        ]
        dialog = PickDialog("Compare with", choices, detail=f"call {contexts.numbers[context.place] + 1}")
        self.screen.ask(dialog, self._compare_with)

    def _compare_with(self, chosen: str) -> None:
        contexts = self._contexts
        if contexts is not None:
            number = int(chosen) if chosen else -1
            self._against = contexts.calls[number].place if 0 <= number < len(contexts.calls) else None
            if self._against is not None:
                self.screen.say(f"{self.key('app.escape')} compares with the last call again", 4.0)
            self._show()

    def escape(self) -> bool:
        """Go back from where an item came from to the call that has it, from an item in full to the list.

        Then compare with the last call again, where another one was chosen.
        """
        view = self._view
        if self._left is not None and not self._is_shown:
            place, _ = self._left
            self._left = None
            self.screen.say("")  # that this key comes back here
            self.panes.inspector.show_tab(TABS.index("Context") + 1)
            self.panes.inspector.take_focus()
            self._go_to(place)
            return True
        if view is None or not self._is_shown:
            return False
        if view.in_full:
            view.show_in_full(in_full=False)
            return True
        if self._against is None:
            return False
        self._against = None
        self._show()
        return True

    # Going to other calls, and to where a part came from.

    @hears(ContextAsked)
    def _on_asked(self, message: ContextAsked) -> None:
        match message.what:
            case "call":
                self.go_to_call(message.number)
            case "number":
                self.go_to_number(message.number)
            case "against":
                self.choose_other()
            case "origin" if message.item is not None:
                self.go_to_origin(message.item)
            case "fork" if message.item is not None:
                self.fork_without(message.item)
            case _:
                pass

    def go_to_call(self, direction: int) -> None:
        """Go to the next or previous model call of the run."""
        context = self._context
        if context is None or self._contexts is None:
            return
        number = self._contexts.numbers[context.place] + direction
        if not 0 <= number < len(self._contexts.calls):
            self.screen.say(f"this is the {'last' if direction > 0 else 'first'} model call of the run")
            return
        self._go_to(self._contexts.calls[number].place)

    def go_to_number(self, number: int) -> None:
        """Go to a model call by its number, from 0."""
        if self._contexts is not None and 0 <= number < len(self._contexts.calls):
            self._go_to(self._contexts.calls[number].place)

    def _go_to(self, place: tuple[int, int]) -> None:
        self._wanted = place
        if place[0] == self.time.number:
            self._show()
        else:
            self.time.go(place[0])

    def go_to_origin(self, item: Item) -> None:
        """Go to where an item came from; ask which place, where several hold the same."""
        from agent_tt.context.words import from_words
        from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog

        origins = list(dict.fromkeys(origin for tile in item.tiles for origin in tile.origins))[:_MOST_ORIGINS]
        if not origins:
            self.screen.say("nothing that was recorded before says where this came from")
        elif len(origins) == 1:
            self._show_origin(origins[0])
        else:
            choices = [
                Choice(str(at), from_words(origin), "first sent there" if origin.is_request else "")
                for at, origin in enumerate(origins)
            ]
            dialog = PickDialog("Where it stands", choices)
            self.screen.ask(dialog, lambda chosen: self._show_origin(origins[int(chosen)]))

    def _show_origin(self, origin: Origin) -> None:
        context = self._context
        if origin.is_request and context is not None and origin.place == context.place:
            self.screen.say("this is where it was first sent: nothing that was recorded before has it")
            return
        if context is not None:
            self._left = context.place, origin.step
            self.screen.say(f"{self.key('app.escape')} goes back to the context", 4.0)
        if not origin.call:
            self.panes.inspector.show_tab(TABS.index("State") + 1)
            self.time.go(origin.step)
            return
        self.panes.inspector.show_tab(TABS.index("Call") + 1)
        self.go_to_place(Place(origin.step, origin.call, "", is_outcome=not origin.is_request))

    # Forking without a part.

    def fork_without(self, item: Item) -> None:
        """Find out what a fork has to leave out, so that the request lacks an item."""
        blocked = self._forking.blocked("fork.open")
        context = self._context
        if blocked is not None or context is None:
            self.screen.say(blocked or "this step is still being read")
            return
        compared = self._beside(context) or context
        if not any(each is item for each in compared.items):
            self.screen.say("this call has it no more: go to one that has it")
            return
        work = partial(self._read_without, context, context.items[item.number])
        self.screen.run_worker(work, group="without", thread=True, exclusive=True)

    def _read_without(self, context: CallContext, item: Item) -> None:
        from agent_tt.context.without import without_item

        worker = get_current_worker()
        found = without_item(self.model.source, self.model.run.id, context, item)
        if not worker.is_cancelled:
            self.screen.post_message(WithoutRead(found))

    @hears(WithoutRead)
    def _on_without_read(self, message: WithoutRead) -> None:
        without = message.without
        if without.why_not:
            self.screen.say(without.why_not, 6.0)
        else:
            self.time.go(without.step, partial(self._fork, without))

    def _fork(self, without: Without, _view: StepView) -> None:
        self._editing.edit(without.edits)
        pending = self.model.pending
        if pending is not None and pending.fork_step(self.time.number) == without.step:
            if without.also:
                self.screen.say(without.also, 6.0)
            self._forking.action_fork()
