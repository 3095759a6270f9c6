#!/bin/bash
# What breaks in the middle of a validation: a worker, an agent, a whole node, a link, the controller.
# What was cut off is unknown, with its reason, and never a pass; what comes after it goes on, and
# nothing is left running or listening. And a GPU that is used by somebody else.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/fake_gpus.sh
source "$(dirname "$0")/fake_gpus.sh"

readonly compute=(c001 c002)
work=$(mktemp -d)

# A look at the link, pairs, and another look: SECONDS of the first look and of each direction.
write_suite() {  # NAME LOOK PAIRS
  mkdir -p "$work/site/playbooks/suites"
  cat >"$work/site/playbooks/suites/$1.yaml" <<YAML
name: $1
description: Two looks at the link, and pairs between them
stages:
  - name: before
    checks:
      - {check: nic-link, time_limit: 60s, with: {duration: $2s}}
  - name: pairs
    checks:
      - check: nic-pair
        time_limit: 90s
        with: {duration: $3s, warmup: 200ms, streams: "1", duplex: "false", latency-duration: 200ms}
  - name: after
    checks:
      - {check: nic-link, time_limit: 60s, with: {duration: 1s}}
YAML
}

write_gpu_suite() {
  cat >"$work/site/playbooks/suites/gpus.yaml" <<YAML
name: gpus
description: A short multiplication
stages:
  - name: compute
    checks:
      - {check: gpu-gemm, time_limit: 60s, with: {duration: 1s, size: "128", types: fp32}}
YAML
}

# Begins a validation of both nodes, leaves its id in ID.
begin() {  # SUITE
  ID=$(muster validate "c[001-002]" --suite "$1" --site "$work/site" --detach | grep -o '^v-[a-z0-9]*$')
  [[ -n $ID ]] || fail "suite $1 did not begin"
}

has_ended() { [[ $(muster -o json validate show "$ID" | read_json 'print(value["state"])') == "done" ]]; }

finish() {  # WHAT
  wait_for 90 "the end of $1" has_ended
  muster validate show "$ID" || true
  muster -o json validate show "$ID" >"$work/validation.json"
}

# Exactly these checks, and what is said of each.
expect_checks() {  # NODE/STAGE/OUTCOME/PART OF THE REASON…
  python3 - "$work/validation.json" "$@" <<'PY'
import json, re, sys
checks = {}
for node in json.load(open(sys.argv[1]))["nodes"]:
    for check in node["checks"]:
        checks[node["node"], check["stage"]] = (check["outcome"], check.get("reason", ""))
for line in sys.argv[2:]:
    node, stage, outcome, reason = line.split("/")
    found = checks.pop((node, stage), ("nothing", ""))
    assert found[0] == outcome and re.search(reason, found[1]), f"{line}, but {found}"
assert not checks, f"also said: {checks}"
PY
}

worker_runs() { lab exec "$1" pgrep -f "^muster-burnin $2 "; }  # NODE CHECK
no_worker_on() { ! lab exec "$1" pgrep -x muster-burnin; }  # NODE
pair_talks() {  # both sides have met, and data flows
  local node
  for node in "${compute[@]}"; do
    worker_runs "$node" nic-pair && lab exec "$node" ss -Htnp state established | grep muster-burnin || return 1
  done
}
kill_worker() { lab exec "$1" pkill -KILL -x muster-burnin; }  # NODE
listeners() { lab exec "$1" ss -Hltn | awk '{ print $4 }' | sort; }  # NODE

is_clean() {  # NODE: no worker, no port, no key, and no report that nobody took
  no_worker_on "$1" && [[ $(listeners "$1") == "$(<"$work/$1.listeners")" ]] &&
    [[ -z $(lab exec "$1" sh -c 'ls -A /var/lib/muster/checks 2>/dev/null') ]]
}
expect_nothing_left() {
  local node
  for node in "${compute[@]}"; do wait_for 60 "$node: nothing is left" is_clean "$node"; done
}

