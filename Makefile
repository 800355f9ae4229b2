# The two commands of the README are `make demo` and `make test`. They need the Swift toolchain; the C libraries that
# are missing are installed with apt, with sudo unless you are root.

.PHONY: demo release install uninstall tarball deb image package-test order order-check built test clients database pictures soak combination cluster-soak fuzz benchmarks measured bench bench-smoke speed format generate packages
.DEFAULT_GOAL := demo

# Packages that only the tests need: a browser, the source of the editor on its pages, a database, an editor, shells, and
# Python for clients that others wrote and for a mail server.
TEST_PACKAGES := chromium chromium-driver fish libjs-codemirror neovim postgresql python3-aiosmtpd python3-selenium python3-venv terser zsh
PACKAGES := age g++ libcurl4-openssl-dev libfaketime libmicrohttpd-dev libpq-dev libre2-dev libssl-dev libyaml-dev libzip-dev tzdata zlib1g-dev
# How everything that is shipped or measured is built, so that nothing is built twice.
RELEASE = ERRAND_COMMIT=$$(git describe --always --exclude='*' --abbrev=12 --dirty=+ 2> /dev/null) \
  swift build -c release --static-swift-stdlib --disable-local-rpath
# The flags of the demo, the tests and the gate, always the same for the same reason. Another compiler than the one that the
# gate has may warn of something else.
STRICT = $(if $(findstring Swift version 6.3,$(shell swift --version 2>&1)),-Xswiftc -warnings-as-errors)
CHECKED = $(STRICT) --explicit-target-dependency-import-check error
# Runs tests that are built.
SUITE = swift test $(CHECKED) --skip-build --disable-xctest
ERRAND := .build/release/errand
# The same program, built in a third of the time to try it or work on it: larger, and slower where it computes.
QUICK := .build/debug/errand
SHELL := /bin/bash
# Tests share two threads with the servers they talk to; too many at once make each other time out.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 4

demo: packages
	swift build $(CHECKED) --product errand
	$(QUICK) run recipes/markbook-averages.yaml --sandbox -i markbook=1207731 -i into=Average
	@echo "The program is $(CURDIR)/$(QUICK); '$(QUICK) --help' says what else it does."
	@echo "It was built quickly, to be tried. 'make release && sudo make install' builds and installs the small and fast one."

# The program as it is shipped, in .build/dist, and beside it the symbols that turn the addresses of a crash into lines.
# They stay on the machine where you read it, and need not be shipped.
DIST := .build/dist
release: packages
	$(RELEASE) --product errand
	@mkdir -p $(DIST)
	llvm-objcopy --only-keep-debug --compress-debug-sections=zlib $(ERRAND) $(DIST)/errand.debug
	llvm-objcopy --strip-all --add-gnu-debuglink=$(DIST)/errand.debug $(ERRAND) $(DIST)/errand
	@cp LICENSE NOTICE $(DIST)
	@ls -l $(DIST)

# Puts the program, its manual pages and its completions below PREFIX; `make uninstall` removes them. It builds nothing,
# because root would own the files, and refuses a program of another commit, which `git pull` leaves behind. Git reads a
# clone of another user only if it is told to.
PREFIX ?= /usr/local
PACKAGING := Sources/Programs/errand/Packaging
install:
	@test -x $(DIST)/errand \
	|| { echo "error: no program is built; run 'make release' first, then 'sudo make install'" >&2; exit 1; }
	@commit=$$(git -c safe.directory='*' rev-parse --short=12 HEAD 2> /dev/null); \
	test -z "$$commit" || $(DIST)/errand --version | grep -q "commit $$commit" \
	|| { echo "error: the built program isn't of commit $$commit; run 'make release' first, then 'sudo make install'" >&2; exit 1; }
	$(PACKAGING)/stage $(DIST)/errand "$(DESTDIR)" $(PREFIX)

