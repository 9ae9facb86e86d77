"""Files that may hold runs, found on this machine: sessions of coding agents, and what lies in a folder.

Nothing large is read whole to be listed, nothing that a file names is opened, and nothing leaves the machine.

| module | does |
|---|---|
| `places` | where programs keep their sessions: a table |
| `sessions` | listing them by what the beginning and the end of a file say |
| `measures` | what a session comes to: steps, cost, context |
| `folders` | the files of a folder, and which of them open |
"""
