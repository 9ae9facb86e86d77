"""Pages of the log that were read lately: the least recently used is forgotten, and only so many bytes are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_tt.history.log.pages import PageCache

PAGES = st.tuples(st.integers(1, 2), st.integers(0, 3))
ACTIONS = st.lists(st.tuples(st.sampled_from(["get", "put"]), PAGES, st.integers(0, 9)), max_size=40)


@given(ACTIONS)
def test_it_answers_as_a_list_ordered_by_use_does(actions: list[tuple[str, tuple[int, int], int]]) -> None:
    cache, known = PageCache(12), list[tuple[tuple[int, int], list[bytes]]]()
    for action, place, size in actions:
        found = next((rows for kept, rows in known if kept == place), None)
        rows = [b"x" * (size - size // 3), b"x" * (size // 3)]
        if action == "get":
            assert cache.get(*place) == found
            if found is not None:
                known = [*(each for each in known if each[0] != place), (place, found)]
        else:
            cache.put(*place, rows)
            if found is None:
                known.append((place, rows))
            while sum(len(row) for _, kept in known for row in kept) > 12:
                del known[0]
    for place, rows in known:
        assert cache.get(*place) == rows


def test_a_page_that_is_larger_than_all_is_not_kept_and_drives_nothing_out() -> None:
    cache = PageCache(10)
    cache.put(1, 0, [b"x" * 10])
    cache.put(1, 1, [b"x" * 11])
    assert cache.get(1, 1) is None
    assert cache.get(1, 0) == [b"x" * 10]


def test_a_page_never_changes() -> None:
    cache = PageCache()
    cache.put(1, 0, [b"first"])
    cache.put(1, 0, [b"second"])
    assert cache.get(1, 0) == [b"first"]
    assert cache.get(2, 0) is None
