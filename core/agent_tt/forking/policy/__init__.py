"""What a fork does with its calls.

| module | what it does |
|---|---|
| `policies` | the policy that is configured, and rules as they are written |
| `boundary` | what the run called and spent, and what else it may call |
| `stand_ins`, `prepared` | the answers of calls that are not made: recorded, stubbed, or given by a person |
| `answering` | deciding about calls that wait |
"""
