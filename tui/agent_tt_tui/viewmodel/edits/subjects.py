"""What the edit dialog edits: a value of a state, what came back of a call, a value that is given in its place."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path, parse_path, without_envelopes
from agent_tt.errors import AgentTTError, PathNotFound
from agent_tt.forking.editing.answer_text import answer_of
from agent_tt.forking.editing.call_edits import with_recorded_values
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.forking.editing.json_text import read_inside
from agent_tt.model import Edit
from agent_tt_tui.viewmodel.edits.leaves import leaves_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call, EditTarget
    from agent_tt.protocols import RunSource

_AN_ERROR: Final = "TimeoutError: no answer"


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to edit.

    Attributes:
        path: The names and positions on the way to it, any text.
        about: Where that is: `after step 3`.
        value: The value as it is now, with earlier edits.
        recorded: The value as it was recorded.
        make: Makes the edit of a value.
        check: Says what is wrong with an edit, None if it fits.
        title: What is done, a word.
        form: What is typed, where that can be one of several things.
        others: What can be edited in its place: an error that is raised.
        as_text: Whether a string is typed as it is; else it is JSON.
        is_new: Whether nothing of the kind was recorded: what stands there to begin with is a suggestion.
        make_part: Makes the edit of what is at a place inside; None where only the value as a whole is edited.
        whole: What this is a part of; None where it is not part.
    """

    path: tuple[str, ...]
    about: str
    value: Wire
    recorded: Wire
    make: Callable[[Wire], Edit]
    check: Callable[[Edit], str | None] = lambda _edit: None
    title: str = "Edit"
    form: str = ""
    others: tuple[Subject, ...] = ()
    as_text: bool = True
    is_new: bool = False
    make_part: Callable[[Path, Wire], Edit] | None = None
    whole: Subject | None = None

    @property
    def parts(self) -> Iterator[tuple[Path, Wire]]:
        """The single values that can be edited on their own, each with its place in the value as a whole."""
        return leaves_of((self.whole or self).value)

    def part(self, place: Path) -> Subject:
        """Select one value inside, to edit it alone.

        Args:
            place: where it stands in the value as a whole, also inside of JSON texts.

        Raises:
            PathNotFound: There is no such place.
        """
        whole = self.whole or self
        return replace(
            whole,
            path=(*whole.path, *map(str, place)),
            value=read_inside(whole.value, place),
            recorded=_inside_or_none(whole.recorded, place),
            make=partial(whole.make_part or whole.make_with, place),
            others=(whole, *whole.others),
            whole=replace(whole, others=()),
        )

    def make_with(self, place: Path, typed: Wire) -> Edit:
        """The edit of the value as a whole that changes what is at a place in it."""
        return self.make(apply_edits(self.value, [Edit("set", format_path(place), typed)]))

    def other(self) -> Subject:
        """The next of what can be edited; this one stands last then."""
        first, *rest = self.others
        return replace(first, others=(*rest, replace(self, others=())))


def of_state(step: int, path: Path, value: Wire, recorded: Wire) -> Subject:
    """A value of the state after a step; `path` is in wire coordinates."""
    return Subject(
        path=tuple(str(each) for each in without_envelopes(path)),
        about=f"after step {step}",
        value=value,
        recorded=recorded,
        make=lambda typed: Edit("set", format_path(path), typed),
        make_part=lambda place, typed: Edit("set", format_path((*without_envelopes(path), *place)), typed),
    )


def of_call(source: RunSource, run_id: str, call: Call, edits: Sequence[Edit] = ()) -> Subject:
    """What came back of a call: a result, a model's words or tool calls, or an error.

    Args:
        source: Where the run lies; an edit is tried on what was recorded there.
        run_id: The run.
        call: The call.
        edits: What was edited of it before.
    """
    edited = edits[-1] if edits else None
    of_result = [edit for edit in edits if edit.target == "result"]

    def check(edit: Edit) -> str | None:
        before = beside(of_result, edit)
        return trouble(lambda: with_recorded_values(source, run_id, source.steps(run_id), [*before, edit]))

    def subject(target: EditTarget, form: str, recorded: Wire, beginning: Wire) -> Subject:
        was_edited = edited is not None and edited.target == target and _is_of(form, edited.value)

        def made(place: Path, typed: Wire) -> Edit:
            old = _inside_or_none(recorded, place)
            path = format_path(place)
            return Edit("set", path, typed, old=old, target=target, step=call.step, call=call.number)

        return Subject(
            path=(call.name, form),
            about=f"step {call.step} call {call.number}",
            value=edited.value if was_edited and edited is not None and not edited.path else beginning,
            recorded=recorded,
            make=lambda typed: made((), typed),
            make_part=made if target == "result" else None,
            check=check,
            form=form,
            is_new=target == "error" and recorded is None and not was_edited,
        )

    raised = None if call.error is None else call.error.short
    error = subject("error", "error", raised, raised or _AN_ERROR)
    if call.kind == "llm":
        answer = answer_of(call)
        full = answer if isinstance(answer, dict | list) else {"text": answer or "", "tool_calls": []}
        forms = [subject("answer", "words", answer, answer)] if isinstance(answer, str | None) else []
        forms.append(subject("answer", "tool calls", answer, full))
    else:
        forms = [subject("result", "result", call.result, _edited_result(call.result, of_result))]
    forms.append(error)
    if edited is not None:
        start = next((i for i, f in enumerate(forms) if _matches(f, edited)), 0)
    else:
        start = len(forms) - 1 if raised is not None and call.kind != "llm" else 0
    first, *rest = (*forms[start:], *forms[:start])
    return replace(first, others=tuple(rest))


def of_stub(name: str, recorded: Wire, now: Wire, error: str | None, check: Callable[[Edit], str | None]) -> Subject:
    """A value, or an error, that is given in place of what a call comes back with."""

    def subject(target: EditTarget, form: str, was: Wire, value: Wire) -> Subject:
        return Subject(
            path=(name, form),
            about="given in its place",
            value=value,
            recorded=was,
            make=lambda typed: Edit("set", "", typed, target=target),
            check=check,
            title="Stub",
            form=form,
            as_text=target == "error",
            is_new=True,
        )

    value = subject("result", "value", recorded, now)
    raised = subject("error", "error", None, error or _AN_ERROR)
    return replace(value, others=(raised,)) if error is None else replace(raised, others=(value,))


def trouble(work: Callable[[], object]) -> str | None:
    """Run a check, and give its error in one line; None if it has none."""
    try:
        work()
    except AgentTTError as error:
        return error.message
    return None


def beside(edits: Iterable[Edit], edit: Edit) -> list[Edit]:
    """The edits of a call's result that stay where another one is made: those of what that does not replace."""
    if edit.target != "result":
        return []
    place = parse_path(edit.path)
    return [each for each in edits if each.target == "result" and parse_path(each.path)[: len(place)] != place]


def _edited_result(result: Wire, edits: Sequence[Edit]) -> Wire:
    """A result with its edits; as it was recorded where they do not fit it."""
    try:
        return apply_edits(result, [Edit(edit.op, edit.path, edit.value, to=edit.to) for edit in edits])
    except AgentTTError:
        return result


def _inside_or_none(value: Wire, place: Path) -> Wire:
    try:
        return read_inside(value, place)
    except PathNotFound:
        return None


def _matches(subject: Subject, edit: Edit) -> bool:
    return subject.make(None).target == edit.target and _is_of(subject.form, edit.value)


def _is_of(form: str, value: Wire) -> bool:
    """Whether a value is of the form that is typed as words, or as tool calls."""
    return form not in ("words", "tool calls") or isinstance(value, str) == (form == "words")
