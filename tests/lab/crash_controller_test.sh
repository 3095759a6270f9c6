#!/bin/bash
# musterd is killed at seeded moments of first rollouts; the nodes end as if it had not been, and
# the runs end by themselves.
#   MUSTER_CRASH_MOMENTS=20 tests/lab/crash_controller_test.sh      more of them
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/crash.sh
source tests/lab/crash.sh

readonly PER_ROLLOUT=4  # strikes
readonly TOGETHER=2     # nodes of a rollout

kill_controller() { lab exec login1 systemctl kill --kill-whom=main --signal=KILL musterd; }
controller_answers() { muster status; }
run_state() { muster -o json run show "$1" | read_json 'print(value["run"]["state"])'; }  # RUN
has_ended() { [[ $(run_state "$1") != running ]]; }                             # RUN

# Agents that met a dead controller several times in a row wait up to half a minute.
all_connected() { muster -o json node list | read_json 'assert all(n["connected"] for n in value["nodes"])'; }

# Kills musterd as often as fractions of what is left of a rollout are given, and counts in FILE
# the strikes that met the run while it was going on. Agents go on while musterd is away, so its
# restarts count as time of the rollout.
strike_controller() {  # FILE RUN FRACTION…
  local file=$1 run=$2 end left fraction
  end=$(calculate "$EPOCHREALTIME + $ROLLOUT")
  shift 2
  for fraction in "$@"; do
    left=$(calculate "$end - $EPOCHREALTIME")
    [[ $left == -* ]] || sleep "$(calculate "$left * $fraction")"
    if has_ended "$run"; then return; fi
    kill_controller
    echo "$fraction" >>"$file"
    wait_for 30 "musterd after its death" controller_answers
  done
}

rollouts=$(((MOMENTS + PER_ROLLOUT - 1) / PER_ROLLOUT * 3))
nodes=$((rollouts * TOGETHER))
start_cluster $((1 + nodes))
join "login1,c[001-$(printf %03d $((1 + nodes)))]"
step "an undisturbed rollout"
measure_rollout
step "which took $ROLLOUT s; now with kills"
hits=$(mktemp)
mapfile -t moments < <(seeded_moments "$rollouts" "$PER_ROLLOUT")
struck_nodes=()
struck=0
for ((i = 0; i < rollouts && struck < MOMENTS; i++)); do
  mapfile -t batch < <(compute_nodes $((2 + i * TOGETHER)) "$TOGETHER")
  limit=$(IFS=,; echo "${batch[*]}")
  output=$(muster apply --yes --detach --skip-validation playbooks/site.yaml --limit "$limit")
  run=$(grep -om 1 'r-[0-9a-z]*' <<<"$output") || fail "no run in: $output"
  read -ra fractions <<<"${moments[i]}"
  strike_controller "$hits" "$run" "${fractions[@]}"
  wait_for 120 "the end of run $run" has_ended "$run"
  expect_equal succeeded "$(run_state "$run")" "run $run"
  struck_nodes+=("${batch[@]}")
  # The undisturbed rollout was the first, and no measure for those behind it: caches are warm.
  (($(wc -l <"$hits") - struck == PER_ROLLOUT)) || ROLLOUT=$(calculate "$ROLLOUT * 0.7")
  struck=$(wc -l <"$hits")
  step "$struck of $MOMENTS moments"
done
rm "$hits"
((struck >= MOMENTS)) || fail "only $struck of $MOMENTS moments met a run; seed $SEED"
muster audit verify
wait_for 60 "all agents are back" all_connected
expect_undisturbed "${struck_nodes[@]}"
echo PASSED
