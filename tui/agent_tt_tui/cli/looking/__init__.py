"""Commands that show what is there.

| module | does |
|---|---|
| `runs`, `tree`, `open`, `show` | runs in a list, as a tree, in the terminal app; one run or step as text |
| `replays`, `stats` | what came of replays; counting over all runs |
| `sessions` | sessions of coding agents on this machine |
| `calls` | a call as text |
| `samples`, `plugins` | the agents that come with agent-tt; what packages add to it |
| `doctor` | what is found on this machine, what is missing, what is wrong |
"""
