# What can be done here, by name. CI runs `make test` and, of what follows it here, all that does not take hours (`.ci/run`).
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# One thing after the other, since cargo already uses every core; but for `make test`, below.
ifndef LANES
.NOTPARALLEL:
endif

TARGET := $(or $(CARGO_TARGET_DIR),target)
REPORT := $(TARGET)/report.html
# Seconds for each fuzz target; a minute finds what is careless.
export SECONDS_EACH ?= 60

.PHONY: hooks campaign crowd help seeds test check built night lint lean package packages cluster sockets msrv deny semver unit live docs site pages recipes action guide report web browser shots bare fuzz mutants kernel kernels types python bench fresh

help: ## this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# Two cores are kept busy. What needs nothing that is built goes on beside the compiler, which has less than two things to do for a third of
# its time; servers, links and kernels are tested in real time, minutes in which hardly a core has work, beside all other tests.
test: ## what a change can break, tested; installs what it needs on Debian
	@failed=; mkdir -p $(TARGET); rm -f $(TIMES) $(TARGET)/{unit,live}.log; \
	cargo fmt --all --check || failed=1; \
	tests/needs.sh unit kernel python || failed=1; \
	nice -n 15 $(MAKE) --no-print-directory --keep-going --output-sync=target $(addprefix timed-,types guide bare) & beside=$$!; \
	$(MAKE) --no-print-directory timed-built || failed=1; \
	wait $$beside || failed=1; \
	LANES=1 $(MAKE) --no-print-directory --keep-going --jobs=3 --output-sync=target $(addprefix timed-,live unit python) || failed=1; \
	echo "make test took, all until \"built\" beside each other and what follows, too:"; cat $(TIMES); \
	[ -z "$$failed" ]
	@awk '/^test result: ok/ { passed += $$4; ignored += $$8 } END { printf "make test: %d Rust tests passed, %d ignored; python, guide and bare parts as above\n", passed, ignored }' $(TARGET)/unit.log $(TARGET)/live.log

check: lint docs site ## what can be said without running a test: clippy over everything, documentation and pages; warnings are errors

# How long each part takes.
TIMES = $(TARGET)/times.log
timed-%:
	@tests/timed.sh $(TIMES) $* $(MAKE) --no-print-directory $*

# One set of features for all that is compiled here, so that each crate is built once: everything but s2n-quic's sockets, and without the
# kernel's where clang and libelf cannot be had. Asked for when a recipe runs.
FEATURES = $$(tests/needs.sh --features)

# Tests in real time come first.
GENTLY = $(if $(LANES),nice -n 15)

# What is built once for all.
BUILD = cargo build --locked $$(tests/needs.sh --build)

