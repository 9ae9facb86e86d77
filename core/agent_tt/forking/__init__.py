"""What a fork is made of: edits, the code that runs, the policy and the terms; `agent_tt.rerunning` starts it.

| module | what it does |
|---|---|
| `edits`, `json_text` | edits of a state: checked, applied to a copy; those that lead into a JSON text |
| `assignments`, `written` | edits as people write them, and as a Python program gives them |
| `call_edits` | edits of what came back of a call: results, errors, models' answers |
| `said` | what a model said, in the form in which that is edited |
| `request_edits` | edits of every later request: system prompt, model, parameters |
| `kept_conversations` | conversations that a provider keeps, and whether a recording holds all of one |
| `muting` | undoing a step, as if it had never happened |
| `advice`, `without_effect` | what is odd about an edit that fits, and which edits nothing came of |
| `between` | the edits that lie between two states |
| `first_question` | what stands for the input of an agent that names none |
| `checks` | where a fork may start, and which values it can carry over |
| `code`, `entry_point`, `entry_source` | which code will run, where it lies and how it takes a state |
| `breaking` | stopping it where an expression begins to hold |
| `terms` | who runs it, what it is told beside the state, how far it may go |
| `executors`, `code_by_executor` | who runs agents of other frameworks, by name |
| `boundary` | what the run called and spent, and what else it may call |
| `declared_tools`, `shown_tools` | tools that the agent's code declares, and those that its conversations show |
| `policies`, `stand_ins` | what it does with calls, and the answers of those that it does not make |
| `prepared` | answers that are there before they are asked for: recorded, or given by a person |
| `request` | a fork as it is asked for: in code, by the command, in the app |
| `plan` | all of that in one: the pre-flight |
| `answering`, `standing_still` | deciding about calls that wait, while the agent's deadlines stand still |
| `left_open` | connections and programs that an allowed call leaves open, ruled when it is over |
| `outside` | what a fork's process does outside the fork's recording, written down for the ledger |
| `guarding`, `ledger` | what reaches for the world outside of every call; what went out and what was held back |
| `entry_run`, `rebuild`, `under_terms`, `made_up` | the child's side |
"""
