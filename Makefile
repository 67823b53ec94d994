# make demo | test | test-all | lint | docs | clean
# All that is made lies in .venv, .cache and runs of this folder.
# Another Python than python3: make demo PYTHON=python3.12

PYTHON ?= python3
VENV := .venv/bin/python
PIP := $(VENV) -m pip install --quiet --disable-pip-version-check --no-compile
version = $(shell $(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
is_new = $(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11) or "")')

# pip, matplotlib and others would keep their caches in the home directory.
export XDG_CACHE_HOME := $(CURDIR)/.cache
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
# Byte code is made on first import and kept: a third less to do than making it for all that is installed.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all lint docs clean same-python
.NOTPARALLEL:

demo: .venv/installed-sims
	$(VENV) -m sims phase_diagram --preset default --out runs/demo

# Most of the time goes into compiling: programs are compiled sooner, and run slower. test-all has those of users.
# XLA ends at a flag that it does not know, and jaxlib 0.11 does not know the last.
jaxlib = $(shell $(VENV) -c 'from importlib.metadata import version; print(version("jaxlib"))')
sooner = --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1$(if $(filter 0.10.%,$(jaxlib)), --xla_cpu_use_fusion_emitters=false)

tests = $(VENV) -m pytest -n auto --dist worksteal

# SIZE=medium runs the tests that take a third of a second or more, too.
SIZE ?= small
larger = $(if $(filter $(SIZE),medium),slow,$(if $(filter $(SIZE),small),slow and not medium,\
  $(error SIZE is small or medium, not $(SIZE); all tests: make test-all)))

test: .venv/installed-test
	XLA_FLAGS="$(sooner) $$XLA_FLAGS" $(tests) -m "not $(larger)"

test-all: .venv/installed-test
	$(tests)

lint: .venv/installed-test
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .
	$(VENV) -m mypy

# NOTEBOOKS=off leaves out what takes most of the time.
NOTEBOOKS ?= cache
docs: .venv/installed-docs
	XLA_FLAGS="$(sooner) $$XLA_FLAGS" $(VENV) -m sphinx -q -W --keep-going -c docs/site -d .cache/site \
	  -D nb_execution_mode=$(NOTEBOOKS) . build/site
	$(VENV) docs/site/check.py build/site
	@echo "open build/site/index.html"

clean:
	rm -rf .venv .cache build *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/installed-sims: pyproject.toml .venv/created | same-python
	$(PIP) --editable ".[sims]"
	@touch $@

.venv/installed-test: pyproject.toml .venv/created | same-python
	$(PIP) --editable ".[test]"
	@touch .venv/installed-sims $@

.venv/installed-docs: pyproject.toml .venv/created | same-python
	$(PIP) --editable ".[docs]"
	@touch .venv/installed-sims $@

.venv/created:
	$(if $(is_new),,\
	  $(error mixjax needs Python 3.11 or newer, and $(PYTHON) is not; name one: make demo PYTHON=python3.12))
	$(PYTHON) -m venv --clear .venv
	@touch $@

# A Python that was asked for by name is the one that is used.
same-python: .venv/created
ifneq ($(origin PYTHON),file)
	@$(if $(filter $(call version,$(PYTHON)),$(call version,$(VENV))),,\
	  $(error .venv holds Python $(call version,$(VENV)), not $(PYTHON); run make clean first))
endif
