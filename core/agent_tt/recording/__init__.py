"""Recording: what turns a running agent into rows of a store.

| module | what it does |
|---|---|
| `record` | `agent_tt.record(...)`: what it is told, and who calls it |
| `recorder` | one run while it is recorded, from its first row to its last |
| `steps` | the steps of a run and what is told about them |
| `model_steps`, `model_turns` | steps of a run whose agent names none: one for each model call |
| `conversations`, `kept_turns` | which of those belong to one conversation, and what the provider keeps of it |
| `checkpointing` | which steps get a checkpoint |
| `calls`, `call_spec` | one call: intent first, then the function, then what came back |
| `beginning_calls`, `call_facts` | where a call belongs, and what is shown of it beside its arguments |
| `exchange` | one call that crosses the network: a question, answered in pieces |
| `changed_arguments` | what a function did to its arguments |
| `kept_headers` | headers that count as part of a question |
| `passing` | what is made for real on purpose |
| `held_draws` | draws made between steps, until a step can hold them |
| `session`, `links` | the interception chain of this process, and what its links may do |
| `answers`, `served` | a call as it is put to a link, and giving a link's answer in place of the function's |
| `pace`, `arrival`, `timers` | how an awaited answer came, for a replay to keep the same pace |
| `handover` | threads take their answers one after another |
| `job_ends` | when an executor's job is over: when it has been told |
| `list_order` | `as_completed` of jobs in an order that no memory address decides |
| `boundary` | wrapping functions of every nature so that their calls are recorded |
| `streams` | recording what a generator gives |
| `call_site` | which line of the agent makes a call |
| `signature` | the arguments of a call by name, and its digest |
| `contexts` | what is given to a tool beside its question, and is shown and not compared |
| `usage` | tokens and money of an answer |
| `tools`, `llm` | the decorators for tools and model calls |
| `block` | what begins and ends with a `with` block |
| `shared_end` | the end of a call, as forked processes see it |
| `native_libraries` | which libraries reach the world by themselves, where no guard of a fork or replay sees them |
| `import_watch`, `fitness` | being called when a module has been executed; whether it is made as taken for granted |
| `loaded_modules` | which loaded modules are not as they were |
| `rebinding` | replacing a function under every name that loaded modules have for it |
| `scope` | where the agent is: in which run, step and call |
| `lanes`, `hooks` | logical threads of control, and the seams at which they are created |
| `concurrency` | tasks, jobs and threads of every library |
| `cancellation` | exceptions by which an agent stops waiting |
| `tracks` | which state object each state history follows |
| `snapshot` | what is kept of a state object |
| `exceptions`, `exception_values`, `special_exceptions` | exceptions as data |
| `output` | what the agent prints on standard output |
| `outcome`, `interruption` | what an exception says about how it ended |
| `journal`, `fallback` | the one way from a recording to its store, and where it goes when that fails |
| `entry` | which code an agent runs and where a fork finds it again |
| `child_process`, `process_runs` | what other processes record into the run, and which of its process's runs it is |
| `edited_arguments` | what goes out where a person changed it |
"""
