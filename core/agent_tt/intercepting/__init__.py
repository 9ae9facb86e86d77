"""Interception: the links of the one chain that each step, call and request of an agent passes through.

A link is a class with some of the hooks of `agent_tt.recording.links.Link`; its `Place` says where it stands. The
session of the process (`agent_tt.recording.session`) holds the chain. The recorder walks through it and knows no link.

| module | what it does |
|---|---|
| `run_handoff` | which run a recording fills, or into which store it writes |
| `limits`, `limit_enforcement` | how far a fork may go; the link that stops it there |
| `recorded_responses` | answers from a recording, or made up |
| `policy`, `rules` | which calls are made, answered, asked about and refused; how people write that |
| `policy_enforcement` | carrying that out |
| `approvals`, `asking` | asking a person about a call, through the store |
| `held_time` | how long calls have waited for a person |
| `standing_still` | the agent's deadlines stand still meanwhile |
| `inherited` | the chain of a Python process that a forked agent starts |

Other links stand where what they work with is: edits (`agent_tt.reentering.amended`), the moved clock
(`agent_tt.replaying.clock.virtual_time`), the guard (`agent_tt.replaying.guard.guard`) and what a fork does outside of
its recording (`agent_tt.forking.outside.outside`, `agent_tt.forking.outside.left_open`).
"""
