#!/usr/bin/env bash
# Runs Dgraph's own tests straight at an alpha and through the sidecar in front of another, and
# prints how many passed. What passes directly must pass through the sidecar.
#
# The tests are built from Dgraph's module into bin/conformance; nothing of them is kept in the
# repository. They dial the ports 8080 and 9080 (alpha or sidecar) and 5080 and 6080 (zero), which
# must be free; behind the sidecar the alpha has the ports 10080, 11080 and 12080.
#
#   conformance/dgraphtests.sh [SUITE...]    default: query. Others of Dgraph's packages that need
#                                            no Docker: query/vector, edgraph, acl, dgraph/cmd/alpha
#
#   DGRAPH_BIN   the engine (default bin/dgraph)
#   EVORAG_BIN   the sidecar (default: one built from this repository)
#   RUN          only tests whose names match, as in go test -run
#   SKIP         but not those whose names match this, as in go test -skip
#   WITHIN       how long one run may take (default 10m)
#   EXPECT       how many of query must pass (default 814, what v25.4.0 passes; 0: any)
set -euo pipefail

version=v25.4.0
root=$(cd "$(dirname "$0")/.." && pwd)
engine=$(realpath "${DGRAPH_BIN:-$root/bin/dgraph}")
build=$root/bin/conformance
[ -n "${RUN:-}${SKIP:-}" ] && EXPECT=${EXPECT:-0}
expect=${EXPECT:-814}
suites=("$@")
[ $# -eq 0 ] && suites=(query)

if [ ! -x "$engine" ]; then
	echo "there is no engine at $engine; build one with make engine or set DGRAPH_BIN" >&2
	exit 1
fi
for port in 5080 6080 8080 9080 10080 11080 12080; do
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		echo "port $port is in use; these tests need it" >&2
		exit 1
	fi
done

mkdir -p "$build"
[ -f "$build/go.mod" ] || cat >"$build/go.mod" <<-MOD
	module dgraphtests

	go 1.26.0

	require github.com/dgraph-io/dgraph/v25 $version

	replace github.com/dgraph-io/gqlgen => github.com/dgraph-io/gqlgen v0.13.2
MOD
binary() { echo "$build/${1//\//-}.test"; }
for suite in "${suites[@]}"; do
	[ -x "$(binary "$suite")" ] && continue
	echo "building Dgraph's tests of $suite, $version (a minute or two)"
	(
		cd "$build"
		go get -t "github.com/dgraph-io/dgraph/v25/$suite@$version"
		go test -tags integration -c -o "$(binary "$suite")" "github.com/dgraph-io/dgraph/v25/$suite"
	)
done
(cd "$build" && go mod download github.com/dgraph-io/dgraph/v25)
module=$(cd "$build" && go list -m -f '{{.Dir}}' github.com/dgraph-io/dgraph/v25)
sidecar=${EVORAG_BIN:-$build/dgraph-evorag}
if [ -z "${EVORAG_BIN:-}" ]; then
	echo "building the sidecar"
	(cd "$root" && go build -o "$sidecar" ./sidecar/cmd/dgraph-evorag)
fi

all=$(mktemp -d)
pids=()
stop() {
	local pid
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		pid=${pids[i]}
		kill "$pid" 2>/dev/null || true
		for _ in $(seq 100); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	pids=()
}
leave() {
	local code=$?
	stop
	if [ "$code" -eq 0 ]; then
		rm -rf "$all"
	else
		echo "logs are in $all" >&2
	fi
	exit "$code"
}
trap leave EXIT
trap 'exit 130' INT TERM

start() { # name, command...
	local name=$1
	shift
	(cd "$dir" && exec "$@") >"$dir/$name.log" 2>&1 &
	pids+=($!)
}
wait_for() { # URL of a health page
	for _ in $(seq 600); do
		curl -fs "$1" 2>/dev/null | grep -qv unhealthy && return
		sleep 0.2
	done
	echo "$1 does not answer" >&2
	exit 1
}

run() { # directly or through, suite: the tests' output in $dir/tests.log
	local way=$1 suite=$2 offset=0
	dir=$all/$way-${suite//\//-}
	mkdir "$dir"
	[ "$way" = through ] && offset=3000
	printf '12345678901234567890123456789012' >"$dir/acl-secret"
	printf 'password' >"$dir/password" # groot's, which every new cluster has
	start zero "$engine" zero --my=localhost:5080 --wal "$dir/zw"
	wait_for http://localhost:6080/health
	start alpha "$engine" alpha -o "$offset" --my=localhost:$((7080 + offset)) --zero=localhost:5080 -p "$dir/p" -w "$dir/w" \
		--acl "secret-file=$dir/acl-secret; access-ttl=20s" --security "whitelist=0.0.0.0/0"
	wait_for http://localhost:$((8080 + offset))/health
	for _ in $(seq 300); do # the alpha makes groot once it is healthy
		curl -fs "http://localhost:$((8080 + offset))/login" -d '{"userid":"groot","password":"password","namespace":0}' | grep -qi accessjwt && break
		sleep 0.2
	done
	if [ "$way" = through ]; then
		start sidecar "$sidecar" serve --dgraph localhost:$((9080 + offset)) --dgraph-http http://localhost:$((8080 + offset)) \
			--http localhost:8080 --grpc localhost:9080 --user groot --password-file "$dir/password"
		wait_for http://localhost:8080/health
	fi
	mkdir -p "$dir/tree/$suite" # the tests read files beside them
	cp -r "$module/$suite/." "$dir/tree/$suite"
	chmod -R u+w "$dir/tree"
	(cd "$dir/tree/$suite" && timeout "${WITHIN:-10m}" "$(binary "$suite")" -test.v -test.run "${RUN:-.}" -test.skip "${SKIP:-}") >"$dir/tests.log" 2>&1 || true
	stop
}
names() { # result, log
	grep -aE "^ *--- $1: " "$2" | sed -E 's/^ *--- [A-Z]+: ([^ ]+).*/\1/' | sort -u
}
count() { names "$1" "$2" | wc -l; }

worse=0
for suite in "${suites[@]}"; do
	for way in directly through; do
		began=$SECONDS
		run "$way" "$suite"
		log=$dir/tests.log
		echo "$suite, $way: $(count PASS "$log") pass, $(count FAIL "$log") fail, $(count SKIP "$log") skip in $((SECONDS - began)) s"
		grep -a '^panic: ' "$log" | head -3 || true
		[ "$way" = directly ] && direct=$log
	done
	if [ "$(count PASS "$direct")" -eq 0 ]; then
		echo "$suite can't be run here:"
		tail -3 "$direct"
		worse=1
	fi
	if [ "$suite" = query ] && [ "$expect" -ne 0 ] && [ "$(count PASS "$log")" -ne "$expect" ]; then
		echo "$expect should pass"
		worse=1
	fi
	lost=$(comm -23 <(names PASS "$direct") <(names PASS "$log"))
	if [ -n "$lost" ]; then
		printf '%s passes directly and not through the sidecar\n' $lost
		worse=1
	fi
	failing=$(comm -12 <(names FAIL "$direct") <(names FAIL "$log"))
	[ -z "$failing" ] || printf '%s fails directly too\n' $failing
done
exit "$worse"
