# `make` lists the targets. Override the interpreter with `make PYTHON=python3.12 venv`.

PYTHON ?= python3
VENV ?= .venv
COVERAGE ?= 95

PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
NIGHTLY_STAMP := $(VENV)/.installed-nightly
COMPILED := $(VENV)/.compiled
PYTEST := $(PY) -m pytest
OLDEST := .venv-oldest
# Output of what runs at the same time comes when each one ends.
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.PHONY: help venv test test-all lint format test-jit test-nojit test-boundscheck test-oldest
.PHONY: demo evidence docs docs-tables docs-outputs notebooks clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

venv: $(COMPILED)  ## create .venv, install what make test needs, compile; again only after changes

# hatchling first, then no build isolation: once the packages are there, no network is needed.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "efcml needs Python 3.11 or newer; set PYTHON=")'
	@$(PY) -m pip --version >/dev/null 2>&1 || { echo "creating $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "installing $(2) into $(VENV)"
	@$(PY) -m pip install --quiet "hatchling>=1.27"
	@$(PY) -m pip install --quiet --no-build-isolation --editable "$(1)"
endef

$(STAMP): pyproject.toml
	$(call install,.[dev],efcml and its tools)
	@touch $(DEMO_STAMP) $@

# The demo does without the tools; the others add them when they are needed.
$(DEMO_STAMP): pyproject.toml
	$(call install,.,efcml)
	@touch $@

$(NIGHTLY_STAMP): pyproject.toml
	$(call install,.[nightly],efcml and all that its tests can use)
	@touch $(DEMO_STAMP) $(STAMP) $@

# Into the one cache that users and tests share; demo compiles what it needs by itself.
$(COMPILED): $(STAMP) efcml/_jit.py $(wildcard efcml/kernels/*.py)
	@echo "compiling"
	@$(PY) -c "import efcml; efcml.warmup()"
	@touch $@

# Two at a time: while kernels are compiled, what needs none of them; then both cores for the rest.
test: $(STAMP)  ## the gate: style, types, tests compiled and uncompiled, the wheel
	@$(MAKE) --no-print-directory -j2 $(SYNC) test-nojit lint $(COMPILED)
	@$(MAKE) --no-print-directory test-jit

test-all: $(NIGHTLY_STAMP)  ## everything: the gate, and what takes long or needs much; up to an hour
	@$(MAKE) --no-print-directory test
	HYPOTHESIS_PROFILE=all $(PYTEST) -q -n 2 -m "long or hypothesis"
	@$(MAKE) --no-print-directory test-boundscheck
	@$(MAKE) --no-print-directory docs

lint: $(STAMP)  ## format, rules of style, types, import contracts
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' --no-logo

format: $(STAMP)  ## rewrite the files in the common format
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .

test-jit: $(COMPILED)  ## tests of the compiled code, in two processes
	$(PYTEST) -q -n 2 -m "not long"

test-nojit: $(STAMP)  ## kernels, model and their slow twin without compilation, with their branches
	NUMBA_DISABLE_JIT=1 $(PYTEST) -q -n 2 -m "uncompiled and not slow and not long" tests \
		--cov --cov-branch --cov-report= --cov-fail-under=$(COVERAGE)

test-boundscheck: $(STAMP)  ## the same, compiled with checked indices
	NUMBA_BOUNDSCHECK=1 $(PYTEST) -q -n 2 -m uncompiled tests

# Old packages warn of new ones that they use: here no warning is an error.
test-oldest: $(OLDEST)/.installed  ## the gate's tests with the oldest versions that pyproject.toml allows
	$(OLDEST)/bin/python -m pytest -q -n 2 -m "not long" -W default
	$(OLDEST)/bin/python -m pytest -q -W default tests/test_dask.py

$(OLDEST)/.installed: pyproject.toml tests/tools/oldest_versions.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python tests/tools/oldest_versions.py > $(OLDEST)/pins.txt
	$(OLDEST)/bin/python -m pip install --quiet -r $(OLDEST)/pins.txt
	$(OLDEST)/bin/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

demo: $(DEMO_STAMP)  ## run the built-in stream; table on screen, figures and report in demo/
	$(PY) experiments/demo/demo.py $(DEMO_ARGS)

evidence: $(NIGHTLY_STAMP)  ## records, tables, outputs, pictures anew; QUICK=1: all on little data
	$(PY) experiments/evidence.py $(if $(QUICK),--quick)

docs: $(NIGHTLY_STAMP)  ## the site, in docs/_build/html; a warning is an error
	$(PY) -m sphinx -W --keep-going -n -q -b html -d docs/_build/trees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-tables: $(NIGHTLY_STAMP)  ## rewrite the generated tables of README.md and docs/
	$(PY) docs/tools/write_docs.py

docs-outputs: $(NIGHTLY_STAMP)  ## rewrite what the examples and commands of the pages print
	$(PY) docs/tools/write_outputs.py

notebooks: $(NIGHTLY_STAMP)  ## execute the notebooks again, in place
	$(PY) docs/tools/run_notebooks.py

clean:  ## remove caches and results, keep .venv
	rm -rf .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	rm -rf .coverage htmlcov build dist demo docs/_build docs/made
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | xargs rm -rf
