# Two commands do all set-up on a machine with python3, make and a package index: `make demo` and `make test`.

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
KERNELS := $(wildcard src/pluralis/kernels/*.py src/pluralis/method/*.py src/pluralis/auditing/matching.py src/pluralis/table/csv_scan.py)

ROWS    ?= 10000000
SECONDS ?= 14400
SEED    ?= $(shell date +%s)

.PHONY: demo test test-spark cluster-demo lint coverage bench fuzz mutants docs lock clean

demo: $(VENV)/.warm-demo
	$(BIN)/pluralis demo --out demo

test: $(VENV)/.warm
	$(BIN)/pytest -q -n 2 --dist worksteal

# Needs Java 17. Clusters are tried as well with PLURALIS_LONG=1, which takes half an hour.
test-spark: $(VENV)/.spark
	$(BIN)/pytest -q -n 0 tests/engines/test_spark.py tests/engines/test_spark_clusters.py

# A cluster on this machine publishes 10,000,000 rows; ROWS says otherwise.
cluster-demo: $(VENV)/.spark
	$(BIN)/python -m benchmarks.cluster_demo --rows $(ROWS)

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases experiments benchmarks fuzz
	$(BIN)/lint-imports

# Lines of src that the tests run, compiled functions excepted; fails below 95 %.
coverage: $(VENV)/.warm
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n 2 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(VENV)/.warm
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.cores
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.queries
	$(BIN)/python -m benchmarks.attacks
	$(BIN)/python -m benchmarks.persons
	$(BIN)/python -m benchmarks.audit

# An hour of each fuzzer, or SECONDS in all. Cases that fail are written to fuzz/found; SEED repeats a run. Where there
# is an hour or more, the tests are run as well, on other tables than in every run, and three times as many.
fuzz: $(VENV)/.warm
	$(BIN)/python -m fuzz.run all --seconds $(SECONDS) --seed $(SEED)
	test $(SECONDS) -lt 3600 || PLURALIS_LONG=1 $(BIN)/pytest -q -n 2 --dist worksteal --hypothesis-profile random --hypothesis-seed $(SEED)

# Mutation testing of the audit, of reading releases and of randomness; hours.
mutants: $(VENV)/.warm
	$(BIN)/python -m fuzz.mutants

# What docs show of the program is pasted by this, and a test checks that it was.
docs: $(VENV)/.warm
	$(BIN)/python docs/paste.py

$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Compiled kernels are cached. The cache does not notice a change in a kernel that another one calls, so it is rebuilt
# whole when any of them changes.
$(VENV)/.warm: $(VENV)/.installed $(KERNELS)
	find src experiments -name '*.nb?' -delete
	$(BIN)/python -m pluralis.cli.warm
	touch $@

# Spark and Sail take 650 MB, so that only who tests them installs them.
$(VENV)/.spark: $(VENV)/.warm requirements-spark.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-spark.lock
	touch $@

# The demo waits for its own method only.
$(VENV)/.warm-demo: $(VENV)/.installed $(KERNELS)
	find src experiments -name '*.nb?' -delete
	$(BIN)/python -m pluralis.cli.warm bsgi
	touch $@

# Needs uv (pip install uv).
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --quiet \
	  --extra all --extra dev pyproject.toml --output-file requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --quiet \
	  --extra spark --group spark pyproject.toml --constraints requirements.lock --output-file requirements-spark.lock

clean:
	rm -rf $(VENV) demo build dist .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src experiments tests benchmarks fuzz -name __pycache__ -prune -exec rm -rf {} +
