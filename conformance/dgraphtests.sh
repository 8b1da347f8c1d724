#!/usr/bin/env bash
# Runs Dgraph's own query tests through the sidecar, or with DIRECT=1 straight at the alpha, and
# prints how many passed. Both must give the same.
#
# The tests are built from Dgraph's module into bin/conformance; nothing of them is kept in the
# repository. They dial the ports 8080 and 9080 (alpha or sidecar) and 5080 and 6080 (zero), which
# must be free; behind the sidecar the alpha has the ports 10080, 11080 and 12080.
#
#   DGRAPH_BIN   the engine (default bin/dgraph)
#   EVORAG_BIN   the sidecar (default: one built from this repository)
#   RUN          only tests whose names match, as in go test -run
#   EXPECT       how many must pass (default 814, what v25.4.0 passes directly; 0: any)
set -euo pipefail

version=v25.4.0
root=$(cd "$(dirname "$0")/.." && pwd)
engine=$(realpath "${DGRAPH_BIN:-$root/bin/dgraph}")
build=$root/bin/conformance
[ -n "${RUN:-}" ] && EXPECT=${EXPECT:-0}
expect=${EXPECT:-814}

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
if [ ! -x "$build/query.test" ]; then
	echo "building Dgraph's query tests $version (a minute or two)"
	(
		cd "$build"
		cat >go.mod <<-EOF
			module dgraphtests

			go 1.26.0

			require github.com/dgraph-io/dgraph/v25 $version

			replace github.com/dgraph-io/gqlgen => github.com/dgraph-io/gqlgen v0.13.2
		EOF
		go get -t github.com/dgraph-io/dgraph/v25/query@$version
		go test -tags integration -c -o query.test github.com/dgraph-io/dgraph/v25/query
	)
fi
sidecar=${EVORAG_BIN:-$build/dgraph-evorag}
if [ -z "${EVORAG_BIN:-}" ]; then
	echo "building the sidecar"
	(cd "$root" && go build -o "$sidecar" ./sidecar/cmd/dgraph-evorag)
fi

dir=$(mktemp -d)
pids=()
stop() {
	local code=$? pid
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		pid=${pids[i]}
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	if [ "$code" -eq 0 ]; then
		rm -rf "$dir"
	else
		echo "logs are in $dir" >&2
	fi
	exit "$code"
}
trap stop EXIT
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

printf '12345678901234567890123456789012' >"$dir/acl-secret"
printf 'password' >"$dir/password" # groot's, which every new cluster has
offset=3000
[ -n "${DIRECT:-}" ] && offset=0

echo "starting zero and alpha"
start zero "$engine" zero --my=localhost:5080 --wal "$dir/zw"
wait_for http://localhost:6080/health
start alpha "$engine" alpha -o "$offset" --my=localhost:$((7080 + offset)) --zero=localhost:5080 -p "$dir/p" -w "$dir/w" \
	--acl "secret-file=$dir/acl-secret; access-ttl=20s" --security "whitelist=0.0.0.0/0"
wait_for http://localhost:$((8080 + offset))/health
for _ in $(seq 300); do # the alpha makes groot once it is healthy
	curl -fs "http://localhost:$((8080 + offset))/login" -d '{"userid":"groot","password":"password","namespace":0}' | grep -qi accessjwt && break
	sleep 0.2
done
way=directly
if [ -z "${DIRECT:-}" ]; then
	way="through the sidecar"
	start sidecar "$sidecar" serve --dgraph localhost:$((9080 + offset)) --dgraph-http http://localhost:$((8080 + offset)) \
		--http localhost:8080 --grpc localhost:9080 --user groot --password-file "$dir/password"
	wait_for http://localhost:8080/health
fi

# The tests read files beside them.
source=$(cd "$build" && go list -f '{{.Dir}}' github.com/dgraph-io/dgraph/v25/query)
cp -r "$source" "$dir/query"
chmod -R u+w "$dir/query"
echo "running Dgraph's query tests $way"
began=$SECONDS
(cd "$dir/query" && "$build/query.test" -test.v -test.run "${RUN:-.}") >"$dir/tests.log" 2>&1 || true

count() { grep -cE "^ *--- $1: " "$dir/tests.log" || true; }
pass=$(count PASS) fail=$(count FAIL) skip=$(count SKIP)
echo "$way: $pass pass, $fail fail, $skip skip in $((SECONDS - began)) s"
if [ "$fail" -ne 0 ] || { [ "$expect" -ne 0 ] && [ "$pass" -ne "$expect" ]; } || [ "$pass" -eq 0 ]; then
	grep -E "^ *--- FAIL: |^panic:" "$dir/tests.log" | head -50
	tail -5 "$dir/tests.log"
	exit 1
fi
