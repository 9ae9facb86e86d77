"""A program in any language, recorded at the boundary of the model: its requests to providers go through a proxy.

`python -m agent_tt.proxying` is a Python program that starts the other one and forwards its requests. That is what is
recorded, replayed and forked, as any program is: each request that it forwards is a call, caught where it leaves.

| module | what it does |
|---|---|
| `upstreams` | which providers there are: the variables that name their addresses, and where they really are |
| `server` | the loopback port that the program asks, and its unguessable path |
| `forwarding` | one request: to the provider, and its answer back, piece by piece |
| `child` | the program itself, and its end |
"""
