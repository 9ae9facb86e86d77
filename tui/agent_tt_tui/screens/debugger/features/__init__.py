"""What can be done with a run at one of its steps: each feature has its commands, and says why they are of no use now.

| module | does |
|---|---|
| `base` | what all features know, and what all can do |
| `playing`, `breakpoints`, `marks`, `writes` | going on by itself, and to steps that matter |
| `inspecting`, `diff_base`, `ranges`, `pending_writes` | what is shown of the step, and with what it is compared |
| `columns` | which columns the timeline has |
| `context_reading`, `contexts`, `causes` | what models were shown, and which steps fed which |
| `find`, `watches`, `oddities`, `blame` | what the run is asked |
| `editing`, `forking`, `related` | editing, running on with the edits, runs around this one |
| `places`, `own_commands` | what the palette goes to; commands of the user's own |
| `asking_again` | asking a model again what a call asked |
| `tour`, `signs`, `explained` | what can be done here and what signs mean, said once; the tour also for a key |
| `exporting` | writing the run into a file for others |
| `divergences`, `pdb` | what a replay found, and pdb inside one |
"""
