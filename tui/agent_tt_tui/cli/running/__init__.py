"""Commands that run agents, and stop them.

| module | does |
|---|---|
| `record`, `replay`, `resume`, `fork` | an agent's first run, and the ways of running it again |
| `fork_options` | the options of a fork, and the request that they make |
| `again` | asking a model once more what a recorded call asked |
| `golden`, `testing` | keeping runs as tests, and running those |
| `golden_text` | what is said of them |
| `recorded` | running recorded runs again as a suite: better, equal or worse |
| `steady` | running a program twice, the second time with the recorded answers |
| `following`, `trust` | telling how a run goes on until it ends; asking before foreign code is run |
| `questions`, `answer` | calls that wait for a decision: asked here, and answered from elsewhere |
| `hold` | letting a running agent wait before its next calls |
| `settle` | saying whether a call happened that is done once for its key |
| `stop` | ending runs, whoever started them |
"""
