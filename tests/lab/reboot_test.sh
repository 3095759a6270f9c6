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
readonly until_told='until [ -e /var/tmp/go ]; do sleep 0.2; done'  # by end_job
run_job() {  # NODE PROGRAM: its id; returns once it runs
  local job
  lab exec "$1" rm -f /var/tmp/go
  job=$(lab exec login1 sbatch --parsable -w "$1" --mem=16 -o /tmp/job.out --wrap "$2")
  wait_for 30 "job $job" job_is "$job" RUNNING
  echo "$job"
}
end_job() { lab exec "$1" touch /var/tmp/go; }  # NODE

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
job=$(run_job c001 "$until_told")
apply "$playbook" --limit c001
expect_applied 3 "apply under a job"
expect_contains "$APPLY_OUTPUT" "job $job (root, wrap) runs on c001" "the refusal names the job"
expect_contains "$APPLY_OUTPUT" "drain the node in Slurm" "the refusal says what to do"
expect_same_boot c001 "$boot1" "refused"
end_job c001
wait_for 60 "the end of job $job" job_is "$job" COMPLETED

step "the job is gone: one reboot, after which the plan continues"
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
job=$(run_job c002 "sleep 300")
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

step "commands on nodes are off"
run_on() {  # ARGS OF exec…: leaves the exit code in RC and what was said in OUTPUT
  RC=0
  show muster exec "$@" || RC=$?
  OUTPUT=$SAID
}
nothing_sleeps() { ! lab exec "$1" pgrep -f "^sleep $2" >/dev/null; }  # NODE SECONDS
wait_for 20 "musterd is back" muster status
run_on c001 -- true
expect_equal 1 "$RC" "exit code while they are off"
expect_contains "$OUTPUT" "commands on nodes are off" "the refusal"
lab exec login1 sed -i 's/^exec: .*/exec: "on"/; s/^slurm_gate: .*/slurm_gate: "on"/' /etc/muster/controller.yaml
lab exec login1 systemctl restart musterd
wait_for 30 "a command on both nodes" muster exec 'c[001-002]' -- true

step "commands on nodes: equal answers once, failures and time limits by name, nothing left behind"
run_on 'c[001-002]' -- cat /etc/debian_version
expect_equal 0 "$RC" "exit code of a command that succeeds"
expect_contains "$OUTPUT" "c[001-002] (2)" "the heading of equal answers"
run_on c001 -- sh -c umask
expect_contains "$OUTPUT" "0022" "the umask of programs"
# shellcheck disable=SC2016
run_on 'c[001-002]' --timeout 2s -- sh -c \
  'setsid sleep 311 & if [ "$(uname -n)" = c002 ]; then exec sleep 311; fi; echo "$0" "$HOME"; exit 3'
expect_equal 3 "$RC" "exit code of a command that fails"
expect_contains "$OUTPUT" "c001: exited with 3" "the node that failed"
expect_contains "$OUTPUT" "sh /root" "what it said"
expect_contains "$OUTPUT" "c002: timed out" "the node that took too long"
for node in c001 c002; do nothing_sleeps "$node" 311 || fail "something is left on $node"; done
run_on c001 -- upitme
expect_equal 3 "$RC" "exit code of a program that is not there"
expect_contains "$OUTPUT" "there is no program 'upitme'" "the program that is not there"
muster -o json exec 'c[001-002]' -- uname -n >"$work/exec.json"
read_json '
import hashlib
sha = lambda text: hashlib.sha256(text.encode()).hexdigest()
nodes = value["nodes"]
assert [n["end"]["outcome"] for n in nodes] == ["exited", "exited"], nodes
lines = "".join("%s %s\n" % (n["node"], sha(n["end"]["output"])) for n in nodes)
assert value["output_sha256"] == sha(lines), value' <"$work/exec.json"
muster -o json audit list --limit 500 | read_json '
ends = [e["detail"] for e in value["events"] if e["action"] == "exec.end"]
assert any("1 exited with 3, 1 timed out" in detail for detail in ends), ends'

