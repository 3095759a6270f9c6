#!/bin/bash
# Health: what goes wrong on nodes in service is seen, keeps them from jobs where the policy says so, and
# lets them go when it is well; running jobs, drains of administrators and, by the breaker, the rest of
# the cluster are left alone. A node is rebooted once where the policy says so, and what is quarantined
# waits for an administrator. People outside are told of it by webhook, mail and Alertmanager.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/fake_gpus.sh
source "$(dirname "$0")/fake_gpus.sh"
# shellcheck source=tests/lab/receivers.sh
source "$(dirname "$0")/receivers.sh"

work=$(mktemp -d)

serves() { [[ $(node_field "$1" State) =~ ^(IDLE|MIXED|ALLOCATED)$ ]]; }  # NODE
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
boot_of() { lab exec "$1" cat /proc/sys/kernel/random/boot_id; }  # NODE
permits() {  # NODE: how many the audit log tells of
  muster -o json audit list --limit 500 | read_json '
print(sum(e["action"] == "reboot.permit" and e["subject"] == sys.argv[1] for e in value["events"]))' "$1"
}
service_says() { [[ $(muster node list "$1") == *"$2"* ]]; }  # NODE TEXT
may_resume() { muster node resume "$1" --reason repaired; }   # NODE
job_is_over() { [[ $(lab exec login1 scontrol show job "$1") == *JobState=COMPLETED* ]]; }  # JOB
use_policy() {  # MAX_DRAINED
  sed -i "s/max_drained: [0-9]*/max_drained: $1/" "$work/inventory/health.yaml"
  muster inventory apply "$work/inventory" >/dev/null
}
is_running() { [[ $(lab exec login1 squeue -h -t R -o %i -j "$1") == "$1" ]]; }  # JOB

GATE=on start_cluster 2 bookworm --prepared --gpus 3
mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cat >"$work/inventory/health.yaml" <<'YAML'
health:
  all:
    good_time: 10s
    cool_down: 10s
    breaker: {max_drained: 20, window: 10m}
    conditions: {bad_day: drain, unit_failed: observe, stuck: reboot_once_then_drain,
                 broken: reboot_once_then_drain, condemned: quarantine}
    site_conditions:
      bad_day: {argv: [/usr/bin/test, "!", -e, /var/tmp/bad-day], interval: 10s, severity: fatal}
      stuck: {argv: [/usr/bin/test, "!", -e, /run/stuck], interval: 10s, severity: fatal}
      broken: {argv: [/usr/bin/test, "!", -e, /var/tmp/broken], interval: 10s, severity: fatal}
      condemned: {argv: [/usr/bin/test, "!", -e, /var/tmp/condemned], interval: 10s, severity: fatal}
YAML
use_policy 20
join 'login1,c[001-002]'
apply playbooks/site.yaml >"$work/apply.log"
expect_applied 0 "rollout"
install_receivers >"$work/receivers.log" 2>&1 || fail "the receivers: $(cat "$work/receivers.log")"

# Nodes measure when somebody looks.
muster -o json top 'c[001-002]' | read_json '
for node in value["nodes"]:
  readings = node["readings"]
  assert [gpu["index"] for gpu in readings["gpus"]] == [0, 1, 2], readings
  assert all(gpu["temperature_celsius"] > 0 and gpu["power_watts"] > 0 for gpu in readings["gpus"])
  assert 0 <= readings["cpu_busy_ratio"] <= 1 and readings["memory_used_bytes"] > 0
  assert any(link["received_bytes_per_s"] > 0 for link in readings["links"]), readings["links"]
' || fail "top tells not what the nodes measure"
says -E 'c001 .*▁▁▁' muster top || fail "top shows no GPUs"
validate_nodes gate tests/testdata/lab/gate 'c[001-002]'
expect_equal 0 "$RC" "exit code of a pass"
wait_for 20 "both idle" nodes_idle c001 c002
wait_for 60 "both well" is_well 'c[001-002]'
write_channels "$work/inventory"
muster inventory apply "$work/inventory" >/dev/null
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

step "people outside are told"
wait_for 10 "the webhook" hook_got "Xid 79"
wait_for 20 "the mail" mail_got "Xid 79"
wait_for 20 "the alert" alert_fires health.condition "c001 critical"
failed_backup() { lab exec login1 muster backup create /nonexistent/backup.tgz --without-keys; }
! failed_backup >"$work/backup" 2>&1 || fail "a backup was made in a folder that does not exist"
wait_for 15 "the webhook tells of the backup" hook_got backup.failed

step "an administrator lets it in again all the same"
muster node resume c001 --reason "it was the riser" >/dev/null
wait_for 20 "c001 serves" serves c001
sleep 3
serves c001 || fail "c001 was drained again: $(reason c001)"
lab exec login1 scancel "$job"

