# `make check` is what CI runs. Every target works in the environment of the `python` that is first on PATH.
.PHONY: check lint types layers test quick bench peers frameworks node flips schema survival copies holds mutants pictures samples

check: lint types layers test

lint:
	ruff check .
	ruff format --check .

types:
	mypy

layers:
	lint-imports

test:
	python -m pytest -n 2

# About a minute on two cores: nearly half of the tests, those that are fast. tests/quick.txt names their files.
quick:
	python -m pytest -n 2 -q @tests/quick.txt

bench:
	python tests/benchmarks/bench_store.py
	python tests/benchmarks/bench_screen.py
	python -m tests.benchmarks.bench_keys
	python tests/benchmarks/bench_opening.py
	python tests/benchmarks/bench_ask.py
	python tests/benchmarks/bench_reading.py
	python tests/benchmarks/bench_large_langgraph.py
	python tests/benchmarks/bench_compare.py
	python tests/benchmarks/bench_find.py
	python tests/benchmarks/bench_context.py
	python -m tests.benchmarks.bench_http
	python -m tests.benchmarks.bench_replay
	python tests/benchmarks/bench_langgraph.py
	python tests/benchmarks/bench_hostile.py
	python -m tests.benchmarks.bench_postgres
	python -m tests.benchmarks.bench_live_spans

# The same small agent forked by agent-tt and by other tools, which are installed for it: some minutes.
peers:
	nice python -m tests.benchmarks.refund_peers

# Agents of frameworks that the tests do not install, which are installed for it: some minutes for each.
frameworks:
	nice python -m tests.benchmarks.frameworks

# A Node agent on OpenAI's SDK, which is installed for it, recorded through the proxy.
node:
	nice python -m tests.benchmarks.node_agent

# 2,000 single flipped bits, each verified and replayed: some minutes.
flips:
	python -m tests.benchmarks.bit_flips

# 10,000 requests to `agent-tt serve`, made up by its own description: some minutes.
schema:
	AGENT_TT_SCHEMA_EXAMPLES=135 python -m pytest -q -rP tests/core/serving/rest/schema_requests.py

# 16 processes record 1,000 durable steps each into PostgreSQL, with two crashes and restarts of the server and ten kills: some
# minutes. The suite does it with four processes.
survival:
	AGENT_TT_SURVIVAL=16x1000 nice python -m pytest -q tests/core/store/postgres/test_survival.py

# 1,000 runs with forks, notes and names copied from a file into PostgreSQL and back: digests, states and a golden are equal.
copies:
	AGENT_TT_COPIED_RUNS=1000 nice python -m pytest -q tests/core/store/postgres/test_copying.py -k copy_to_a_server_and_back

# An agent that works is held, changed and let go 100 times, in each of three kinds of concurrency; then replayed.
holds:
	AGENT_TT_HOLDS=100 nice python -m pytest -q tests/core/holding/test_held_runs.py -k again_and_again

# Small changes to the code that no test notices: a random sample of each package, or all with SAMPLE=all. Wants the
# extra `mutants`. The sample takes half an hour or more, all of them most of a day.
SAMPLE ?= 200
SEED ?= 1
mutants:
	nice python -m tests.mutants --sample $(SAMPLE) --seed $(SEED)

pictures:
	python tests/tui/pictures.py

samples:
	python sample_runs/build.py
