"""Calls: from the question to the answer, each on record before the agent goes on.

| module | what it does |
|---|---|
| `recorded_call` | one call: intent first, then the function, then what came back |
| `placement` | where a call belongs when it begins |
| `exchange` | one call that crosses the network: a question, answered in pieces |
| `boundary`, `streams` | wrapping functions of every nature so that their calls are recorded |
| `signature` | what is known of a function or request before it is called, and the digest of a question |
| `facts`, `site` | what is shown of a call beside its arguments; which line of the agent makes it |
| `arguments` | what a function did to its arguments, and what goes out where a person changed them |
| `tool_contexts` | what is given to a tool beside its question, and is shown and not compared |
| `kept_headers` | headers that count as part of a question |
| `answers`, `served` | a call as it is put to a link, and giving a link's answer in place of the function's |
| `at_hand` | an answer that is there at once |
| `once_keys`, `once` | the keys of tools that are done once, and asking the store about them |
| `pending_draws` | draws made between steps, until a step can hold them |
| `usage`, `counting` | tokens and money of an answer, and what of it a step has not counted yet |
"""