step "the card was reset by hand: its condition is cleared, and the alert ends"
expect_contains "$(muster health clear c001 gpu_xid --reason "nvidia-smi -r")" "cleared: gpu_xid on c001" "what clear says"
# The log is there since this test made it; the agent counts what stands in it as watched half a minute
# later, and until then nobody knows that nothing is wrong.
wait_for 45 "c001 has no Xid" lacks_condition c001 gpu_xid
wait_for 20 "the alert's end" no_alert_of health.condition c001
expect_contains "$(muster audit list)" "health.clear" "the audit log"

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

step "one reboot, when the last job has ended: it helps on c001 and not on c002"
boot1=$(boot_of c001) boot2=$(boot_of c002)
lab exec c001 rm -f /var/tmp/go
job=$(lab exec login1 sbatch --parsable --output=/dev/null -w c001 --wrap 'until [ -e /var/tmp/go ]; do sleep 0.2; done')
wait_for 30 "job $job runs" is_running "$job"
lab exec c001 touch /run/stuck          # gone with the boot
lab exec c002 touch /var/tmp/broken     # not gone with it
wait_for 60 "c001 is drained" is_drained_for c001 "muster:health:stuck"
wait_for 60 "its reboot has begun" has_condition c001 "rebooted once by u-"
# The drain is in Slurm, and the rollout waits for the job.
lab exec login1 systemctl kill -s KILL musterd
wait_for 30 "musterd is back" muster status
expect_equal "$boot1" "$(boot_of c001)" "boot of c001 under job $job"
lab exec c001 touch /var/tmp/go
wait_for 60 "the end of job $job" job_is_over "$job"
wait_for 120 "c002 stays drained" is_drained_for c002 "a reboot did not help"
wait_for 120 "c001 serves again" serves c001
[[ $(boot_of c001) != "$boot1" ]] || fail "c001 serves without a reboot"
[[ $(boot_of c002) != "$boot2" ]] || fail "c002 was not rebooted"
for node in c001 c002; do expect_equal 1 "$(permits $node)" "permits to reboot $node"; done
expect_contains "$(health_of c002)" "reboot failed" "what is shown of c002"

step "somebody repairs c002: it returns as after any drain; c001 has a full file system and has lost a GPU"
lab exec c001 sh -c 'mkdir -p /srv/small && mount -t tmpfs -o size=1m none /srv/small && head -c 1020k /dev/zero >/srv/small/fill'
set_gpus c001 '{"missing": true}'
lab exec c002 rm /var/tmp/broken
wait_for 60 "c002 serves" serves c002
expect_equal 1 "$(permits c002)" "permits to reboot c002"

step "a quarantined node waits for an administrator, whoever dies meanwhile"
lab exec c002 touch /var/tmp/condemned
wait_for 45 "c002 is quarantined" is_drained_for c002 "muster:health:condemned quarantined"
wait_for 15 "node list says so" service_says c002 "quarantined by condemned"
expect_contains "$(muster status)" "quarantined by Muster" "status"
expect_contains "$(health_of c002)" "quarantined" "health"
if may_resume c002 >"$work/resume" 2>&1; then fail "c002 was resumed while it is bad"; fi
expect_contains "$(cat "$work/resume")" "not well yet" "the refusal"
lab exec c002 systemctl kill -s KILL muster-agent
lab exec login1 systemctl restart musterd
wait_for 30 "musterd is back" muster status
wait_for 30 "c002 is connected and still bad" has_condition c002 "condemned "
lab exec c002 rm /var/tmp/condemned
wait_for 60 "an administrator may let it return" may_resume c002
wait_for 20 "c002 serves" serves c002

step "a daemon that was stopped"
lab exec c002 systemctl stop slurmd
wait_for 90 "slurmd_down" has_condition c002 slurmd_down
lab exec c002 systemctl start slurmd

step "c001: a full file system is told, a GPU that is gone drains"
wait_for 90 "the full file system" has_condition c001 /srv/small
wait_for 150 "the GPU" is_drained_for c001 "muster:health:gpu_lost"
expect_contains "$(health_of c001)" "GPU-c001-2" "which GPU is gone"

step "a third drain within ten minutes: the breaker leaves the node to a person"
use_policy 2
lab exec c002 touch /var/tmp/bad-day
wait_for 60 "the breaker is open" status_says breaker
serves c002 || fail "c002 was drained: $(reason c002)"
lab exec c002 rm /var/tmp/bad-day

step "a node that does not answer"
lab link c001 down
wait_for 45 "c001 is lost" has_condition c001 node_lost
lab link c001 up
echo PASSED