uninstall:
	cd "$(DESTDIR)$(PREFIX)" && rm -rf bin/errand share/man/man1/errand.1.gz share/man/man5/errand-recipe.5.gz \
	  share/man/man5/errand.yaml.5.gz share/bash-completion/completions/errand share/zsh/vendor-completions/_errand \
	  share/fish/vendor_completions.d/errand.fish share/doc/errand

# The installed files, as an archive to unpack below any prefix, with its checksum.
NAME = errand-$(shell $(DIST)/errand --version | cut -d ' ' -f 2)-linux-$(shell uname -m)
tarball: release
	rm -rf $(DIST)/tree && $(PACKAGING)/stage $(DIST)/errand $(CURDIR)/$(DIST)/tree /$(NAME)
	cp LICENSE $(DIST)/tree/$(NAME)/share/doc/errand
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C $(DIST)/tree -cJf $(DIST)/$(NAME).tar.xz $(NAME)
	cd $(DIST) && sha256sum $(NAME).tar.xz > $(NAME).tar.xz.sha256

# The Debian package; lintian, and trials in a new Debian: `make package-test`.
deb: release
	$(PACKAGING)/deb $(DIST)/errand $(DIST)

# A container image (OCI): user 65532, state in the volume /var/lib/errand, recipes in /recipes.
image: release
	@$(MAKE) --no-print-directory packages PACKAGES='buildah mmdebstrap'
	$(PACKAGING)/image $(DIST)/errand $(DIST)

package-test: deb
	@$(MAKE) --no-print-directory packages PACKAGES='lintian mandoc mmdebstrap'
	$(PACKAGING)/trial $(DIST)/errand_*.deb

built: packages clients
	swift build --build-tests $(CHECKED)

# Tests that run longer than so many minutes hang: they are listed then, with the stacks of their process.
TEST_MINUTES ?= 40
# Tests that compute for seconds at a time and wait for nothing. They share the two threads of the pool with servers and
# clients in the same process, whose requests would wait for them beyond their time limits, so they run first.
COMPUTING := ^(ActionKit|Basics|Calendars|Expression(s|TestKit)|LocalFiles|RecipeEditing|Recipes|Recordings|RunState|Runs|Scheduler|Simulator|YAMLReader|errand_dev)Tests\.
# The test of how late the agent is has the machine for itself.
ALONE := hostile callers are refused
# All tests at once would wait for each other: an answer over HTTP is late when two thousand others come first.
test: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 12
test: built
	@.ci/tests .build/computing.log $(TEST_MINUTES) $(SUITE) --parallel --filter '$(COMPUTING)'
	@.ci/tests .build/tests.log $(TEST_MINUTES) $(SUITE) --parallel --skip '$(COMPUTING)' --skip '$(ALONE)'
	@.ci/tests .build/alone.log $(TEST_MINUTES) $(SUITE) --no-parallel --filter '$(ALONE)'

# PostgreSQL, for tests and measurements, which start servers of their own. Its package would create a database cluster and
# start it as a service. It is told not to, while it is being installed.
CLUSTERS := /etc/postgresql-common/createcluster.d
database: packages
	@if command -v apt-get > /dev/null && ! dpkg-query --show postgresql > /dev/null 2>&1; then \
	  if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root="sudo env"; fi; \
	  $$as_root mkdir -p $(CLUSTERS) && echo 'create_main_cluster = false' | $$as_root tee $(CLUSTERS)/errand.conf > /dev/null; \
	  $(MAKE) --no-print-directory packages PACKAGES=postgresql; made=$$?; \
	  $$as_root rm $(CLUSTERS)/errand.conf; exit $$made; \
	fi
	@$(MAKE) --no-print-directory packages PACKAGES=postgresql

