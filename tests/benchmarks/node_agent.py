"""`make node`: a Node agent on OpenAI's SDK is recorded through the proxy, streamed to, and replayed offline.

It installs the SDK from npm's registry into a temporary folder, and asks a provider on loopback.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.core.proxying.provider import WORDS, provider

import agent_tt
from agent_tt.store import open_store

AGENT = """
import OpenAI from "openai";
const client = new OpenAI({ maxRetries: 0 });
const messages = [{ role: "user", content: "Do you have gift cards?" }];
const whole = await client.chat.completions.create({ model: "gpt-4o-mini", messages });
messages.push(whole.choices[0].message, { role: "user", content: "Say it again." });
let said = "";
for await (const piece of await client.chat.completions.create({ model: "gpt-4o-mini", messages, stream: true })) {
  said += piece.choices[0]?.delta?.content ?? "";
}
console.log(whole.choices[0].message.content);
console.log(said);
"""


def main() -> int:
    """Record, look, replay with nobody to be asked; say what came of it."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        print("node and npm are needed")
        return 1
    os.environ["OPENAI_API_KEY"] = "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
    with tempfile.TemporaryDirectory(prefix="agent-tt-node-") as name:
        folder = Path(name)
        subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", "openai"], cwd=folder, check=True)
        (folder / "agent.mjs").write_text(AGENT, encoding="utf-8")
        store = folder / "runs.db"
        with provider() as server:
            os.environ["OPENAI_BASE_URL"] = f"{server.address}/v1"
            command = [sys.executable, "-m", "agent_tt_tui", "record", "--proxy", "--store", str(store), "--"]
            done = subprocess.run(
                [*command, "node", "agent.mjs"], cwd=folder, capture_output=True, text=True, check=False
            )
            said = "".join(WORDS)
            assert done.stdout == f"{said}\n{said}\n", (done.stdout, done.stderr)
            asked, sent = len(server.asked), server.sent[1]
        with closing(open_store(store)) as opened:
            (run,) = opened.runs()
            pieces = opened.deliveries(run.id, 2, 1)
            print(f"recorded {run.name}: {run.status}, {run.steps} steps, {len(pieces)} pieces of the streamed answer")
            assert (run.status, run.steps, asked) == ("succeeded", 2, 2)
            assert len(pieces) > len(WORDS)
            assert sent
        report = agent_tt.replay(run.id, store=store)
        print(f"replayed offline: {report.verdict}, {report.served} of {report.recorded} calls answered")
        assert (report.verdict, report.served) == ("reserved", 2), report
    return 0


if __name__ == "__main__":
    sys.exit(main())
