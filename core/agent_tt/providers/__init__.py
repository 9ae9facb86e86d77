"""Reading the requests and answers of model providers, for people to see, and changing them for forks.

| module | what it does |
|---|---|
| `provider` | what a provider is: one class that knows one wire format; what packages that bring one derive from |
| `openai_chat`, `openai_completions`, `openai_responses` | OpenAI: three formats, which many others speak |
| `openai_realtime` | OpenAI's conversations over a WebSocket |
| `anthropic`, `bedrock`, `cohere`, `gemini` | one provider each |
| `reading` | tells which provider's format a request has, and reads it and its answer, as sent or as recorded |
| `chat` | messages in the forms that providers and frameworks give them, read for people |
| `provider_call` | a recorded call of a model as the conversation that it is |
| `model_talk` | what recorded calls of models were shown and said, in order, for programs |
| `replies` | an answer that a person changed, in its provider's format |
| `shapes` | what is read: messages, tools offered, tool calls, tokens, why it stopped |
| `chat_form` | the form of messages, calls and counts that chat APIs share, and parts of messages as text |
| `bodies`, `aws_events` | from bytes to JSON: content encodings, event streams |
| `prices`, `price_table` | what tokens cost |
| `loose` | reading JSON that may be anything |

Nothing here is needed to record or to replay: bytes are kept and given back as they are. Nothing here raises.
"""

from __future__ import annotations

from agent_tt.providers.bodies import Pieces
from agent_tt.providers.provider import Provider, Request
from agent_tt.providers.reading import only_measures, read_answer, recognise
from agent_tt.providers.shapes import Asked, Message, ModelAnswer, ModelCall, OfferedTool, Reply, Tokens

__all__ = [
    "Asked",
    "Message",
    "ModelAnswer",
    "ModelCall",
    "OfferedTool",
    "Pieces",
    "Provider",
    "Reply",
    "Request",
    "Tokens",
    "only_measures",
    "read_answer",
    "recognise",
]