# Clients of the API from PyPI, for tests against what others wrote. Where PyPI isn't reached, those tests say so and are
# left out; the browser and what drives it are Debian's, and always there. Debian's Prometheus and nginx are only unpacked
# (20 MB and 0.5 MB to download), because installing them would start them as services. OpenAPI documents of other projects
# are taken out of their packages (8 MB).
CLIENTS := .build/clients
NGINX := .build/nginx
PROMETHEUS := .build/prometheus
DOCUMENTS := .build/documents
clients: packages database
	@$(MAKE) --no-print-directory packages PACKAGES='$(TEST_PACKAGES)'
	@test $(CLIENTS)/made -nt Tests/Clients/requirements.txt || { \
	  /usr/bin/python3 -m venv --system-site-packages $(CLIENTS) \
	  && $(CLIENTS)/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
	    -r Tests/Clients/requirements.txt && touch $(CLIENTS)/made; } \
	|| echo "note: the clients from PyPI are not there, so their tests are left out" >&2
	@test -x $(PROMETHEUS)/prometheus || { \
	  rm -rf $(PROMETHEUS) && mkdir -p $(PROMETHEUS) && cd $(PROMETHEUS) && apt-get -qq download prometheus \
	  && dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x --strip-components=3 ./usr/bin && rm prometheus_*.deb; } 2> /dev/null \
	|| echo "note: Debian's prometheus can't be downloaded, so its test is left out" >&2
	@test -x $(NGINX)/nginx || { \
	  rm -rf $(NGINX) && mkdir -p $(NGINX) && cd $(NGINX) && apt-get -qq download nginx \
	  && dpkg-deb --fsys-tarfile nginx_*.deb | tar -x --strip-components=3 ./usr/sbin && rm nginx_*.deb; } 2> /dev/null \
	|| echo "note: Debian's nginx can't be downloaded, so its test is left out" >&2
	@test $(DOCUMENTS)/made -nt Tests/Clients/documents.txt || { \
	  rm -rf $(DOCUMENTS)/packages && mkdir -p $(DOCUMENTS)/packages && cd $(DOCUMENTS)/packages \
	  && $(CURDIR)/$(CLIENTS)/bin/pip download --quiet --disable-pip-version-check --require-hashes --no-deps \
	    -r $(CURDIR)/Tests/Clients/documents.txt \
	  && for wheel in *.whl; do /usr/bin/python3 -m zipfile -e $$wheel .; done \
	  && cp airflow/api_fastapi/core_api/openapi/v2-rest-api-generated.yaml ../airflow.yaml \
	  && cp jupyter_server/services/api/api.yaml ../jupyter.yaml \
	  && apt-get -qq download golang-github-docker-docker-dev \
	  && dpkg-deb --fsys-tarfile golang-github-docker-docker-dev_*.deb \
	    | tar -xO ./usr/share/gocode/src/github.com/docker/docker/api/swagger.yaml > ../docker.yaml \
	  && cd .. && rm -r packages && touch made; } 2> /dev/null \
	|| echo "note: packages with OpenAPI documents can't be downloaded, so their tests are left out" >&2