measured_cluster 2 bookworm --gpus 3
join 'c[001-002]'
# Slow enough to leave this host its processors.
for node in "${compute[@]}"; do lab link "$node" rate=100mbit; done
for node in "${compute[@]}"; do listeners "$node" >"$work/$node.listeners"; done
write_suite short 15 30
write_suite long 1 30
write_suite whole 1 4

step "a worker is killed, and later an agent"
begin short
wait_for 30 "the worker of c001" worker_runs c001 nic-link
kill_worker c001
wait_for 60 "the pair" pair_talks
lab exec c002 systemctl kill --kill-whom=main --signal=KILL muster-agent
finish "a validation whose worker and agent were killed"
expect_checks \
  'c001/before/unknown/the worker was killed .signal 9.' 'c002/before/pass/^$' \
  'c001/pairs/unknown/partner (lost|c002 was lost)' \
  'c002/pairs/unknown/the agent was restarted while the check ran' \
  'c001/after/pass/^$' 'c002/after/pass/^$'
expect_nothing_left

step "a node loses its power"
begin long
wait_for 60 "the pair" pair_talks
lab power c002 cycle
finish "a validation whose node lost its power"
expect_checks \
  'c001/before/pass/^$' 'c002/before/pass/^$' \
  'c001/pairs/unknown/partner (lost|c002 was lost)' \
  'c002/pairs/fail/the node was restarted while the check ran' \
  'c001/after/pass/^$' 'c002/after/pass/^$'
expect_nothing_left

step "a link is down for as long as both sides wait"
begin long
wait_for 60 "the pair" pair_talks
lab link c002 down
for node in "${compute[@]}"; do wait_for 60 "$node gives up" no_worker_on "$node"; done
lab link c002 rate=100mbit
finish "a validation whose link was down"
expect_checks \
  'c001/before/pass/^$' 'c002/before/pass/^$' \
  'c001/pairs/unknown/partner (lost|c002 was lost)' \
  'c002/pairs/fail/the link of host0 went down during the test' \
  'c001/after/pass/^$' 'c002/after/pass/^$'
expect_nothing_left

step "the controller is killed, and a worker while it is away"
begin long
wait_for 60 "the pair" pair_talks
lab exec login1 systemctl kill --signal=KILL musterd
lab exec login1 systemctl stop musterd  # or it is there again before anything else can break
kill_worker c002
for node in "${compute[@]}"; do wait_for 60 "$node gives up" no_worker_on "$node"; done
lab exec login1 systemctl start musterd
finish "a validation whose controller was killed"
expect_checks \
  'c001/before/pass/^$' 'c002/before/pass/^$' \
  'c001/pairs/unknown/partner (lost|c002 was lost)' \
  'c002/pairs/unknown/the worker was killed .signal 9.' \
  'c001/after/pass/^$' 'c002/after/pass/^$'
expect_nothing_left

step "the controller is killed and comes back by itself: what runs meanwhile counts"
begin whole
wait_for 60 "the pair" pair_talks
lab exec login1 systemctl kill --signal=KILL musterd
finish "a validation whose controller came back"
expect_checks c00{1,2}/{before,pairs,after}/pass/^$
expect_equal 1 "$(lab exec login1 systemctl show -P NRestarts musterd)" "starts of the controller"
expect_nothing_left

step "a GPU is used by somebody else: it is left alone, unless that is asked for"
write_gpu_suite
set_gpus c001 '{"processes": [{"pid": 1, "memory_bytes": 1048576}]}'
validate_nodes gpus "$work/site" c001
expect_equal 2 "$RC" "exit code of a validation that could tell nothing"
expect_contains "$OUTPUT" "GPU 2 is used by systemd (1)" "whose GPU it is"
validate_nodes gpus "$work/site" c001 --force
expect_equal 0 "$RC" "exit code when it is forced"
expect_nothing_left
echo PASSED
