# The last part of the demo, read by run.sh: the graph evolves, and goes back. Needs $evorag,
# $http, run, shows, hides and say; the sidecar judges from five rated edges on, and hides after two low runs.

rated() { # QUESTION HOPS SCORE RESPONSE: four people rate the same answer
  local id person
  id=$("$evorag" retrieve "$1" --hops "$2" --paths 5 -o json | sed -n 's/.*"retrieval":"\([^"]*\)".*/\1/p')
  for person in ann ben cleo; do
    "$evorag" rate "$id" --score "$3" --response "$4" --rater "$person" >/dev/null
  done
  "$evorag" rate "$id" --score "$3" --response "$4" --rater dora --wait >/dev/null
}

evolve() { # FOUNDER-QUESTION OWNER-QUESTION
  local founder=$1 owner=$2 round id
  say "People rate answers for a while: the founders' birthplaces are right, the owners of the past are wrong"
  for round in 1 2; do
    rated "$owner" 1 1 "21st Century Fox and News Corporation"
    rated "$owner" 1 5 "The Walt Disney Company"
  done
  for round in 1 2 3 4 5 6 7 8 9 10; do
    rated "$founder" 3 5 "One in Parkersburg, one in Mineral Wells"
  done

  say "Then the graph evolves. On a schedule it does so by itself; here by hand, and first dry:"
  run "$evorag" evolve --dry-run
  say "For real, twice: what is low in two runs is hidden"
  run "$evorag" evolve
  run "$evorag" evolve
  say "The question of three hops is answered within two, by a shortcut that says what it stands for"
  shows "shortcut for Pixar" "$evorag" retrieve "$founder" --hops 2 --paths 5 --instances 2 --explain
  say "The owners of the past are not shown any more. Nothing is deleted, and plain DQL sees it all:"
  hides Fox "$evorag" retrieve "$owner" --hops 1 --paths 3
  local query='{ shortcuts(func: eq(name, "Pixar")) { evorag.shortcut @facets(evorag.label) { name } } owners(func: eq(name, "20th Century Studios")) { owned_by @facets(evorag.hidden) { name } } }'
  if command -v curl >/dev/null; then
    run curl -sS -H "Content-Type: application/dql" "$http/query" -d "$query"
    echo
  fi
  say "Every run can be undone, the newest first"
  run "$evorag" runs list
  for id in $("$evorag" runs list | awk 'NR > 1 { print $1 }'); do
    run "$evorag" runs undo "$id"
  done
  shows Fox "$evorag" retrieve "$owner" --hops 1 --paths 3
}
