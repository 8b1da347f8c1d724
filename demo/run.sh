#!/usr/bin/env bash
# The demo: a private engine, a graph of films, two questions, ranked paths.
# usage: demo/run.sh         shows it, stops everything and cleans up
#        demo/run.sh stay    the same on ./evorag-data, and runs until Ctrl-C
set -euo pipefail
cd "$(dirname "$0")/.."
evorag=bin/dgraph-evorag
stay=${1:-}
[[ -z $stay || $stay == stay ]] || { echo "usage: demo/run.sh [stay]" >&2; exit 2; }
[[ -x $evorag ]] || { echo "$evorag is missing; run: make build" >&2; exit 1; }

if [[ $stay ]]; then
  data=evorag-data ports=()
else
  data=$(mktemp -d) ports=(--http 127.0.0.1:0 --grpc 127.0.0.1:0)
fi
mkdir -p "$data"
server=
stop() {
  if [[ $server ]]; then kill -INT "$server" 2>/dev/null || true; wait "$server" || true; fi
  [[ $stay ]] || rm -rf "$data"
}
trap stop EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { # shows a command as one would type it, then runs it
  local shown= word
  for word; do
    [[ $word == *[[:space:]\"]* ]] && word="'$word'"
    shown+=" $word"
  done
  printf '\033[2m$%s\033[0m\n' "$shown"
  "$@"
}

shows() { # TEXT COMMAND...: runs a command whose output must hold a text, else the demo has failed
  local text=$1 out
  shift
  out=$(run "$@")
  printf '%s\n' "$out"
  [[ $out == *"$text"* ]] || { echo "demo: this should show \"$text\"" >&2; exit 1; }
}
hides() { # TEXT COMMAND...: the contrary
  local text=$1 out
  shift
  out=$(run "$@")
  printf '%s\n' "$out"
  [[ $out != *"$text"* ]] || { echo "demo: this should not show \"$text\"" >&2; exit 1; }
}

# A graph this small is judged sooner than a large one, and against all of its triplets.
export DGRAPH_EVORAG_EVOLUTION_MIN_TOUCHED=5 DGRAPH_EVORAG_EVOLUTION_RUNS=2 DGRAPH_EVORAG_EVOLUTION_STATISTICS=all

say "Starting a private Dgraph and the sidecar in front of it"
"$evorag" up --data "$data" "${ports[@]}" >"$data/banner" 2>"$data/sidecar.log" &
server=$!
until grep -q stop "$data/banner"; do
  kill -0 "$server" 2>/dev/null || { server=; cat "$data/sidecar.log" >&2; exit 1; }
  sleep 0.1
done
cat "$data/banner"
http=$(sed -n 's/^ *HTTP *\(http:[^ ]*\).*/\1/p' "$data/banner")
grpc=$(sed -n 's/^ *gRPC *\([^ ]*\).*/\1/p' "$data/banner")
export DGRAPH_EVORAG_SERVER=$http

say "Loading demo/films.tsv: films, people and companies, with owners of the past among today's"
run "$evorag" load --dgraph "$grpc" demo/films.tsv

founder="Where was the founder of the studio that produced Toy Story born?"
say "A question of three hops. Two hops don't reach the answer:"
hides Parkersburg "$evorag" retrieve "$founder" --hops 2 --paths 5 --instances 2
say "Three do:"
shows Parkersburg "$evorag" retrieve "$founder" --hops 3 --paths 5 --instances 2

owner="Who is 20th Century Studios owned by?"
say "A question with outdated facts beside the right one. Two of these owners are of the past,"
echo "and nothing in the graph says which: only feedback on answers can."
run "$evorag" retrieve "$owner" --hops 1 --paths 3

say "The same through plain HTTP, as any Dgraph client sends it"
query="{ paths(func: eq(name, \"20th Century Studios\")) @evorag(query: \"$owner\", hops: 1, paths: 1) { name } }"
if command -v curl >/dev/null; then
  run curl -sS -H "Content-Type: application/dql" "$http/query" -d "$query"
else
  echo "(curl is not installed) POST $http/query: $query"
fi
echo

source demo/learn.sh
learn "$owner"

source demo/evolve.sh
evolve "$founder" "$owner"

say "Point a client at it"
echo "  dgo    dgo.NewDgraphClient(api.NewDgraphClient(conn)) with conn dialled to $grpc"
echo "  Ratel  enter $http as the server URL"
if [[ $stay ]]; then
  say "Running on $PWD/$data until Ctrl-C"
  wait "$server" || true
  server=
else
  echo "  This demo ends here; \"make up\" leaves it running."
fi
