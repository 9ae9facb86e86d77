"""What other packages bring: found where they are installed, loaded when needed, told once where it cannot be used."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.core.plugin_packages import HELLO_PROVIDER, HELLO_SOURCE, install
from tests.patience import PATIENCE_SECONDS

from agent_tt import plugins
from agent_tt.errors import NotAStore, StoreUnreadable
from agent_tt.exporting.formats import EXPORTS
from agent_tt.forking.entry.executors import EXECUTORS
from agent_tt.frameworks.adapters import ADAPTERS
from agent_tt.plugins import PluginFailed, Plugins, told_elsewhere
from agent_tt.providers import only_measures, read_answer, recognise
from agent_tt.providers.reading import PROVIDERS, asked, messages_of_turn, provider_of
from agent_tt.sources import SOURCES, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
ASKED = {"who": "hello-1", "say": [{"me": "hello"}]}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on `sys.path` for packages; what is loaded from it is forgotten."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    for group in (SOURCES, PROVIDERS, ADAPTERS, EXECUTORS, EXPORTS):
        for name, empty in (("_loaded", {}), ("_told", set()), ("_looked_in", [])):
            monkeypatch.setattr(group, name, empty)
        monkeypatch.setattr(group, "_ours", ())
        monkeypatch.setattr(group, "_others", ())
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("plug_"):
            del sys.modules[name]
    plugins._scan.cache_clear()


def problems(group: Plugins[object]) -> dict[str, str]:
    return {plugin.name: problem for plugin, problem in group.look() if problem}


@pytest.mark.parametrize("group", [SOURCES, PROVIDERS, ADAPTERS, EXECUTORS, EXPORTS], ids=lambda group: group.group)
def test_ours_are_declared_as_those_of_others_are(group: Plugins[object]) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    ours = {plugin.name: plugin.value for plugin, _ in group.look() if plugin.package == "agent-tt"}
    assert ours == declared.get(group.group, {}), "run: python -m tests.tui.readme_parts"
    assert problems(group) == {}


def test_a_provider_of_another_package_is_asked_after_ours(site: Path) -> None:
    entries = "[agent_tt.providers]\nhello = plug_hello:Hello\n"
    install(site, "agent-tt-hello", "1.2", entries, plug_hello=HELLO_PROVIDER)
    call = recognise("POST", "https://host/hello", {}, ASKED)
    assert call is not None
    assert (call.api, call.model, [message.text for message in call.messages]) == ("hello", "hello-1", ["hello"])
    answer = read_answer(call, 200, {}, b'{"said": {"you": "yes"}, "counted": [3, 1]}')
    assert ([message.text for message in answer.messages], answer.tokens.input, answer.cost_usd) == (["yes"], 3, 0.25)
    assert [message.role for message in messages_of_turn({"type": "said", "you": "yes"})] == ["assistant"]
    assert only_measures("POST", "https://host/hello/length", {}, ASKED)
    assert provider_of(call).with_system({}, "Be kind.") == {"manners": "Be kind."}
    chat = recognise("POST", "https://host/v1/chat/completions", {}, {"messages": [{"role": "user", "content": "x"}]})
    assert chat is not None
    assert chat.api == "openai-chat"


def test_the_provider_of_the_documentation_is_one(site: Path) -> None:
    text = (ROOT / "docs/contributing.md").read_text()
    (code,) = re.findall(r"```py\n(.*?)```", text, re.DOTALL)
    entries = "[agent_tt.providers]\nhello = agent_tt_hello:Hello\n"
    assert '[project.entry-points."agent_tt.providers"]\nhello = "agent_tt_hello:Hello"\n' in text
    install(site, "agent-tt-hello", "1", entries, agent_tt_hello=code)
    call = recognise("POST", "https://host/hello", {}, {"say": "good day"})
    assert call is not None
    assert (call.api, call.model, call.messages[0].text) == ("hello", "hello-1", "good day")
    assert [each.text for each in read_answer(call, 200, {}, b'{"said": "to you too"}').messages] == ["to you too"]
    del sys.modules["agent_tt_hello"]


def test_ours_need_no_look_at_what_is_installed(site: Path) -> None:
    script = (
        "import sys, agent_tt.plugins as plugins\n"
        "from agent_tt.providers import recognise\n"
        "from agent_tt.providers.reading import messages_of_turn\n"
        "plugins._scan = None\n"
        "asked = {'messages': [{'role': 'user', 'content': 'hello'}]}\n"
        "assert recognise('POST', 'https://host/v1/chat/completions', {}, asked).api == 'openai-chat'\n"
        "assert recognise('GET', 'https://host/anything', {}, None) is None\n"
        "assert messages_of_turn({'a': 'state'}) == ()\n"
        "from agent_tt.sources import open_source\n"
        "from agent_tt.store import open_store\n"
        f"open_store({str(site / 'runs.db')!r}, create=True).close(); open_source({str(site / 'runs.db')!r}).close()\n"
        "print('importlib.metadata' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
    assert done.stdout.strip() == "False"


def test_where_nobody_brings_anything_nothing_is_loaded_to_find_that_out() -> None:
    script = (
        "import sys; from agent_tt.providers import recognise\n"
        "assert recognise('POST', 'https://host/anything', {}, {}) is None\n"
        "print('importlib.metadata' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
    assert done.stdout.strip() == "False"


BAD = {
    "gone": ("plug_gone:Hello", "cannot be imported: ModuleNotFoundError: No module named 'plug_gone'"),
    "missing": ("plug_bad:Nothing", "cannot be imported: AttributeError: module 'plug_bad' has no attribute 'Nothing'"),
    "raises": ("plug_raises:Hello", "cannot be imported: ValueError: not today"),
    "leaves": ("plug_leaves:Hello", "cannot be imported: SystemExit: 3"),
    "function": ("plug_bad:function", "is a function, not a class derived from agent_tt.providers.Provider"),
    "other": ("plug_bad:Other", "is the class Other, not a class derived from agent_tt.providers.Provider"),
    "abstract": ("plug_bad:Abstract", "cannot be imported: TypeError: Can't instantiate abstract class Abstract"),
    "pathless": ("plug_bad:Pathless", "has no PATHS, a tuple of what the paths of its requests end in"),
    "openai-chat": ("plug_bad:function", "has the name of one of agent-tt"),
}


def install_bad(site: Path) -> None:
    bad = """
        from agent_tt.providers import ModelAnswer, Provider
        def function(): pass
        class Other: pass
        class Abstract(Provider): pass
        class Pathless(Provider):
            def read_request(self, request): return None
            def read_answer(self, pieces): return ModelAnswer()
    """
    rows = "\n".join(f"{name} = {value}" for name, (value, _) in BAD.items())
    modules = {"plug_bad": bad, "plug_raises": "raise ValueError('not today')", "plug_leaves": "raise SystemExit(3)"}
    install(site, "agent-tt-bad", "3", "[agent_tt.providers]\n" + rows, **modules)


def test_what_cannot_be_used_is_told_once_and_left_out(site: Path, caplog: pytest.LogCaptureFixture) -> None:
    install_bad(site)
    install(site, "good", "1", "[agent_tt.providers]\nhello = plug_hello:Hello\n", plug_hello=HELLO_PROVIDER)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            call = recognise("POST", "https://host/hello", {}, ASKED)
            assert call is not None
            assert call.api == "hello"
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == len(BAD)
    for name, (value, why) in BAD.items():
        (said,) = [line for line in told if line.startswith(f"the plug-in {name} of agent-tt-bad 3 ")]
        assert why in said
        assert value in said
        assert "Update or uninstall agent-tt-bad" in said
        assert "\n" not in said
    assert {name: why.startswith(BAD[name][1]) for name, why in problems(PROVIDERS).items()} == dict.fromkeys(BAD, True)


def test_what_another_process_has_told_is_left_out_and_not_told_again(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install_bad(site)

    def group() -> Plugins[object]:
        return Plugins("agent_tt.providers", {}, _no_plugin)

    found = group()
    with caplog.at_level(logging.WARNING):
        with told_elsewhere():
            assert found.others() == ()
        assert found.others() == ()
        assert caplog.records == []
        assert group().others() == ()
    assert len(caplog.records) == len(BAD)


def _no_plugin(found: object) -> object:
    raise PluginFailed(f"is {type(found).__name__}")


def test_two_packages_that_bring_the_same_name_are_told_apart(site: Path, tmp_path: Path) -> None:
    for package in ("agent-tt-a", "agent-tt-b"):
        install(
            site, package, "1", "[agent_tt.executors]\ncrew = plug_crew:run\n", plug_crew="def run(i, s, c, o): ..."
        )
    assert problems(EXECUTORS) == {"crew": "has the name of one of agent-tt-a"}
    assert EXECUTORS.installed()["crew"].package == "agent-tt-a"
    again = tmp_path / "again"
    install(again, "agent_tt_a", "0.1", "[agent_tt.executors]\ncrew = plug_crew:run\nmore = plug_crew:run\n")
    sys.path.append(str(again))  # an older copy further on is not looked at
    assert "more" not in EXECUTORS.installed()


def test_entry_points_that_cannot_be_read_are_left_out(site: Path, caplog: pytest.LogCaptureFixture) -> None:
    install(site, "broken", "1", "[agent_tt.providers]\nno equals sign\n")
    install(site, "good", "1", "[agent_tt.providers]\nhello = plug_hello:Hello\n", plug_hello=HELLO_PROVIDER)
    with caplog.at_level(logging.WARNING):
        assert recognise("POST", "https://host/hello", {}, ASKED) is not None
    assert "broken-1.dist-info" in caplog.text


def raising(_: object) -> None:
    raise ValueError("no")


def test_a_provider_that_raises_has_nothing_to_say(site: Path, caplog: pytest.LogCaptureFixture) -> None:
    wild = """
        from agent_tt.providers import ModelCall, Provider
        class Wild(Provider):
            PATHS = ("/wild",)
            MEASURES = {"/wild": ()}
            def read_request(self, request):
                if request.body:
                    return ModelCall(model="m")
                raise ValueError("no")
            def read_answer(self, pieces): return {"not": "an answer"}
            def read_turn(self, turn): raise KeyError("no")
            def measures(self, request): raise ValueError("no")
    """
    install(site, "wild", "1", "[agent_tt.providers]\nwild = plug_wild:Wild\n", plug_wild=wild)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert recognise("POST", "https://host/wild", {}, {}) is None
            assert not only_measures("POST", "https://host/wild", {}, {})
            assert messages_of_turn({"type": "wild"}) == ()
    assert len(caplog.records) == 3
    call = recognise("POST", "https://host/wild", {}, {"a": 1})
    assert call is not None
    assert read_answer(call, 200, {}, b"{}").messages == ()
    assert asked(raising, 1) is None


def test_a_source_of_another_package_opens_its_files(site: Path, tmp_path: Path) -> None:
    install(
        site, "agent-tt-hello", "1", "[agent_tt.sources]\nhello = plug_source:open_hello\n", plug_source=HELLO_SOURCE
    )
    path = tmp_path / "any name"
    path.write_text("hello run greeting\nask=who\nanswer=me\n")
    source = open_source(path)
    assert source.state(source.run("greeting").id, 2) == {"ask": "who", "answer": "me"}
    source.close()
    path.write_text("something else")
    with pytest.raises(NotAStore, match="a text file") as refused:
        open_source(path)
    assert "what hello reads" in refused.value.hint


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise ValueError('no such colour')", "the source odd raised ValueError: no such colour"),
        ("return 'a text'", "the source odd gave a str, not a source of runs"),
    ],
)
def test_a_source_that_fails_is_one_clear_error(site: Path, tmp_path: Path, body: str, says: str) -> None:
    install(
        site, "odd", "1", "[agent_tt.sources]\nodd = plug_odd:odd\n", plug_odd=f"def odd(path, head):\n    {body}\n"
    )
    path = tmp_path / "file"
    path.write_text("something")
    with pytest.raises(StoreUnreadable, match=says) as refused:
        open_source(path)
    assert "agent-tt plugins" in refused.value.hint


def counted(function: Callable[[], object]) -> int:
    """How many times what is installed is looked at."""
    before = plugins._scan.cache_info().misses
    function()
    return plugins._scan.cache_info().misses - before


def test_what_is_installed_is_looked_at_once(site: Path) -> None:
    plugins._scan.cache_clear()
    assert counted(lambda: recognise("POST", "https://host/anything", {}, {})) == 1
    assert counted(lambda: [recognise("POST", f"https://host/{number}", {}, {}) for number in range(9)]) == 0
