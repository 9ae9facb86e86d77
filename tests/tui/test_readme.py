"""The README and `docs/` say what is so: tables are those of the code, examples run, and links lead somewhere."""

import datetime as dt
import decimal
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import uuid
from dataclasses import fields

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.tui.readme_parts import DOCS, PAGES, README, ROOT, TABLES, code_blocks, marked, shell_lines, with_tables

from agent_tt.codec.encode import encode
from agent_tt.config import Config
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.kinds import KINDS
from agent_tt_tui.cli.root import root, run

TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
MOST_LINES = 250
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def shell(tmp_path):
    """Run a command in a fresh folder with a store of its own."""
    environment = os.environ | {"AGENT_TT_STORE": str(tmp_path / "runs.db"), "HOME": str(tmp_path), "NO_COLOR": "1"}

    def call(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    return call


def test_the_readme_is_short():
    assert len(TEXTS["README.md"].splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", TEXTS)
def test_the_tables_of_a_page_are_made_from_the_code(page):
    assert with_tables(TEXTS[page]) == TEXTS[page], "run: python -m tests.tui.readme_parts"


@pytest.mark.parametrize("name", TABLES)
def test_each_table_stands_in_one_page(name):
    assert sum(len(marked(name).findall(text)) for text in TEXTS.values()) == 1


def slugs(text):
    """What the headings of a page are linked by, as GitHub makes it of their words."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings]
    return {
        slug if plain[:at].count(slug) == 0 else f"{slug}-{plain[:at].count(slug)}" for at, slug in enumerate(plain)
    }


def links(text):
    """The files and headings that a page links to."""
    prose = re.sub(r"`[^`]*`", "", FENCED.sub("", text))
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def broken_links(path, text):
    """The links of a page at `path` that lead to no file, or to no heading."""
    broken = []
    for link in links(text):
        name, _, heading = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        is_there = target == path or target.exists()
        if not is_there or (heading and heading not in slugs(text if target == path else target.read_text())):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", TEXTS)
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(page):
    assert broken_links(ROOT / page, TEXTS[page]) == []


def test_links_that_lead_nowhere_are_found():
    text = "# One\n## A `b`, c!\n## One\n[a](#a-b-c) [b](#one-1) [c](fork.md#policies) [d](https://x.example/y)\n"
    text += "[e](#two) [f](no.md) [g](fork.md#no)\n`[h](i)`\n```\n# not a heading\n[j](k)\n```\n[l](#not-a-heading)\n"
    assert broken_links(DOCS / "new.md", text) == ["#two", "no.md", "fork.md#no", "#not-a-heading"]


def test_the_readme_links_to_every_page():
    linked = {link.partition("#")[0] for link in links(TEXTS["README.md"])}
    assert linked >= set(TEXTS) - {"README.md"}


def table_under(page, heading):
    """The rows of the table under a heading, without code marks."""
    section = TEXTS[page].partition(f"\n## {heading}\n")[2].partition("\n## ")[0].replace("`", "")
    rows = [line.strip("| ").split(" | ", 1) for line in section.splitlines() if line.startswith("| ")]
    return dict(rows[1:])


def test_every_setting_is_listed():
    known = {"policy" if field.name == "policies" else field.name for field in fields(Config)} | {"redact"}
    known -= {"vault"}  # it stands in the table `redaction`
    assert set(table_under("docs/configuration.md", "Settings")) == known


def test_the_exit_codes_are_those_of_the_help():
    told = " ".join((root.help or "").split())
    listed = [f"{code} {what}" for code, what in table_under("docs/configuration.md", "Exit codes").items()]
    assert " · ".join(listed) in told


NAMED = {
    page: re.findall(r"`((?:core|tui|tests|docs)/[\w./]+)`", TEXTS[f"docs/{page}.md"])
    for page in ("contributing", "architecture")
}


def test_files_that_contributors_are_sent_to_are_there():
    named = [name for names in NAMED.values() for name in names]
    gone = {name for name in named if "hello" not in name and not (ROOT / name).exists()}
    assert (gone, len(NAMED["contributing"]) > 50) == (set(), True)


JOURNEYS = re.split(r"^### ", TEXTS["docs/architecture.md"].partition("## Journeys\n")[2], flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda text: text.partition("\n")[0])
def test_a_journey_passes_about_ten_files_each_once(journey):
    files = re.findall(r"^\| `([\w./]+)` \|", journey, re.MULTILINE)
    assert len(set(files)) == len(files)
    assert 4 <= len(files) <= 12


def test_the_words_are_few_and_each_is_explained_once():
    told = TEXTS["docs/architecture.md"].partition("## Words\n")[2].partition("\n## ")[0]
    words = re.findall(r"^\| ([\w-]+) \| ", told, re.MULTILINE)[1:]
    assert 20 <= len(set(words)) == len(words) <= 30


OWN_AGENT = [line for line in shell_lines(README) if re.search(r"my_agent|latest", line) and " open " not in line]


def test_the_readme_records_replays_and_forks_an_agent():
    assert [line.split()[1] for line in OWN_AGENT] == ["record", "replay", "fork"]


ENVELOPES = re.findall(r"^\| `([^`]+)` \| `(\{\"\$type.*)` \|$", TEXTS["docs/json.md"], re.MULTILINE)


@pytest.mark.parametrize(("expression", "shown"), ENVELOPES)
def test_a_typed_value_is_the_envelope_that_is_shown(expression, shown):
    names = {"dt": dt, "decimal": decimal, "uuid": uuid, "pathlib": pathlib}
    assert encode(eval(expression, names)) == json.loads(shown)


def test_a_dozen_typed_values_are_shown():
    assert len(ENVELOPES) >= 12


def test_the_marked_lines_are_at_most_five():
    assert 1 <= code_blocks(DOCS / "record.md", "python")[0].count("# new") <= 5


@pytest.mark.warm("langgraph.graph")
def test_the_python_examples_run_one_after_the_other(shell, tmp_path):
    agent = code_blocks(DOCS / "record.md", "python")[0]
    (tests,) = code_blocks(DOCS / "replay.md", "python")
    (api,) = code_blocks(DOCS / "python.md", "python")
    (tmp_path / "my_agent.py").write_text(agent)
    (tmp_path / "test_my_agent.py").write_text(tests)
    (tmp_path / "use_it.py").write_text(api)
    recorded = shell(sys.executable, "my_agent.py")
    assert recorded.returncode == 0, recorded.stderr
    tested = shell(
        *(sys.executable, "-m", "pytest", "-q"),
        *("-p", "no:randomly", "-p", "no:langsmith_plugin", "-p", "no:schemathesis"),
        "test_my_agent.py",
    )
    assert tested.returncode == 0, tested.stdout
    (threads,) = code_blocks(DOCS / "langgraph.md", "python")
    (tmp_path / "keep_threads.py").write_text(threads)
    kept = shell(sys.executable, "keep_threads.py")
    assert kept.stdout == "Do you have gift cards? Yes.\n", kept.stderr
    used = shell(sys.executable, "use_it.py")
    assert used.returncode == 0, used.stderr
    assert used.stdout.splitlines()[-1] == "Do you have gift cards?"
    steady = [line for line in shell_lines(DOCS / "replay.md") if " steady " in line]
    for line in [*OWN_AGENT, *steady]:
        done = shell(sys.executable, "-m", "agent_tt_tui", *shlex.split(line.replace("python", sys.executable))[1:])
        assert done.returncode == 0, (line, done.stderr)


@pytest.mark.warm
def test_the_tracked_state_of_the_example_is_a_dict_and_is_recorded(shell, tmp_path):
    (example,) = [block for block in code_blocks(DOCS / "record.md", "python") if block.startswith("# long_chat.py")]
    (tmp_path / "long_chat.py").write_text(example)
    ran = shell(sys.executable, "long_chat.py")
    messages = [{"role": "user", "content": text} for text in ("Do you have gift cards?", "In which sizes?")]
    assert ran.stdout == f"{{'messages': {messages}, 'turn': 2}}\n", ran.stderr
    shown = shell(sys.executable, "-m", "agent_tt_tui", "show", "long-chat", "2", "--json")
    assert "In which sizes?" in shown.stdout, shown.stderr


def test_the_golden_that_is_shown_can_be_read_and_every_kind_of_rule_is_in_it(tmp_path):
    (text,) = code_blocks(DOCS / "golden.md", "toml")
    path = tmp_path / "shown.toml"
    path.write_text(text, encoding="utf-8")
    shown = {kept.rule.kind for kept in read_golden(path).rules}
    assert shown == {*KINDS} == set(table_under("docs/golden.md", "Rules"))


@pytest.mark.warm
def test_the_python_of_the_readme_gives_what_it_says(shell, tmp_path):
    (example,) = code_blocks(README, "python")
    (tmp_path / "compare.py").write_text(example)
    assert shell(sys.executable, "-m", "agent_tt_tui", "show", "refund-loop").returncode == 0
    done = shell(sys.executable, "compare.py")
    assert (done.stdout.strip(), done.stderr) == (re.search(r"  # (\d+)$", example, re.MULTILINE)[1], "")


@pytest.mark.warm
def test_the_shell_tour_of_refund_loop_runs_as_written(shell, capfd, monkeypatch, tmp_path):
    samples = ("refund-loop", "flaky-checkout", "--dry-run")
    pages = [page for page in PAGES if page.name != "incident.md"]  # a story of its own: test_incident.py
    lines = [line for page in pages for line in shell_lines(page)]
    tour = [shlex.split(line) for line in lines if any(name in line for name in samples)]
    tour = [words for words in tour if words[1] != "open" and not {"latest", "THREAD"} & set(words)]
    assert len(tour) >= 17
    codes = {}
    first = shell(sys.executable, "-m", "agent_tt_tui", *tour[0][1:])  # as a shell starts it; the others run here
    assert (first.returncode, first.stderr) == (0, "")
    monkeypatch.chdir(tmp_path)
    for name, value in {"AGENT_TT_STORE": "runs.db", "HOME": "", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    for words in tour[1:]:
        codes[words[1]] = run(words[1:])
        told = capfd.readouterr()
        assert codes[words[1]] in (0, 1), (words, told.err)
        assert "Traceback" not in told.err
    # Differing is an answer, not a failure: exit code 1.
    assert codes["compare"] == 1
