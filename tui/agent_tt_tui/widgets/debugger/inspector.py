"""The inspector: the state after a step, its calls, what models were shown, messages, the state as it was recorded."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from textual import on
from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path, get, without_envelopes
from agent_tt.codec.text import pretty, summary
from agent_tt.codec.wire import envelope_type
from agent_tt.errors import PathNotFound
from agent_tt_tui.chrome import Pane
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.debugger.marked_steps import has_own_state
from agent_tt_tui.viewmodel.debugger.stepview import calls_differ
from agent_tt_tui.viewmodel.values.parts import parts_of
from agent_tt_tui.widgets.debugger.call_view import CALL_KEYS, CallView
from agent_tt_tui.widgets.debugger.inspector_rows import TABS, PathRow, TabsTitle
from agent_tt_tui.widgets.debugger.state_tree import StateTree

if TYPE_CHECKING:
    from textual.widget import AwaitMount, Widget

    from agent_tt.codec.wire import Path, Wire
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.viewmodel.edits.pending import Pending
    from agent_tt_tui.viewmodel.past.writes import Writes
    from agent_tt_tui.viewmodel.values.pieces import Piece
    from agent_tt_tui.widgets.debugger.context_view import ContextView
    from agent_tt_tui.widgets.debugger.context_zones import ContextShown
    from agent_tt_tui.widgets.debugger.messages_view import MessagesView
    from agent_tt_tui.widgets.debugger.raw_view import RawView

View = TypeVar("View", bound="LineView")


class Selection(NamedTuple):
    """The selected value, where the state that is shown has it.

    Attributes:
        path: Where it is, in wire coordinates.
        value: The value with pending edits, shared: never to be changed.
        recorded: The value that was recorded there; `value` where none was.
    """

    path: Path
    value: Wire
    recorded: Wire

    @property
    def words(self) -> Selection:
        """Of a message that says something in words, these; else the message itself."""
        value, recorded = self.value, self.recorded
        content = value.get("content") if isinstance(value, dict) and envelope_type(value) is None else None
        if not isinstance(content, str) or (isinstance(value, dict) and value.get("tool_calls")):
            return self
        before = recorded.get("content") if isinstance(recorded, dict) else None
        return Selection((*self.path, "content"), content, content if before is None else before)

    def text(self, what: str) -> str:
        """What is copied of it: its `path`, its last `key`, or its `value` (a text as it is, all else as JSON)."""
        if what == "path":
            return format_path(self.path)
        if what == "key":
            return str(without_envelopes(self.path)[-1])
        return self.value if isinstance(self.value, str) else pretty(self.value)


def no_further_call(direction: int) -> str:
    """Said where the step has no call before or after the one that is shown."""
    return f"this is the {'last' if direction > 0 else 'first'} call of this step"


class Inspector(Pane):
    """Shows one step; posts `PathSelected` when another value is selected."""

    @dataclass
    class PathSelected(Message):
        """Another value was selected; its path is in wire coordinates."""

        path: Path | None

    @dataclass
    class TabShown(Message):
        """Another tab is shown."""

    def __init__(self) -> None:
        self._title = TabsTitle()
        self._path_row = PathRow()
        self.state_tree = StateTree()
        self.call_view = CallView()
        self.context: ContextView | None = None
        """What a model was shown; made when somebody first looks at it."""
        self._tabs: dict[str, Widget] = {"State": self.state_tree, "Call": self.call_view}
        self.call_view.display = False
        super().__init__(self._title, self._path_row, self.state_tree, id="inspector")
        self._view: StepView | None = None
        self._pending: Pending | None = None
        self._writes: Writes | None = None

    @cached_property
    def _messages(self) -> MessagesView:
        """The messages of the state; as the raw text it is made behind the first frame."""
        from agent_tt_tui.widgets.debugger.messages_view import MessagesView

        return self._hidden("Messages", MessagesView())

    @cached_property
    def _raw(self) -> RawView:
        """The raw text of the state."""
        from agent_tt_tui.widgets.debugger.raw_view import RawView

        return self._hidden("Raw", RawView())

    def _hidden(self, tab: str, view: View) -> View:
        view.display = False
        self._tabs[tab] = view
        return view

    def _make_tabs(self) -> None:
        """Make the tabs that the first frame does not show; once."""
        _ = self._messages, self._raw

    # What a parent calls.

    def mount_hidden(self) -> AwaitMount:
        """Mount the tabs that nobody has looked at yet."""
        self._make_tabs()
        return self.mount_all(view for view in self._tabs.values() if not view.is_attached)

    def show(self, view: StepView, *, pending: Pending | None) -> None:
        """Show a step.

        Args:
            view: The step.
            pending: Edits of its state, which are then shown in place of what the step changed.
        """
        another = self._view is None or calls_differ(self._view, view)
        self._view, self._pending = view, pending
        if another and self.call_view.display:
            self.call_view.show(view)
        self._show_tab_content(keep_call=True)

    def show_tab(self, number: int) -> None:
        """Show a tab.

        Args:
            number: From 1: state, call, context, messages, raw.
        """
        had_focus = self.has_focus_within
        self._make_tabs()
        self._title.tab = number
        if self.tab == "Context" and self.context is None:
            from agent_tt_tui.widgets.debugger.context_view import ContextView  # nobody waits for it who opens a run

            self.context = self._tabs["Context"] = ContextView()
            self.mount(self.context)
        for name, view in self._tabs.items():
            view.display = name == self.tab
        self._path_row.display = number == 1
        self._show_tab_content(keep_call=False)
        self.post_message(self.TabShown())
        if had_focus:
            self.take_focus()

    @property
    def has_call_tab(self) -> bool:
        """Whether the calls of the step have a tab here."""
        return self._title.has_call

    def show_call_tab(self, *, shows: bool) -> None:
        """Have a tab for the calls of the step, or none, as they stand elsewhere."""
        if shows == self._title.has_call:
            return
        self._title.has_call = shows
        self._title.refresh()
        if not shows and self.tab == "Call":
            self.show_tab(TABS.index("State") + 1)

    def show_writes(self, path: Path, writes: Writes) -> None:
        """Say which step wrote the selected value.

        Args:
            path: The path that is meant; ignored if another is selected by now.
            writes: Who wrote it, as far as it was looked for.
        """
        if path == self.state_tree.selected:
            self._writes = writes
            self._refresh_rows()

    def go_to_call(self, direction: int) -> None:
        """Go to the next or previous call of the step, showing the calls if need be."""
        if self._title.tab != TABS.index("Call") + 1:
            self.show_tab(TABS.index("Call") + 1)
        elif not self.call_view.go(direction):
            self._say(no_further_call(direction))
        self._refresh_rows()

    def show_value(self, path: Path) -> None:
        """Show and select the value at a path of the state."""
        if self.tab != "State":
            self.show_tab(TABS.index("State") + 1)
        self.state_tree.select(path)

    def take_focus(self) -> None:
        """Take the focus, into the tab that is shown."""
        if self.tab == "Context" and self.context is not None:
            self.context.take_focus()
        else:
            self._tabs[self.tab].focus()

    def show_call(self, number: int | None) -> None:
        """Show the call of that number in the step, from 1; None shows the one that says most."""
        self.show_tab(TABS.index("Call") + 1)
        if number is not None:
            self.call_view.go_to(number)
        self._refresh_rows()

    def show_context(self, shown: ContextShown | None, words: str = "") -> None:
        """Show what a model was shown; None says words in its place: that it is being read, or why there is none."""
        if self.context is None:
            return
        if shown is None:
            self.context.say(words)
        else:
            self.context.show(shown)
        self._refresh_rows()

    def toggle_wrap(self) -> None:
        """Break long lines of the raw state, or cut them."""
        if self._raw.display:
            self._raw.toggle_wrap()
        else:
            raw = look_of(self).key(DEBUGGER.command("tab.raw"))
            self._say(f"only raw text can be cut or wrapped: {raw} shows it")

    @property
    def state(self) -> Wire:
        """The state that is shown, with pending edits."""
        if self._pending is not None:
            return self._pending.state
        return self._view.state if self._view is not None else None

    @property
    def tab(self) -> str:
        """The tab that is shown: `State`, `Call`, `Context`, `Messages` or `Raw`."""
        return TABS[self._title.tab - 1]

    @property
    def selection(self) -> Selection | None:
        """The selected value; None if the state that is shown has none there."""
        return self._selected(self.state_tree.selected)

    @property
    def message(self) -> Selection | None:
        """The message under the cursor of the conversation; None where there is none."""
        return self._selected(self._messages.chosen)

    def _selected(self, path: Path | None) -> Selection | None:
        if not path:
            return None
        try:
            value = get(self.state, path)
        except PathNotFound:
            return None
        recorded = value
        with suppress(PathNotFound):
            recorded = get(self._view.state if self._view is not None else None, path)
        return Selection(path, value, recorded)

    # What happens.

    @on(StateTree.Selected)
    def _on_selected(self, message: StateTree.Selected) -> None:
        message.stop()
        self._writes = None
        self._refresh_rows()
        self.post_message(self.PathSelected(message.path))

    def on_resize(self) -> None:
        """What was hidden before may be looked at now."""
        self._refresh_rows()

    def _show_tab_content(self, *, keep_call: bool) -> None:
        view = self._view
        if view is None:
            return
        note = f"{look_of(self).glyphs.failed} {clean(view.error)}" if view.error is not None else ""
        pending = self._pending
        changes = view.changes if pending is None else pending.changes
        match self.tab:
            case "State":
                self.state_tree.show(self.state, changes, edited=pending is not None, note=note or self._nothing())
            case "Call" if not keep_call:
                self.call_view.show(view)
            case "Messages":
                self._messages.show(self.state, changes, note, keep_cursor=pending is not None)
            case "Raw":
                self._raw.show(self.state, note)
            case _:
                pass
        self._refresh_rows()

    def _nothing(self) -> str:
        """Said in place of a state that has no parts."""
        state = self.state
        if state is None:
            return "no state was recorded for this step"
        if parts_of(state) is not None:
            return ""
        return "the state is empty" if not state else f"the state is one value: {clean(summary(state, 200))}"

    def _refresh_rows(self) -> None:
        view, look = self._view, look_of(self)
        if view is None:
            return
        dot, others = f" {look.glyphs.dot} ", f"  {look.key(*CALL_KEYS)}"
        if self._title.tab == 2:
            total = len(self.call_view.calls)
            number: Piece = (f"{self.call_view.number + 1}/{total}" if total else "none", "strong")
            keys: tuple[Piece, ...] = ((others, "key"),) if total > 1 else ()
            self._title.about_shortest = (("call ", "muted"), number)
            self._title.about_short = (*self._title.about_shortest, *keys)
            self._title.about = (
                ("step ", "muted"),
                (str(view.number), "strong"),
                (dot, "muted"),
                *self._title.about_short,
            )
        elif self.tab == "Context":
            which = () if self.context is None or self.context.shown is None else self.context.shown.which
            self._title.about = self._title.about_short = ((others, "key"), (" ", "text"), *which)
            self._title.about_shortest = which[:2]
        else:
            after: tuple[Piece, ...] = (("after ", "muted"), (str(view.number), "strong"))
            name = clean(view.step.name) if view.step is not None else "the input"
            self._title.about_short = self._title.about_shortest = after
            self._title.about = (*after, (f" {name}", "strong"))
        self._title.refresh()
        path = self.state_tree.selected
        self._path_row.path = [str(step) for step in without_envelopes(path)] if path else ()
        self._path_row.absent = bool(path) and self.selection is None
        self._path_row.about = self._written(view)
        self._path_row.refresh()

    def _written(self, view: StepView) -> tuple[Piece, ...]:
        path = self.state_tree.selected
        if view.step is not None and view.step.damaged is not None:
            return (("this step is damaged", "failed"),)
        if not path:
            return ()
        if self._pending is not None and any(
            path[: len(change.where)] == change.where or change.where[: len(path)] == path
            for change in self._pending.changes
        ):
            return (("not run yet", "yours"),)
        if view.step is not None and not has_own_state(view.step):
            return (("no checkpoint kept: an earlier state", "note"),)
        if self._path_row.absent:
            return ((f"not there after {view.number}", "note"),)
        if self._writes is None:
            return ()
        written = max((number for number in self._writes.signs if number <= view.number), default=None)
        if written is not None:
            return (("written at ", "muted"), (str(written), "strong"))
        return (("as in the input", "muted"),) if self._writes.first == 0 else ()

    def _say(self, message: str) -> None:
        if isinstance(self.screen, CommandScreen):
            self.screen.say(message)
