"""The commands of `agent-tt`, one file each.

| module | does |
|---|---|
| `root`, `options`, `errors` | the group, which imports what is used; what all have; how each fails |
| `terminal`, `wording`, `progress` | writing for people: tables, words and glyphs, a line that counts |
| `shapes` | writing for programs; the shapes are stable |
| `runs`, `tree`, `open`, `show`, `samples`, `plugins`, `verify` | seeing what is there |
| `named` | runs and states by name, in other files too |
| `diff`, `changes`, `compare`, `compare_many` | what differs between two states, two runs, one run and many |
| `table_text`, `table_shapes`, `answers_text` | the table of many runs, for people and for programs; equal answers |
| `lanes_text` | what became of each lane of two runs |
| `find`, `blame`, `bisect`, `watch`, `watch_text`, `sql` | asking the past |
| `record`, `replay`, `resume`, `fork`, `answer`, `stop` | running agents, and stopping them |
| `following`, `asking`, `stopping`, `trust` | how a run goes on, what it waits for, its end; may it run |
| `edit_options`, `policy_options`, `fork_request` | the options of a fork, and the request that they make |
| `calls`, `effects` | a call, and what a run did to the world, as text |
| `sweep`, `sweep_options`, `sweep_text`, `sweep_shapes` | the same fork with many values |
| `marks`, `rename`, `note`, `tag`, `meta` | what people write down about runs; what its commands share |
| `pin`, `unpin`, `archive`, `unarchive`, `delete` | keeping runs, and letting them go |
"""
