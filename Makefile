# `make search` and `make test` do all set-up themselves.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= digits
MAX_PARAMS ?= 4000

.PHONY: search test docs lint clean

search: $(READY)
	$(BIN)/meritnas search $(DATA) --max-params $(MAX_PARAMS)

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

docs: $(READY)
	$(BIN)/mkdocs build --strict

lint: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[data,dev,docs,explain,onnx,tensorboard]"
	touch $(READY)

clean:
	rm -rf $(VENV) build dist
