#!/bin/bash
# Health: what goes wrong on nodes in service is seen, keeps them from jobs where the policy says so, and
# lets them go when it is well; running jobs, drains of administrators and, by the breaker, the rest of
# the cluster are left alone.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

work=$(mktemp -d)

serves() { [[ $(node_field "$1" State) =~ ^(IDLE|MIXED|ALLOCATED)$ ]]; }  # NODE
health_of() { muster health "$1" 2>&1 || true; }                         # NODE
has_condition() { [[ $(health_of "$1") == *"$2"* ]]; }                   # NODE TEXT
lacks_condition() { ! has_condition "$@"; }
status_says() { [[ $(muster status) == *"$1"* ]]; }                      # TEXT
is_well() { muster health "$1" >/dev/null; }                             # NODES
# The kernel's log of a node is a pipe that stays open: the nodes share a kernel, and have none.
give_log() {  # NODE
  lab exec "$1" sh -c 'mkfifo -m 600 /dev/kmsg && systemd-run --quiet --unit=lab-kmsg sh -c "exec sleep infinity 3<>/dev/kmsg"'
}
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
kernel_says() { lab exec "$1" sh -c 'printf "%s\n" "$1" >/dev/kmsg' sh "$2"; }  # NODE RECORD
is_running() { [[ $(lab exec login1 squeue -h -t R -o %i -j "$1") == "$1" ]]; }  # JOB

GATE=on start_cluster 2 bookworm --prepared --gpus 3
mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cat >"$work/inventory/health.yaml" <<'YAML'
health:
  all:
    good_time: 10s
    cool_down: 10s
    breaker: {max_drained: 2, window: 10m}
    conditions: {bad_day: drain, unit_failed: observe}
    site_conditions:
      bad_day: {argv: [/usr/bin/test, "!", -e, /var/tmp/bad-day], interval: 10s, severity: fatal}
YAML
muster inventory apply "$work/inventory" >/dev/null
join 'login1,c[001-002]'
apply playbooks/site.yaml >"$work/apply.log"
expect_applied 0 "rollout"
validate_nodes gate tests/testdata/lab/gate 'c[001-002]'
expect_equal 0 "$RC" "exit code of a pass"
wait_for 20 "both idle" nodes_idle c001 c002
wait_for 60 "both well" is_well 'c[001-002]'
give_log c001
job=$(lab exec login1 sbatch --parsable --output=/dev/null -w c001 --wrap 'sleep 600')
wait_for 90 "job $job runs" is_running "$job"

step "a GPU falls off the bus: no job is sent there any more, and the running one goes on"
began=$(date +%s%N)
kernel_says c001 '3,1,1000000,-;NVRM: Xid (PCI:0000:17:00): 79, pid=4711, name=python, GPU has fallen off the bus.'
wait_for 10 "c001 is drained" is_drained_for c001 "muster:health:gpu_xid"
step "drained $((($(date +%s%N) - began) / 1000000)) ms after the kernel's message: $(reason c001)"
is_running "$job" || fail "the job on c001 is gone"
expect_contains "$(health_of c001)" "Xid 79" "what is shown"
expect_contains "$(muster status)" "gpu_xid" "status"
rc=0
lab exec c001 muster-agent health --slurm >"$work/local" || rc=$?
[[ $rc != 0 ]] || fail "the node itself finds nothing wrong"
expect_contains "$(cat "$work/local")" "gpu_xid" "what the node says to Slurm"
lab exec c002 muster-agent health --slurm || fail "c002 is not well"

step "an administrator lets it in again all the same"
muster node resume c001 --reason "it was the riser" >/dev/null
wait_for 20 "c001 serves" serves c001
sleep 3
serves c001 || fail "c001 was drained again: $(reason c001)"
lab exec login1 scancel "$job"

step "a condition of the site's own: drained while it is bad, and a drain of an administrator's stays"
lab exec login1 scontrol update NodeName=c001 State=DRAIN Reason="taken over"
for node in c001 c002; do lab exec "$node" touch /var/tmp/bad-day; done
wait_for 60 "c002 is drained" is_drained_for c002 "muster:health:bad_day"
wait_for 30 "c001 has the condition" has_condition c001 bad_day
for node in c001 c002; do lab exec "$node" rm /var/tmp/bad-day; done
wait_for 90 "c002 serves" serves c002
wait_for 60 "c001 is well" lacks_condition c001 bad_day
is_drained_for c001 "taken over" || fail "the administrator's drain is gone: $(reason c001)"
lab exec login1 scontrol update NodeName=c001 State=RESUME
wait_for 30 "c001 serves" serves c001

step "a third drain within ten minutes: the breaker leaves the node to a person"
lab exec c002 touch /var/tmp/bad-day
wait_for 60 "the breaker is open" status_says breaker
serves c002 || fail "c002 was drained: $(reason c002)"
lab exec c002 rm /var/tmp/bad-day

step "a daemon that was stopped, and a node that does not answer"
lab exec c002 systemctl stop slurmd
wait_for 90 "slurmd_down" has_condition c002 slurmd_down
lab exec c002 systemctl start slurmd
lab link c001 down
wait_for 45 "c001 is lost" has_condition c001 node_lost
lab link c001 up
echo PASSED