step "an agent that is killed leaves nothing of a command"
(
  for _ in $(seq 300); do
    nothing_sleeps c001 322 || break
    sleep 0.1
  done
  lab exec c001 systemctl kill -s KILL --kill-who=main muster-agent
) &
killer=$!
run_on c001 -- sh -c 'setsid sleep 322 & exec sleep 322'
wait "$killer"
expect_equal 4 "$RC" "exit code of a command that is lost"
expect_contains "$OUTPUT" "c001: lost" "the node whose agent was killed"
wait_for 20 "nothing sleeps on c001" nothing_sleeps c001 322

step "node reboot: refused under a job, and when idle"
lab exec login1 scancel "$job"
no_job_left() { [[ -z $(lab exec login1 squeue -h) ]]; }
wait_for 30 "no job is left" no_job_left
validate_nodes gate tests/testdata/lab/gate 'c[001-002]'
expect_equal 0 "$RC" "exit code of the validation"
wait_for 60 "both serve" nodes_idle c001 c002
boot1=$(boot_of c001) boot2=$(boot_of c002)
job=$(run_job c001 "$until_told")
rc=0
show muster node reboot 'c[001-002]' --yes || rc=$?
expect_equal 1 "$rc" "exit code under a job"
expect_contains "$SAID" "job $job (root, wrap) runs on c001" "the refusal names the job"
expect_same_boot c002 "$boot2" "refused"
(
  for _ in $(seq 300); do
    [[ $(node_field c001 State) != *DRAIN* ]] || break
    sleep 0.1
  done
  end_job c001
  [[ $(node_field c001 State) == *DRAIN* ]]
) &
ender=$!
rc=0
show muster node reboot 'c[001-002]' --when-idle --reason 'new firmware' --yes || rc=$?
expect_equal 0 "$rc" "exit code of a reboot when idle"
wait "$ender" || fail "c001 was not drained for its reboot"
job_is "$job" COMPLETED || fail "job $job was not waited for: $(job_state "$job")"
[[ $(boot_of c001) != "$boot1" ]] || fail "c001 was not rebooted"
[[ $(boot_of c002) != "$boot2" ]] || fail "c002 was not rebooted"
wait_for 30 "both serve again" nodes_idle c001 c002
muster -o json audit list --limit 500 | read_json '
permits = [e for e in value["events"] if e["action"] == "reboot.permit" and "new firmware" in e["detail"]]
assert sorted(e["subject"] for e in permits) == ["c001", "c002"], permits'

step "apply reboots a node on which jobs start all the time: none of them is ended"
boot1=$(boot_of c001)
ask_for_reboot c001
touch "$work/stream"
(
  while [[ -e $work/stream ]]; do
    lab exec login1 sbatch --parsable -w c001 --mem=16 -o /dev/null --wrap 'sleep 0.3'
    sleep 0.7
  done
) >"$work/jobs" &
stream=$!
for attempt in $(seq 15); do
  apply "$playbook" --limit c001
  [[ $APPLY_RC != 0 ]] || break
  # Refused, because a job was there or started at the last moment.
  expect_applied 3 "attempt $attempt"
  expect_contains "$APPLY_OUTPUT" "on c001; drain the node in Slurm" "attempt $attempt"
  expect_same_boot c001 "$boot1" "attempt $attempt"
done
rm "$work/stream"
wait "$stream"
expect_applied 0 "apply between jobs"
expect_rebooted c001 "$boot1" "between jobs"
wait_for 60 "all jobs have run" no_job_left
wait_for 30 "c001 serves again" nodes_idle c001 c002
lab exec login1 scontrol -o show job >"$work/shown"
python3 - "$work/jobs" "$work/shown" <<'EOS'
import re, sys
wanted = open(sys.argv[1]).read().split()
shown = {re.search(r"JobId=(\d+)", line)[1]: line for line in open(sys.argv[2])}
assert len(wanted) >= 5, wanted
for job in wanted:
    line = shown[job]
    assert "JobState=COMPLETED" in line and "Restarts=0" in line, line
print(len(wanted), "jobs, all completed at their first start")
EOS
muster -o json audit list --limit 500 | read_json '
events = [(e["action"], e["detail"]) for e in reversed(value["events"]) if e["subject"] == "c001"]
drain = max(i for i, e in enumerate(events) if e[0] == "slurm.drain" and "being rebooted" in e[1])
permit = max(i for i, e in enumerate(events) if e[0] == "reboot.permit")
assert drain < permit, events
assert [e for e in events[permit:] if e[0] == "slurm.resume"], events'
echo PASSED
