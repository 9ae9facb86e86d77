"""The store in a PostgreSQL database: the tables, proofs and histories of the file, asked in the same SQL.

`agent_tt.store.file` is one SQLite file; this is what stands in its place where a store has an address. All above it is
the same: who reads and writes rows knows a `Database` and a `Transaction`, and not which.

| module | does |
|---|---|
| `dialect` | our SQL in the words of PostgreSQL; texts that it has no form for |
| `schema`, `roles` | the tables, their changes from version to version; who may do what |
| `driver`, `connecting`, `errors` | the client of PostgreSQL; connections, and what their errors mean |
| `database`, `transaction` | asking; writing, one writer at a time for each run, durably |
| `moment` | asking one moment, whoever writes meanwhile |
| `queried` | what queries in SQL need of one moment |
| `purging` | writing the tables anew, without what was deleted |
| `opening` | which tables a database has; making ours |
"""
