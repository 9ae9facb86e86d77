"""Commands that keep order among runs.

| module | does |
|---|---|
| `rename`, `note`, `tag`, `meta` | what people write down about runs |
| `pin`, `archive`, `delete` | keeping runs, hiding them, and letting them go |
| `verify` | finding what is damaged |
"""
