# The part of the demo in which the graph learns, read by run.sh. Needs $evorag, $http, run and say.

ranked() { # QUESTION: the paths with their scores, one a line
  "$evorag" retrieve "$1" --hops 1 --paths 3 --bundle=false | sed -n 's/^ *[0-9][0-9]* .*Studios -/-/p'
}

asked() { # QUESTION: asks it, and gives the retrieval's id
  "$evorag" retrieve "$1" --hops 1 --paths 3 --bundle=false -o json | sed -n 's/.*"retrieval":"\([^"]*\)".*/\1/p'
}

learn() { # OWNER-QUESTION
  local question=$1 before after id round
  before=$(ranked "$question")
  say "Somebody answers \"21st Century Fox\", and that is wrong. The rating goes to the webhook:"
  id=$(asked "$question")
  if command -v curl >/dev/null; then
    run curl -sS "$http/evorag/v1/feedback" -H "Content-Type: application/json" \
      -d "{\"retrieval\": \"$id\", \"score\": 1, \"response\": \"It belongs to 21st Century Fox.\"}"
    echo
  else
    run "$evorag" rate "$id" --score 1 --response "It belongs to 21st Century Fox."
  fi
  say "The right answer gets a 5, and so it goes for a few rounds"
  run "$evorag" rate "$(asked "$question")" --score 5 --response "The Walt Disney Company owns it." --wait
  for round in 2 3; do
    "$evorag" rate "$(asked "$question")" --score 1 --response "It belongs to 21st Century Fox." --wait
    "$evorag" rate "$(asked "$question")" --score 5 --response "The Walt Disney Company owns it." --wait
  done
  after=$(ranked "$question")
  say "Before and after: the misleading edge has sunk"
  printf '  %-52s %s\n' before after
  paste <(echo "$before") <(echo "$after") | while IFS=$'\t' read -r left right; do
    printf '  %-52s %s\n' "$left" "$right"
  done
  say "Why is that edge's score what it is? The journal knows"
  run "$evorag" explain "20th Century Studios" owned_by "21st Century Fox"
}
