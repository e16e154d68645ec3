# `make run` shows the heat experiment, `make test` checks what is quick to check and
# `make test-all` everything. Each first makes .venv: from requirements.lock to run,
# with requirements-dev.lock on top to develop.
# Nothing else than Python 3.11 and make is needed.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
# All that a user may want; `reference` and `dev` are for tests, few have `rerun`.
RUN_EXTRAS := cluster export live mujoco naoqi report server speech video
PIP_QUIET := --quiet --disable-pip-version-check
PACKAGES := models controllers sim experiments
CHECKED := $(wildcard $(PACKAGES) tests docs examples benchmarks)
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
LINTED := $(CHECKED) $(NOTEBOOKS)
JOBS ?= 2
PYTEST = $(BIN)/pytest --quiet --numprocesses=$(JOBS) --dist=worksteal
# What the quick tests are run with besides; `make test-all` measures their coverage.
MEASURE ?=
# Environments with one engine only, beside $(VENV): MuJoCo needs a Python 3.12.
ONE_ENGINE := .venv-mujoco .venv-pybullet
PYTHON312 ?= python3.12
# What `make test-engines` runs there.
ENGINE_TESTS ?= tests
# Where `make run` puts its run; give another one to keep several.
OUT ?= runs/heat

# The matrices are small: threads inside numpy only get in the way of two processes.
export OMP_NUM_THREADS ?= 1
# Else each of some hundred processes compiles our modules anew.
export PYTHONDONTWRITEBYTECODE :=
# Text that is opened in whatever encoding a system has is an error of the tests.
export PYTHONWARNDEFAULTENCODING := 1

# Sets the shell variable `python` to a Python 3.11, or says what to do.
define FIND_PYTHON
python=""; for candidate in $${PYTHON:-python3.11 python3 python}; do \
    if "$$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
        2>/dev/null; then python=$$candidate; break; fi; \
done; \
if [ -z "$$python" ]; then \
    echo "No Python 3.11 here (python3 is: $$(python3 --version 2>&1 || true))." >&2; \
    echo "nao-testbed needs 3.11, the last Python with PyBullet wheels. Install it," >&2; \
    echo "or name it: make PYTHON=/path/to/python3.11 ..." >&2; \
    exit 1; \
fi
endef

# The quick tests in the environment of one engine; -rs says what was skipped, and why.
ON_ONE_ENGINE = { echo "== quick tests in $(1), $(JOBS) processes"; \
    $(1)/bin/pytest --quiet -rs --numprocesses=$(JOBS) --dist=worksteal \
        -p no:nbmake -m "not slow" $(ENGINE_TESTS); }

.PHONY: help run bench test test-all test-engines format lint types quick long docs lock clean

help:  ## say what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

run: $(READY)  ## two robots stand for 15 minutes; prints the table, draws the figures
	@echo "== two robots stand for 15 minutes of their time: half a minute or so of yours"
	@$(BIN)/nao-testbed heat --preset document --out $(OUT)

bench: $(READY)  ## what reservations and the transmitter cost, beside references
	@$(BIN)/python -m benchmarks

# Types are checked beside the tests, and what is wrong with them is said at the end.
test: $(DEV)  ## format, lint, types, documents and quick tests: four minutes
	@$(MAKE) lint
	@said=$$(mktemp); status=0; \
	$(MAKE) types >"$$said" 2>&1 & types=$$!; \
	trap 'kill "$$types" 2>/dev/null || true; rm -f "$$said"' EXIT; \
	$(MAKE) quick || status=$$?; \
	wait "$$types" || status=$$?; \
	cat "$$said"; \
	exit $$status
	@echo "== all quick checks passed"

test-all: $(DEV)  ## the same with coverage, then slow tests, examples and notebooks
	@status=0; \
	$(MAKE) test MEASURE="--cov --cov-report= --cov-fail-under=0" || status=$$?; \
	$(MAKE) long || status=$$?; \
	exit $$status

test-engines:  ## quick tests on MuJoCo alone (Python 3.12), then on PyBullet alone
	@status=0; \
	if "$(PYTHON312)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' \
	    2>/dev/null; then \
	    $(MAKE) .venv-mujoco/.dev && $(call ON_ONE_ENGINE,.venv-mujoco) || status=1; \
	else \
	    echo "== MuJoCo alone is skipped: no Python 3.12 here (make PYTHON312=PATH names one)"; \
	fi; \
	$(MAKE) .venv-pybullet/.dev && $(call ON_ONE_ENGINE,.venv-pybullet) || status=1; \
	exit $$status

