# Everything a fresh machine needs: Python 3.11 or newer and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
# Where this is set, every process would compile every module that it imports again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: test ready test-long test-clusters lint types imports unit demo docs docs-serve notebooks pictures \
	throughput clean

# Side by side: the tests keep both workers busy, the checks take what is left.
test: $(READY)
	$(MAKE) --jobs=4 unit types lint imports

ready: $(READY)

# uv installs in a sixth of the time; pip does where uv cannot be had or does not find the packages. Python compiles what
# is imported; pip would compile everything, which takes longer than the rest of the installation.
UV = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable
PIP = $(BIN)/python -m pip install --quiet --no-compile --editable
$(READY): pyproject.toml
	@echo "Setting up $(VENV): a minute or less."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv && $(UV) '.[dev]' || $(PIP) '.[dev]'
	touch $@

# Everything: also what compiles or learns for minutes.
test-long: $(READY)
	ASCPO_SLOW=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Sweeps and searches alone, with Ray, submitit and Optuna. A Ray cluster and a job that lose workers are part of
# `make test`; here a Ray cluster loses its driver, and others share no file system. Two minutes.
test-clusters: $(READY)
	ASCPO_SLOW=1 $(BIN)/python -m pytest tests/sweep tests/tuning

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

imports: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

demo: RUN := runs/demo-$(shell date +%s)
demo: $(READY)
	$(BIN)/ascpo train --env Point-1-Hazard --algo ascpo --probability 0.98 --total-steps 1.5e6 --out $(RUN)
	$(BIN)/ascpo certify $(RUN)/Point-1-Hazard-ascpo-seed0 --probability 0.98
	$(BIN)/ascpo report $(RUN)/Point-1-Hazard-ascpo-seed0
	@echo "The command for the replay, from here: $(BIN)/ascpo replay $(RUN)/Point-1-Hazard-ascpo-seed0"

pictures: $(READY)
	$(BIN)/python -m benchmarks.pictures

throughput: $(READY)
	$(BIN)/python -m benchmarks.throughput

DOCS_READY := $(VENV)/.docs-ready
$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[docs]'
	touch $@

# The reference pages from the code, then the site in build/site, where every link and anchor is checked.
docs: $(DOCS_READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/assemble.py
	NO_COLOR=1 $(BIN)/zensical build --clean --strict --config-file mkdocs.yml
	$(BIN)/python docs/check_site.py

docs-serve: docs
	$(BIN)/zensical serve --config-file mkdocs.yml

# Executes the tutorials, about a minute each, and keeps their outputs.
notebooks: $(DOCS_READY)
	$(BIN)/python docs/execute_notebooks.py

clean:
	rm -rf $(VENV) .jax_cache build
