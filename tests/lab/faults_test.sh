#!/bin/bash
# What breaks in the middle of a run: a node's link, the controller, an agent,
# the administrator's terminal.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly slow=tests/testdata/lab/faults/slow.yaml
output=$(mktemp)

# Starts an apply whose output goes to $output; sets APPLY_PID. Not through a
# function of ours, so that the pid is that of the command line itself.
begin() {  # PLAYBOOK ARGS…
  : >"$output"
  ./dev lab muster --name "$LAB_TEST_NAME" apply --yes --skip-validation "$@" </dev/null >"$output" 2>&1 &
  APPLY_PID=$!
}

# As `apply`, for what `begin` began.
finish() {
  APPLY_RC=0
  wait "$APPLY_PID" || APPLY_RC=$?
  APPLY_OUTPUT=$(<"$output")
  echo "$APPLY_OUTPUT"
  APPLY_RUN=$(sed -n 's/^run \(r-[^ ]*\) .*/\1/p' <<<"$APPLY_OUTPUT" | tail -n 1)
}

newest_run() { muster -o json run list | read_json 'print(value["runs"][0]["run_id"])'; }
node_runs() { lab exec "$1" pgrep -x "$2"; }  # NODE PROGRAM
kill_agent() { lab exec "$1" systemctl kill --kill-whom=main --signal=KILL muster-agent; }  # NODE

# Waits until NODE is in the middle of installing slurmd.
await_slurmd_package() {  # NODE
  lab exec "$1" timeout 240 sh -c \
    'until pgrep -f "^apt-get .* slurmd" && pgrep -x dpkg; do sleep 0.1; done' >/dev/null
}

# The run in which the controller made up for what a node missed in RUN.
caught_up() {  # RUN NODE
  local run
  run=$(muster -o json run list | read_json '
for run in value["runs"]:
    if run["catches_up_run_id"] == sys.argv[1] and run["state"] == "succeeded": print(run["run_id"])' "$1")
  [[ -n $run && $(recap "$run" "$2" state) == "done" && $(recap "$run" "$2" failed) == 0 ]]
}

expect_done() {  # RUN NODE…
  local run=$1 node
  shift
  for node in "$@"; do
    expect_equal "done 0" "$(recap "$run" "$node" state) $(recap "$run" "$node" failed)" "$node's end in $run"
  done
}

start_cluster 3
join 'login1,c[001-003]'

step "rollout: c002 cut off, c003's agent killed in the middle of a package transaction"
begin playbooks/site.yaml
# Each by itself: neither node waits for the other.
{ await_slurmd_package c002 && lab link c002 down; } &
cut=$!
await_slurmd_package c003 || fail "c003 installs nothing"
kill_agent c003
node_runs c003 apt-get || fail "the package transaction ended with its agent"
wait "$cut" || fail "c002 installs nothing"
finish
expect_applied 4 "a rollout with a node cut off"
expect_contains "$APPLY_OUTPUT" "c002: unreachable" "the output"
expect_equal unreachable "$(recap "$APPLY_RUN" c002 state)" "c002's state"
expect_done "$APPLY_RUN" login1 c001 c003
# systemd counts a restart twice when a package has it reload its units in that moment.
expect_equal 1 "$(lab exec c003 journalctl --unit muster-agent --output cat | grep -c ' continues after ')" \
  "starts of c003's agent within the plan"
lab link c002 up
wait_for 90 "catching up with c002" caught_up "$APPLY_RUN" c002
wait_for 20 "all nodes idle" nodes_idle c001 c002 c003
apply playbooks/site.yaml --detailed-exitcode >/dev/null
expect_applied 0 "nothing left to do"

step "c002 cut off, c001's agent killed, in the middle of a command"
begin "$slow" -e mark=cut -e seconds=20
wait_for 20 "the slow command on c002" node_runs c002 sleep
wait_for 20 "the slow command on c001" node_runs c001 sleep
lab link c002 down
kill_agent c001
finish
expect_applied 4 "a run with a node cut off"
expect_done "$APPLY_RUN" login1 c001 c003
lab exec c001 test -e /var/tmp/cut-tail || fail "c001 did not finish"
wait_for 90 "c002 going on alone" lab exec c002 test -e /var/tmp/cut-after
! lab exec c002 test -e /var/tmp/cut-tail || fail "c002 did what nobody can have told it"
lab link c002 up
wait_for 90 "catching up with c002" caught_up "$APPLY_RUN" c002
lab exec c002 test -e /var/tmp/cut-tail || fail "the catch-up left out the last play"

step "the controller killed"
begin "$slow" -e mark=killed -e seconds=20
wait_for 20 "the slow command" node_runs c003 sleep
lab exec login1 systemctl kill --signal=KILL musterd
finish
expect_applied 0 "a run whose controller was killed"
expect_contains "$APPLY_OUTPUT" "no connection to the controller" "what the command line says meanwhile"
expect_equal 1 "$(lab exec login1 systemctl show -P NRestarts musterd)" "starts of the controller"
expect_done "$APPLY_RUN" login1 c001 c002 c003
for node in c001 c002 c003; do lab exec "$node" test -e /var/tmp/killed-tail || fail "$node did not finish"; done

step "Ctrl-C and back"
begin "$slow" -e mark=detached -e seconds=20
wait_for 20 "the slow command" node_runs c003 sleep
kill -INT "$APPLY_PID"
finish
expect_applied 130 "Ctrl-C"
expect_contains "$APPLY_OUTPUT" "muster run watch $(newest_run)" "how to come back"
expect_equal running "$(run_field "$(newest_run)" state)" "the run after Ctrl-C"
muster run watch "$(newest_run)" || fail "watching ended with $?"
expect_done "$(newest_run)" login1 c001 c002 c003

step "cancel"
begin "$slow" -e mark=cancelled -e seconds=20
wait_for 20 "the slow command" node_runs c003 sleep
muster run cancel "$(newest_run)"
finish
expect_applied 3 "a cancelled run"
expect_equal cancelled "$(run_field "$APPLY_RUN" state)" "its state"
! lab exec c003 test -e /var/tmp/cancelled-tail || fail "the cancelled run went on"
! lab exec c003 test -e /var/tmp/cancelled-after || fail "a step began after the cancellation"
rm "$output"
echo PASSED
