"""Addresses of databases stand where paths do, and show no password."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.addresses import Address, identity_of, located
from agent_tt.errors import StoreUnreadable, UsageError
from agent_tt.querying.checkpoints import split_file
from agent_tt.store import open_store, resolve_store_path
from agent_tt.store.file.locate import own_store_path, writable_store_path

PASSWORDS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=4).filter(
    lambda text: not set(text) <= {"*", "/"} and text not in "postgresql://user@host:5432/database?sslmode=require"
)


@given(PASSWORDS)
def test_no_text_made_of_an_address_has_its_password(password: str) -> None:
    url = f"postgresql://user:{password}@host:5432/database"
    address = Address.of(url)
    assert address.url == url
    made = [
        str(address),
        repr(address),
        address.identity,
        address.name,
        address.stem,
        str(address / "x"),
        str(address.parent),
    ]
    made += [str(copy.deepcopy(address)), pickle.dumps(address).decode("latin-1"), f"{address}", address.as_posix()]
    assert not [text for text in made if password in text]
    assert not [name for name in Path(address).parts if password in name]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://user:pw@host:5432/db", "postgresql://user:***@host:5432/db"),
        ("postgres://user@host/db?sslmode=require", "postgres://user@host/db?sslmode=require"),
        ("postgresql:///db?host=/run&password=pw", "postgresql:///db?host=/run&password=***"),
        ("postgresql://user:p@w@host/db", "postgresql://user:***@host/db"),
        ("postgresql://user:p/w@host/db", "postgresql://user:***@host/db"),
        ("postgresql://user:p?w@host/db", "postgresql://user:***@host/db"),
        ("postgresql://user:pw", "postgresql://***"),
        ("postgresql://one:1,two:2/db", "postgresql://one:1,two:2/db"),
        ("postgresql://[::1]:5432/db", "postgresql://[::1]:5432/db"),
        ("postgresql://user@host/db?odd", "postgresql://user@host/db?***"),
    ],
)
def test_an_address_is_shown_as_it_was_given_but_for_what_may_be_secret(url: str, shown: str) -> None:
    assert str(located(url)) == shown


def test_one_database_has_one_identity_whatever_the_password() -> None:
    one, other = Address.of("postgresql://user:one@host/db"), Address.of("postgres://user@host/db")
    assert identity_of(one) == identity_of(other) == "postgresql://user@host/db"
    assert one == Address.of("postgresql://user:two@host/db")


def test_an_address_is_found_wherever_a_store_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://user@127.0.0.1:1/db"
    assert str(resolve_store_path(url, start=tmp_path)) == url
    assert str(resolve_store_path(start=tmp_path, environ={"AGENT_TT_STORE": url})) == url
    (tmp_path / "pyproject.toml").write_text(f'[tool.agent-tt]\nstore = "{url}"\n')
    assert str(resolve_store_path(start=tmp_path, environ={})) == url
    assert [str(part) for part in split_file(f"{url}:a:b@3")] == [url, "a:b@3"]
    assert [str(part) for part in split_file("postgresql:///db:run")] == ["postgresql:///db", "run"]
    assert [str(part) for part in split_file("postgresql:///db:run@3")] == ["postgresql:///db", "run@3"]
    assert [str(part) for part in split_file("postgres://host:1")] == ["postgres://host:1", ""]
    assert [str(part) for part in split_file(url)] == [url, ""]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_TT_STORE", url)
    own = tmp_path / ".agent-tt" / "runs.db"
    assert own_store_path(Address.of(url)) == own
    assert str(writable_store_path()) == url, "a server that is away may be back when something is recorded"
    langgraphs = url.replace("://", "+langgraph://", 1)
    monkeypatch.setenv("AGENT_TT_STORE", langgraphs)
    assert writable_store_path() == own, "LangGraph's tables are only read"
    assert Address.of(langgraphs).url == url, "its own client knows no such scheme"
    assert Address.of(langgraphs).identity != Address.of(url).identity


def test_nothing_is_made_in_the_place_of_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    url = "postgresql://user:hush-4711@127.0.0.1:1/db"
    with pytest.raises(StoreUnreadable, match=r"user:\*\*\*@127"):
        open_store(url, create=True)
    with pytest.raises(UsageError, match="only read"):
        writable_store_path(url.replace("://", "+langgraph://", 1))
    with pytest.raises(UsageError, match="as a path") as caught:
        open_store(Path(url), create=True)
    assert "hush" not in str(caught.value)
    beside = Address.of(url).with_name("runs.db-spill")
    assert beside.is_relative_to(tmp_path / "data"), "what lies beside it lies in the user's own data"
    assert "hush" not in str(beside)
    assert not [*tmp_path.iterdir()]
