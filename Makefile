# `make demo` and `make test` need Python 3.10 or newer (with venv) and make, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCS_INSTALLED := $(VENV)/.docs-installed
# the frameworks have an environment of their own: 2 GB that nothing else needs
FRAMEWORKS_VENV ?= .venv-frameworks
FRAMEWORKS_INSTALLED := $(FRAMEWORKS_VENV)/.installed
# and so have the tools that ours are measured beside
PEERS_VENV ?= .venv-peers
PEERS_INSTALLED := $(PEERS_VENV)/.installed

.PHONY: help env demo test test-slow test-part test-ends test-nodes test-gpu fuzz test-frameworks variants coverage check format docs site bench bench-dumps accuracy \
	healthy-runs dump-accuracy without-ptrace lint-history lint-programs chaos soak compat repeat-tests clean

help:
	@echo "make demo       run a real 4-rank job that hangs, and see it diagnosed"
	@echo "make test       the tests, real torchrun jobs included"
	@echo "make test-slow  the tests that take minutes each, all jobs of the tests, and properties with many examples"
	@echo "make test-part  one of 64 parts of the slow jobs, another one with each commit (PART=number)"
	@echo "make test-ends  every kind of end of a job that moves and of one that stands, with watch and without it (an hour)"
	@echo "make test-nodes  the fixtures on two and four nodes, as namespaces of this machine (an hour)"
	@echo "make test-gpu   every fixture that runs on NCCL, broken and fixed, on the GPUs of this machine"
	@echo "make fuzz       20,000 damaged inputs for every reader of what other processes wrote (ten minutes)"
	@echo "make test-frameworks  the fixtures with Accelerate, DeepSpeed, Lightning, Ray Train, torchdata and transformers"
	@echo "make variants   every fixture's scenario in other forms (half an hour)"
	@echo "make coverage   which lines the unit, golden and property tests run"
	@echo "make check      ruff (lint, format) and mypy --strict"
	@echo "make format     let ruff format and mend what it can"
	@echo "make docs       write the pages that are made from the program, and build all as a site in build/site"
	@echo "make bench      every figure of docs/benchmarks.md (an hour; goes on where it was broken off; ARGS=\"--quick\", ARGS=overhead)"
	@echo "make bench-dumps  what diagnosing up to 16,384 recorder dumps costs (4 GB of disk)"
	@echo "make lint-history REPOS=DIR  how many faults from public histories lint finds, in the clones in DIR"
	@echo "make lint-programs  which known faults lint finds in programs that were written for it (two minutes)"
	@echo "make healthy-runs  is any healthy job stopped (hours; goes on where it was broken off)"
	@echo "make accuracy   how often the verdict is right (an hour; goes on where it was broken off)"
	@echo "make without-ptrace  is the verdict the same where py-spy is missing or refused (forty minutes; root)"
	@echo "make chaos      is a job harmed, or anybody blamed, when something else goes wrong (an hour; goes on where it was broken off)"
	@echo "make compat TORCH=2.9.1  twelve jobs with that torch, in an environment that is removed again (half an hour, 8 GB)"
	@echo "make soak       does anything grow in half an hour, or stay behind"
	@echo "make repeat-tests  does any test fail now and then: twenty times those that start processes (two hours; goes on where it was broken off)"
	@echo "make dump-accuracy   how often dump is right of jobs that nobody wrapped (twenty minutes)"

env: $(INSTALLED)

# Once per change of what is installed: the second `make test` starts at once.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 10) else "ddpdoctor needs Python 3.10 or newer: make PYTHON=python3.11 ...")'
	@echo "==> environment in $(VENV) (the first time torch is fetched: a few minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[torch,dev]'
	@touch $@

demo: env
	@echo "==> a real job of 4 ranks; rank 3 gets one batch less than the others"
	$(BIN)/ddpdoctor repro run uneven-inputs --ranks 4

# More at a time than there are cores, since most jobs wait most of the time. Which jobs: tests/e2e/daily.py.
test: env
	$(BIN)/python -m pytest -n 6 --dist worksteal -m "not slow" --durations 60 --durations-min 4

test-slow: env
	$(BIN)/python -m pytest -m "slow and not ends and not nodes and not fuzz"
	$(BIN)/python -m pytest -m "hypothesis and not slow and not e2e" --hypothesis-profile thorough

# Another part with each commit, and the same one for the same commit.
PART ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)
test-part: env
	$(BIN)/python -m pytest -n 6 --dist worksteal -m "slow and not ends and not nodes" --part $(PART)/64 tests/e2e

