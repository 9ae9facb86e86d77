"""What reaches for the world outside of every call.

| module | what it does |
|---|---|
| `guarding` | holding it back |
| `outside` | writing down what was done or held back there |
| `left_open` | connections and programs that an allowed call leaves open, ruled when it is over |
| `ledger` | what went out and what was held back, in all |
"""
