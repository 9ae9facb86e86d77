"""The page in a real browser: by keys, under its policy, with nothing that was recorded taking effect."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.browser import browser
from tests.core.memory_store import Did, MemorySource

from agent_tt import samples
from agent_tt.exporting.html.page import Html
from agent_tt.exporting.redacted import exported
from agent_tt.model import ErrorInfo
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser import Browser

HOSTILE = "</script><script>window.bad=1</script><img src=http://x.test/ onerror=window.bad=2> \u202e\x1b[31m <!-- ${1}"
KEY = "sk-proj-Abc123Def456Ghi789"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("checkout")
    samples.ensure("flaky-checkout", folder / "runs.db")
    with closing(open_store(folder / "runs.db")) as source:
        Html().write(exported(source, [(source.run("flaky-checkout"), None)]), folder / "page.html")
    return (folder / "page.html").as_uri()


def _two_runs() -> MemorySource:
    source = MemorySource()
    did = [Did(f"step {number}", tool="look", args={"at": number}, state={"n": number}) for number in range(1, 5)]
    bad = Did(
        HOSTILE, tool=HOSTILE, args={HOSTILE: HOSTILE, "api_key": KEY}, result=HOSTILE, decision=HOSTILE,
        state={HOSTILE: HOSTILE, "n": 5}, error=ErrorInfo("builtins:ValueError", HOSTILE, HOSTILE), status="error",
    )  # fmt: skip
    source.add("desk", [*did, bad], state={"n": 0}, status="failed", error=bad.error)
    other = Did("other", tool="book", args={"at": 9}, state={"n": 9, "extra": [1, 2]})
    source.add("desk/fork-1", [other], parent="desk", fork_step=2)
    return source


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forked") / "page.html"
    source = _two_runs()
    Html().write(exported(source, [(source.run("desk/fork-1"), None)]), path)
    return path


def test_keys_scrub_through_states_diffs_and_calls(tab: Browser, checkout: str) -> None:
    tab.open(checkout)
    assert tab.text("#state h2") == "STATE after 7 charge card"  # the first that failed
    assert tab.text("#about .status") == "succeeded"
    tab.press("Home", "ArrowRight", "ArrowRight")
    assert tab.run("page.address()") == "#2"
    assert "2 ● check stock" in tab.text("#timeline .here")
    assert "DIFF 1 → 2" in tab.text("#state")
    assert "+ messages[4] " in tab.text("#state .changes")
    assert "check_stock(skus=" in tab.text("#calls .talk:last-of-type")
    tab.press("}")
    assert tab.run("page.address()") == "#7"
    assert "PaymentError: 402 insufficient_funds" in tab.text("#calls")
    tab.press("End")
    assert tab.text("#where") == "10 / 10"


def test_the_search_goes_to_the_steps_that_brought_a_text(tab: Browser, checkout: str) -> None:
    tab.open(f"{checkout}#0")
    tab.press("/")
    tab.send("Input.insertText", text="INSUFFICIENT_funds")
    assert tab.text("#hits") == "in 4 of 11"
    tab.press("Enter")
    assert tab.run("page.address()") == "#7"
    tab.press("n", "n", "N")
    assert tab.run("page.address()") == "#8"
    assert tab.run("document.querySelectorAll('#timeline .hit').length") == 4


def test_an_address_names_a_step_a_run_or_a_row(tab: Browser, forked: Path) -> None:
    tab.open(f"{forked.as_uri()}#2:4")
    assert tab.text("#state h2") == "STATE after 4 step 4"
    tab.run("location.hash = '#3'; new Promise((done) => setTimeout(done))")
    assert tab.text("#state h2") == "STATE after 3 other"
    tab.run("location.hash = '#c1:0'; new Promise((done) => setTimeout(done))")
    assert tab.text("#state h2").startswith("STATE of desk/fork-1 after 1, against desk after 1")
    tab.press("ArrowRight")
    followed = "const look = () => location.hash === '#c1:1' ? done(true) : setTimeout(look, 5); look();"
    assert tab.run(f"new Promise((done) => {{ {followed} }})")


def test_a_fork_is_compared_with_what_it_was_forked_from(tab: Browser, forked: Path) -> None:
    tab.open(forked.as_uri())
    tab.press("c")
    assert "parted at 3" in tab.text("#about")
    state = tab.text("#state")
    assert "The states are the same." not in state
    tab.press("Home")
    assert "The states are the same." in tab.text("#state")
    tab.press("c", "r")
    assert tab.run("document.title") == "desk · agent-tt"


def test_nothing_recorded_takes_effect_and_nothing_is_loaded(tab: Browser, forked: Path) -> None:
    tab.problems.clear()
    tab.requests.clear()
    tab.open(f"{forked.as_uri()}#2:5")
    for key in ("ArrowLeft", "ArrowRight", "c", "End", "c"):
        tab.press(key)
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.run("window.bad") is None
    assert tab.run("document.querySelectorAll('img, main script').length") == 0
    assert "\\u202e" in tab.text("main")
    assert "\u202e" not in tab.run("document.body.textContent.replace(document.getElementById('data').textContent, '')")
    assert tab.problems == []
    assert [url for url in tab.requests if not url.startswith(("about:", forked.as_uri()))] == []
    tab.run("const s = document.createElement('script'); s.textContent = 'window.bad = 3'; document.body.append(s)")
    assert tab.run("window.bad") is None
    assert len(tab.problems) == 1  # the policy says so
    assert tab.run("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')") == "refused"


def test_a_secret_of_a_file_that_is_not_redacted_is_not_in_the_page(forked: Path) -> None:
    assert KEY not in forked.read_text(encoding="utf-8")
    assert "api_key" in forked.read_text(encoding="utf-8")
    assert "</script><script>window.bad" not in forked.read_text(encoding="utf-8")


def test_ten_thousand_steps_have_a_screenful_of_rows(tab: Browser, tmp_path: Path) -> None:
    source = MemorySource()
    source.add("long", [Did(f"step {number}", state={"n": number, "text": "x" * 40}) for number in range(1, 10_001)])
    path = tmp_path / "page.html"
    Html().write(exported(source, [(source.run("long"), 5_000)]), path)
    tab.open(path.as_uri())
    assert tab.text("#state h2") == "STATE after 5000 step 5000"
    assert tab.run("document.querySelectorAll('#timeline .row').length") < 100
    tab.press("End", "ArrowLeft")
    assert tab.text("#where") == "9999 / 10000"
    assert "9999" in tab.text("#timeline .here")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_without_scrolling_sideways_and_steps_by_touch(
    tab: Browser, checkout: str, scheme: str
) -> None:
    tab.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    try:
        tab.open(f"{checkout}#7")
        assert tab.run("document.documentElement.scrollWidth") <= 390
        assert tab.run("document.querySelector('header').offsetHeight") < 200
        narrow = "[...document.querySelectorAll('.tree .key')].filter((one) => one.offsetWidth < 8).length"
        assert tab.run(narrow) == 0
        tab.run("document.getElementById('after').click()")
        assert tab.run("page.address()") == "#8"
        tab.run("document.getElementById('before').click(); document.getElementById('before').click()")
        assert tab.run("page.address()") == "#6"
        tab.run("document.getElementById('failed').click()")
        assert tab.run("page.address()") == "#7"
    finally:
        tab.send("Emulation.clearDeviceMetricsOverride")
        tab.send("Emulation.setEmulatedMedia", features=[])


def test_a_session_of_an_opened_file_says_which_agent_a_step_is_of(tab: Browser, tmp_path: Path) -> None:
    source = MemorySource()
    source.add("desk", [Did("plan", state={"n": 1}), Did("look", agent="helper", state={"n": 2})])
    Html().write(exported(source, [(source.run("desk"), None)]), tmp_path / "page.html")
    tab.open((tmp_path / "page.html").as_uri())
    assert "helper: look" in tab.text("#timeline")
