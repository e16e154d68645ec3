# `make run` shows the heat experiment, `make test` checks what is quick to check and
# `make test-all` everything. Each first makes .venv: from requirements.lock to run,
# with requirements-dev.lock on top to develop.
# Nothing else than a Python from 3.11 to 3.14 and make is needed.

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
# All that a user may want; `docs`, `reference` and `dev` are for developers, few have `rerun`.
RUN_EXTRAS := cluster export gym live logs mujoco naoqi policies report server speech video
PIP_QUIET := --quiet --disable-pip-version-check
# pip would compile all that packages have, for 40 s. Compiled beside the kernels are our
# modules and what later commands import, since PYTHONDONTWRITEBYTECODE may keep them from
# it; not what `make run` and `make test` compile as they import it, and what is rare.
PIP_LOCK = -m pip install $(PIP_QUIET) --no-compile
IMPORTED := scipy|pandas|numpy|numba|llvmlite|matplotlib|PIL|pyarrow|pydantic|ruamel
RARE := tests?|testing|pip|setuptools|hatchling|fontTools|pygments|pybullet_[a-z]+
RARE := $(RARE)|onnxruntime|distributed|dask|gymnasium|trove_classifiers|google
BYTECODE = -m compileall -q -x '/($(IMPORTED)|$(RARE))/' $(VENV)/lib models controllers sim experiments
BESIDE := tests docs examples benchmarks studies
CHECKED := models controllers sim experiments src/nao_testbed/__init__.py src/almath.py src/motion.py src/vision_definitions.py $(BESIDE)
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
LINTED := $(CHECKED) $(NOTEBOOKS)
JOBS ?= 2
# Text that is opened in whatever encoding a system has is an error of the tests (and of
# pip, which does so: it is not told).
STRICT := PYTHONWARNDEFAULTENCODING=1
PYTEST = $(STRICT) $(BIN)/pytest --quiet --numprocesses=$(JOBS) --dist=worksteal
BUILD_NEEDS = print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
# What the quick tests are run with besides: 40 drawn cases of each law; `make test-all`
# measures their coverage and draws 100.
MEASURE ?= --hypothesis-profile=quick
# The systems as on which types are checked; `make test-all` asks for all three.
EVERY_PLATFORM := linux darwin win32
PLATFORM = $(shell $(BIN)/python -c 'import sys; print(sys.platform)')
PLATFORMS ?= $(PLATFORM)
# The interpreters of `make test-pythons`.
PYTHONS ?= 3.11 3.12 3.13 3.14
# Which one `make run` prefers: first those with wheels of everything, then 3.13, which
# lacks those of qi, then 3.14, which lacks PyBullet's. Linux on ARM has neither: newest.
PREFERRED := 3.12 3.11 3.13 3.14
ifeq ($(shell uname -m),aarch64)
PREFERRED := 3.14 3.13 3.12 3.11
endif
# Environments beside $(VENV): with one engine only, without a lock, on one Python each.
OTHERS := $(addprefix .venv-,mujoco pybullet newest $(PYTHONS))
# What `make test-engines`, `test-newest` and `test-pythons` run there.
OTHER_TESTS ?= tests
# Where `make run` puts its run; give another one to keep several.
OUT ?= runs/heat

# The matrices are small: threads inside numpy only get in the way of two processes.
export OMP_NUM_THREADS ?= 1
# Else each of some hundred processes compiles our modules anew.
export PYTHONDONTWRITEBYTECODE :=

# A Python that is asked for has to do; $(VENV) of another one is made anew.
ifneq ($(PYTHON),)
ASKED := $(or $(shell "$(PYTHON)" --version 2>/dev/null),nothing that runs)
ifeq ($(filter $(PREFERRED:%=%.%),$(word 2,$(ASKED))),)
$(error No Python 3.11 to 3.14 here ($(PYTHON) is: $(ASKED)). Install one, or name it: make PYTHON=/path/to/python3.12)
endif
ifneq ($(MAKECMDGOALS),which)
$(shell [ "$(ASKED)" = "$$($(BIN)/python --version 2>&1)" ] || rm -f $(LOCKED))
endif
endif

# Prints the first of some commands that is one of these Pythons: $(call FIRST,commands,versions)
FIRST = type -ap $(1) | while read -r one; do \
    if "$$one" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] not in '$(2)'.split())" \
        2>/dev/null; then echo "$$one"; break; fi; \
done || true

