# `make` lists the targets. Override the interpreter with `make PYTHON=python3.12 venv`.

PYTHON ?= python3
VENV ?= .venv
COVERAGE ?= 95

PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
PYTEST := $(PY) -m pytest
OLDEST := .venv-oldest
BENCH := experiments/benchmarks
BENCHED := experiments/results/benchmarks
COVERED := --cov --cov-branch --cov-report=
SOAKED := $(addprefix tests/test_,addresses.py fuzz.py guard.py disk.py hostile_files.py saving_hostile.py cli_checkpoint.py)

.DEFAULT_GOAL := help
.PHONY: help venv venv-locked lock test lint format test-jit test-jit-first test-jit-second test-nojit
.PHONY: test-coverage test-boundscheck test-wheel test-oldest soak demo bench docs docs-tables docs-outputs notebooks clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

venv: $(STAMP)  ## create .venv and install everything; again only when pyproject.toml changes

# hatchling first, then no build isolation: once the packages are there, no network is needed.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "efcml needs Python 3.11 or newer; set PYTHON=")'
	@$(PY) -m pip --version >/dev/null 2>&1 || { echo "creating $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "installing $(2) into $(VENV)"
	@$(PY) -m pip install --quiet "hatchling>=1.27"
	@$(PY) -m pip install --quiet --no-build-isolation --editable "$(1)"
	@$(PY) -c "import efcml; efcml.warmup(rare=False)"
endef

$(STAMP): pyproject.toml
	$(call install,.[dev],efcml and its tools)
	@touch $(DEMO_STAMP) $@

# The demo does without the tools; the others add them when they are needed.
$(DEMO_STAMP): pyproject.toml
	$(call install,.,efcml)
	@touch $@

venv-locked:  ## create .venv with exactly the versions of requirements-dev.lock
	$(PYTHON) -m venv --clear $(VENV)
	$(PY) -m pip install --quiet --require-hashes -r requirements-dev.lock
	$(PY) -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $(DEMO_STAMP) $(STAMP)

lock: $(STAMP)  ## write requirements-dev.lock from what is installed; after make test
	$(PY) tests/tools/write_lock.py > requirements-dev.lock.new
	mv requirements-dev.lock.new requirements-dev.lock

# Two at a time: every check is one process. Their output comes when each one ends.
test: $(STAMP)  ## every check
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) \
		lint test-coverage test-wheel

lint: $(STAMP)  ## format, rules of style, types, import contracts
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' --no-logo

format: $(STAMP)  ## rewrite the files in the common format
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .

test-jit: test-jit-first test-jit-second  ## tests of the compiled code, and all slow ones

# Two halves that take as long as each other.
test-jit-first: $(STAMP)
	$(call compiled,first) efcml experiments/efcml_paper $(wildcard tests/test_[a-l]*.py)

test-jit-second: $(STAMP)
	$(call compiled,second) $(filter-out $(wildcard tests/test_[a-l]*.py),$(wildcard tests/test_*.py))

compiled = COVERAGE_FILE=.coverage.$(1) $(PYTEST) -q -m "not wheel and not long and (slow or not plain)" $(COVERED)

test-nojit: $(STAMP)  ## tests of kernels without compilation, and those that need none
	COVERAGE_FILE=.coverage.nojit NUMBA_DISABLE_JIT=1 \
		$(PYTEST) -q -m "not slow and not wheel and not long and (plain or twice)" $(COVERED)

test-coverage: test-jit test-nojit  ## branches that both together reach
	$(PY) -m coverage combine --quiet --keep .coverage.first .coverage.second .coverage.nojit
	$(PY) -m coverage report --fail-under=$(COVERAGE)

# The tests that count for the branches of kernels: together they reach all of them. Uncompiled, they
# check every index too, so that this is left to `make soak`.
test-boundscheck: $(STAMP)  ## tests of kernels with checked indices
	NUMBA_BOUNDSCHECK=1 $(PYTEST) -q -m "twice and not slow" tests

