"""One small agent that pays a refund, forked by agent-tt and by other tools: who pays a second time?

    python -m tests.benchmarks.refund_peers [--only NAME …] [--markdown] [--write] [--environments FOLDER]

| module | what it holds |
|---|---|
| `agents` | the agent, once for each tool, in the way that the tool's own documentation shows |
| `bank` | the bank on the loopback interface, which counts what it is asked to pay |
| `tables` | the results as text, as Markdown for the README and `docs/`, and as the file `../refund_peers.json` |
| `tools` | the tools with their versions, their documentation and the ways of forking that are tried |
| `trial` | installing a tool, recording the agent with it, forking it, and what came of that |
"""
