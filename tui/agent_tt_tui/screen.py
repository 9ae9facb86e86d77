"""What screens and dialogs have in common: they run the commands of their context, and say why when they cannot."""

from __future__ import annotations

import time
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from textual import on
from textual.css.query import NoMatches
from textual.events import Resize
from textual.message import Message
from textual.reactive import var
from textual.screen import Screen

from agent_tt_tui.commands import Context
from agent_tt_tui.feature import hearing
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.requests import Confirm, ShowKeys
from agent_tt_tui.running_forks import forks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual._path import CSSPathType
    from textual.app import App
    from textual.geometry import Region, Size
    from textual.strip import Strip
    from textual.widget import Widget

    from agent_tt_tui.feature import Feature
    from agent_tt_tui.viewmodel.offers import Offer

_RANK_WITHOUT_FOOTER = 100
"""Where a command stands in the palette that the footer has no room for."""

STYLES: Final = Path(__file__).with_name("screens.tcss")
"""The style sheet that the first frame of a run does not need; it is read behind that frame."""

_FRAME_S: Final = 0.05
"""How long a frame waits at most for what widgets make of a new layout."""

Answer = TypeVar("Answer")
Result = TypeVar("Result")


def read_styles(app: App[Any]) -> None:
    """Read the styles of all screens, once: where a screen brings them, Textual parses and applies the others again."""
    if not app.stylesheet.has_source(str(STYLES)):
        app.stylesheet.read(STYLES)
        app.stylesheet.parse()


