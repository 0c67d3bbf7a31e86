# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test test-all lint types stub format lines bench experiment verify canary sanitize sanitize-threads portable wheels wheel-test docs attack fuzz build clean compiler

demo: build
	$(BIN)/python examples/demo.py

test: build
	.ci/test

test-all: build
	.ci/test -m "slow or not slow"

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'native/*.cpp' 'native/*.hpp')

types: build
	$(BIN)/mypy

# The types of the core, from the core; to be run after its functions changed.
stub: build
	$(BIN)/python .ci/stub.py

format: build
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files 'native/*.cpp' 'native/*.hpp')

# Lines of code; AGAINST=PATH names another checkout to compare with.
lines:
	$(PYTHON) .ci/count_lines.py $(if $(AGAINST),--against $(AGAINST))

bench: build
	$(BIN)/python -m benchmarks

# One table of experiments/, e.g. make experiment TABLE=5.3; python -m experiments lists them.
experiment: build
	$(BIN)/python -m experiments table-$(TABLE)

verify: build
	FIELDCRAFT_REQUIRE_DATA=1 .ci/test -m "slow or not slow"
	$(BIN)/python -m benchmarks --check

canary: build
	$(BIN)/python -m pytest -m slow tests/laws/test_canary.py

sanitize: build
	.ci/variant address

sanitize-threads: build
	.ci/variant thread

portable: build
	.ci/portable

# Wheels into wheelhouse/: in containers where an engine runs, else one for this interpreter.
wheels: build
	.ci/wheels

wheel-test: build
	.ci/wheel

docs: build
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The campaign: an hour, or ATTACK="--seconds 300", ATTACK="--mutants 1000000" (python tests/attack --help).
attack: build
	$(BIN)/python tests/attack $(ATTACK)

# Coverage-guided mutants, each target for FUZZ_SECONDS; what they find goes to tests/attack/finds.
fuzz: build
	for target in models foreign templates corpora features; do \
	  $(BIN)/python tests/attack/guided.py $$target --seconds $${FUZZ_SECONDS:-60} || exit 1; done

# The lock keeps two builds in one checkout from treading on each other.
build: $(STAMP)
	@flock $(VENV)/.lock $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .

$(STAMP): pyproject.toml | compiler
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.4" "cmake>=3.20" ninja
	$(BIN)/python -m pip install --quiet numpy scipy safetensors typer rich
	$(BIN)/python -m pip install --quiet $$($(PYTHON) .ci/extras.py test lint docs fuzz package)
	@touch $@

compiler:
	@command -v "$${CXX:-c++}" >/dev/null 2>&1 || { \
	  echo "No C++ compiler found: install one (Debian/Ubuntu: apt-get install g++, Fedora: dnf install gcc-c++) and run make again." >&2; exit 1; }
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 10))" 2>/dev/null || { \
	  echo "Python 3.10 or newer is needed as $(PYTHON): install it (Debian/Ubuntu: apt-get install python3) or run make PYTHON=python3.12." >&2; exit 1; }
	@$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian/Ubuntu: apt-get install python3-venv) and run make again." >&2; exit 1; }
	@$(PYTHON) -c "import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path('include') + '/Python.h'))" || { \
	  echo "The headers of $(PYTHON) are missing: install them (Debian/Ubuntu: apt-get install python3-dev, Fedora: dnf install python3-devel) and run make again." >&2; exit 1; }

clean:
	rm -rf build $(VENV)
