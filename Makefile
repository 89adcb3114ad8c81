# Two commands do all the set-up: "make demo" and "make test".
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench bench-full format lock clean

demo: $(VENV)/.installed
	@$(BIN)/apportion demo

test: check
	$(BIN)/pytest

check: $(VENV)/.installed-test
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.installed
	@$(BIN)/apportion bench run --label short --repeat 2 --baseline docs/performance.json
	@$(BIN)/apportion bench run --label short --repeat 1 --mode api --baseline docs/performance.json

bench-full: $(VENV)/.installed
	@$(BIN)/apportion bench run --label performance
	@$(BIN)/apportion bench run --label performance --mode api

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix src tests
	$(BIN)/ruff format src tests

lock: $(VENV)/.installed-test
	$(BIN)/pip-compile -q --generate-hashes --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		-o requirements.txt pyproject.toml
	$(BIN)/pip-compile -q --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--extra test -o requirements-test.txt pyproject.toml

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "apportion needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python requirements.txt pyproject.toml
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . 2>/dev/null || \
		$(BIN)/pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed requirements-test.txt
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-test.txt
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
