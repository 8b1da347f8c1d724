#!/usr/bin/env bash
# Builds a Dgraph engine and the tokenizer plugin that fits it into bin/.
#
#   docker/dgraph/build.sh [v25.4.0 | hypermode-v25.0.0 | hypermode-v24.1.2]
#
# An engine takes 1 to 5 minutes once and is skipped while its sources, this script and the Go
# release stay the same. With DGRAPH_BIN set, that engine is used and only the plugin is built.
# GOOS and GOARCH are those of this machine: a Go plugin can't be cross-compiled without a C compiler.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$root/bin
plugin=$bin/evorag_entity.so

engine=${1:-v25.4.0}
case $engine in
v25.4.0)           moddir=$here     module=github.com/dgraph-io/dgraph/v25    out=$bin/dgraph ;;
hypermode-v25.0.0) moddir=$here     module=github.com/hypermodeinc/dgraph/v25 out=$bin/dgraph-$engine ;;
hypermode-v24.1.2) moddir=$here/v24 module=github.com/hypermodeinc/dgraph/v24 out=$bin/dgraph-$engine ;;
*)
	echo "build.sh: no engine is called \"$engine\"; write v25.4.0, hypermode-v25.0.0 or hypermode-v24.1.2" >&2
	exit 2
	;;
esac

for tool in go gcc; do
	command -v "$tool" >/dev/null || { echo "build.sh: $tool is not on PATH; install it and run make engine again" >&2; exit 1; }
done

# The plugin loads only into an engine built by the same Go release and flags.
toolchain=$(cd "$here" && go env GOVERSION)
export GOTOOLCHAIN=${toolchain%% *} CGO_ENABLED=1
mkdir -p "$bin"

# build DIR OUT NAME ARGS...: go build with a line of progress every 15 seconds.
build() {
	local dir=$1 out=$2 name=$3 log pid start=$SECONDS next total
	shift 3
	log=$(mktemp)
	total=$(cd "$dir" && go list -deps "${@: -1}" 2>>"$log" | wc -l) || { cat "$log" >&2; exit 1; }
	(cd "$dir" && exec go build -v -o "$out.new" "$@") >>"$log" 2>&1 &
	pid=$!
	trap 'kill $pid 2>/dev/null; rm -f "$out.new" "$log"; exit 130' INT TERM
	next=$((SECONDS + 15))
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		((SECONDS < next)) && continue
		next=$((SECONDS + 15))
		echo "$name: $((SECONDS - start)) s, $(grep -c '^go: downloading' "$log") modules fetched," \
			"$(grep -vc '^go: ' "$log") of at most $total packages compiled"
	done
	trap - INT TERM
	if ! wait "$pid"; then
		grep -v '^go: downloading' "$log" | tail -n 30 >&2
		echo "$name: the build failed after $((SECONDS - start)) s; its last lines are above" >&2
		rm -f "$out.new" "$log"
		exit 1
	fi
	mv "$out.new" "$out"
	rm -f "$log"
	echo "$name: built in $((SECONDS - start)) s: $out"
}

if [[ -n ${DGRAPH_BIN:-} ]]; then
	[[ -x $DGRAPH_BIN ]] || { echo "build.sh: DGRAPH_BIN=$DGRAPH_BIN is not an executable file; name a dgraph binary, or unset it to build one" >&2; exit 1; }
	echo "engine: using DGRAPH_BIN=$DGRAPH_BIN"
else
	stamp=$bin/.${out##*/}.stamp
	want="$engine $(go env GOVERSION GOOS GOARCH GOFLAGS | tr '\n' ' ')$(cat "$moddir/go.mod" "$moddir/go.sum" "$here/build.sh" | cksum)"
	if [[ -x $out && -f $stamp && $(<"$stamp") == "$want" ]]; then
		echo "engine: $out is up to date ($engine)"
	else
		echo "engine: building Dgraph $engine from $module with ${GOTOOLCHAIN}; this takes minutes, once"
		build "$moddir" "$out" engine -ldflags "-X $module/x.dgraphVersion=${engine#hypermode-}" "$module/dgraph"
		echo "$want" >"$stamp"
	fi
fi

build "$root" "$plugin" tokenizer -buildmode=plugin ./plugin/tokenizer
