# Targets of dgraph-evorag; "make help" explains them. Needs Go 1.26, gcc and make.
SHELL   := /bin/bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN     := $(CURDIR)/bin
LINTER  := $(BIN)/golangci-lint-2.15.0

# DGRAPH_BIN names an engine that is there already; else "make engine" builds one.
export DGRAPH_BIN
ENGINE := $(abspath $(or $(DGRAPH_BIN),$(BIN)/dgraph))

# EVORAG_DATA is the folder of question sets; tests that want one skip where there is none.
EVORAG_DATA ?= $(wildcard $(CURDIR)/../shared/data)
export EVORAG_DATA

FUZZTIME   ?= 30s
CHAOS      ?= 10000
TEST_FLAGS ?= -race -timeout 20m

.DEFAULT_GOAL := help
.PHONY: help engine build demo up test test-docs test-learning test-long test-browser test-unit test-compat conformance lint docs fuzz bench bench-growth chaos recall eval eval-full docker-check verify clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

engine: ## Build Dgraph v25.4.0 and the tokenizer into bin/ (once, minutes); DGRAPH_BIN uses another
	@docker/dgraph/build.sh

build: ## Build bin/dgraph-evorag
	@echo "building bin/dgraph-evorag $(VERSION)"
	@go build -ldflags "-X main.version=$(VERSION)" -o $(BIN)/dgraph-evorag ./sidecar/cmd/dgraph-evorag

demo: engine build ## Load the demo graph, ask two questions, show ranked paths, clean up
	@demo/run.sh

up: engine build ## The demo, left running until Ctrl-C on ./evorag-data
	@demo/run.sh stay

test: engine ## All tests, on the real engine too; fails where the engine is missing
	EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) go test $(TEST_FLAGS) ./...

test-docs: engine ## Every command in the documentation, as a reader would paste it
	EVORAG_LONG=1 EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) go test -count=1 -v -timeout 20m -run 'EveryCommand' ./sidecar/internal/docs

test-learning: ## Learning makes no question set in EVORAG_DATA worse than the static system; planted faults go
	EVORAG_LONG=1 go test -count=1 -v -timeout 20m -run 'LearningNeverHurts|PlantedFaultsGo' ./sidecar/internal/eval

test-long: engine test-learning ## Tests of minutes: that, and trials of the evaluation harness
	EVORAG_LONG=1 EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) go test -count=1 -v -timeout 60m -run 'Harness|Recipe' ./sidecar/internal/app

test-browser: engine ## The console and (with RATEL_DIR) Ratel in a headless Chromium, installed where there is none
	@.ci/browser
	EVORAG_REQUIRE_BROWSER=1 EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) go test -count=1 -v -timeout 30m -run 'Console|Ratel' ./sidecar/internal/integration

test-unit: ## Tests that need no engine; the others skip
	DGRAPH_BIN=/no/engine go test -short ./...

test-compat: ## Integration tests on hypermodeinc/dgraph v25.0.0 and v24.1.2; lists what is skipped
	@.ci/compat hypermode-v25.0.0
	@.ci/compat hypermode-v24.1.2

conformance: engine ## Compare with Dgraph itself: parser as oracle, answers byte for byte, its own query tests
	@DGRAPH_BIN=$(ENGINE) conformance/run.sh

$(LINTER):
	@echo "installing golangci-lint v2.15.0"
	@GOBIN=$(BIN)/.tmp go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	@mv $(BIN)/.tmp/golangci-lint $@ && rmdir $(BIN)/.tmp

lint: $(LINTER) ## Linters, and the arrows between the rooms (.golangci.yml)
	@for room in plugin/*/ sidecar/internal/*/; do grep -q "\*\*/$$room" .golangci.yml || \
	  { echo "$$room has no row in the table of arrows, depguard in .golangci.yml"; exit 1; }; done
	$(LINTER) run ./...

docs: ## Write docs/REFERENCE.md from the code
	go test -count=1 -run TheReference ./sidecar/internal/docs -update

fuzz: ## Every fuzz test for FUZZTIME (30s) each
	@for dir in $$(grep -rl --include=*_test.go '^func Fuzz' plugin sidecar | xargs -n1 dirname | sort -u); do \
	  for name in $$(go test -list '^Fuzz' ./$$dir | grep ^Fuzz); do \
	    echo "== $$dir $$name"; go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) ./$$dir || exit 1; \
	  done; done

# BARS are the benchmarks that have a bar, ROOMS where they are. Results for benchstat: bin/bench.txt.
BARS  := PassThrough|Throughput|WrittenOut|Gradient|Retrieval|Resident|Modelled|Feedback|Evolution
ROOMS := bench proxy graphcache feedback evolution
GO_BENCH = EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) go test -p 1 -timeout 90m -run '^$$' -benchmem

bench: engine ## Every bar with its baseline in the same run, as a table; fails where one is missed. Ten minutes
	@rm -f $(BIN)/bench.rows
	@set -o pipefail; EVORAG_BENCH_ROWS=$(BIN)/bench.rows $(GO_BENCH) -bench '^Benchmark($(BARS))$$' \
	  $(ROOMS:%=./sidecar/internal/%/) | tee $(BIN)/bench.txt; failed=$$?; \
	  go run ./sidecar/internal/bench/table $(BIN)/bench.rows && exit $$failed

bench-growth: engine ## Times and memory from 10^4 to 10^6 triplets, 1 to 4 hops, 1 to 32 callers
	@$(GO_BENCH) -bench '^BenchmarkGrowth$$' -benchtime 2x ./sidecar/internal/proxy/

chaos: engine ## 10,000 ratings while sidecar and alpha are killed, 100 rounds of runs that are; CHAOS=N for another number
	EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) EVORAG_CHAOS=$(CHAOS) go test -count=1 -v -timeout 60m -run 'TestChaos' ./sidecar/internal/feedback/
	EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) EVORAG_CHAOS=$(CHAOS) go test -count=1 -v -timeout 60m -run 'TestChaos|Killed|Death|Lease|Meanwhile|Users' ./sidecar/internal/evolution/

recall: engine ## Share of gold answers among ten results, on the question sets in EVORAG_DATA
	EVORAG_REQUIRE_ENGINE=1 DGRAPH_BIN=$(ENGINE) go test -count=1 -timeout 60m -v -run 'Recall' ./plugin/... ./sidecar/internal/proxy/

eval: engine build ## Does feedback help on held-out questions? A subset of the sets in EVORAG_DATA; eval-report/report.html
	DGRAPH_BIN=$(ENGINE) $(BIN)/dgraph-evorag eval --experiments all --max-triples 200000 --train 80 --test 80

eval-full: engine build ## The same with all sets and splits and five seeds: hours
	DGRAPH_BIN=$(ENGINE) $(BIN)/dgraph-evorag eval --experiments all --splits paraphrase,unseen,chronological,protocol \
	  --seeds 5 --detail 3 --detail-splits paraphrase,unseen --detail-seeds 5

docker-check: engine ## Hold docker/ against its readers' parsers, and carry the Dockerfile's steps out
	cd docker/check && DGRAPH_BIN=$(ENGINE) go test -count=1 -timeout 20m ./...

verify: lint test demo ## What must pass before a change is merged

clean: ## Remove bin/ and the data of "make up"
	rm -rf $(BIN) evorag-data
