"""Agent frameworks: their tools as calls, and the names of their agents at steps, without a line in the agent.

| module | what it knows |
|---|---|
| `adapters` | which module of a framework each adapter is for, ours and those of other packages |
| `tool_calls` | a framework's call of a tool, made through the recorder; what every adapter is built on |
| `langchain` | LangChain and LangGraph |
| `openai_agents` | the OpenAI Agents SDK |
| `pydantic_ai` | Pydantic AI |
| `anthropic` | Anthropic's client |
| `google_genai` | Google's Gen AI SDK |
| `strands` | Strands |
| `smolagents` | smolagents |
| `llama_index` | LlamaIndex |
| `autogen` | AutoGen |
| `dspy` | DSPy |
| `agno` | Agno |
| `ag2` | AG2 |
| `google_adk` | Google ADK |
| `crewai` | CrewAI |

No framework is imported here: each is patched when the program imports it. What an adapter has to hold stands in
`docs/contributing.md`.
"""
