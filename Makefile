# Two commands do everything on a fresh Debian 12 machine: `make quick` runs the main plan to a report,
# `make test` passes the tests. Both set up what they need, once.

TUNBENCH := .venv/bin/tunbench

.PHONY: help setup setup-tests setup-test-all quick test test-all lint clean

help:
	@echo "make quick     set up, and run the plan quick to a report (7 min of set-up, then 3 to 13 min)"
	@echo "make test      set up, and run ruff, mypy and the tests (set-up, then 18 to 50 min)"
	@echo "make test-all  set up with the toolbox, and run the long tests too (many hours; needs Go and Rust)"
	@echo "make setup     packages, the Python environment in .venv, and two images of the lab (7 min)"
	@echo "make lint      ruff and mypy"
	@echo "make clean     remove .venv; runs and images stay (tunbench lab clean removes those)"

setup:
	@scripts/setup

setup-tests:
	@scripts/setup tests

setup-test-all:
	@scripts/setup test-all

quick: setup
	$(TUNBENCH) run quick

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy -n auto

# What waits in namespaces of its own does so side by side; what measures this machine in real time has it alone.
test: setup-tests lint
	.venv/bin/pytest -m "not long and not native" -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --durations 25
	.venv/bin/pytest tests/native -m "not long and waiting" --tx "7*popen//python=scripts/apart .venv/bin/python" --dist load --maxschedchunk 1
	.venv/bin/pytest tests/native -m "not long and native and not waiting"

test-all: setup-test-all lint
	.venv/bin/pytest

clean:
	rm -rf .venv
