"""With a serializer that encrypts, a thread holds nothing that anybody can read, and the graph gets all of it back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from tests.core.redaction.test_secret_kinds import traces
from tests.core.stored_bytes import contents

from agent_tt.langgraph import Checkpointer

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "hunter2Xy9Q-sk-proj-Abc123Def456Ghi789"


class Desk(TypedDict):
    messages: Annotated[list[Any], add_messages]
    api_key: str
    note: str


class Cipher:
    def __init__(self) -> None:
        self._key = AESGCM(b"k" * 32)

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        number = os.urandom(12)
        return "aes-gcm", number + self._key.encrypt(number, plaintext, None)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "aes-gcm"
        return self._key.decrypt(ciphertext[:12], ciphertext[12:], None)


def _run(checkpointer: Checkpointer) -> dict[str, Any]:
    def answer(_state: Desk) -> dict[str, Any]:
        return {"messages": [("assistant", f"the password: {SECRET}")], "note": SECRET}

    def fail(_state: Desk) -> dict[str, Any]:
        raise ValueError(SECRET)

    builder = StateGraph(Desk)
    builder.add_node("answer", answer)
    builder.add_node("fail", fail)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "fail")
    graph = builder.compile(checkpointer=checkpointer)
    thread: Any = {"configurable": {"thread_id": "desk"}, "metadata": {"who": SECRET}, "tags": [SECRET]}
    with pytest.raises(ValueError, match="hunter2"):
        graph.invoke({"messages": [("user", SECRET)], "api_key": SECRET, "note": "x"}, thread)
    return dict(graph.get_state(thread).values)


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_an_encrypting_serializer_leaves_nothing_to_read(tmp_path: Path, is_encrypted: bool):
    serde = EncryptedSerializer(Cipher()) if is_encrypted else None
    with Checkpointer(tmp_path / "runs.db", serde=serde) as checkpointer:
        state = _run(checkpointer)
    assert (state["note"], state["api_key"]) == (SECRET, SECRET)
    assert [message.content for message in state["messages"]] == [SECRET, f"the password: {SECRET}"]
    stored = [data for _, data in contents(tmp_path / "runs.db")]
    found = traces(SECRET, b"".join([*stored, *(file.read_bytes() for file in tmp_path.glob("runs.db*"))]))
    assert (found == []) is is_encrypted