# Sets the shell variable `python` to the best one here, or says what to do.
define FIND_PYTHON
python=$$($(call FIRST,$${PYTHON:-$(PREFERRED:%=python%) python3 python},$(PREFERRED))); \
if [ -z "$$python" ]; then \
    echo "No Python 3.11 to 3.14 here (python3 is:" \
        "$$(python3 --version 2>&1 || true)). Install one," >&2; \
    echo "or name it: make PYTHON=/path/to/python3.12 ..." >&2; \
    exit 1; \
fi
endef

# The quick tests in another environment; -rs says what was skipped, and why.
IN_ANOTHER = { echo "== quick tests in $(1), $(JOBS) processes"; \
    $(STRICT) $(1)/bin/pytest --quiet -rs --numprocesses=$(JOBS) --dist=worksteal \
        -m "not slow" $(OTHER_TESTS); }

.PHONY: help which run bench test test-all test-engines test-newest test-pythons format lint types \
    quick long docs site notebooks lock clean

help:  ## say what can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

which:  ## say which Python `.venv` is made with
	@$(FIND_PYTHON); echo "$$($$python --version): $$python"

run: $(READY)  ## two robots stand for 15 minutes; prints the table, draws the figures
	@echo "== $$($(BIN)/python --version): two robots stand for 15 minutes of their time: half a minute or so of yours"
	@$(BIN)/nao-testbed heat --preset document --out $(OUT)

bench: $(READY)  ## what loop, commands and reservations cost; BESIDE=HEAD~1: in turn with that commit
	@$(BIN)/python -m benchmarks $(if $(BESIDE),--beside $(BESIDE))

# Types are checked beside the tests, and what is wrong with them is said at the end.
test: $(DEV)  ## format, lint, types, documents and quick tests: three minutes on two cores
	@echo "== $$($(BIN)/python --version) of $(VENV)"
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
	$(MAKE) test MEASURE="--cov --cov-report= --cov-fail-under=0" \
	    PLATFORMS="$(EVERY_PLATFORM)" || status=$$?; \
	$(MAKE) long || status=$$?; \
	exit $$status

test-engines: .venv-mujoco/.dev .venv-pybullet/.dev  ## quick tests with MuJoCo alone, then with PyBullet alone
	@status=0; \
	$(call IN_ANOTHER,.venv-mujoco) || status=1; \
	$(call IN_ANOTHER,.venv-pybullet) || status=1; \
	exit $$status

test-newest:  ## quick tests with the newest releases that pip finds, not those of the lock
	@rm -rf .venv-newest
	@$(MAKE) .venv-newest/.dev
	@$(call IN_ANOTHER,.venv-newest)

# Those of pyenv count too, whether or not they are switched on.
test-pythons:  ## quick tests on every Python from 3.11 to 3.14 that is here
	@status=0; \
	PATH=$$PATH$$(printf ':%s' $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.*/bin); \
	for version in $(PYTHONS); do \
	    python=$$($(call FIRST,python$$version,$$version)); \
	    if [ -z "$$python" ]; then \
	        echo "== Python $$version is skipped: there is no python$$version here"; \
	    else \
	        $(MAKE) .venv-$$version/.dev INTERPRETER="$$python" && \
	            $(call IN_ANOTHER,.venv-$$version) || status=1; \
	    fi; \
	done; \
	exit $$status

lint: $(DEV)  ## check format and style, and that generated documents are fresh
	@echo "== format and style"
	@$(BIN)/ruff format --quiet --diff $(LINTED)
	@$(BIN)/ruff check --quiet $(LINTED)
	@$(BIN)/python docs/make_requirements.py --check

types: $(DEV)  ## mypy, strict, as on this system; of others (PLATFORMS="linux darwin win32") the product
	@status=0; for platform in $(PLATFORMS); do \
	    echo "== types on $$platform"; \
	    beside="$(BESIDE)"; [ "$$platform" = $(PLATFORM) ] || beside=; \
	    $(BIN)/mypy --no-error-summary --platform=$$platform \
	        --cache-dir=.mypy_cache/$$platform src $$beside || status=1; \
	done; exit $$status

quick: $(DEV)  ## quick tests; names those that took a second and may be slow ones
	@echo "== quick tests, $(JOBS) processes"
	@$(PYTEST) $(MEASURE) --durations=25 --durations-min=1 -m "not slow" tests

long: $(DEV)  ## slow tests, examples and notebooks; coverage beside that of the quick
	@echo "== slow tests, examples and notebooks, $(JOBS) processes"
	@$(PYTEST) --cov --cov-append --cov-report=term:skip-covered \
	    --durations=25 --durations-min=5 -m slow tests

