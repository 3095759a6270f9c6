#!/bin/bash
# The `reboot` resource on nodes with Slurm: only where something asks for it, never under a job
# unless somebody said so, once, foreseen by a check and by a plan, and also when the controller
# dies meanwhile.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly playbook=tests/testdata/lab/reboot/reboot.yaml
work=$(mktemp -d)

boot_of() { lab exec "$1" cat /proc/sys/kernel/random/boot_id; }  # NODE
ask_for_reboot() {  # NODE
  lab exec "$1" touch /run/reboot-required
  lab exec "$1" rm -f /var/tmp/after
}
expect_rebooted() {  # NODE BOOT-BEFORE WHAT
  [[ $(boot_of "$1") != "$2" ]] || fail "$3: $1 was not rebooted"
  lab exec "$1" test -e /var/tmp/after || fail "$3: $1 did not go on after its reboot"
}
expect_same_boot() {  # NODE BOOT-BEFORE WHAT
  expect_equal "$2" "$(boot_of "$1")" "$3: boot of $1"
}
permits() {  # NODE: how many the audit log tells of
  muster -o json audit list --limit 500 | read_json '
print(sum(e["action"] == "reboot.permit" and e["subject"] == sys.argv[1] for e in value["events"]))' "$1"
}
job_state() {  # JOB
  lab exec login1 scontrol show job "$1" | grep -o 'JobState=[A-Z]*'
}
job_is() { [[ $(job_state "$1") == "JobState=$2" ]]; }  # JOB STATE
run_job() {  # NODE SECONDS: its id; returns once it runs
  local job
  job=$(lab exec login1 sbatch --parsable -w "$1" --mem=16 -o /tmp/job.out --wrap "sleep $2")
  wait_for 30 "job $job" job_is "$job" RUNNING
  echo "$job"
}

start_cluster 2 bookworm --prepared
join 'login1,c[001-002]'
apply playbooks/site.yaml
expect_applied 0 "rollout"
wait_for 60 "all nodes idle" nodes_idle c001 c002

step "nothing asks for it: no reboot, and a second apply changes nothing"
boot1=$(boot_of c001)
apply "$playbook" --limit c001
expect_applied 0 "apply where nothing asks"
apply "$playbook" --limit c001 --detailed-exitcode
expect_applied 0 "second apply"
expect_same_boot c001 "$boot1" "nothing asks"

step "a check foresees the reboot and does not make it"
ask_for_reboot c001
apply "$playbook" --limit c001 --check --detailed-exitcode
expect_applied 2 "check"
expect_contains "$APPLY_OUTPUT" "reboot" "the check"
expect_same_boot c001 "$boot1" "check"

step "a job runs: refused, and the job ends well"
job=$(run_job c001 8)
apply "$playbook" --limit c001
expect_applied 3 "apply under a job"
expect_contains "$APPLY_OUTPUT" "job $job (root, wrap) runs on c001" "the refusal names the job"
expect_contains "$APPLY_OUTPUT" "drain the node in Slurm" "the refusal says what to do"
expect_same_boot c001 "$boot1" "refused"
wait_for 60 "the end of job $job" job_is "$job" COMPLETED

step "the job is gone: one reboot, and the plan goes on behind it"
apply "$playbook" --limit c001
expect_applied 0 "apply after the job"
expect_rebooted c001 "$boot1" "required"
expect_equal 1 "$(permits c001)" "permits for c001 in the audit log"

# What is left of a job ignores the shutdown's SIGTERM; 90 s would tell no more than five.
lab exec c002 sh -c 'mkdir -p /etc/systemd/system.conf.d
printf "[Manager]\nDefaultTimeoutStopSec=5s\n" >/etc/systemd/system.conf.d/test.conf
systemctl daemon-reexec'

step "a plan file with a reboot in it; jobs may die because it says so"
boot2=$(boot_of c002)
ask_for_reboot c002
wait_for 60 "c002 idle" nodes_idle c001 c002
job=$(run_job c002 300)
rc=0
muster plan "$playbook" --limit c002 --reboot-with-jobs -o "$work/plan.json" >"$work/plan.txt" || rc=$?
expect_equal 2 "$rc" "exit code of the plan"
expect_contains "$(cat "$work/plan.txt")" "the jobs die" "the plan"
apply "$work/plan.json"
expect_applied 0 "apply of the plan file"
expect_rebooted c002 "$boot2" "plan file"
job_is "$job" COMPLETED && fail "job $job cannot have completed"

step "a plan in which the reboot was not needed does not make one"
boot2=$(boot_of c002)
muster plan "$playbook" --limit c002 -o "$work/plan.json" >/dev/null
lab exec c002 touch /run/reboot-required
apply "$work/plan.json"
expect_applied 1 "a plan that does not hold"
expect_same_boot c002 "$boot2" "a plan that does not hold"

step "musterd is killed while the node reboots"
boot2=$(boot_of c002)
lab exec c002 rm -f /var/tmp/after
machine=$(lab_folder)/nodes/c002/nspawn.pid  # of this boot
running=$(cat "$machine")
(
  for _ in $(seq 300); do
    [[ $(cat "$machine" 2>/dev/null || true) == "$running" ]] || break
    sleep 0.1
  done
  lab exec login1 systemctl kill -s KILL musterd
) &
killer=$!
apply "$playbook" --limit c002
wait "$killer"
expect_applied 0 "apply with a killed controller"
expect_rebooted c002 "$boot2" "killed controller"
echo PASSED
