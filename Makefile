# Everything starts here: `make lab` to use dpviz, `make test` to check it. Needs python3 (3.11 or newer) and make;
# the rest is installed into .venv from hashed pins, so the second run has nothing to do.

PYTHON ?= python3
LAB ?=
SUITES ?=
BASE ?= HEAD

BIN := .venv/bin
UV := $(BIN)/uv
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Trust the certificates this machine trusts: behind a company's proxy the built-in lists of uv and Node are not enough.
export UV_SYSTEM_CERTS := 1
export NODE_USE_SYSTEM_CA := 1

.PHONY: help lab test check new-mechanism soak findings docs class bench build front pins address setup programs

help:
	@echo 'make lab     install, then open notebooks/00_start.ipynb in JupyterLab (LAB="--no-browser --port 9999" to add options)'
	@echo 'make test    install, then run every check that CI runs (SUITES="unit browser" for some)'
	@echo 'make check   lint, types and the tests nearest to a change, in a minute and a half (BASE=main to compare with main)'
	@echo 'make new-mechanism NAME=Staircase   begin a mechanism: its file, its line in the registry and its test'
	@echo 'make soak    run the long attacks in full (hours); make test runs a twentieth'
	@echo 'make findings run what outside libraries do that one would not guess, without dpviz; needs a package index'
	@echo 'make docs    build the documentation into build/docs/html, with the lessons run; needs no network once installed'
	@echo 'make class   build a site for a class that installs nothing, into build/class; needs no network once installed'
	@echo 'make bench   time dpviz against its peers'
	@echo 'make build   build the wheel and the sdist into dist/ and check them'
	@echo 'make front   build widgets/ into dpviz/static/'
	@echo 'make address write the public address that pyproject.toml sets into README.md and CITATION.cff'
	@echo 'make pins    compile the hashed pins anew, at the newest versions (UPGRADE= to keep what is pinned)'

lab: .venv/.lab
	$(BIN)/jupyter lab $(shell test `id -u` -ne 0 || echo --allow-root) $(LAB) notebooks/00_start.ipynb

test: setup programs
	$(BIN)/python -m tools.suites $(SUITES)

check: .venv/.dev
	@$(BIN)/python -m tools.check --base $(BASE)

new-mechanism: .venv/.dev
	@$(BIN)/python -m tools.new_mechanism "$(NAME)"

soak: .venv/.dev programs
	$(BIN)/python -m tools.soak

# Each script installs what it needs in a folder of its own. Outside of CI: a failure says that the outside world changed.
findings:
	@for script in findings/*.sh; do echo "== $$script"; bash "$$script" || { echo "$$script: this changed" >&2; exit 1; }; done

docs: .venv/.dev
	$(BIN)/python -m tools.site

class: .venv/.lab
	@$(BIN)/python -m tools.class_site

bench: .venv/.dev
	$(BIN)/python -m benchmarks

build: .venv/.dev
	$(BIN)/python -m tools.check_package dist

address:
	$(PYTHON) -m tools.address

front: widgets/node_modules/.package-lock.json
	cd widgets && npm run build

setup: .venv/.dev widgets/node_modules/.package-lock.json

programs: .venv/.dev
	@$(BIN)/python -m tools.system

# What Binder installs is what `make lab` installs: one file of pins for both.
.venv/.lab: binder/requirements.txt pyproject.toml .venv/.uv
	$(UV) pip install --quiet --python $(BIN)/python --no-config --require-hashes -r binder/requirements.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-config --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: requirements/dev.txt requirements/checks.txt .venv/.lab
	$(UV) pip install --quiet --python $(BIN)/python --no-config --require-hashes -r requirements/dev.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-config --no-deps --require-hashes -r requirements/checks.txt
	@touch $@

.venv/.uv: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit("dpviz needs Python 3.11 or newer: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || { echo 'python3 has no venv module; on Debian or Ubuntu: apt-get install python3-venv'; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/uv.txt
	@touch $@

widgets/node_modules/.package-lock.json: widgets/package.json widgets/package-lock.json .venv/.dev
	cd widgets && npm ci
	@touch $@

# Pins name no index and no machine; --universal makes one file serve every platform and every Python from 3.11 on.
UPGRADE ?= --upgrade
COMPILE := $(UV) pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make pins' $(UPGRADE)

pins: .venv/.uv
	$(COMPILE) requirements/uv.in --output-file requirements/uv.txt
	$(COMPILE) pyproject.toml requirements/build.in --extra lab --extra export --extra engines --output-file binder/requirements.txt
	$(COMPILE) pyproject.toml requirements/build.in --extra lab --extra export --extra engines --extra spark --extra delta --extra iceberg --extra postgres --extra curator --extra docs --extra dev \
		--constraint binder/requirements.txt --output-file requirements/dev.txt
	$(COMPILE) --no-deps requirements/checks.in --output-file requirements/checks.txt
	$(COMPILE) pyproject.toml requirements/class.in --output-file requirements/class.txt
	$(COMPILE) --resolution lowest-direct pyproject.toml --extra lab --extra export --extra engines \
		--output-file requirements/lowest.txt
