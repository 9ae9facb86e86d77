"""What a person changes before a fork.

| module | what it does |
|---|---|
| `edits`, `json_text` | edits of a state: checked, applied to a copy; those that lead into a JSON text |
| `forms` | the forms in which people write edits: `set`, `result`, `mute` |
| `assignments`, `written` | edits as people write them, and as a Python program gives them |
| `typed_text` | what was typed, as a value of the type that was recorded there |
| `call_edits` | edits of what came back of a call: results, errors, models' answers |
| `answer_text` | what a model said, in the form in which that is edited |
| `request_edits` | edits of every later request: system prompt, model, parameters |
| `kept_conversations` | conversations that a provider keeps, and whether a recording holds all of one |
| `muting` | undoing a step, as if it had never happened |
| `edit_warnings`, `without_effect` | what is odd about an edit that fits, and which edits nothing came of |
| `between` | the edits that lie between two states |
| `first_question` | what stands for the input of an agent that names none |
"""
