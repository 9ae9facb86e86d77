"""Reading the requests and answers of model providers, for people to see.

| module | what it does |
|---|---|
| `recognise` | tells which requests ask a model, and reads their answers |
| `measures` | tells which requests only have a provider work out vectors, counts, checks or rankings |
| `shapes` | what is read: messages, tools offered, tool calls, tokens, why it stopped |
| `openai_chat`, `openai_responses`, `anthropic`, `gemini`, `bedrock`, `cohere` | one language each |
| `turns` | one turn of a conversation, in any of them |
| `changing`, `answering` | a request that is changed, and an answer that is written, in its provider's own language |
| `recorded` | the same for calls as a run keeps them |
| `content` | parts of messages as text |
| `bodies`, `aws_events` | from bytes to JSON: content encodings, event streams |
| `prices`, `price_table`, `price_rows` | what tokens cost |
| `loose` | reading JSON that may be anything |

Nothing here is needed to record or to replay: bytes are kept and given back as they are. Nothing here raises, and
nothing of other packages is imported.
"""

from __future__ import annotations

from agent_tt.providers.measures import only_measures
from agent_tt.providers.recognise import read_answer, recognise
from agent_tt.providers.shapes import Asked, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

__all__ = [
    "Asked",
    "Message",
    "ModelAnswer",
    "ModelCall",
    "OfferedTool",
    "Tokens",
    "only_measures",
    "read_answer",
    "recognise",
]
