"""Commands that keep order among runs.

| module | does |
|---|---|
| `rename`, `note`, `tag`, `meta` | what people write down about runs |
| `pin`, `archive`, `delete` | keeping runs, hiding them, and letting them go |
| `copy` | runs from one store into another |
| `du`, `prune`, `prune_runs` | what fills a file; making a LangGraph database, or a store, smaller |
| `drop` | steps whose states are not kept any more |
| `importing` | copying threads of a LangGraph database into a store |
| `exporting`, `screen_picture` | writing runs as files that others can read |
| `otel` | sending runs to an OpenTelemetry collector |
| `originals` | what marks of personal data stand for, with the key of the vault |
| `redact` | what redaction would take out of a run or a file, and taking it out of runs |
| `verify` | finding what is damaged |
"""
