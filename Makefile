# `make search` and `make test` do all set-up themselves.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= digits
MAX_PARAMS ?= 4000

.PHONY: search test browser docs lint clean

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
	$(BIN)/mkdocs build --strict

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