lint: ## commits, circles of imports, formatting and clippy over everything; warnings are errors
	tests/commits.sh
	@git grep -hE '^\s*//[/!]? (What|How|Who) ' -- '*.rs' | wc -l | sed 's/$$/ comments open with What, How or Who/'
	tests/needs.sh kernel
	python3 tests/circles.py
	@! grep -rl '#\[test\]' $$(awk '/^\[/ { lib = $$0 == "[lib]" } lib && /^test = false$$/ { print FILENAME }' crates/*/Cargo.toml | sed 's/Cargo.toml/src/') || { echo "lint: these tests never run: their Cargo.toml says test = false"; exit 1; }
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets $(FEATURES) -- -D warnings

hooks: ## a Git hook that checks the form of commit messages
	install -D -m 755 tests/commits.sh "$$(git rev-parse --git-path hooks)/commit-msg"

lean: ## clippy over the program as most people build it, with its default features; warnings are errors
	cargo clippy --locked -p firstflight-cli -- -D warnings

# CI runs this and `make lean` after `make check`. What is compiled for `make lint` is used again; `make night` builds each crate alone, as
# the registry's client does.
package: ## the crates as they would be published, checked outside this checkout
	packaging/package.sh

built:
	tests/needs.sh unit kernel python
	$(BUILD)

# PROFILE=dev tries the scripts with builds that take a quarter of the time.
packages: ## what people install, made and tried where nothing else is: static program, .deb of program and C library, container, wheels (target/dist)
	packaging/static.sh
	packaging/try.sh static
	packaging/deb.sh
	packaging/c.sh
	packaging/try.sh deb c
	packaging/container.sh
	packaging/wheels.sh
	packaging/try.sh wheel sdist

# CI runs this with PROFILE=dev: program and engine are those of the tests. The other packages compile everything once more, each by itself: for
# musl, for an old C library, from the unpacked sources.
installed: ## of these, what CI makes and tries on each change: .deb of program and C library, and a wheel for this machine
	packaging/deb.sh
	packaging/c.sh
	packaging/try.sh deb c
	packaging/wheels.sh host
	packaging/try.sh wheel

# One version, written by one script; what a machine has no tool for is named.
recipes: ## Homebrew, AUR, conda-forge, Nix, Zenodo, CITATION.cff, workflows and scripts, each checked by its own tool
	packaging/recipes.sh

action: ## the action for other repositories, carried out on packaging/action-example with an archive made here
	$(BUILD)
	packaging/action-example/run.sh $(TARGET)/debug/firstflight

msrv: ## the default program with the oldest Rust that Cargo.toml names
	packaging/msrv.sh

# The database of advisories is fetched: `make deny DENY=` has it, too, and so does the release workflow.
DENY ?= bans licenses sources
deny: ## licences and sources of every dependency (cargo-deny)
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --locked check $(DENY); \
	else echo "deny: skipped, no cargo-deny (cargo install cargo-deny --locked)"; [ "$${CI:-}" != true ]; fi

semver: ## what the crates export against what is published (cargo-semver-checks); from the first release on
	@if cargo semver-checks --version >/dev/null 2>&1; then cargo semver-checks --workspace --exclude firstflight-python; \
	else echo "semver: skipped, no cargo-semver-checks (cargo install cargo-semver-checks --locked)"; fi

# Examples are compiled by `make lint`; the servers among them are part of the tests of their crate.
unit: ## all Rust tests, with overflow checks: core, path, simulator, real QUIC stacks, the running kernel, every command
	tests/needs.sh unit kernel
	@mkdir -p $(TARGET)
	$(GENTLY) cargo test --locked --workspace --no-fail-fast $(FEATURES) --tests $(if $(LANES),$(call LANE,rest)) | tee $(TARGET)/unit.log
	@# Without make's jobserver, of which rustdoc is told and which it cannot open.
	env -u MAKEFLAGS $(GENTLY) cargo test --locked --workspace --no-fail-fast $(FEATURES) --doc | tee -a $(TARGET)/unit.log

# Cargo starts a test's program by another one, which leaves out those of the other lane.
LANE = --config "target.'cfg(unix)'.runner = ['$(CURDIR)/tests/lane.sh', '$(1)']"

live: ## of these, what runs in real time: the kernel's controllers, servers, links and field tests
	tests/needs.sh unit kernel
	@mkdir -p $(TARGET)
	cargo test --locked --workspace --no-fail-fast $(FEATURES) --tests $(call LANE,live) | tee $(TARGET)/live.log

kernel: ## of these, only what needs the kernel: controllers equal to the core, loaded, unloaded; links
	crates/firstflight-linux/test.sh

night: ## what takes hours: fuzzing, hostile input for the whole program, each crate built alone, every package, mutants, every controller in other kernels, every published result in full, CUBIC against itself in a hundred batteries, make test in a bare Debian
	SECONDS_EACH=1800 $(MAKE) fuzz
	SECONDS_EACH=3600 $(MAKE) campaign
	$(MAKE) crowd
	$(MAKE) lean
	packaging/package.sh --verify
	PROFILE=dev LIMIT=60 $(MAKE) packages
	PROFILE=dev packaging/windows.sh
	CARGO_TARGET_DIR=$(TARGET) python/test.sh --wheel
	CARGO_TARGET_DIR=$(TARGET) python/test.sh --learn
	$(MAKE) mutants
	NIGHT=1 cargo test --locked --workspace $(FEATURES) --test it read_back
	NIGHT=1 cargo test --locked -p firstflight --all-features --test it
	NIGHT=1 cargo test --locked -p firstflight-sim --test it undo_truth
	NIGHT=1 cargo test --locked -p firstflight-cli --features quic --test it -- identified runners
	NIGHT=1 cargo test --locked -p firstflight-replay --all-features -- identify wire vantage
	[ -z "$(CAPTURES)" ] || { cargo build --locked --release && tests/tshark.py $(TARGET)/release/firstflight $(CAPTURES); }
	NIGHT=1 cargo test --locked -p firstflight-linux --features bpf,native --test it equal
	NIGHT=1 cargo test --locked -p firstflight-cli --features full --test real -- killed signals
	NIGHT=1 cargo test --locked -p firstflight-lab --features linux --test real closed_loop -- --nocapture
	NIGHT=1 FIRSTFLIGHT_DRAWS=1000 cargo test --locked --release -p firstflight-lab --test it decision
	NIGHT=1 cargo test --locked --release -p firstflight-lab --features tune --test it tune
	cargo build --locked --release && tests/advise_seeds.py $(TARGET)/release/firstflight --full
	$(MAKE) kernels
	cargo run --locked --release -- reproduce --all --report $(TARGET)/published.html
	cargo test --locked --release -p firstflight-evaluate --test it -- --ignored --nocapture
	REPRODUCED=--all $(MAKE) browser
	$(MAKE) shots
	GUIDE=--full $(MAKE) guide
	FULL=1 $(MAKE) fresh
	contrib/ns3/agreement.sh
	$(MAKE) -C contrib/picoquic agreement
	$(MAKE) -C contrib/quicly agreement

kernels: ## every controller in Linux 6.1, 6.12 and 7.x, in an emulator; fetches them from Debian
	crates/firstflight-linux/kernels.sh

types: ## the Python package's style and types
	CARGO_TARGET_DIR=$(TARGET) python/test.sh --types

# After `make built`; `make night` asks many more seeds.
seeds: ## one answer of advise at every seed, on samples and fresh captures
	$(BUILD)
	$(GENTLY) tests/advise_seeds.py $(TARGET)/debug/firstflight

python: ## the Python package: types, tests, notebooks; `make night` tests its wheel
	CARGO_TARGET_DIR=$(TARGET) $(GENTLY) python/test.sh $(if $(LANES),--tests)

cluster: ## the Python package on a Ray cluster on this machine: workers that die, the same bytes
	CARGO_TARGET_DIR=$(TARGET) python/test.sh --ray

sockets: ## our controllers in s2n-quic with its own sockets, whose cryptography is compiled for this alone
	tests/needs.sh unit
	cargo test --locked -p firstflight-quic --all-features --test it s2n::

docs: ## the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps $(FEATURES)

site: ## the documentation as a site, target/site; broken links and stale pictures are errors
	$(BUILD)
	CARGO_TARGET_DIR=$(TARGET) docs/site/build.sh $(TARGET)/debug/firstflight

pages: web site ## all that is hosted in one folder, target/pages: site, playground, a report of every kind; opened in a browser
	python3 docs/site/pages.py $(TARGET)/debug/firstflight $(TARGET)/site $(TARGET)/web/engine.wasm $(TARGET)/pages
	VENV=$(TARGET)/venv tests/browser/pages.sh $(TARGET)/pages

# In a folder of its own: a copy would put its program where ours is. `make night` also runs the tests and looks at the new arm.
guide: ## docs/add-an-algorithm.md carried out to the letter on a copy: does it compile?
	tests/needs.sh guide
	python3 tests/add-an-algorithm.py $(TARGET)/guide $(GUIDE)

report: ## the default comparison as a page, target/report.html
	@mkdir -p $(TARGET)
	cargo run --locked --release -- compare --report $(REPORT)

web: ## the playground's engine, target/web/engine.wasm: `firstflight ui` of this checkout finds it there
	crates/firstflight-web/build.sh

# The pages are made by the program that the tests have built: another build would take longer than its speed saves. These two documents have
# pictures of every kind; all seven would take more processor time than the browser does, and `make night` has them.
REPRODUCED ?= best gvisor
browser: web ## reports of every kind and the playground in headless Chromium, and Chromium as a client of HTTP/3; PLANS=300 compares more
	$(BUILD)
	tests/web/run.sh $(TARGET)/debug/firstflight $(TARGET)/web/engine.wasm
	$(TARGET)/debug/firstflight compare --report $(REPORT)
	$(TARGET)/debug/firstflight ab --population geo --flows 2000 --baseline hystart --arms slowstart,hystart++,rapid --report $(TARGET)/ab.html >/dev/null
	$(TARGET)/debug/firstflight reproduce $(REPRODUCED) --quick --report $(TARGET)/reproduce.html >/dev/null
	$(TARGET)/debug/firstflight advise samples/satellite.pcap.gz --report $(TARGET)/advise.html >/dev/null
	$(TARGET)/debug/firstflight replay samples/*.pcap.gz --report $(TARGET)/replay.html >/dev/null
	$(TARGET)/debug/firstflight compare --repeat 5 --json $(TARGET)/before.json >/dev/null
	$(TARGET)/debug/firstflight compare --repeat 5 --iw 30 --json $(TARGET)/after.json >/dev/null
	$(TARGET)/debug/firstflight diff $(TARGET)/before.json $(TARGET)/after.json --report $(TARGET)/diff.html >/dev/null
	FIRSTFLIGHT_REPORT=$(REPORT) FIRSTFLIGHT_AB=$(TARGET)/ab.html FIRSTFLIGHT_REPRODUCTION=$(TARGET)/reproduce.html \
		FIRSTFLIGHT_ADVICE=$(TARGET)/advise.html FIRSTFLIGHT_REPLAY=$(TARGET)/replay.html FIRSTFLIGHT_DIFF=$(TARGET)/diff.html FIRSTFLIGHT_SERVE=$(TARGET)/debug/firstflight FIRSTFLIGHT_ENGINE_FILE=$(TARGET)/web/engine.wasm VENV=$(TARGET)/venv tests/browser/run.sh

shots: web site ## pictures of every page at two widths, light and dark, and tables at 80 and 120 columns, target/shots; what looks wrong is an error
	$(BUILD)
	python3 docs/site/pictures.py $(TARGET)/debug/firstflight docs --reports
	VENV=$(TARGET)/venv tests/browser/shots.sh $(TARGET)/debug/firstflight $(TARGET)/web/engine.wasm $(TARGET)/site $(TARGET)/shots

bare: ## the core crate without std and without alloc
	@if [ -x crates/firstflight/bare/check.sh ]; then crates/firstflight/bare/check.sh; else echo "bare: skipped, no crates/firstflight/bare/check.sh"; fi

fuzz: ## every fuzz target for SECONDS_EACH seconds
	@if [ -x fuzz/run-short.sh ]; then fuzz/run-short.sh; else echo "fuzz: skipped, no fuzz/run-short.sh"; fi

campaign: ## hostile input for the whole program: segments, qlog, command lines, damaged files, signals, disks; SECONDS_EACH seconds each
	$(BUILD)
	tests/campaign.py $(TARGET)/debug/firstflight

crowd: ## watch and trial on 2 000 connections a second and 100 hostile clients, five minutes; needs root
	$(BUILD)
	tests/crowd.py $(TARGET)/debug/firstflight

# A mutant that no test notices is a finding to read, no failure: exit codes 2 (missed) and 3 (too slow).
mutants: ## one operator of core or path changed at a time: does a test notice? hours; SHARD=7/47 tries every 47th (docs/testing.md)
	@if cargo mutants --version >/dev/null 2>&1; then \
		cargo mutants -p firstflight -p firstflight-path -o $(TARGET) --colors never $(if $(SHARD),--shard $(SHARD) --sharding round-robin) || [ $$? -le 3 ]; \
	else echo "mutants: skipped, no cargo-mutants (cargo install cargo-mutants --locked)"; fi

fresh: ## a bare Debian root, made and thrown away: every part of `make test` installs what it needs (FULL=1: all of it runs there)
	tests/fresh.sh

bench: ## what one ACK costs, in instructions
	@if [ -x benches/ack.sh ]; then benches/ack.sh; else echo "bench: skipped, no benches/ack.sh"; fi
