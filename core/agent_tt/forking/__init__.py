"""What a fork is made of: edits, the code that runs, the policy and the terms; `agent_tt.rerunning` starts it.

| folder or module | what it does |
|---|---|
| `request` | a fork as it is asked for: in code, by the command, in the app |
| `plan` | the pre-flight: the request worked out, or why that fork cannot run |
| `effects_said` | what people said that tools do, in earlier forks |
| `editing` | what a person changes: states, results, requests, steps |
| `entry` | which code runs, and how it takes a state |
| `policy` | what is done with its calls |
| `outside` | what reaches for the world outside of every call |
| `checks` | where a fork may start, and which values it can carry over |
| `graphs` | a fork of a LangGraph thread: its checkpoint, its graph, what an edit does to a channel |
| `conversations` | a fork that goes on with a conversation alone: its model, its tools, what it may not do |
| `terms`, `under_terms` | who runs it, what it is told beside the state, how far it may go; on the child's side |
| `breaking` | stopping it where an expression begins to hold |
"""
