"""Holding a running agent: it waits before its next calls, and a person looks, edits, answers, lets go.

Whoever holds writes that into the store (`Store.hold_run`); the agent's process looks before each call. A call that
waits is a question there, as that of a fork whose policy says `ask`, and is decided in the same way. What was decided,
and what was changed of the state, is recorded as an input: a replay does it again at the same place.

| module | what it does |
|---|---|
| `offered` | lets `record(..., attach=True)` begin it; loads nothing else |
| `attaching` | the link, and clocks that stand still, as long as recordings of this process are attached |
| `link` | what happens before a call of an agent that is held |
| `held_call` | what is asked about such a call, and what becomes of it |
| `conditions` | which calls are held: expressions asked of a call that waits |
"""
