"""The debugger: a run at one of its steps.

| module | does |
|---|---|
| `screen` | the list of its features, in the order of Esc |
| `pane_layout` | where panes lie |
| `panes` | its panes, and how they share the screen |
| `time` | the step that is shown |
| `run_reading`, `past_reading`, `watch_reading` | what is read in threads: steps, what the past is asked, watches |
| `step_reader` | steps as they are shown: kept, read ahead, and read at once where that is quick |
| `features` | what can be done with the run, a file each |
"""
