"""Files in which other programs keep conversations with models, read as runs: sessions, logs, traces, message lists.

A format is a function from a document to transcripts, in one module; all else is shared. What a file does not say is
absent. Nothing that a file names is opened, imported or called.

| module | does |
|---|---|
| `document` | a file as JSON: one value, or one a line; what of it cannot be read |
| `yaml_text` | YAML as JSON, bounded |
| `pieces` | where lines and pieces of a file lie, parsed when they are asked for |
| `beside` | what a program keeps of a session in files beside it |
| `tables` | rows of CSV and Parquet |
| `compressed` | what a file of gzip or Zstandard holds |
| `any_value` | attributes of OpenTelemetry as plain JSON |
| `protobuf` | OTLP in protocol buffers, as JSON |
| `protobuf_messages` | messages of protocol buffers as what they say |
| `archive` | members of a zip archive, bounded by what comes out of them |
| `transcript` | what a format tells: steps, their calls, and the conversation after each; runs that are told later |
| `kept_list` | the runs of a large file, known the next time without reading it |
| `kept_steps` | the steps of a large trace, known the next time without reading it |
| `telling` | putting a transcript together, message by message |
| `ways` | the ways through a conversation that parted |
| `formats` | the formats, by which a document is known |
| `told_run` | a transcript as a run with its steps, and the digests of its states |
| `stamps` | what files look like from outside |
| `contents` | what a file held at one moment, with runs that are told when they are asked for |
| `source` | a file of transcripts as a source of runs |
| `chat` | lists of messages in the forms of providers, alone or in the wrapping of benchmarks and small agents |
| `spans` | traces: what spans stand for, whoever kept them |
| `around` | which agents are around a span |
| `spans_later` | traces of very many spans: what a step says is read when it is asked for |
| `found_steps` | rows of their steps, in columns |
| `otlp` | traces of OpenTelemetry, by four conventions |
| `otlp_traces` | where the spans of each trace lie |
| `otlp_later` | a trace of very many spans, of which the steps are known |
| `otlp_spans` | requests, spans and log records as they stand in JSON |
| `otlp_work` | what a span stands for, in the words of each convention |
| `otlp_messages` | messages in spans, as turns of a chat |
| `langfuse` | traces that Langfuse exports |
| `langsmith` | runs of LangSmith |
| `phoenix` | spans that Phoenix exports |
| `inspect_ai`, `inspect_sample` | logs of Inspect; a sample of one |
| `openai_agents` | states of runs and traces of the OpenAI Agents SDK |
| `agentrr` | logs of agentrr |
| `clearstone` | checkpoints of clearstone |
| `orca` | traces of OrcaReplay |
| `vcr` | cassettes of VCR: recorded HTTP exchanges |
| `claude_code` | sessions of Claude Code |
| `claude_tree` | the tree that their entries make |
| `codex` | sessions of the Codex CLI |
| `codex_review` | reviews in such sessions |
| `gemini_cli` | sessions and checkpoints of the Gemini CLI |
| `opencode` | sessions of OpenCode |
| `claude_stream` | what Claude Code writes as it works |
| `pi` | sessions of pi |
| `atif` | trajectories in Harbor's interchange format |
| `swe_agent` | trajectories of SWE-agent |
| `mini_swe_agent` | trajectories of mini-swe-agent |
| `openhands` | event streams of OpenHands before version 1 |
| `openhands_v1` | conversations of OpenHands since version 1 |
| `exchanges` | requests to models with what was answered: batches, logs |
| `ai_sdk` | results of Vercel's AI SDK |
"""
