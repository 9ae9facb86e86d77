"""What is configured of look and keys: every name is checked before the app starts."""

from __future__ import annotations

import pytest

from agent_tt.config import Config
from agent_tt.errors import UsageError
from agent_tt_tui.settings import chosen_look


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Config(theme="nrd"), ("no theme 'nrd'", "nord")),
        (Config(keys={"time.nxt": "n"}), ("no command 'time.nxt'", "time.next")),
        (Config(keys={"time.next": "ctrl+fo"}), ("cannot have the key 'ctrl+fo'", "ctrl+f")),
        (Config(keys={"time.next": "hyperr+a"}), ("cannot have the key 'hyperr+a'", "")),
        (Config(keys={"time.next": "f"}), ("'f' is the key of both time.next and fork.open (Debugger)", "another key")),
        (Config(keys={"time.next": "f9", "time.previous": "f9"}), ("'f9' is the key of both", "another key")),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_the_nearest(settings: Config, said: tuple[str, str]) -> None:
    with pytest.raises(UsageError) as refused:
        chosen_look(settings)
    assert said[0] in refused.value.message
    assert said[1] in (refused.value.hint or "")


def test_keys_that_are_free_hold() -> None:
    swapped = {"time.next": "n", "find.next": "ctrl+n", "fork.open": "ctrl+right_square_bracket,é,full_stop"}
    assert chosen_look(Config(theme="nord", keys=swapped)).keymap == swapped
    assert chosen_look(Config()).keymap == {}
