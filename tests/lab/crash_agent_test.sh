#!/bin/bash
# The agent is killed at seeded moments of a first rollout; the node ends as if it had not been.
#   MUSTER_CRASH_MOMENTS=20 tests/lab/crash_agent_test.sh      more of them
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/crash.sh
source tests/lab/crash.sh

kill_agent() { lab exec "$1" systemctl kill --kill-whom=main --signal=KILL muster-agent; }  # NODE
agent_back() {  # NODE
  lab exec "$1" timeout 30 sh -c 'until [ "$(systemctl is-active muster-agent)" = active ]; do sleep 0.05; done'
}
# The agent is back before the controller minds.
after_rollout() { expect_applied 0 "a rollout whose agents are killed"; }  # NODE…

victims=$(nodes_to_strike)
start_cluster $((1 + victims))
join "login1,c[001-$(printf %03d $((1 + victims)))]"
step "an undisturbed rollout"
measure_rollout
step "which took $ROLLOUT s; now with kills"
strike_rollouts kill_agent agent_back after_rollout "$victims"
expect_undisturbed "${STRUCK_NODES[@]}"
echo PASSED