lint: $(DEV)  ## check format and style, and that generated documents are fresh
	@echo "== format and style"
	@$(BIN)/ruff format --quiet --diff $(LINTED)
	@$(BIN)/ruff check --quiet $(LINTED)
	@$(BIN)/python docs/make_requirements.py --check

types: $(DEV)  ## mypy, strict
	@echo "== types"
	@$(BIN)/mypy --no-error-summary $(CHECKED)

quick: $(DEV)  ## quick tests
	@echo "== quick tests, $(JOBS) processes"
	@$(PYTEST) -p no:nbmake $(MEASURE) -m "not slow" tests

long: $(DEV)  ## slow tests, examples and notebooks; coverage beside that of the quick
	@echo "== slow tests, examples and notebooks, $(JOBS) processes"
	@$(PYTEST) --cov --cov-append --cov-report=term:skip-covered \
	    --durations=25 --durations-min=5 --nbmake -m slow $(NOTEBOOKS) tests

format: $(DEV)  ## rewrite in the project's format
	@$(BIN)/ruff check --quiet --fix $(LINTED) || true
	@$(BIN)/ruff format --quiet $(LINTED)

docs: $(DEV)  ## write docs/requirements.md from the tests, notebooks from their scripts
	@$(BIN)/python docs/make_requirements.py
	@$(BIN)/python docs/make_notebooks.py

lock:  ## pin anew, in both locks, what pyproject.toml asks for
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(FIND_PYTHON); $$python -m venv "$$tools"; \
	"$$tools/bin/pip" install --quiet --disable-pip-version-check pip-tools; \
	export CUSTOM_COMPILE_COMMAND="make lock"; \
	compile="$$tools/bin/pip-compile --quiet --upgrade --strip-extras --no-emit-options"; \
	compile+=" --no-emit-index-url --no-emit-find-links --no-emit-trusted-host"; \
	$$compile --build-deps-for wheel $(RUN_EXTRAS:%=--extra %) \
	    --output-file=requirements.lock pyproject.toml; \
	$$compile --extra dev --constraint requirements.lock \
	    --output-file=requirements-dev.lock pyproject.toml

clean:  ## remove .venv and what tools leave; runs/ stays
	@rm -rf $(VENV) $(ONE_ENGINE) dist build htmlcov .coverage* .*_cache .hypothesis
	@find $(CHECKED) -name __pycache__ -prune -exec rm -rf {} +

# The packages of the lock; a half-made .venv has no stamp, so the next call begins anew.
$(LOCKED): requirements.lock
	@$(FIND_PYTHON); \
	echo "== making $(VENV) with $$($$python --version) (once, about a minute)"; \
	rm -rf $(VENV); \
	$$python -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_QUIET) -r requirements.lock
	@touch $@

# What tests need, beside that.
$(DEV): requirements-dev.lock $(READY)
	@echo "== adding what tests need (once, about a minute)"
	@$(BIN)/python -m pip install $(PIP_QUIET) -r requirements-dev.lock
	@touch $@

# The project itself, from this folder.
$(READY): $(LOCKED) pyproject.toml
	@$(BIN)/python -m pip install $(PIP_QUIET) --no-deps --no-build-isolation --editable .
	@echo "== compiling the kernels (once, half a minute)"
	@$(BIN)/python -m experiments.closed_loop.warm_up # compiles the kernels, for all later runs
	@touch $@

# Environments of `make test-engines`: both locks, less the other engine.
.venv-mujoco/.dev: interpreter = $(PYTHON312)
.venv-mujoco/.dev: other = pybullet
.venv-pybullet/.dev: other = mujoco-core
$(ONE_ENGINE:%=%/.dev): requirements.lock requirements-dev.lock pyproject.toml
	@python="$(interpreter)"; [ -n "$$python" ] || { $(FIND_PYTHON); }; \
	echo "== making $(@D) with $$("$$python" --version) (once, two minutes)"; \
	rm -rf $(@D); \
	"$$python" -m venv $(@D); \
	for lock in requirements.lock requirements-dev.lock; do \
	    grep -v "^$(other)==" $$lock > $(@D)/$$lock; \
	done; \
	$(@D)/bin/python -m pip install $(PIP_QUIET) \
	    -r $(@D)/requirements.lock -r $(@D)/requirements-dev.lock; \
	$(@D)/bin/python -m pip install $(PIP_QUIET) --no-deps --no-build-isolation -e .
	@touch $@
