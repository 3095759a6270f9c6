#!/bin/bash
# Who is to blame for slow pairs, on four nodes behind two switches: nobody while all links are equally
# fast, the node alone whose link is slow, and the uplink alone when that is.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly nodes=(c001 c002 c003 c004)
# Slow enough that this host carries all pairs of a round at once, both ways, whatever else it does.
readonly whole=rate=200mbit slow=rate=50mbit
work=$(mktemp -d)

# The shipped suite with shorter phases and a smaller sum; its checks and stages are as they are.
make_site() {
  mkdir -p "$work/site/playbooks/suites"
  sed -e '/check: nic-link/s/when: nics/when: nics, with: {duration: 1s}/' \
      -e '/check: nic-pair/s/time_limit: 2m/time_limit: 2m, with: {duration: 2s, warmup: 500ms, latency-duration: 500ms}/' \
      -e '/check: collective/s/time_limit: 5m/time_limit: 5m, with: {elements: 500000, iterations: 3, warmup-iterations: 1}/' \
    playbooks/suites/network.yaml >"$work/site/playbooks/suites/network.yaml"
  expect_equal 3 "$(grep -c duration:\\\|elements: "$work/site/playbooks/suites/network.yaml")" "shortened checks"
}

# Leaves the exit code in RC and the verdicts, as JSON, in the file validation.json.
validate() {  # WHAT
  step "$1"
  RC=0
  muster validate "c[001-004]" --suite network --site "$work/site" >"$work/output" 2>&1 || RC=$?
  cat "$work/output"
  muster -o json validate show "$(sed -n 's/^validation \(v-[a-z0-9]*\)$/\1/p' "$work/output")" \
    >"$work/validation.json"
}

# What must have been said, of blame and of each node.
expect_blame() {  # RC KIND,NAME… or none; NODE=OUTCOME…
  expect_equal "$1" "$RC" "exit code"
  shift
  python3 - "$work/validation.json" "$@" <<'PY'
import json, sys
validation = json.load(open(sys.argv[1]))
blames = [[blame["kind"], *blame["names"]] for blame in validation.get("blames", [])]
want = [] if sys.argv[2] == "none" else [sys.argv[2].split(",")]
assert blames == want, f"blamed: {blames}, want {want}: {validation.get('blames')}"
# The ring is set beside the pairs that were measured before it.
rings = validation.get("rings", [])
assert len(rings) == 1 and rings[0]["nodes"] == 4 and rings[0]["pair_rates"] > 0, f"rings: {rings}"
outcomes = {node["node"]: node["outcome"] for node in validation["nodes"]}
want = dict(pair.split("=") for pair in sys.argv[3:])
assert outcomes == want, f"outcomes: {outcomes}, want {want}"
PY
}

measured_cluster 4 bookworm --switches 2
make_site
join 'c[001-004]'
for node in "${nodes[@]}"; do lab link "$node" "$whole"; done

validate "all links are equally fast: nobody is blamed"
expect_blame 0 none c001=pass c002=pass c003=pass c004=pass
grep -q "^The ring (.*, collective): each link of the ring over 4 nodes carries" "$work/output" ||
  fail "the output does not set the ring beside its pairs"

lab link c003 "$slow"
validate "one link is slow: its node is blamed, and no other fails"
expect_blame 1 node,c003 c001=pass c002=pass c003=fail c004=pass
grep -q "c003 host0 is slow in both directions with all partners" "$work/output" ||
  fail "the output does not say what is slow"

lab link c003 "$whole"
lab link uplink "$slow"
validate "the uplink is slow: it is blamed, and no node fails"
expect_blame 1 uplink,br0,br1 c001=pass c002=pass c003=pass c004=pass
grep -q "the path between br0 and br1 is slow in both directions" "$work/output" ||
  fail "the output does not name the uplink"
echo PASSED
