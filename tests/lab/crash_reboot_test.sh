#!/bin/bash
# The node is rebooted or loses its power at seeded moments of a first rollout, and ends as if it
# had not.
#   MUSTER_CRASH_MOMENTS=20 tests/lab/crash_reboot_test.sh      more of them
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/crash.sh
source tests/lab/crash.sh

# Every other node goes down in good order.
bring_down() {  # NODE
  if ((10#${1#c} % 2)); then lab reboot "$1"; else lab power "$1" cycle; fi
}
agent_back() {  # NODE
  lab exec "$1" timeout 60 sh -c 'until [ "$(systemctl is-active muster-agent)" = active ]; do sleep 0.1; done'
}

nodes_ended_well() {  # NODE…
  muster -o json node list "$(IFS=,; echo "$*")" | read_json '
assert all(n["last_run_result"] in ("ok", "changed") for n in value["nodes"]), value["nodes"]'
}
# A node that was away for too long is caught up with in a run of its own.
after_rollout() {  # NODE…
  [[ $APPLY_RC == 0 || $APPLY_RC == 4 ]] || { echo "$APPLY_OUTPUT"; fail "exit code $APPLY_RC of a rollout"; }
  wait_for 120 "the end of the rollout of $*" nodes_ended_well "$@"
}

victims=$(nodes_to_strike)
start_cluster $((1 + victims))
join "login1,c[001-$(printf %03d $((1 + victims)))]"
step "an undisturbed rollout"
measure_rollout
step "which took $ROLLOUT s; now with reboots and power cuts"
strike_rollouts bring_down agent_back after_rollout "$victims"
expect_undisturbed "${STRUCK_NODES[@]}"
echo PASSED
