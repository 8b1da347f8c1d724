#!/usr/bin/env bash
# Everything that shows that the sidecar is Dgraph until a query says @evorag: the rewriting held
# against Dgraph's own parser, every query and every kind of request compared with the alpha's own
# answers, and Dgraph's own query tests through the sidecar. Prints how much was compared.
set -euo pipefail
cd "$(dirname "$0")"

export EVORAG_REQUIRE_ENGINE=1
results=$(mktemp)
trap 'rm -f "$results"' EXIT
if ! go test -count=1 -timeout 20m -v . >"$results" 2>&1; then
	grep -vE '^ *(=== |--- PASS)' "$results" | tail -n 200
	exit 1
fi
grep -E '_test\.go:[0-9]+: [0-9]+ ' "$results" | sed -E 's/^ *[a-z_]+\.go:[0-9]+: //'
./dgraphtests.sh
