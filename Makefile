# The commands of this repository; CI calls `check` and `test` and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check slow bench browser fifty docs examples clean

demo: $(VENV)/installed
	$(BIN)/vitruvius
	$(BIN)/vitruvius rank --name demo

# Tests take from one second to half a minute: a core that has nothing left takes tests over from another.
# They start many processes, which would each compile the package again if nothing compiled were kept.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/tested
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/checked
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/bandit --quiet --recursive vitruvius --configfile pyproject.toml
	$(BIN)/python -m pytest -q tests/test_version.py

slow: $(VENV)/slowed
	$(BIN)/python -m pytest -m slow

# What the tests of the pages need: Debian's Chromium, a driver for it, and axe-core, which judges accessibility.
# Once they are there `make test` runs these tests too. The driver is no part of the extra `test`: it is large, and of
# no use without Chromium, which pip cannot install.
browser: $(VENV)/tested
	@command -v chromium >/dev/null || apt-get install --yes chromium || \
		{ echo "install Chromium first: sudo apt-get install chromium"; exit 1; }
	$(BIN)/pip install --quiet --editable '.[test,browser]'
	@command -v npm >/dev/null || echo "without npm the pages are not judged by axe-core: sudo apt-get install npm"
	! command -v npm >/dev/null || npm install --prefix tests/web/axe-core --silent --no-audit --no-fund
	$(BIN)/python -m pytest -q tests/web

bench: $(VENV)/slowed
	$(BIN)/python -m benchmarks.attention
	$(BIN)/python -m benchmarks.rank
	$(BIN)/python -m benchmarks.prices
	$(BIN)/pip install --quiet --no-deps vit-pytorch einops
	$(BIN)/python -m benchmarks.train_step
	$(BIN)/python -m benchmarks.inference

# Four core-hours: DATA is the folder that holds the Fashion-MNIST files, unless they are where data sets are found.
fifty: $(VENV)/installed
	$(BIN)/python -m benchmarks.fifty $(if $(DATA),--data-dir $(DATA))

# The static site: open site/index.html.
docs: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[docs]'
	$(BIN)/python docs/make_site.py site

# The notebooks, run anew from the scripts beside them.
examples: $(VENV)/slowed
	$(BIN)/python examples/make_notebooks.py

clean:
	rm -rf $(VENV) build dist site *.egg-info

# Each stamp stands for what is installed in the environment; pyproject.toml decides what that is.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/checked: $(VENV)/tested
	$(BIN)/pip install --quiet --editable '.[test,check]'
	touch $@

$(VENV)/slowed: $(VENV)/tested
	$(BIN)/pip install --quiet --editable '.[test,slow]'
	touch $@
