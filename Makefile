# The commands of this repository; CI calls `check` and `test` and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check slow bench fifty clean

demo: $(VENV)/installed
	$(BIN)/vitruvius
	$(BIN)/vitruvius rank --name demo

# Tests take from one second to half a minute: a core that has nothing left takes tests over from another.
test: $(VENV)/tested
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/checked
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_version.py

slow: $(VENV)/slowed
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/slowed
	$(BIN)/python -m benchmarks.attention
	$(BIN)/python -m benchmarks.rank
	$(BIN)/pip install --quiet --no-deps vit-pytorch einops
	$(BIN)/python -m benchmarks.train_step
	$(BIN)/python -m benchmarks.inference

# Four core-hours: DATA is the folder that holds the Fashion-MNIST files, unless they are where data sets are found.
fifty: $(VENV)/installed
	$(BIN)/python -m benchmarks.fifty $(if $(DATA),--data-dir $(DATA))

clean:
	rm -rf $(VENV) build dist *.egg-info

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
