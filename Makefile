# One place for every routine task. `make` alone lists what there is.

PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= swift
OUT ?= docs/.docc-build
# How many tests run at a time; some wait for a relay or a process most of the time.
TEST_WIDTH ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# The folders and files that hold Swift, as far as they exist.
SWIFT_PATHS := $(wildcard Sources Tests Simulations Benchmarks Examples Package.swift)
SHELL_SCRIPTS := $(shell grep -lx '.!/bin/sh' Scripts/*)

.DEFAULT_GOAL := help
.PHONY: help bootstrap demo test models lint docs install uninstall simulate prove bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

bootstrap: ## Install missing system libraries (apt) and check the Swift version
	@Scripts/bootstrap

# A relay keeps its log in a file there: without libpq it is built without PostgreSQL.
demo: export HEARTH_POSTGRES ?= $(shell pkg-config --exists libpq 2>/dev/null && echo on || echo off)
demo: ## Build the release binaries and play a family day with three nodes and a relay
	@Scripts/bootstrap demo
	$(SWIFT) build -c release --product hearth
	$(SWIFT) build -c release --product hearth-relay
	@folder="$$($(SWIFT) build -c release --show-bin-path)" && HEARTH_BIN="$$folder/hearth" \
	  HEARTH_RELAY_BIN="$$folder/hearth-relay" Scripts/demo

# Swift Testing starts all tests at once by default. On few processors each then waits for all the
# others, up to the limit of its own time.
test: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= $(TEST_WIDTH)
test: bootstrap ## Run all tests, warnings as errors, reference oracles required
	@Scripts/oracles
	HEARTH_STRICT=1 HEARTH_REQUIRE_ORACLES=1 $(SWIFT) test --parallel $(TEST_FLAGS)

models: ## Check the protocol's Spin models exhaustively (about a minute)
	@Scripts/models

lint: ## Check format and style of Swift, syntax of scripts, the catalogue, the public interface
	$(SWIFT) format lint --strict --recursive $(SWIFT_PATHS)
	@for script in $(SHELL_SCRIPTS); do sh -n "$$script" || exit 1; done
	@bash -n .ci/run
	@Scripts/check-catalogue
	@Scripts/public-api

docs: bootstrap ## Build the API reference of the module Hearth (DocC)
	@grep -q swift-docc-plugin Package.swift || { \
	  echo "docs: Package.swift does not depend on swift-docc-plugin, so there is no" \
	    "documentation generator to run." >&2; exit 1; }
	@mkdir -p "$(OUT)"
	HEARTH_DOCS=1 $(SWIFT) package --allow-writing-to-directory "$(OUT)" generate-documentation \
	  --target Hearth --output-path "$(OUT)" --transform-for-static-hosting --warnings-as-errors

install: bootstrap ## Build with the Swift runtime inside and install below PREFIX
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" SWIFT="$(SWIFT)" Scripts/install

uninstall: ## Remove what `make install` put below PREFIX; nodes stay
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" Scripts/install --remove

simulate: bootstrap ## Look for faults with simulated families (SIM_QUICK=1000 SIM_FROM=5000)
	@Scripts/simulate

prove: bootstrap ## Everything that takes longer than a pipeline may: it says how long, and goes on to the end
	@Scripts/prove

bench: bootstrap ## Measure every budget beside its floor (BENCH_FLAGS="--n 10000 --m 40000")
	$(SWIFT) build -c release --product hearth-bench
	@"$$($(SWIFT) build -c release --show-bin-path)/hearth-bench" budgets $(BENCH_FLAGS)

clean: ## Remove everything that a build made
	rm -rf .build .build-sim .build-static "$(OUT)"
