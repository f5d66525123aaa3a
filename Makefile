# Every target works from a bare python3: it makes .venv, with uv inside it.
PYTHON ?= python3
UV := .venv/bin/uv
RUN := $(UV) run --no-sync
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv
export UV_SYSTEM_CERTS := true

.PHONY: demo test check nightly e2e bench bench-peers format clean

demo: .venv/demo ## score a small agent's answers and show them
	$(RUN) python examples/support_agent.py

test: .venv/dev ## the tests that need nothing but Python
	$(RUN) pytest --ignore=tests/e2e

check: .venv/dev ## format, lint, types, import layers, tests
	$(RUN) ruff format --check
	$(RUN) ruff check
	$(RUN) mypy
	$(RUN) lint-imports
	$(MAKE) test

nightly: .venv/dev ## the laws of the evaluators on 10,000 examples each
	HYPOTHESIS_PROFILE=nightly $(RUN) pytest tests/evaluators

e2e: .venv/e2e ## real backends: large installs, subprocesses on loopback
	$(RUN) pytest tests/e2e

bench: .venv/dev ## ratios against floors, 6 minutes
	$(RUN) python benchmarks/run.py

bench-peers: .venv/dev ## the same call, and LangChain's runs, under other libraries, installed into .bench
	$(RUN) python benchmarks/run.py --peers

format: .venv/dev
	$(RUN) ruff check --fix-only
	$(RUN) ruff format

clean:
	rm -rf .venv .venv-e2e .bench

$(UV):
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade uv

.venv/demo: $(UV) pyproject.toml uv.lock
	$(UV) sync --quiet --frozen --no-dev --inexact
	touch $@

.venv/dev: $(UV) pyproject.toml uv.lock
	$(UV) sync --quiet --frozen --inexact
	touch $@

.venv/e2e: .venv/dev tests/e2e/install.sh
	$(UV) sync --quiet --frozen --inexact --group e2e
	bash tests/e2e/install.sh
	touch $@