# Kills the real binary at random moments and counts what was written: commands ROUNDS times, and the agent for SECONDS,
# with its slots and runs compared with the ledger in the end, plugins in Python and their agents PLUGIN_KILLS times, POST_KILLS times between requests over HTTP and their
# answers, has one agent do everything at once through kills for SECONDS, posts DELIVERIES to a webhook through kills, asks the API EXAMPLES things of each kind, and everything with limited tokens, and for SECONDS more over runs that are retried, values that many
# change at once, journals with holes and commands with children; then checks and runs RECIPES that are made up, plans and
# runs ORDERS of branches, and simulates seeds for as long; plays HISTORIES random histories in every store, and as many with several programs that
# share one. At last an agent does all that one does for MINUTES, or for HOURS, and what it holds is
# measured: SECONDS=600 HOURS=8 make soak
ROUNDS := 20
RECIPES := 20000
ORDERS := 2000
POST_KILLS := 1000
PLUGIN_KILLS := 200
DELIVERIES := 10000
EXAMPLES := 100
HISTORIES := 1000
MINUTES ?= $(if $(HOURS),$(shell expr $(HOURS) '*' 60),10)
soak: packages clients
	swift build --build-tests $(CHECKED)
	ERRAND_KILLS=$(ROUNDS) ERRAND_SOAK=$(SECONDS) swift test $(CHECKED) --disable-xctest --no-parallel \
	  --filter 'killed at random'
	ERRAND_PLUGIN_KILLS=$(PLUGIN_KILLS) $(SUITE) --no-parallel \
	  --filter PluginKillTests
	ERRAND_CLIENT_MINUTES=240 ERRAND_POST_KILLS=$(POST_KILLS) $(SUITE) --no-parallel \
	  --filter 'killed at random between a request'
	$(MAKE) --no-print-directory combination
	ERRAND_DELIVERIES=$(DELIVERIES) $(SUITE) --no-parallel \
	  --filter 'deliveries count once through kills'
	ERRAND_CLIENT_MINUTES=240 ERRAND_EXAMPLES=$(EXAMPLES) $(SUITE) --no-parallel \
	  --filter 'the agent answers as its document'
	ERRAND_LIMITS=all $(SUITE) --no-parallel --filter 'errandTests\.LimitTests'
	ERRAND_HISTORIES=$(HISTORIES) ERRAND_CROWDS=$(HISTORIES) ERRAND_HANDOVERS=$(HISTORIES) $(SUITE) \
	  --filter 'HistoryTests|FaultTests|CrowdTests|HandoverTests'
	SOUND=$(RECIPES) ORDERS=$(ORDERS) $(SUITE) --filter 'recipes that check, run|branches, loops and calls writes'
	ERRAND_SIMULATE=$(SECONDS) $(SUITE) --no-parallel --filter 'as long as one likes'
	$(MAKE) --no-print-directory benchmarks
	MINUTES=$(MINUTES) $(MEASURED)/Benchmarks hours

# One life of everything together, killed at random, in a folder and on PostgreSQL, for SECONDS each; and then one exact
# account. It needs what `make built` builds.
combination:
	ERRAND_CLIENT_MINUTES=240 ERRAND_COMBINATION=$(SECONDS) $(SUITE) --no-parallel \
	  --filter 'all parts at once'

# Four agents on one state in PostgreSQL, which are killed and frozen, and so is the server, for SECONDS:
# SECONDS=600 make cluster-soak
cluster-soak: packages clients
	swift build --build-tests $(CHECKED)
	ERRAND_CLUSTER=$(SECONDS) $(SUITE) --no-parallel --filter ClusterTests

