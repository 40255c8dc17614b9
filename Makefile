# Everything is set up by these targets themselves: a fresh machine needs python3 (3.10 or later) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick check bench bench-building clean

## demo: a scoRNN learns to remember for 1,000 steps, an LSTM gets the same time, and both become demo/report.html
demo: $(VENV)/ready
	$(BIN)/python examples/demo.py

## test: lint, type-check and run all tests
test: check
	$(BIN)/python -m pytest -n auto -q

## quick: all tests but the slow ones
quick: $(VENV)/ready
	$(BIN)/python -m pytest -n auto -q -m "not slow"

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

## bench: a training step beside torch.nn, an eager loop and the arithmetic alone; BENCH="--busy" on a shared machine
bench: $(VENV)/ready
	$(BIN)/eigenloop bench $(BENCH)

## bench-building: what building W costs beside a training step
bench-building: $(VENV)/ready
	$(BIN)/python benchmarks/building.py

$(VENV)/ready: pyproject.toml setup.py constraints.txt $(wildcard csrc/*.c csrc/*.h)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/eigenloop/_kernel*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
