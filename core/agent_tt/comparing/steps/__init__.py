"""Which steps of two runs belong together, and what a step did.

| module | does |
|---|---|
| `moves`, `updates` | what a step did: what it asked and what came back; what it wrote where it asked nothing |
| `call_pairs` | which calls of two steps are the same, whichever lane came first |
| `costs` | what it costs to set two steps beside each other |
| `alignment` | the least costly way to do so in a lane |
| `lane_alignment` | which lanes belong together |
| `effects`, `unrecorded_effects` | what a run did to the world, and what it was kept from; outside its recording |
| `asked_tools`, `tool_calls` | the tools that only a conversation shows; which recorded calls are a tool's |
| `outcome` | how runs ended |
"""