# Saves each page as people see it, light and dark, wide and on a phone, in docs/pictures.
PICTURES := docs/pictures
pictures: packages
	@$(MAKE) --no-print-directory packages PACKAGES='chromium chromium-driver python3-selenium pngquant'
	swift build --product errand
	/usr/bin/python3 Tests/Clients/pages.py .build/debug/errand --pictures $(PICTURES)
	pngquant --force --ext .png --speed 1 $(PICTURES)/*.png

# Throws garbled texts at what reads expressions, YAML, JSON, schedules, recipes, HTTP answers and OpenAPI documents,
# SECONDS long at each:
# SECONDS=600 make fuzz. What is found is kept in .build/fuzz, and so is what was learnt, for the next time. Leaks are not
# looked for: Swift keeps bits of its own in pointers, and what only such a one points to looks lost.
SECONDS ?= 60
FUZZERS := check evaluate template yaml json cron recipe answer document
FUZZ := .build/fuzz
fuzz: packages
	ERRAND_FUZZ=1 swift build -c release --scratch-path $(FUZZ) --sanitize=address -Xswiftc -sanitize=fuzzer \
	  -Xswiftc -use-ld=lld --product Fuzz
	@for name in $(FUZZERS); do \
	  echo "== $$name"; \
	  ASAN_OPTIONS=detect_leaks=0 $(FUZZ)/release/Fuzz $$name $(FUZZ)/corpus/$$name -max_total_time=$(SECONDS) -max_len=2048 -timeout=10 \
	    -artifact_prefix=$(FUZZ)/$$name- -print_final_stats=1 2> $(FUZZ)/$$name.log \
	  || { tail -n 40 $(FUZZ)/$$name.log >&2; exit 1; }; \
	  grep number_of_executed_units $(FUZZ)/$$name.log; \
	done

# The program as it is shipped, the floors in C, and the program that measures both, in one folder. Some rows need
# curl and strace.
MEASURED := .build/measured
benchmarks: release
	@$(MAKE) --no-print-directory packages PACKAGES='curl strace'
	$(RELEASE) --product Benchmarks
	@mkdir -p $(MEASURED)
	cp $(DIST)/errand .build/release/Benchmarks $(MEASURED)
	cc -O2 -Wall -Wextra -Werror -pthread -o $(MEASURED)/floors Benchmarks/Floors/floors.c

# The same, starts with more plugins, and a database.
MADE := .build/plugin-start
measured: benchmarks
	@$(MAKE) --no-print-directory database
	@set -e; for count in 0 10 20; do \
	  Benchmarks/PluginStart/generate $$count $(MADE); \
	  ERRAND_PLUGIN_START=$(MADE) $(RELEASE) --product PluginStart; \
	  llvm-objcopy --strip-all .build/release/PluginStart $(MEASURED)/PluginStart-$$count; \
	done

# Some rows, or the medians of five measurements: ROWS='step items' TIMES=5 make bench
bench: measured
	$(MEASURED)/Benchmarks --times $(or $(TIMES),1) $(ROWS)

# The groups in which a dear step shows, with bars that hold on any machine: twice as wide for times, a tenth for sizes.
# Part of the gate.
bench-smoke: benchmarks
	$(MEASURED)/Benchmarks --smoke

# Makes docs/speed.md anew: all rows, and other tools beside them, which PyPI has. Takes some minutes.
PEERS := huey dbos aiohttp
speed: measured
	@python3 -m venv .build/peers && .build/peers/bin/pip install --quiet --disable-pip-version-check $(PEERS) \
	|| echo "note: $(PEERS) are left out: there is no python3 with venv, or PyPI isn't reached" >&2
	$(MEASURED)/Benchmarks page docs/speed.md

# Says whether more than a twentieth of the functions that the linker puts side by side are gone, as when they were renamed.
ORDER := Sources/Programs/errand/Linking/order.txt
order-check: release
	@set -o pipefail; export LC_ALL=C; nm $(ERRAND) | cut -d ' ' -f 3 | sort -u > .build/functions && \
	grep -v '^OUTLINED' $(ORDER) | sort -u > .build/ordered && \
	gone=$$(comm -13 .build/functions .build/ordered | wc -l) && all=$$(wc -l < .build/ordered) && \
	echo "$$gone of $$all functions in $(ORDER) are gone" && \
	{ [ $$((gone * 20)) -le $$all ] || { echo "error: measure it anew with 'make order'" >&2; exit 1; }; }

# Measures anew which functions short commands call, so that the linker puts them side by side.
order: packages
	@$(MAKE) --no-print-directory packages PACKAGES=valgrind
	$(RELEASE) --product errand
	Sources/Programs/errand/Linking/measure-order $(ERRAND)

format:
	swift format --in-place --recursive --parallel Package.swift Sources Plugins Tests Benchmarks

generate:
	swift run $(CHECKED) errand-dev generate

packages:
	@command -v swift > /dev/null || { echo "error: there is no 'swift'; install Swift 6.3 from https://swift.org/install" >&2; exit 1; }
	@command -v dpkg-query > /dev/null || { echo "note: this isn't Debian; install these libraries: $(PACKAGES)" >&2; exit 0; }; \
	missing=$$(for package in $(PACKAGES); do \
	  dpkg-query --show --showformat '$${db:Status-Status}' $$package 2> /dev/null | grep -qx installed || echo $$package; \
	done); \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root="sudo env"; fi; \
	  echo "Installing" $$missing; \
	  { $$as_root DEBIAN_FRONTEND=noninteractive apt-get -qq update \
	    && $$as_root DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $$missing > /dev/null; } \
	  || { echo "error: apt cannot install what is missing; install it by hand:" $$missing >&2; exit 1; }; \
	fi