test-wheel: $(STAMP)  ## build the wheel and use it outside the checkout
	$(PYTEST) -q -m wheel tests/test_packaging.py

# Old packages warn of new ones that they use: here no warning is an error. Pages, notebooks and
# the site are made with the newest packages only.
test-oldest: $(OLDEST)/.installed  ## tests with the oldest versions that pyproject.toml allows
	$(OLDEST)/bin/python -m pytest -q -m "not wheel" -W default \
		$(addprefix --ignore=tests/test_,docs.py notebooks.py site.py gallery.py)

$(OLDEST)/.installed: pyproject.toml tests/tools/oldest_versions.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python tests/tools/oldest_versions.py > $(OLDEST)/pins.txt
	$(OLDEST)/bin/python -m pip install --quiet -r $(OLDEST)/pins.txt
	$(OLDEST)/bin/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

# One process at a time, behind everything else. Long streams are taken up where they ended.
soak: $(STAMP)  ## long streams, faults, hostile files, checked indices at length; most of an hour
	EFCML_CACHE=0 nice -n 19 $(PY) experiments/soak/long_streams.py \
		--out experiments/results/soak/long_streams.json
	EFCML_SOAK=1 nice -n 19 $(PYTEST) -q $(SOAKED)
	nice -n 19 $(PYTEST) -q -m long
	nice -n 19 $(MAKE) --no-print-directory test-boundscheck
	$(PY) docs/tools/write_docs.py

demo: $(DEMO_STAMP)  ## run the built-in stream; table on screen, figures and report in demo/
	$(PY) experiments/demo/demo.py $(DEMO_ARGS)

# The on-disk cache can be stale after an edit, so benchmarks compile anew.
bench: $(STAMP)  ## benchmarks, about an hour; all data sets must be there
	$(PY) $(BENCH)/first_fit.py --out $(BENCHED)/first_fit.json
	EFCML_CACHE=0 $(PY) $(BENCH)/update_speed.py --out $(BENCHED)/update_speed.json
	$(PY) $(BENCH)/following_speed.py --out $(BENCHED)/following_speed.json
	$(PY) $(BENCH)/gaps_speed.py --out $(BENCHED)/gaps_speed.json
	$(PY) $(BENCH)/labels_speed.py --out $(BENCHED)/labels_speed.json
	$(PY) $(BENCH)/tuning_speed.py --out $(BENCHED)/tuning_speed.json
	$(PY) $(BENCH)/mediamill_pass.py --out $(BENCHED)/mediamill_pass.json
	EFCML_CACHE=0 $(PY) $(BENCH)/active_speed.py --out $(BENCHED)/active_speed.json
	EFCML_CACHE=0 $(PY) $(BENCH)/update_phases.py --out $(BENCHED)/update_phases.json
	EFCML_CACHE=0 $(PY) $(BENCH)/scaling.py --out $(BENCHED)/scaling.json
	$(PY) $(BENCH)/memory.py --out $(BENCHED)/memory.json
	$(PY) $(BENCH)/peers.py --out $(BENCHED)/peers.json
	$(PY) docs/tools/draw_speed.py
	$(PY) docs/tools/write_docs.py

docs: $(STAMP)  ## the site, in docs/_build/html; a warning is an error
	$(PY) -m sphinx -W --keep-going -n -q -b html -d docs/_build/trees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-tables: $(STAMP)  ## rewrite the generated tables of README.md and docs/
	$(PY) docs/tools/write_docs.py

docs-outputs: $(STAMP)  ## rewrite what the examples and commands of the pages print
	$(PY) docs/tools/write_outputs.py

notebooks: $(STAMP)  ## execute the notebooks again, in place
	$(PY) docs/tools/run_notebooks.py

clean:  ## remove caches and results, keep .venv
	rm -rf .numba_cache .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis .benchmarks
	rm -rf .coverage .coverage.* htmlcov build dist demo docs/_build docs/api docs/notebooks experiments/soak/state
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | xargs rm -rf