format: $(DEV)  ## rewrite in the project's format
	@$(BIN)/ruff check --quiet --fix $(LINTED) || true
	@$(BIN)/ruff format --quiet $(LINTED)

notebooks: $(VENV)/.jupyter  ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab notebooks

# The variable silences an advertisement of the theme's makers.
site: $(DEV)  ## build the documentation site in site/, strictly: ten seconds
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "== site/index.html; with search: $(BIN)/python -m http.server --directory site"

docs: $(DEV)  ## write docs/measured/requirements.md from the tests, notebooks from their scripts
	@$(BIN)/python docs/make_requirements.py
	@$(BIN)/python docs/make_notebooks.py

# One resolution for all Pythons and systems, with markers; a package has one version.
lock:  ## pin anew, in both locks, what pyproject.toml asks for
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(FIND_PYTHON); $$python -m venv "$$tools"; \
	"$$tools/bin/pip" install $(PIP_QUIET) uv; \
	export UV_CUSTOM_COMPILE_COMMAND="make lock"; \
	compile="$$tools/bin/uv pip compile --quiet --upgrade --universal"; \
	compile+=" --fork-strategy fewest --python-version 3.11"; \
	"$$tools/bin/python" -c 'import tomllib; $(BUILD_NEEDS)' | \
	    $$compile $(RUN_EXTRAS:%=--extra %) --output-file requirements.lock pyproject.toml -; \
	$$compile --extra dev --constraint requirements.lock \
	    --output-file requirements-dev.lock pyproject.toml

clean:  ## remove .venv and what tools leave; runs/ stays
	@rm -rf $(VENV) $(OTHERS) dist build htmlcov site .coverage* .*_cache .hypothesis
	@find $(CHECKED) -name __pycache__ -prune -exec rm -rf {} +

# The packages of the lock; a half-made .venv has no stamp, so the next call begins anew.
$(LOCKED): requirements.lock
	@$(FIND_PYTHON); \
	echo "== making $(VENV) with $$($$python --version) (once, about a minute)"; \
	rm -rf $(VENV); \
	$$python -m venv $(VENV)
	@$(BIN)/python $(PIP_LOCK) -r requirements.lock
	@touch $@

# What tests need, beside that.
$(DEV): requirements-dev.lock $(READY)
	@echo "== adding what tests need (once, about a minute)"
	@$(BIN)/python $(PIP_LOCK) -r requirements-dev.lock
	@touch $@

# JupyterLab, seventy packages that no test needs, beside the versions that tests use.
$(VENV)/.jupyter: $(READY) requirements-dev.lock
	@echo "== adding JupyterLab (once, half a minute)"
	@$(BIN)/python -m pip install $(PIP_QUIET) --constraint requirements-dev.lock \
	    --no-build-isolation --editable '.[notebooks]'
	@touch $@

# The project itself, from this folder.
$(READY): $(LOCKED) pyproject.toml
	@$(BIN)/python -m pip install $(PIP_QUIET) --no-deps --no-build-isolation --editable .
	@echo "== compiling the kernels (once, 20 s)"
	@$(BIN)/python $(BYTECODE) >/dev/null & bytecode=$$!; \
	$(BIN)/python -m nao_testbed.experiments.closed_loop.warm_up; \
	wait "$$bytecode" || true # some packages ship files of another Python
	@touch $@

# The other environments: both locks, which may lack an engine, or neither of them.
.venv-mujoco/.dev: other = pybullet-arm64
.venv-pybullet/.dev: other = mujoco-core
.venv-newest/.dev: wants = .[dev]
$(OTHERS:%=%/.dev): wants ?= -r $(@D)/requirements.lock -r $(@D)/requirements-dev.lock
$(OTHERS:%=%/.dev): requirements.lock requirements-dev.lock pyproject.toml
	@python="$(INTERPRETER)"; [ -n "$$python" ] || { $(FIND_PYTHON); }; \
	echo "== making $(@D) with $$("$$python" --version) (once, two minutes)"; \
	rm -rf $(@D); \
	"$$python" -m venv $(@D); \
	for lock in requirements.lock requirements-dev.lock; do \
	    grep -v "^$(other)==" $$lock > $(@D)/$$lock; \
	done; \
	$(@D)/bin/python -m pip install $(PIP_QUIET) $(wants); \
	$(@D)/bin/python -m pip install $(PIP_QUIET) --no-deps --no-build-isolation -e .
	@touch $@
