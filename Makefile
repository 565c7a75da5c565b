# `make search` and `make test` do all set-up themselves.
SHELL := /bin/bash
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= digits
MAX_PARAMS ?= 4000

.PHONY: search test browser docs docs-version gallery lint wheel wheel-test clean

search: $(READY)
	$(BIN)/meritnas search $(DATA) --max-params $(MAX_PARAMS)

test: $(READY) browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# The tests look at pages in a real browser. Where it cannot be installed they are skipped, and say so.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	|| { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } >/dev/null 2>&1 \
	|| echo "no chromium and chromium-driver here: tests of pages in a browser are skipped"

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Beside the site of other versions, with a list to choose from, on the branch gh-pages of this repository.
docs-version: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" DOCS_VERSIONS=mike $(BIN)/mike deploy --update-aliases $$($(BIN)/python -c "import meritnas; print(meritnas.__version__)") latest
	$(BIN)/mike set-default latest

# Runs the notebooks of the gallery, and the pages of errors, and writes what they say.
gallery: $(READY)
	$(BIN)/python docs/gallery.py

wheel: $(READY)
	rm -rf build/lib # else modules that are gone come back from there
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# From an empty environment to a first result, in three commands, timed.
wheel-test: wheel
	rm -rf build/fresh
	time $(PYTHON) -m venv build/fresh
	time build/fresh/bin/pip install --quiet --constraint constraints.txt dist/meritnas-*.whl
	cd build/fresh && time bin/meritnas search wine --max-params 900 --out first

lint: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[data,dev,docs,explain,onnx,serve,tensorboard]"
	touch $(READY)

clean:
	rm -rf $(VENV) build dist