# Each starts two jobs, one after the other.
test-ends: env
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/e2e/test_ends.py

# One after the other: the jobs of two and of four nodes share this machine.
test-nodes: env
	$(BIN)/python -m pytest -m "nodes"

# Ranks share a GPU where there are fewer of them and NCCL can. Without a GPU a line says so.
test-gpu: env
	@lacking=$$($(BIN)/python -c 'from ddpdoctor.repro import nccl; print(nccl.find().missing())') || exit; \
	if [ -n "$$lacking" ]; then echo "==> nothing to run on NCCL: $$lacking"; exit; fi; \
	mkdir -p build && $(BIN)/ddpdoctor repro all --backend nccl --json build/nccl.json

fuzz: env
	$(BIN)/python -m pytest -n 2 -m fuzz tests/property/test_readers.py

# Two at a time: importing a framework takes each of the three or four processes of a job seconds of a core.
test-frameworks: $(FRAMEWORKS_INSTALLED)
	$(FRAMEWORKS_VENV)/bin/python -m pytest -n 2 --dist worksteal -m frameworks --require-frameworks

$(FRAMEWORKS_INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 10) else "ddpdoctor needs Python 3.10 or newer: make PYTHON=python3.11 ...")'
	@echo "==> environment in $(FRAMEWORKS_VENV) (the first time 1 GB is fetched: several minutes)"
	@test -x $(FRAMEWORKS_VENV)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS_VENV)
	$(FRAMEWORKS_VENV)/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[torch,dev]'
	@# DeepSpeed is built here from its sources, and none of its kernels with it: the cases run on the CPU
	DS_BUILD_OPS=0 $(FRAMEWORKS_VENV)/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[frameworks]'
	@touch $@

# Other ranks, numbers of ranks, models, launchers and files; two at a time, for each starts up to six processes.
variants: env
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/e2e/variants

# Without the jobs of tests/e2e: the code inside of their ranks is measured by what they print, not by lines.
coverage: env
	@mkdir -p build/coverage
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -q tests/unit tests/golden tests/property -m "not slow"
	-$(BIN)/python -m coverage combine -q  # a program that a test killed leaves a file without data
	$(BIN)/python -m coverage report

check: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: env
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: env
	$(BIN)/python docs/generate.py
	@$(MAKE) --no-print-directory site

# from disk: build/site/index.html. What it needs is no part of the tests' environment until it is asked for.
site: $(DOCS_INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "==> build/site/index.html"

$(DOCS_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[docs]'
	@touch $@

# one of them: make bench ARGS=overhead/tiny; to see that all works: make bench ARGS=--quick
bench: env $(PEERS_INSTALLED)
	DDPDOCTOR_PEERS=$(abspath $(PEERS_VENV)) $(BIN)/python -m benchmarks $(ARGS)

$(PEERS_INSTALLED):
	@echo "==> environment in $(PEERS_VENV)"
	@test -x $(PEERS_VENV)/bin/python || $(PYTHON) -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip install --disable-pip-version-check -q flake8 torchfix pylint tabulate
	@touch $@

bench-dumps: env
	$(BIN)/python -m benchmarks.dump_scale

accuracy: env
	$(BIN)/python -m benchmarks.accuracy

# as root, with setcap: make without-ptrace, and ARGS=--healthy
without-ptrace: env
	$(BIN)/python -m benchmarks.without_ptrace $(ARGS)

# judge what was kept again: make dump-accuracy ARGS=--replay
dump-accuracy: env
	$(BIN)/python -m benchmarks.dump_accuracy $(ARGS)

lint-history: env
	$(BIN)/python -m benchmarks.lint_history $(REPOS)

lint-programs: env
	$(BIN)/python -m benchmarks.lint_programs $(ARGS)

# more: make healthy-runs ARGS="--load 4 --until 60"
healthy-runs: env
	$(BIN)/python -m benchmarks.healthy_runs $(ARGS)

# Linux namespaces of its own for each job, root or user namespaces
chaos: env
	$(BIN)/python -m benchmarks.chaos $(ARGS)

soak: env
	$(BIN)/python -m benchmarks.soak $(ARGS)

# more load: make repeat-tests ARGS="--load 4 --until 60"
repeat-tests: env
	$(BIN)/python -m benchmarks.repeated_tests $(ARGS)

# one version after the other: make compat TORCH="2.5.1 newest" ARGS="--python python3.12"
compat: env
	$(BIN)/python -m benchmarks.compat $(TORCH) $(ARGS)

clean:
	rm -rf $(VENV) $(FRAMEWORKS_VENV) $(PEERS_VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
