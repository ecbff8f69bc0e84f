# Everything that is done with this repository, the same on a laptop and in CI. `make` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# One profile for the demo and for tests, so that they share one build.
PROFILE := test
TARGET := $(or $(CARGO_TARGET_DIR),target)

# A user's PATH on Debian lacks them; ip and ethtool are there.
export PATH := $(PATH):/usr/sbin:/sbin

# Looked up when a recipe runs: setup may just have installed it.
export LIBCLANG_PATH = $(shell ls -d /usr/lib/llvm-*/lib 2>/dev/null | sort -V | tail -n 1)

# One thing after another: the parts of a step build on each other.
.NOTPARALLEL:

# What is installed or packaged; as root there may be no Rust to build it with.
BINARY ?= $(TARGET)/release/windrose

.PHONY: help demo test model sanitize fuzz check build install deb bench bench-ab setup setup-build bins clean

help: ## this list
	@echo "Targets:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: setup bins ## the main job on real traffic, between namespaces of this machine (root)
	@$(TARGET)/debug/demo $(DEMO)

test: setup bins ## every test, the end-to-end ones included (root)
	cargo test --workspace --doc --quiet
	@if command -v cargo-nextest >/dev/null; then \
		set -x; cargo nextest run --workspace --no-fail-fast; \
	else \
		set -x; cargo test --workspace --no-fail-fast --lib --bins --tests; \
	fi
	@$(MAKE) --no-print-directory model

model: ## every interleaving of the lock-free parts (loom), in a build of its own
	RUSTFLAGS="--cfg loom" cargo test --target-dir $(TARGET)/loom --package dataplane --no-default-features --lib model::
	RUSTFLAGS="--cfg loom" cargo test --target-dir $(TARGET)/loom --package tables --test loom_publish

# Both want builds of their own, for an explicit target: build scripts and macros stay without.
SANITIZED = RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$(1) -Cunsafe-allow-abi-mismatch=sanitizer" \
	cargo test --target-dir $(TARGET)/$(1) --target $$(rustc -vV | sed -n 's/^host: //p')
SHARED = --package tables --test publish_stress --package dataplane --no-default-features --lib --test worker \
	-- track:: publication:: readers_never_see

sanitize: ## the stress of what workers share under AddressSanitizer and ThreadSanitizer, the packet path under the first
	$(call SANITIZED,address) $(SHARED)
	$(call SANITIZED,address) --package dataplane --no-default-features --test worker --test golden
	TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/.config/tsan-suppressions.txt" $(call SANITIZED,thread) $(SHARED)

fuzz: ## every fuzz target for FUZZ_SECONDS (20) each, after its seeds; without DPDK
	cargo test --quiet --manifest-path fuzz/Cargo.toml
	fuzz/run.sh

check: setup-build ## formatting, lints, docs, the build without DPDK, licences
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	cargo check --package tables --package dataplane --no-default-features
	@if command -v cargo-deny >/dev/null; then \
		set -x; cargo deny check bans licenses sources; \
	else \
		echo "skipped: licences and bans (cargo-deny is not installed: cargo install cargo-deny)"; \
	fi

build: setup-build ## the release binary, target/release/windrose
	cargo build --release --package control --bin windrose

install: ## the built program, its unit, man pages, completions (PREFIX=/usr/local, DESTDIR=)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/install.sh "$(BINARY)"

deb: build ## a Debian package of it, in target/debian
	@packaging/deb.sh "$(BINARY)" "$(TARGET)/debian"

bins: setup-build
	cargo build --workspace --bins --profile $(PROFILE)

setup-build:
	@testbed/setup.sh build

setup: ## installs what is missing from Debian, reserves huge pages
	@testbed/setup.sh run

bench: setup-build ## what it costs, beside DPDK's own parts (BENCH=full: larger tables, more rounds)
	@bench/run.sh $(BENCH)

bench-ab: setup-build ## the packet path beside that of an earlier revision: BASE=rev
	@bench/ab.sh "$(BASE)" "$(RUNS)" "$(CASES)"

clean: ## removes what was built
	cargo clean