class CommandScreen(Screen[Result]):
    """A screen with a context of commands.

    A subclass sets `CONTEXT`, which binds its keys, and yields `self.footer()` last. A command is answered by the
    feature that names it, else by the action of the screen.
    """

    CONTEXT: ClassVar[Context]
    CSS_PATH: ClassVar[CSSPathType | None] = STYLES
    AUTO_FOCUS = "LineView"

    focused: var[Widget | None] = var(None)
    """What has the focus. Textual paints all of the screen when that changes; here what gets and loses it does."""

    _holds_paint = False
    """Whether what is laid out just now is painted later."""

    _hearing: Mapping[type[Message], Sequence[Callable[[Message], None]]] | None = None
    """What the features do with a message, by its class."""

    _sizes: Mapping[Widget, Size]
    """The sizes of the widgets, as they were told of them."""

    _unpainted: set[Widget]
    """Widgets that are to be painted after the layout."""

    holds_frames = False
    """Whether nothing is painted, because what is to be seen is not at hand yet. `refresh` after it paints all."""

    _waited_for: dict[object, float]
    """The deadline of each holder for which the next frame waits, by `time.monotonic`."""

    features: Sequence[Feature] = ()
    """What the screen can do. Messages go to all of them, Esc to one after the other until it has closed something."""

    def __init__(self, *, classes: str | None = None) -> None:
        self._sizes, self._unpainted, self._waited_for = {}, set(), {}
        super().__init__(classes=classes)

    def __init_subclass__(cls, **inherit: bool) -> None:
        """Bind the keys of the context; `inherit` is what Textual lets a subclass leave out."""
        if "CONTEXT" in vars(cls):
            cls.BINDINGS = cls.CONTEXT.screen_bindings()
        super().__init_subclass__(**inherit)

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:  # noqa: FBT001, FBT002 - Textual's
        """Lay out, and paint once the widgets that have another size now know of it.

        Textual paints at once what they showed before, and again what they make of their size.
        """
        self._unpainted |= self._dirty_widgets
        self._dirty_widgets.clear()
        self._holds_paint = True
        try:
            super()._refresh_layout(size, scroll)
        finally:
            self._holds_paint = False
        self._send_sizes()
        # Behind the sizes that were sent, what widgets answered to them, and what others made of that: each time by the
        # app and back, as what they ask for is on its way meanwhile.
        self.hold_frame(self, _FRAME_S)
        later, of_app = self.call_later, self.app.call_later
        later(of_app, later, of_app, later, self._paint_laid_out)

    def _send_sizes(self) -> None:
        """Tell widgets of their size that Textual does not tell.

        It compares with where a widget was last, which may have been worked out anew since the last layout, as when a
        widget was asked for its size.
        """
        sizes: dict[Widget, Size] = {}
        for widget, (region, _order, _clip, virtual_size, container_size, *_) in self._compositor.layers:
            sizes[widget] = region.size
            if self._sizes.get(widget) != region.size:
                widget.post_message(Resize(region.size, virtual_size, container_size))
        self._sizes = sizes

    def _paint_laid_out(self) -> None:
        self._waited_for.pop(self, None)
        if self.is_current and not self._layout_required:
            self._compositor.update_widgets(self._dirty_widgets | self._unpainted)
            self._unpainted.clear()
            self._compositor_refresh()

    def _compositor_refresh(self) -> None:
        """Draw what changed, unless frames are held; below a dialog, once.

        There Textual hands it to the dialog, which draws it, and then has the whole screen drawn again after the next
        message, and the next: a timer would repaint a dialog that nobody touches some ten times a second.
        """
        if self._holds_paint or self.holds_frames:
            return
        super()._compositor_refresh()
        for work in self._after_frame:
            self.call_later(work)
        self._after_frame.clear()
        if self is not self.app.screen:
            self._repaint_required = False

    def hold_frame(self, holder: object, seconds: float) -> None:
        """Let the next frame wait, so long at most: some of what belongs into it is still to come.

        Textual paints as soon as one widget has changed, and what another has to say of it some 30 ms later.

        Args:
            holder: Who gives it free.
            seconds: How long it waits for that.
        """
        self._waited_for[holder] = time.monotonic() + seconds

    def free_frame(self, holder: object) -> None:
        """Paint what has changed, unless somebody else is still waited for."""
        until = self._waited_for.get(holder)
        if until is not None:  # by the app and back: widgets that have changed meanwhile ask the screen to be painted
            self.call_later(self.app.call_later, self.call_later, self._end_wait, holder, until)

    def _end_wait(self, holder: object, until: float) -> None:
        if self._waited_for.get(holder) == until:
            del self._waited_for[holder]
            self._on_timer_update()

    def _on_timer_update(self) -> None:
        now = time.monotonic()
        if not any(until > now for until in self._waited_for.values()):  # else the timer ticks again
            super()._on_timer_update()

    @cached_property
    def _after_frame(self) -> list[Callable[[], object]]:
        return []

    def after_frame(self, work: Callable[[], object]) -> None:
        """Do something when the next frame has been painted. Textual's own `call_after_refresh` may come before it."""
        self._after_frame.append(work)

    def footer(self) -> FooterRow:
        """Make the footer row of this screen."""
        return FooterRow(self.CONTEXT, self.blocked)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now; `None` if it can."""
        feature = self.feature_of(command_id)
        return None if feature is None else feature.blocked(command_id)

    def feature_of(self, command_id: str) -> Feature | None:
        """The feature that answers a command; `None` where the screen itself does."""
        return next((feature for feature in self.present_features if command_id in feature.COMMANDS), None)

    @on(Message)
    def tell_features(self, message: Message) -> None:
        """Let the features do what is to be done about a message."""
        if self._hearing is None:
            self.hear_features()
        for hear in (self._hearing or {}).get(type(message), ()):
            hear(message)

    @property
    def present_features(self) -> Sequence[Feature]:
        """The features, without those that are made later."""
        return self.features

    def hear_features(self) -> None:
        """Ask the features anew what they hear: there are others."""
        self._hearing = hearing(self.present_features)

    def say(self, message: str, seconds: float | None = 3.0) -> None:
        """Say something in the footer row; see `FooterRow.say`."""
        try:
            self.query_one(FooterRow).say(message, seconds)
        except NoMatches:
            self.log.warning(message)

    def key(self, command_id: str) -> str:
        """Give the key of a command of this screen, as the screen shows it."""
        return look_of(self).key(self.CONTEXT.command(command_id))

    def shown_widgets(self) -> list[tuple[Widget, Region, Region]]:
        """The widgets that are to be seen, each with its region and with what is not cut off of it."""
        return [(widget, *regions) for widget, regions in self._compositor.visible_widgets.items()]

    def drawn_rows(self) -> list[Strip]:
        """Render all rows of the screen."""
        return self._compositor.render_strips()

    def refresh_footer(self) -> None:
        """Draw the footer anew after what `blocked` answers has changed."""
        self.query_one(FooterRow).refresh()

    def ask(self, dialog: Screen[Answer | None], then: Callable[[Answer], object]) -> None:
        """Open a dialog; `then` gets what it returns, and is not called where it is cancelled."""

        def answered(answer: Answer | None) -> None:
            if answer is not None:
                then(answer)

        self.app.push_screen(dialog, answered)

    def confirm(self, title: str, question: str, then: Callable[[], object]) -> None:
        """Ask whether something is to be done; `then` is called on yes alone."""

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
            if yes:
                then()

        self.post_message(Confirm(title, question, answered))

    @property
    def own_keys(self) -> Context | None:
        """The keys of what has the focus, where it has keys of its own."""
        return self.focused.KEYS if isinstance(self.focused, LineView) else None

    @property
    def keys(self) -> Context:
        """All that keys do now: those of what has the focus first."""
        own = self.own_keys
        return self.CONTEXT if own is None else Context(self.CONTEXT.title, (own.groups[0], *self.CONTEXT.groups))

    async def action_command(self, command_id: str) -> None:
        """Run a command of this screen, or say why not."""
        command = self.keys.command(command_id)
        reason = self.blocked(command_id)
        if reason is not None:
            self.say(reason)
            return
        feature = self.feature_of(command_id)
        if feature is not None:
            feature.run(command)
            return
        target = self.focused if command.scope == "widget" and self.focused is not None else self
        await self.app.run_action(command.action, target)

    def offers(self, typed: str) -> Sequence[Offer]:
        """List what the palette offers on this screen: its commands, and places that its features know.

        Args:
            typed: What was typed, with the sign of a kind or without.
        """
        from agent_tt_tui.keymaps.found_by import FOUND_BY
        from agent_tt_tui.viewmodel.offers import Offer, without_sign

        look = look_of(self)
        # The keys of what has the focus stand first, and one of them may stand for a command of the screen.
        commands = {command.id: command for command in reversed(self.keys.commands)}
        ranks = {command.pair: command.rank for command in commands.values() if command.pair}
        offers: list[Offer] = []
        for command in reversed(commands.values()):
            if command.id == "app.palette":
                continue
            label, _, detail = command.help.partition("; ")
            by = FOUND_BY[command.id]
            keys = "  ".join(look.keys(command)[:2])
            words = f"{by.words} {command.footer} {command.id}".casefold()
            blocked = self.blocked(command.id) or ""
            run = partial(self.call_later, self.action_command, command.id)
            rank = command.rank if command.footer else ranks.get(command.id, _RANK_WITHOUT_FOOTER)
            offers.append(Offer(by.about, label, run, ">", words, keys, detail, blocked, rank))
        words = without_sign(typed)[1]
        return [*offers, *(place for feature in self.features for place in feature.places(words))]

    def action_help(self) -> None:
        """Show the keys of this screen, those of what has the focus first."""
        self.post_message(ShowKeys(self.keys))

    def action_escape(self) -> None:
        """Close, cancel or clear what is open."""
        for feature in self.present_features:
            if feature.escape():
                return

    def action_back(self) -> None:
        """Leave this screen, unless something would be lost that somebody wants to keep; the first leaves the app."""
        question = next(filter(None, (feature.before_leaving() for feature in self.present_features)), "")
        if question:
            self.confirm("Leave", question, self._leave)
        else:
            self._leave()

    def undo_words(self) -> Sequence[str]:
        """What undo takes back on this screen, in words, the last first."""
        return ()

    def _leave(self) -> None:
        stack = self.app.screen_stack
        # The stack holds Textual's own blank screen below the first of ours.
        if len(stack) <= 2:
            self._leave_app()
        else:
            below = stack[-2]
            there = below.present_features if isinstance(below, CommandScreen) else ()
            words = next(filter(None, (feature.parting_words(there) for feature in self.present_features)), "")
            self.app.pop_screen()
            if words and isinstance(below, CommandScreen):
                below.say(words)

    def _leave_app(self) -> None:
        """Leave; where a fork still runs, only once it is known that it will go on."""
        running = forks_of(self).names()
        if not running:
            self.app.exit()
            return
        verb = "is" if len(running) == 1 else "are"
        question = f"{', '.join(running)} {verb} still running, and will go on after you leave. Leave?"
        self.confirm("Still running", question, self._let_go)

    def _let_go(self) -> None:
        forks_of(self).let_go()
        self.app.exit()
