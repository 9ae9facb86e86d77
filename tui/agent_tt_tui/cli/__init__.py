"""The commands of `agent-tt`, one file each, in folders.

| module | does |
|---|---|
| `root`, `options`, `errors` | the group, which imports what is used; what all have; how each fails |
| `terminal`, `wording`, `progress` | writing for people: tables, words and glyphs, a line that counts |
| `changes`, `effects` | changes of a state as text; what a run did to the world |
| `marks` | what the commands have in common that write something down about runs |
| `looking` | showing what is there: `runs`, `tree`, `open`, `show`, `samples`, `plugins` |
| `asking` | asking about what was recorded: `find`, `sql`, `blame`, `bisect`, `watch`, `mcp` |
| `comparing` | what differs: `diff`, `compare` |
| `running` | running agents: `record`, `replay`, `resume`, `fork`, `answer`, `stop` |
| `sweeping` | the same fork with many values: `sweep` |
| `keeping` | order among runs: `rename`, `note`, `tag`, `meta`, `pin`, `archive`, `delete`, `verify` |
"""
