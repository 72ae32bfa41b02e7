# The two commands that matter: `make run` plays a whole game in front of you, `make test` checks everything.
# Both create .venv by themselves. `make help` lists the rest.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
# The Python that .venv is made with; found by itself when empty.
PYTHON ?=
# Processes that share the tests.
WORKERS ?= 2
# The port of `make run`.
PORT ?= 8642
# Random games of `make fuzz`, by the second edition and as many by other books and mixtures.
GAMES ?= 1000
# Kills of `make kills`.
KILLS ?= 200

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /  make \1\t/p' Makefile | expand -t 16

## run: play the example game through a server of its own and keep it listening (PORT=8642)
run: env
	$(BIN)/rookery up --example --port $(PORT)

## test: all checks and all tests
test: check
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

## test-all: as test, with the large tests at full size and with coverage, which takes three times as long
test-all: check
	ROOKERY_TESTS=all $(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term $(ARGS)

## slowest: as test, in one process, with the processor seconds of each file (ARGS=tests/domain)
slowest: env
	$(BIN)/python -m pytest -p tests.slowest -q $(ARGS)

## check: format, lint, types, and the arrows between the packages; changes nothing
check: env
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

## format: put the code into the house format
format: env
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## bench: facts replayed and commands adjudicated per second
bench: env
	$(BIN)/python -m tests.bench

## house: the structure of the tree in figures, before the redesign and now (docs/design.md, Measures)
house: env
	$(BIN)/python -m tests.house $(ARGS)

## fuzz: whole random games with every property checked (GAMES=1000), and other examples for every property
fuzz: env
	$(BIN)/python -m tests.fuzz --games $(GAMES)
	$(BIN)/python -m tests.fuzz --games $(GAMES) --variations
	$(BIN)/python -m pytest -q -n $(WORKERS) --hypothesis-profile=explore -m hypothesis

## kills: kill -9 at random over all processes while bots play (KILLS=200)
kills: env
	ROOKERY_KILLS=$(KILLS) $(BIN)/python -m pytest -q tests/worker/test_kills.py

## mutants: switch rules off one at a time and see which tests notice (tests/rules/mutation.json)
mutants: env
	$(BIN)/python -m tests.rules.mutation

## pins: write the pins of behaviour anew, after a change of rules (docs/engine.md)
pins: env
	$(BIN)/python -m tests.behaviour.pins

## env: the environment in .venv, with the locked versions; nothing when up to date
env: .venv/installed

.venv/installed: .venv/locked pyproject.toml
	@echo "Installing rookery into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/locked: requirements.lock
	@set -e; \
	python=; newest=; \
	for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3); do \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  newest=$$candidate; \
	  "$$candidate" -c 'import ensurepip, venv' 2>/dev/null || continue; \
	  python=$$candidate; break; \
	done; \
	if [ -z "$$newest" ]; then \
	  found=$$($(or $(PYTHON),python3) --version 2>/dev/null) || found="no Python"; \
	  echo "Rookery needs Python 3.11 or newer; found $$found." >&2; \
	  exit 1; \
	fi; \
	if [ -z "$$python" ]; then \
	  echo "Python has no venv module here. Install it with this line, then try again:" >&2; \
	  echo "    apt-get install python3-venv" >&2; \
	  exit 1; \
	fi; \
	echo "Creating .venv with $$($$python --version) (half a minute)"; \
	rm -rf .venv; \
	"$$python" -m venv .venv; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@touch $@

## lock: choose new versions for requirements.lock (needs the network)
lock:
	rm -rf .lock && python3 -m venv .lock && .lock/bin/python -m pip install --quiet uv
	.lock/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --upgrade --quiet --custom-compile-command "make lock" --output-file requirements.lock
	rm -rf .lock

## clean: remove the environment and everything else that was made here
clean:
	rm -rf .venv .lock .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find api domain events worker tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: help run test test-all slowest check format bench house fuzz kills mutants pins env lock clean
