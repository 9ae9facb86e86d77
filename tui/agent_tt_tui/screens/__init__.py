"""The screens and dialogs, and what they do beside showing: reading in threads, running agents.

| module | does |
|---|---|
| `runs` | the list of runs, and what can be done with the runs in it |
| `debugger` | the debugger, and its features |
| `compare` | two runs side by side, one and many in a table |
| `sweep` | the matrix of a sweep, beginning one, going to one |
| `golden` | keeping a run as a test, and running the tests that are kept |
| `statistics` | what can be counted over the runs of a store |
| `running` | forking, replaying, resuming, deciding and stopping, on any screen that shows runs |
| `dialogs` | dialogs that ask for a line, a choice or an edit, or show what is known of a run |
| `first` | the first page: sessions on this machine, files of a folder |
| `searching` | the work of full-text search, for the debugger and for all runs |
"""
