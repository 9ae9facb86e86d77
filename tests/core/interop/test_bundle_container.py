"""The file of a bundle: what was changed, cut off or made to do harm is refused before anything is written."""

from __future__ import annotations

import hashlib
import json
import random
import stat
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import AgentTTError, Damaged, NewerFormat, StoreUnreadable, UsageError
from agent_tt.interop.bundle.container import Container, write_container
from agent_tt.interop.bundle.manifest import MOST_BYTES, is_member_name
from agent_tt.interop.bundle.signing import check_signature, signer
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {"runs.db": b"a store" * 300, "requirements.txt": b"a==1\n", "code/pkg/é.py": b"print(1)\n"}
MANIFEST = "agent-tt-bundle.json"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "x.att"
    write_container(path, FILES, ["a"], "3.11.2")
    return path


def sealed(path: Path, write: Callable[[zipfile.ZipFile], None]) -> Path:
    """An archive with the digest that a bundle has, as somebody would make it who knows the format."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        write(archive)
        archive.comment = b"agent-tt bundle 1 sha256:" + b"0" * 64
    return reseal(path)


def reseal(path: Path) -> Path:
    raw = path.read_bytes()[:-64]
    path.write_bytes(raw + hashlib.sha256(raw).hexdigest().encode())
    return path


def said(members: dict[str, bytes], /, **more: object) -> bytes:
    listed = [{"name": n, "size": len(b), "sha256": hashlib.sha256(b).hexdigest()} for n, b in members.items()]
    return json.dumps({"bundle": 1, "made_by": "x", "runs": [], "python": "", "members": listed, **more}).encode()


def plain(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.external_attr, info.create_system, info.compress_type = 0o100644 << 16, 3, zipfile.ZIP_DEFLATED
    return info


def hostile(path: Path, members: dict[str, bytes], manifest: bytes | None = None) -> Path:
    def write(archive: zipfile.ZipFile) -> None:
        archive.writestr(plain(MANIFEST), said(members) if manifest is None else manifest)
        for name, content in members.items():
            archive.writestr(plain(name), content)

    return sealed(path, write)


def test_what_was_written_is_read(bundle: Path, tmp_path: Path) -> None:
    with Container(bundle) as container:
        assert {each.name: container.bytes_of(each.name) for each in container.manifest.members} == FILES
        assert (container.manifest.runs, container.manifest.python) == (("a",), "3.11.2")
        container.unpack(container.manifest.members, tmp_path / "out")
        assert check_signature(container).words == "unsigned"
    assert (tmp_path / "out/code/pkg/é.py").read_bytes() == FILES["code/pkg/é.py"]


def test_any_changed_byte_is_refused(bundle: Path) -> None:
    whole = bundle.read_bytes()
    assert len(whole) < 2_000  # so each of them is tried
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        bundle.write_bytes(changed)
        with pytest.raises(StoreUnreadable):
            Container(bundle)


def test_a_file_that_is_cut_off_is_refused(bundle: Path) -> None:
    whole = bundle.read_bytes()
    for length in [0, 1, 30, 112, *random.Random(7).sample(range(len(whole)), 30)]:
        bundle.write_bytes(whole[:length])
        with pytest.raises(StoreUnreadable):
            Container(bundle)


@pytest.mark.parametrize(
    "name",
    [
        "../evil.py",
        "code/../../evil.py",
        "/etc/passwd",
        "code//x",
        "code/./x",
        "code/",
        "code/a\\..\\b",
        "code/c:x",
        "code/nul\0",
        "code/x\n",
        "code/a.",
        "code" + "/a" * 40,
        "code/" + "x" * 201,
        "goldens",
        "other/x",
        "x.py",
        "runs.db/x",
        "",
    ],
)
def test_names_that_lead_elsewhere_are_none(name: str, tmp_path: Path) -> None:
    assert not is_member_name(name)
    with pytest.raises(Damaged):
        Container(hostile(tmp_path / "x.att", {"runs.db": b"", name: b"evil"} if name != "" else {"": b""}))
    assert [each.name for each in tmp_path.iterdir()] == ["x.att"]


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"{" * 100_000,
        b'{"bundle": 1}',
        said({"runs.db": b""}, bundle=0),
        said({"runs.db": b""}, runs=[1]),
        said({"runs.db": b""}, runs=["x"], python=3),
        said({"runs.db": b""}, members=[{"name": "runs.db", "size": -1, "sha256": "0" * 64}]),
        said({"runs.db": b""}, members=[{"name": "runs.db", "size": True, "sha256": "0" * 64}]),
        said({"runs.db": b""}, members=[{"name": "runs.db", "size": 1 << 60, "sha256": "0" * 64}]),
        said({"runs.db": b""}, members=[{"name": "runs.db", "size": 0, "sha256": "0" * 64}]),
        said({"runs.db": b"1"}),
        said(
            {},
            members=[{"name": name, "size": 2 << 20, "sha256": "0" * 64} for name in ("runs.db", "requirements.txt")],
        ),
        said({"runs.db": b"", "code/a": b""}),
        said({"code/a": b""}),
        said({}),
    ],
)
def test_a_manifest_that_lies_is_refused(manifest: bytes, tmp_path: Path) -> None:
    with pytest.raises(Damaged):
        Container(hostile(tmp_path / "x.att", {"runs.db": b""}, manifest))


def test_a_newer_bundle_is_told_as_one(tmp_path: Path) -> None:
    with pytest.raises(NewerFormat):
        Container(hostile(tmp_path / "x.att", {"runs.db": b""}, said({"runs.db": b""}, bundle=2)))


@pytest.mark.parametrize("names", [["code/a", "code/a/b"], ["code/a", "code/a/b/c"], ["code/A", "code/a"], ["RUNS.db"]])
def test_two_members_cannot_have_one_place(names: list[str], tmp_path: Path) -> None:
    with pytest.raises(Damaged):
        Container(hostile(tmp_path / "x.att", {"runs.db": b""} | dict.fromkeys(names, b"")))


def test_a_bomb_is_read_no_further_than_its_manifest_claims(tmp_path: Path) -> None:
    bomb = bytes(30 << 20)
    listed = [{"name": "runs.db", "size": 10, "sha256": "0" * 64}]
    path = hostile(tmp_path / "x.att", {"runs.db": bomb}, said({}, members=listed))
    assert path.stat().st_size < 1 << 16
    with pytest.raises(Damaged, match="has not the size"):
        Container(path)
    many = [{"name": f"code/{number}", "size": MOST_BYTES // 4, "sha256": "0" * 64} for number in range(5)]
    with pytest.raises(Damaged, match="too large"):
        Container(hostile(path, {"runs.db": b""}, said({}, members=[*listed, *many])))


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    def link(archive: zipfile.ZipFile) -> None:
        archive.writestr(plain(MANIFEST), said({"runs.db": b"/etc/passwd"}))
        info = plain("runs.db")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, b"/etc/passwd")

    def twice(archive: zipfile.ZipFile) -> None:
        archive.writestr(plain(MANIFEST), said({"runs.db": b""}))
        archive.writestr(plain("runs.db"), b"")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(plain("runs.db"), b"other")

    def stored(archive: zipfile.ZipFile) -> None:
        archive.writestr(plain(MANIFEST), said({"runs.db": b""}))
        archive.writestr(plain("runs.db"), b"", compress_type=zipfile.ZIP_BZIP2)

    def unlisted(archive: zipfile.ZipFile) -> None:
        archive.writestr(plain(MANIFEST), said({"runs.db": b""}))
        archive.writestr(plain("runs.db"), b"")
        archive.writestr(plain("code/x.py"), b"evil")

    for write in (link, twice, stored, unlisted):
        with pytest.raises(Damaged):
            Container(sealed(tmp_path / "x.att", write))


def test_nothing_is_hidden_before_or_between_members(bundle: Path) -> None:
    whole = bundle.read_bytes()
    bundle.write_bytes(b"MZ" + whole)
    with pytest.raises(Damaged):
        Container(reseal(bundle))
    listed = whole.index(b"PK\x01\x02")
    end = bytearray(whole[listed:])
    place = struct.unpack_from("<I", end, end.index(b"PK\x05\x06") + 16)[0]
    struct.pack_into("<I", end, end.index(b"PK\x05\x06") + 16, place + 4)
    bundle.write_bytes(whole[:listed] + b"evil" + end)
    with pytest.raises(Damaged):
        Container(reseal(bundle))


def test_a_nested_archive_stays_one_file(bundle: Path, tmp_path: Path) -> None:
    path = hostile(tmp_path / "y.att", {"runs.db": b"", "code/inner.zip": bundle.read_bytes()})
    with Container(path) as container:
        container.unpack(container.manifest.members, tmp_path / "out")
    assert sorted(each.name for each in (tmp_path / "out/code").iterdir()) == ["inner.zip"]


def test_what_is_there_already_is_not_overwritten(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("mine")
    with Container(bundle) as container, pytest.raises(UsageError, match="cannot be written"):
        container.unpack(container.manifest.members, tmp_path)
    assert (tmp_path / "runs.db").read_text() == "mine"


def test_a_bundle_whose_store_is_none_is_refused_and_leaves_nothing(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with pytest.raises(AgentTTError, match=r"x\.att"):
        open_source(bundle)
    assert list(scratch.iterdir()) == []


def test_a_bundle_is_signed_and_a_signature_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    key = ed25519.Ed25519PrivateKey.generate()
    forms = (serialization.PrivateFormat.OpenSSH, serialization.PrivateFormat.PKCS8)
    words = set()
    for number, form in enumerate(forms):
        file = tmp_path / f"key{number}"
        file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        write_container(tmp_path / f"{number}.att", FILES, [], "", signer(file))
        with Container(tmp_path / f"{number}.att") as container:
            words.add(check_signature(container).words)
            signature = container.signature or b""
    assert len(words) == 1
    assert words.pop().startswith("signed with the key SHA256:")

    def forged(archive: zipfile.ZipFile) -> None:
        archive.writestr(plain(MANIFEST), said({"runs.db": b"another"}))
        archive.writestr(plain("signature.json"), signature)
        archive.writestr(plain("runs.db"), b"another")

    with Container(sealed(tmp_path / "f.att", forged)) as container, pytest.raises(Damaged, match="does not fit"):
        check_signature(container)
    for bad in (b"", b"[]", b"{}", b'{"ed25519": "A", "signature": 1}', b'{"ed25519": "QQ==", "signature": "QQ=="}'):
        signature = bad
        with Container(sealed(tmp_path / "f.att", forged)) as container, pytest.raises(Damaged):
            check_signature(container)


def test_a_file_that_is_no_key_is_told(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    (tmp_path / "key").write_text("no key")
    with pytest.raises(UsageError, match="not a private Ed25519 key"):
        signer(tmp_path / "key")
    with pytest.raises(UsageError, match="cannot be read"):
        signer(tmp_path / "none")
