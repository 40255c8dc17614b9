# Everything is set up by these targets themselves: a fresh machine needs python3 (3.10 or later) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo firmware-demo test quick check docs bench bench-building firmware-grid reproduce-smoke results sdist clean

## demo: a scoRNN learns to remember for 1,000 steps, an LSTM gets the same time, and both become demo/report.html
demo: $(VENV)/ready
	$(BIN)/python examples/demo.py

## firmware-demo: a table becomes a 4-bit network, two files of C, and answers of a Cortex-M in QEMU
firmware-demo: $(VENV)/ready
	$(BIN)/python examples/firmware_demo.py

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

## docs: the documentation as a site, site/index.html; every warning is an error
docs: $(VENV)/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

## bench: a training step beside torch.nn, an eager loop and the arithmetic alone; BENCH="--busy" on a shared machine
bench: $(VENV)/ready
	$(BIN)/eigenloop bench $(BENCH)

## bench-building: what building W costs beside a training step
bench-building: $(VENV)/ready
	$(BIN)/python benchmarks/building.py

## firmware-grid: every exported network against the reference, on this computer and in QEMU; goes on where it stopped
firmware-grid: $(VENV)/ready
	$(BIN)/python benchmarks/firmware_grid.py

## reproduce-smoke: every published table and figure, a few steps of each, in a folder of its own
reproduce-smoke: $(VENV)/ready
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(BIN)/eigenloop reproduce all --budget smoke --results "$$folder/results" --work "$$folder/runs" && \
	$(BIN)/eigenloop report --published --results "$$folder/results" --out "$$folder"

## results: RESULTS.md, docs/results/ and docs/results.html from results/
results: $(VENV)/ready
	$(BIN)/eigenloop report --published

## sdist: the sources as an archive in dist/
sdist: $(VENV)/ready
	mkdir -p dist
	$(BIN)/python -c "from setuptools import build_meta; print(build_meta.build_sdist('dist'))"

$(VENV)/ready: pyproject.toml setup.py constraints.txt $(wildcard csrc/*.c csrc/*.h)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist site src/*.egg-info src/eigenloop/_kernel*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
